//! This file knows how a program starts on the ARM boards: vectors, the executor, sleep.

use cortex_m::peripheral::NVIC;
use embassy_executor::{InterruptExecutor, Spawner};

/// Interrupts beyond the core's own, of the boards here.
#[cfg(feature = "mps2")]
const LINES: usize = 32;
#[cfg(feature = "lm3s")]
const LINES: usize = 44;

/// A line that nothing on the board uses: the executor runs in its handler.
const EXECUTOR_IRQ: u16 = LINES as u16 - 1;

#[derive(Clone, Copy)]
struct Irq(u16);

// SAFETY: the numbers made into one are below the number of lines.
unsafe impl cortex_m::interrupt::InterruptNumber for Irq {
    fn number(self) -> u16 {
        self.0
    }
}

unsafe extern "C" {
    fn ETHERNET();
    #[link_name = "EXECUTOR"]
    fn executor();
    fn DefaultHandler();
    #[cfg(feature = "mps2")]
    fn TIMER0();
    #[cfg(feature = "mps2")]
    fn TIMER1();
}

/// In place of a peripheral access crate's table.
// SAFETY: cortex-m-rt's linker script expects a table of this name and layout in this section.
#[unsafe(link_section = ".vector_table.interrupts")]
#[unsafe(no_mangle)]
#[used]
static __INTERRUPTS: [unsafe extern "C" fn(); LINES] = {
    let mut vectors = [DefaultHandler as unsafe extern "C" fn(); LINES];
    #[cfg(feature = "mps2")]
    {
        vectors[crate::cmsdk::TIMER0_IRQ as usize] = TIMER0;
        vectors[crate::cmsdk::TIMER1_IRQ as usize] = TIMER1;
    }
    vectors[ETHERNET_IRQ as usize] = ETHERNET;
    vectors[EXECUTOR_IRQ as usize] = executor;
    vectors
};

#[cfg(feature = "mps2")]
const ETHERNET_IRQ: u16 = crate::lan9118::IRQ;
#[cfg(feature = "lm3s")]
const ETHERNET_IRQ: u16 = crate::stellaris::IRQ;

mod handlers {
    use super::TASKS;

    // SAFETY, of every name here: only this crate defines handlers.
    #[cfg(feature = "mps2")]
    #[unsafe(no_mangle)]
    extern "C" fn TIMER0() {
        crate::cmsdk::on_wrap();
    }

    #[cfg(feature = "mps2")]
    #[unsafe(no_mangle)]
    extern "C" fn TIMER1() {
        crate::cmsdk::on_alarm();
    }

    #[cfg(feature = "mps2")]
    #[unsafe(no_mangle)]
    extern "C" fn ETHERNET() {
        crate::lan9118::on_interrupt();
    }

    #[cfg(feature = "lm3s")]
    #[unsafe(no_mangle)]
    extern "C" fn ETHERNET() {
        crate::stellaris::on_interrupt();
    }

    #[cfg(feature = "lm3s")]
    #[cortex_m_rt::exception]
    fn SysTick() {
        crate::systick::on_tick();
    }

    #[unsafe(export_name = "EXECUTOR")]
    extern "C" fn executor() {
        // SAFETY: this is the handler of the interrupt that `TASKS` was started on.
        unsafe { TASKS.on_interrupt() }
    }
}

static TASKS: InterruptExecutor = InterruptExecutor::new();

/// Starts time and the executor, hands a spawner to `main`, and sleeps whenever there is nothing to
/// do.
pub fn start(main: fn(Spawner)) -> ! {
    #[cfg(feature = "mps2")]
    crate::cmsdk::start();
    #[cfg(feature = "lm3s")]
    crate::systick::start(12_500_000);
    let spawner = TASKS.start(Irq(EXECUTOR_IRQ));
    // SAFETY: no critical section depends on these being masked.
    unsafe {
        #[cfg(feature = "mps2")]
        NVIC::unmask(Irq(crate::cmsdk::TIMER0_IRQ));
        #[cfg(feature = "mps2")]
        NVIC::unmask(Irq(crate::cmsdk::TIMER1_IRQ));
        NVIC::unmask(Irq(ETHERNET_IRQ));
    }
    if let Ok(first) = first(main) {
        spawner.spawn(first);
    }
    loop {
        cortex_m::asm::wfi();
    }
}

#[embassy_executor::task]
async fn first(main: fn(Spawner)) {
    // SAFETY: the spawner stays on the executor that this task runs on.
    main(unsafe { Spawner::for_current_executor().await });
}

//! A link that is dialled again for ever, with its default policy.
#![no_std]
#![no_main]

use evenkeel_core::{Code, Deadline, Reconnect, ReconnectAction, ReconnectPolicy};
use evenkeel_probe::any;
use evenkeel_probe::board::{now, send, sleep_until};

static POLICY: ReconnectPolicy = ReconnectPolicy::DEFAULT;

/// Where the linker starts to look.
// SAFETY: no other symbol of the image has this name.
#[unsafe(no_mangle)]
extern "C" fn _start() -> ! {
    let mut link = Reconnect::new(any());
    loop {
        match link.poll(now(), &POLICY) {
            ReconnectAction::Dial(dial) => {
                let up = matches!(send(dial.deadline()).code, Code::Ok);
                if up && link.connected(now(), dial, &POLICY) {
                    let _ = send(Deadline::NONE);
                    let _ = link.lost(now(), None, &POLICY);
                }
            }
            ReconnectAction::WaitUntil(at) => sleep_until(at),
            ReconnectAction::Escalate(_) | ReconnectAction::GiveUp => {}
        }
    }
}

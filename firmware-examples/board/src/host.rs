//! This file knows the machine that QEMU runs on, as the firmware sees it.

/// Ends QEMU with this exit status.
pub fn exit(status: i32) -> ! {
    semihosting::process::exit(status)
}

/// The numbers given with QEMU's `-append`; those that are missing are zero.
pub fn arguments<const N: usize>() -> [u32; N] {
    let mut numbers = [0; N];
    if let Ok(given) = semihosting::experimental::env::args::<128>() {
        let given = (&given).into_iter().filter_map(|word| word.ok()?.parse().ok());
        for (number, word) in numbers.iter_mut().zip(given) {
            *number = word;
        }
    }
    numbers
}

//! This file knows how QEMU is started for each board.

use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// One of QEMU's machines.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Board {
    /// `mps2-an385`, `mps2-an386`.
    Mps2(&'static str),
    /// `lm3s6965evb`.
    Lm3s,
    /// RISC-V `virt`.
    Virt,
}

impl Board {
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "an385" => Some(Self::Mps2("mps2-an385")),
            "an386" => Some(Self::Mps2("mps2-an386")),
            "lm3s" => Some(Self::Lm3s),
            "virt" => Some(Self::Virt),
            _ => None,
        }
    }

    /// Starts QEMU and the program that reads its console.
    pub(crate) fn run(
        self,
        elf: &str,
        arguments: &str,
        control: &Path,
    ) -> io::Result<(Child, Child)> {
        let mut qemu = Command::new(self.qemu());
        qemu.args(self.machine());
        qemu.args(["-nodefaults", "-display", "none", "-monitor", "none"]);
        qemu.args(["-semihosting-config", "enable=on,target=native"]);
        qemu.args(["-netdev", "user,id=n0,ipv6=off,net=10.0.2.0/24"]);
        qemu.args(self.network());
        // QEMU looks at its user-mode network only when its main loop turns, and with a guest that
        // sleeps it does not: this filter's timer turns it every millisecond.
        qemu.args(["-object", "filter-buffer,id=b0,netdev=n0,interval=1000"]);
        qemu.arg("-qmp").arg(format!("unix:{},server=on,wait=off", control.display()));
        qemu.args(["-append", arguments, "-kernel", elf]);
        let mut qemu =
            qemu.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let output = qemu.stdout.take().map_or_else(Stdio::null, Stdio::from);
        let reader = program("DEFMT_PRINT", "defmt-print");
        let console = Command::new(reader).args(["-e", elf]).stdin(output).spawn();
        match console {
            Ok(console) => Ok((qemu, console)),
            Err(fault) => {
                qemu.kill()?;
                Err(fault)
            }
        }
    }

    fn qemu(self) -> String {
        match self {
            Self::Mps2(_) | Self::Lm3s => program("QEMU_ARM", "qemu-system-arm"),
            Self::Virt => program("QEMU_RISCV32", "qemu-system-riscv32"),
        }
    }

    fn machine(self) -> Vec<&'static str> {
        match self {
            Self::Mps2(machine) => vec!["-machine", machine],
            Self::Lm3s => vec!["-machine", "lm3s6965evb"],
            Self::Virt => vec!["-machine", "virt", "-bios", "none"],
        }
    }

    fn network(self) -> Vec<&'static str> {
        match self {
            Self::Mps2(_) => vec!["-net", "nic,model=lan9118,netdev=n0"],
            Self::Lm3s => vec!["-net", "nic,model=stellaris,netdev=n0"],
            Self::Virt => vec![
                "-global",
                "virtio-mmio.force-legacy=false",
                "-device",
                "virtio-net-device,netdev=n0",
            ],
        }
    }
}

/// What the environment names, or a name for the path.
fn program(variable: &str, name: &str) -> String {
    std::env::var(variable).unwrap_or_else(|_| name.into())
}

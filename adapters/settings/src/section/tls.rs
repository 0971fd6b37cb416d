//! This file knows the section `[channel.tls]`: where the certificates are.

use evenkeel_core::Invalid;

use crate::keys::{Block, Keys};
use crate::kind::{Text, Unset};

/// `[channel.tls]`: where the certificates are. Paths only: this crate opens no file, and a key
/// that stands in the settings themselves is refused without being repeated.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Tls {
    ca_file: Option<Box<str>>,
    cert_file: Option<Box<str>>,
    key_file: Option<Box<str>>,
    server_name: Option<Box<str>>,
}

impl Tls {
    /// The certificates of whom to trust; `None` for the system's.
    pub fn ca_file(&self) -> Option<&str> {
        self.ca_file.as_deref()
    }

    /// The client's own certificate.
    pub fn cert_file(&self) -> Option<&str> {
        self.cert_file.as_deref()
    }

    /// The key of that certificate.
    pub fn key_file(&self) -> Option<&str> {
        self.key_file.as_deref()
    }

    /// The name the server's certificate must have; `None` for the target's.
    pub fn server_name(&self) -> Option<&str> {
        self.server_name.as_deref()
    }
}

impl Block for Tls {
    const MEANING: &'static str = "Where the certificates are, as paths of PEM files.";

    fn keys(&mut self, keys: &mut impl Keys) {
        let path = Text { words: "the path of a PEM file", check: is_filled };
        keys.key(
            "ca_file",
            Unset(path, r#""/etc/evenkeel/ca.pem""#),
            &mut self.ca_file,
            "Whom to trust. Not set: whom the system trusts.",
        );
        keys.key(
            "cert_file",
            Unset(path, r#""/etc/evenkeel/client.pem""#),
            &mut self.cert_file,
            "The client's own certificate, together with key_file.",
        );
        keys.key(
            "key_file",
            Unset(path, r#""/etc/evenkeel/client.key""#),
            &mut self.key_file,
            "The key of that certificate.",
        );
        keys.key(
            "server_name",
            Unset(Text { words: "a host name", check: is_filled }, r#""orders.internal""#),
            &mut self.server_name,
            "The name the server's certificate must have. Not set: the target's.",
        );
    }

    fn check(&mut self) -> Result<(), Invalid> {
        match (&self.cert_file, &self.key_file) {
            (Some(_), None) => {
                Err(Invalid::new("channel.tls.cert_file", 0, "", "must have a key_file with it"))
            }
            (None, Some(_)) => {
                Err(Invalid::new("channel.tls.key_file", 0, "", "must have a cert_file with it"))
            }
            _ => Ok(()),
        }
    }
}

fn is_filled(text: &str) -> Result<(), &'static str> {
    if text.contains("-----BEGIN") {
        return Err("must be the path of a file, not what is in it");
    }
    if text.is_empty() { Err("must not be empty") } else { Ok(()) }
}

//! This file knows how a kit, and a pool, are configured by a settings file.

use std::fs;

use evenkeel_settings as file;
use evenkeel_tokio::core::{Invalid, Strategy};

use super::KitBuilder;
use crate::BuildError;
use crate::connect::DialPolicy;
use crate::health::HealthMode;
use crate::pool::{ChannelOptions, PoolBuilder, Tls};

impl KitBuilder {
    /// Everything a settings file says: of calls as [`Builder::settings`](crate::Builder::settings),
    /// of members as [`PoolBuilder::settings`], and the section `[health]`, which turns checks on.
    ///
    /// ```
    /// use evenkeel_tonic::{Kit, evenkeel_settings::Settings};
    ///
    /// # fn kit(settings: &Settings) -> Result<Kit, evenkeel_tonic::BuildError> {
    /// // Settings::from_toml(&std::fs::read_to_string("orders.toml")?)?
    /// //     .with_environment(std::env::vars())?
    /// Kit::builder("orders").settings(settings)?.build()
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`PoolBuilder::settings`].
    pub fn settings(mut self, settings: &file::Settings) -> Result<Self, BuildError> {
        self.calls = self.calls.settings(settings)?;
        self.pool = self.pool.settings(settings)?;
        let Some(health) = settings.health().cloned() else { return Ok(self) };
        Ok(self.health(move |checker| {
            let mode = match health.mode() {
                file::HealthMode::Check => HealthMode::Check,
                file::HealthMode::Watch => HealthMode::Watch,
            };
            checker.policy(health.policy()).mode(mode).service(health.service())
        }))
    }
}

impl PoolBuilder {
    /// What a settings file says of members: its sections `[channel]` and `[balancing]`. Its targets
    /// come to those that were named before. The files of `[channel.tls]` are read now.
    ///
    /// # Errors
    ///
    /// Names a certificate or key that cannot be read. What else a settings file may say is
    /// accepted here, but for what is known only now, such as how long a socket's path may be.
    pub fn settings(mut self, settings: &file::Settings) -> Result<Self, BuildError> {
        if let Some(channel) = settings.channel() {
            self = self.targets(channel.targets().into_iter().flatten().cloned())?;
            self = self.options(options(channel)?);
            if channel.insecure() {
                self = self.insecure();
            }
            if let Some(block) = channel.tls() {
                self = self.tls(tls(block)?);
            }
        }
        if let Some(balancing) = settings.balancing() {
            self = self.outliers(balancing.outlier());
            self = match balancing.strategy() {
                Strategy::Weighted => self.weighted(
                    balancing.weights().map(|(target, weight)| (target, f64::from(weight) / 1e3)),
                )?,
                other => self.strategy(other),
            };
        }
        Ok(self)
    }
}

fn options(block: &file::Channel) -> Result<ChannelOptions, Invalid> {
    let dial = DialPolicy::new(block.initial_backoff(), block.max_backoff())?
        .with_connect_timeout(block.connect_timeout())?;
    let options = ChannelOptions::DEFAULT.with_dial(dial);
    let options = match block.keepalive_interval() {
        Some(interval) => options.with_keepalive(interval, block.keepalive_timeout())?,
        None => options.without_keepalive(),
    };
    match block.idle_timeout() {
        Some(idle) => options.with_idle(idle),
        None => Ok(options.without_idle()),
    }
}

fn tls(block: &file::Tls) -> Result<Tls, BuildError> {
    let mut tls = Tls::new();
    if let Some(path) = block.ca_file() {
        tls = tls.ca(read("channel.tls.ca_file", path)?);
    }
    if let (Some(certificate), Some(key)) = (block.cert_file(), block.key_file()) {
        let certificate = read("channel.tls.cert_file", certificate)?;
        tls = tls.identity(certificate, read("channel.tls.key_file", key)?);
    }
    Ok(match block.server_name() {
        Some(name) => tls.name(name),
        None => tls,
    })
}

fn read(field: &'static str, path: &str) -> Result<Vec<u8>, BuildError> {
    let refused = |error| BuildError::Refused {
        field,
        rule: format!("{path:?} cannot be read: {error}").into(),
    };
    fs::read(path).map_err(refused)
}

//! The same client, however it was configured: by builder calls, by a settings file, by the
//! environment, or by a gRPC service config. Through the real service over a real tonic channel, on
//! a virtual clock.

mod alike;
mod budget;
mod documented;
mod faults;
mod jitter;
mod kit;
mod lab;
mod members;
mod service_config;
mod sources;
mod warnings;

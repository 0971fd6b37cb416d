//! This file knows how a method table gets into the file that tonic writes for a package.

use core::fmt;
use std::collections::HashMap;

use prost_build::{Module, Service, ServiceGenerator};

use crate::table::{Row, Rows, method_path};

/// A service generator that lets another one write clients and servers, and adds `METHODS`, the
/// table of a package's methods, behind them.
///
/// [`configure`](crate::configure) uses it for you. By hand, where a build drives `prost_build`:
///
/// ```no_run
/// use evenkeel_tonic_build::{WithMethods, prost_build, tonic_prost_build};
///
/// fn main() -> std::io::Result<()> {
///     let tonic = tonic_prost_build::configure().service_generator();
///     prost_build::Config::new()
///         .service_generator(Box::new(WithMethods::around(tonic)))
///         .compile_protos(&["proto/payments.proto"], &["proto"])
/// }
/// ```
pub struct WithMethods {
    inner: Box<dyn ServiceGenerator>,
    /// By Rust module, because that is what a file is written for: two packages whose names differ
    /// only in case share one.
    packages: HashMap<Module, Rows>,
}

impl WithMethods {
    /// Adds tables to what `inner` writes.
    pub fn around(inner: Box<dyn ServiceGenerator>) -> Self {
        Self { inner, packages: HashMap::new() }
    }
}

impl ServiceGenerator for WithMethods {
    fn generate(&mut self, service: Service, buf: &mut String) {
        let module = Module::from_protobuf_package_name(&service.package);
        let rows = self.packages.entry(module).or_default();
        for method in &service.methods {
            rows.insert(
                method_path(&service.package, &service.proto_name, &method.proto_name),
                Row::new(method.client_streaming, method.server_streaming, Some(&method.options)),
            );
        }
        self.inner.generate(service, buf);
    }

    fn finalize(&mut self, buf: &mut String) {
        self.inner.finalize(buf);
    }

    fn finalize_package(&mut self, package: &str, buf: &mut String) {
        self.inner.finalize_package(package, buf);
        if let Some(rows) = self.packages.remove(&Module::from_protobuf_package_name(package)) {
            buf.push_str(&rows.render());
        }
    }
}

impl fmt::Debug for WithMethods {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WithMethods").field("packages", &self.packages).finish_non_exhaustive()
    }
}

//! This file knows the steps from `.proto` files to generated code, for a build script of one line.

use std::fs;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

use prost_types::FileDescriptorSet;

use crate::WithMethods;

/// Starts a build with the settings of `tonic_prost_build::configure()`.
pub fn configure() -> Builder {
    Builder {
        tonic: tonic_prost_build::configure(),
        prost: prost_build::Config::new(),
        descriptor_set: None,
    }
}

/// Generates messages, clients, servers and method tables; made by [`configure`].
#[derive(Debug)]
pub struct Builder {
    tonic: tonic_prost_build::Builder,
    prost: prost_build::Config,
    descriptor_set: Option<PathBuf>,
}

impl Builder {
    /// Replaces the settings of tonic's generator.
    ///
    /// The settings that tonic itself ignores for descriptor sets are ignored here too: those
    /// about running `protoc`, `with_extended_rust_types`, and `file_descriptor_set_path`, for
    /// which see [`descriptor_set_path`](Self::descriptor_set_path).
    ///
    /// ```no_run
    /// # fn main() -> std::io::Result<()> {
    /// use evenkeel_tonic_build::tonic_prost_build;
    ///
    /// evenkeel_tonic_build::configure()
    ///     .tonic(tonic_prost_build::configure().build_server(false).bytes("."))
    ///     .compile(&["proto/payments.proto"], &["proto"])
    /// # }
    /// ```
    #[must_use]
    pub fn tonic(mut self, tonic: tonic_prost_build::Builder) -> Self {
        self.tonic = tonic;
        self
    }

    /// Replaces the settings of prost's generator, for what tonic's cannot say.
    ///
    /// Its service generator is replaced by tonic's; the rest stays.
    #[must_use]
    pub fn prost(mut self, prost: prost_build::Config) -> Self {
        self.prost = prost;
        self
    }

    /// Also writes the descriptors [`compile`](Self::compile) generates from, as an encoded
    /// `FileDescriptorSet`, to this file: what a server with reflection embeds, and what
    /// `MethodTable::from_descriptor_bytes` reads.
    #[must_use]
    pub fn descriptor_set_path(mut self, path: impl Into<PathBuf>) -> Self {
        self.descriptor_set = Some(path.into());
        self
    }

    /// Compiles `.proto` files, looked up with their imports below the directories `includes`, and
    /// generates code into `OUT_DIR` or the `out_dir` of tonic's settings.
    ///
    /// Tells cargo, on standard output, to run the build script again when one of the files or
    /// their imports changes.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidData`] with file, line and column when a `.proto` does not compile or is
    /// not found, and those of writing files.
    pub fn compile(self, protos: &[impl AsRef<Path>], includes: &[impl AsRef<Path>]) -> Result<()> {
        let mut compiler = protox::Compiler::new(includes).map_err(invalid)?;
        // Comments become documentation; imports are generated like what imports them.
        compiler.include_source_info(true).include_imports(true);
        compiler.open_files(protos).map_err(invalid)?;
        for file in compiler.files().filter_map(|file| file.path()) {
            println!("cargo:rerun-if-changed={}", file.display());
        }
        if let Some(path) = &self.descriptor_set {
            fs::write(path, compiler.encode_file_descriptor_set())?;
        }
        self.compile_fds(compiler.file_descriptor_set())
    }

    /// Generates code from descriptors that something else compiled, `protoc` or `buf` for
    /// example, into `OUT_DIR` or the `out_dir` of tonic's settings.
    ///
    /// # Errors
    ///
    /// Those of writing files, and of settings that contradict each other.
    pub fn compile_fds(self, fds: FileDescriptorSet) -> Result<()> {
        let Self { tonic, mut prost, .. } = self;
        let services = tonic.clone().service_generator();
        prost.service_generator(Box::new(WithMethods::around(services)));
        // Told to build neither, tonic applies its other settings and keeps our generator.
        tonic.build_client(false).build_server(false).compile_fds_with_config(fds, prost)
    }
}

/// Puts the place into the message: protox keeps it for `Debug`.
fn invalid(error: protox::Error) -> Error {
    Error::new(ErrorKind::InvalidData, format!("{error:?}"))
}

//! The toolchain of a build without the feature `c`: it compiles nothing.

use super::options::{ToolchainCounters, ToolchainOptions};
use crate::{CompiledKernel, Error};
use redpoll_compiler::assembly::{Function, Signature};
use std::sync::{Arc, LazyLock};

/// A C compiler with its caches, which this build does not have.
#[derive(Debug)]
pub struct Toolchain(());

impl Toolchain {
    /// True if the build can compile and load C.
    pub const AVAILABLE: bool = false;

    /// Creates a toolchain, which ignores its options.
    pub fn new(_: ToolchainOptions) -> Toolchain {
        Toolchain(())
    }

    /// Returns the toolchain of this process.
    pub fn host() -> &'static Arc<Toolchain> {
        static HOST: LazyLock<Arc<Toolchain>> = LazyLock::new(|| Arc::new(Toolchain(())));
        &HOST
    }

    /// Returns [`Error::NoCompiler`].
    ///
    /// # Errors
    /// Always.
    pub fn compiler(&self) -> Result<&str, Error> {
        Err(absent())
    }

    /// Returns `None`: there is no cache.
    pub fn cache_fault(&self) -> Option<&str> {
        None
    }

    /// Returns counters of zero.
    pub fn counters(&self) -> ToolchainCounters {
        ToolchainCounters::default()
    }

    /// Returns [`Error::NoCompiler`].
    ///
    /// # Errors
    /// Always.
    pub fn compile(&self, _: &[&Function]) -> Result<Vec<CompiledKernel>, Error> {
        Err(absent())
    }

    /// Returns [`Error::NoCompiler`].
    ///
    /// # Errors
    /// Always.
    pub fn compile_edited(&self, _: &str, _: &[Arc<Signature>]) -> Result<Vec<CompiledKernel>, Error> {
        Err(absent())
    }
}

/// Does nothing: no compiler runs.
pub fn stop_compilers() {}

fn absent() -> Error {
    Error::NoCompiler("this build lacks the feature `c`; first build with that feature".into())
}

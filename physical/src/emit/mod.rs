//! Code generators: from Assembly to machine code. Generators decide nothing; lowering has made
//! every choice.

pub mod c;
#[cfg(feature = "cache")]
mod cache;
mod cache_folder;
pub mod cranelift;
pub mod cuda;
mod kernel;
#[cfg(all(test, feature = "c"))]
mod tests;

pub use kernel::CompiledKernel;

//! Code generators: from Assembly to machine code. Generators decide nothing; lowering has made
//! every choice.

pub mod c;
mod cache;
pub mod cranelift;
pub mod cuda;
mod kernel;
#[cfg(test)]
mod tests;

pub use kernel::Kernel;

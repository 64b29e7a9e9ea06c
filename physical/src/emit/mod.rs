//! Code generators: from Assembly to machine code. They decide nothing; every choice was made when lowering.

pub mod c;
mod cache;
pub mod cranelift;
pub mod cuda;
mod kernel;
#[cfg(test)]
mod tests;

pub use kernel::Kernel;

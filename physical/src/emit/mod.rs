//! Code generators: from Assembly to machine code. They decide nothing; every choice was made when lowering.

pub mod cranelift;

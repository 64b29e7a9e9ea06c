//! Tests that generated code agrees with the interpreter.

mod expand;

//! Tests of generated code beside the interpreter.

mod expand;

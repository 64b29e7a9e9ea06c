//! Tests of the laws.

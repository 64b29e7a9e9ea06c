//! Tests of SQL as users write it, in one binary: each binary that links DataFusion has hundreds of megabytes.

mod claimed;
mod common;
mod datasets;
mod engines;
mod first;
mod fuzz;
mod left;
mod limits;
mod logic;
mod semirings;
mod settings;
mod tables;
mod tpch;

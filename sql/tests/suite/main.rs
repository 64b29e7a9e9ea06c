//! Tests of SQL in one binary, because each binary that links DataFusion has hundreds of megabytes.

mod arrays;
mod claimed;
mod cluster;
mod cluster_messages;
mod correlated;
mod csv_values;
mod datasets;
mod declared;
mod engines;
mod fallback;
mod files;
mod first_calls;
mod fuzz;
mod limits;
mod logic;
mod merged;
mod names;
mod same_names;
mod semirings;
mod sessions;
mod settings;
mod spread;
mod tables;
mod tpch;

//! Lets programs find the library of DuckDB at run time in the folder from which it was linked.

fn main() {
    println!("cargo::rerun-if-env-changed=DUCKDB_LIB_DIR");
    if let Some(folder) =
        std::env::var_os("DUCKDB_LIB_DIR").filter(|_| std::env::var_os("CARGO_FEATURE_DUCKDB").is_some())
    {
        println!("cargo::rustc-link-arg-bins=-Wl,-rpath,{}", folder.display());
    }
}

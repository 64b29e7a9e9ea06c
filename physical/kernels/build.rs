//! Passes the build target to the crate, which compiles kernels for that target.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-env=REDPOLL_TARGET={}", std::env::var("TARGET").unwrap_or_default());
}

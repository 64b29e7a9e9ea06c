//! Tells the crate what target it is built for, which is what its kernels are compiled for.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-env=REDPOLL_TARGET={}", std::env::var("TARGET").unwrap_or_default());
}

//! The binary `redpoll`; its commands are in the module `cli` of the library.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    redpoll::cli::main()
}

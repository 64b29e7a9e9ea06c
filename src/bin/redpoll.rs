//! The command line `redpoll`; its commands are in the module `cli` of the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    redpoll::cli::main()
}

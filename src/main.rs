//! The `a2ad` program: everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(a2ad::cli::run(std::env::args_os()) as u8)
}

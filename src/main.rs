//! The `a2ad` program: everything is in the library.

use std::process::ExitCode;

/// Many small things are made and dropped by several threads, which the C library of a static binary does one at a
/// time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Before anything else: no program of the same user may read this process, which holds tokens (O-1).
    if let Err(error) = a2ad::runtime::child::harden() {
        eprintln!("a2ad: other programs of this user can read this process: {error}");
    }
    // One provider of cryptography for all of TLS. It fails if there is one already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    ExitCode::from(a2ad::cli::run(std::env::args_os()) as u8)
}

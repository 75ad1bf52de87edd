//! Custody against a hostile child and against the death of the node.
//!
//! The binary plays every part: the launcher runs the suite as the user it has and, as root, as another one too; the
//! suite starts nodes that are killed and children that try to get at the node. Linux only; elsewhere it says so.

#[cfg(target_os = "linux")]
mod hostile;
#[cfg(target_os = "linux")]
mod suite;

#[cfg(target_os = "linux")]
fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("hostile") => hostile::attack(&args[1..]),
        Some("node") => suite::node(&args[1..]),
        Some("suite") => suite::run(&args[1..], suite::TESTS),
        Some("contained") => suite::contained(&args[1..]),
        Some("first") => {
            suite::mount_proc();
            suite::run(&args[1..], suite::TESTS);
        }
        Some("without") => {
            suite::forbid_namespaces();
            suite::run(&args[1..], suite::WITHOUT);
        }
        _ => suite::launch(&args),
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {
    println!("custody: only Linux can keep a child from the node; nothing to test here");
}

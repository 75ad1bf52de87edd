//! Who holds a port that is taken (O-56), as far as the system lets us read it.
#![expect(clippy::disallowed_methods, reason = "reads /proc, no file of a workspace")]

use std::path::Path;

/// The program that listens on a port, as `nginx (pid 812)`; `None` where it can't be told.
pub(super) fn of_port(port: u16) -> Option<String> {
    let inodes: Vec<String> = ["/proc/net/tcp", "/proc/net/tcp6"]
        .iter()
        .filter_map(|table| std::fs::read_to_string(table).ok())
        .flat_map(|table| listening(&table, port))
        .collect();
    let wanted: Vec<String> = inodes.iter().map(|inode| format!("socket:[{inode}]")).collect();
    let mut pids = std::fs::read_dir("/proc").ok()?.filter_map(|entry| {
        let entry = entry.ok()?;
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        holds(&entry.path().join("fd"), &wanted).then_some((pid, entry.path()))
    });
    let (pid, dir) = pids.next()?;
    let name = std::fs::read_to_string(dir.join("comm")).unwrap_or_default();
    // A program chooses its own name, and the name ends up on a terminal.
    let name: String = name.trim().chars().filter(|c| !c.is_control()).collect();
    Some(format!("{name} (pid {pid})"))
}

/// The inodes of sockets that listen on a port, from a table of the kernel.
fn listening(table: &str, port: u16) -> Vec<String> {
    const LISTEN: &str = "0A";
    let port = format!(":{port:04X}");
    table
        .lines()
        .skip(1)
        .filter_map(|line| {
            let mut words = line.split_ascii_whitespace();
            let local = words.nth(1)?;
            let state = words.nth(1)?;
            let inode = words.nth(5)?;
            (state == LISTEN && local.ends_with(&port)).then(|| inode.to_owned())
        })
        .collect()
}

fn holds(fds: &Path, wanted: &[String]) -> bool {
    let Ok(fds) = std::fs::read_dir(fds) else { return false };
    fds.filter_map(|fd| std::fs::read_link(fd.ok()?.path()).ok())
        .any(|target| target.to_str().is_some_and(|target| wanted.iter().any(|inode| inode == target)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_table_names_the_socket_that_listens() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            0: 0100007F:1EC6 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4711 1 0 100 0 0 10 0\n\
            1: 0100007F:1EC6 0100007F:9999 01 00000000:00000000 00:00000000 00000000  1000        0 4712 1 0 100 0 0 10 0\n\
            2: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 4713 1 0 100 0 0 10 0\n";
        assert_eq!(listening(table, 7878), ["4711"]);
        assert!(listening(table, 80).is_empty());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_port_of_our_own_is_found_under_our_pid() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let owner = of_port(listener.local_addr().unwrap().port()).unwrap();
        assert!(owner.ends_with(&format!("(pid {})", std::process::id())), "{owner}");
    }
}

//! What the hostile child must not get, and what the death of a node must not leave.

#![expect(unsafe_code, reason = "takes namespaces away from itself")]
#![expect(clippy::expect_used, reason = "a test fails by panicking")]
#![expect(clippy::disallowed_methods, reason = "a test that starts itself, and looks at files from outside")]

use std::io::{BufRead, BufReader};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use a2ad::runtime::child::{Child, Custody, CustodyConfig, Level, Order};
use tokio::io::AsyncReadExt;

use crate::hostile::{ATTEMPTS, SECRET};

type Test = (&'static str, fn());

pub(crate) const TESTS: &[Test] = &[
    ("a_hostile_child_gets_nothing_of_the_node", hostile_child),
    ("a_state_directory_that_a_child_moved_stays_hidden", moved_state),
    ("without_custody_the_same_child_gets_the_secrets", hostile_without_custody),
    ("children_keep_the_power_over_files_that_the_node_has", files_of_others),
    ("ur_13_what_a_killed_node_left_is_ended_by_the_next", left_children),
    ("ur_14_nobody_is_ended_for_its_name_or_number", foreign_processes),
    ("the_program_dies_with_the_node", dies_with_the_node),
];

pub(crate) const WITHOUT: &[Test] = &[
    ("without_namespaces_the_reason_and_the_remedy_are_named", isolation_is_missing),
    ("without_namespaces_a_tree_is_ended_by_mark_session_and_adoption", tree_without_namespaces),
    ("ur_13_what_a_killed_node_left_is_ended_by_the_next", left_children),
];

/// Long enough for a busy machine; only a failure waits so long.
const LONG: Duration = Duration::from_secs(60);

/// Runs the suite as this user, in a container, without namespaces, and as another user if this one is root.
pub(crate) fn launch(args: &[String]) {
    // SAFETY: no arguments.
    let root = unsafe { libc::getuid() } == 0;
    let place = tempfile::tempdir().expect("a directory");
    let me = place.path().join("custody");
    std::fs::copy(std::env::current_exe().expect("a path"), &me).expect("copied");
    std::fs::set_permissions(place.path(), PermissionsExt::from_mode(0o755)).expect("opened");
    let mut failed = Vec::new();
    let parts = [
        ("suite", None),
        ("contained", None),
        ("without", None),
        ("suite", Some(65534)),
        ("without", Some(65534)),
    ];
    for (part, user) in parts {
        if user.is_some() && !root {
            continue;
        }
        println!(
            "\n{part} as {}",
            user.map_or_else(|| "this user".to_owned(), |user: u32| format!("user {user}"))
        );
        let temp = tempfile::tempdir_in(place.path()).expect("a directory");
        let mut command = Command::new(&me);
        command.arg(part).args(args.iter().filter(|arg| !arg.starts_with('-')));
        command.env("TMPDIR", temp.path()).env("A2AD_TOKEN", SECRET).stdin(Stdio::null());
        if let Some(user) = user {
            chown(temp.path(), Some(user), Some(user)).expect("given");
            command.uid(user).gid(user).current_dir(temp.path());
        }
        if !command.status().expect("started").success() {
            failed.push(format!("{part} as {user:?}"));
        }
    }
    assert!(failed.is_empty(), "failed: {failed:?}");
}

/// Runs `tests` whose names hold one of `wanted`.
pub(crate) fn run(wanted: &[String], tests: &[Test]) {
    let mut failed = 0;
    for (name, test) in tests {
        if !wanted.is_empty() && !wanted.iter().any(|word| name.contains(word.as_str())) {
            continue;
        }
        let passed = std::panic::catch_unwind(test).is_ok();
        println!("test {name} ... {}", if passed { "ok" } else { "FAILED" });
        failed += i32::from(!passed);
    }
    std::process::exit(failed.min(100));
}

struct Place {
    root: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a directory");
        for name in ["inner/state", "inner/config", "work"] {
            std::fs::create_dir_all(root.path().join(name)).expect("made");
        }
        // Readable for all: the mode is not to be what protects it.
        for name in ["inner/state/token", "inner/config/a2ad.toml"] {
            std::fs::write(root.path().join(name), SECRET).expect("written");
        }
        Self { root }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn config(root: &Path) -> CustodyConfig {
        CustodyConfig {
            runs: root.join("inner/state/runs"),
            temp: root.join("temp"),
            hide: ["inner/state", "inner/config/a2ad.toml", "inner/socket", "absent"]
                .map(|name| root.join(name))
                .into(),
            ..CustodyConfig::default()
        }
    }

    fn custody(&self) -> Custody {
        Custody::open(Self::config(self.root.path())).expect("opened")
    }

    fn attack(&self) -> Vec<String> {
        self.attack_on("inner")
    }

    fn attack_on(&self, inner: &str) -> Vec<String> {
        let path = |name: &str| self.path(name).canonicalize().expect("there").display().to_string();
        let files = [
            &format!("{inner}/state"),
            &format!("{inner}/config/a2ad.toml"),
            &format!("{inner}/socket"),
            "work",
        ]
        .map(path);
        let inode =
            std::fs::metadata(self.path(&format!("{inner}/state/token"))).expect("there").ino().to_string();
        ["hostile".to_owned(), std::process::id().to_string()]
            .into_iter()
            .chain(files)
            .chain([inode])
            .collect()
    }
}

fn block<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async { tokio::time::timeout(LONG, future).await.expect("hangs") })
}

async fn said(child: &mut Child) -> String {
    let mut said = String::new();
    let mut stdout = child.stdout.take().expect("a pipe");
    stdout.read_to_string(&mut said).await.expect("text");
    said
}

fn results(said: &str) -> Vec<(&str, &str)> {
    said.lines().filter_map(|line| line.split_once('=')).collect()
}

/// Whether the namespaces hold; if not, loudly, and on a build machine as a failure.
fn isolated(custody: &Custody) -> bool {
    let isolation = custody.isolation();
    let holds = isolation.level == Level::Namespace;
    assert!(
        holds || std::env::var_os("CI").is_none(),
        "no isolation: {} ({})",
        isolation.why,
        isolation.mend
    );
    if !holds {
        println!("NOT TESTED: no isolation here: {} ({})", isolation.why, isolation.mend);
    }
    holds
}

fn hostile_child() {
    let place = Place::new();
    let _listening = std::os::unix::net::UnixListener::bind(place.path("inner/socket")).expect("bound");
    let custody = place.custody();
    if isolated(&custody) {
        gets_nothing(&place, &custody, &place.attack());
        assert!(!place.path("inner/state/planted").exists());
    }
}

/// Above the state directory a child may rename as it likes; the next one must not find it under the new name.
fn moved_state() {
    let place = Place::new();
    let _listening = std::os::unix::net::UnixListener::bind(place.path("inner/socket")).expect("bound");
    let custody = place.custody();
    if !isolated(&custody) {
        return;
    }
    std::fs::rename(place.path("inner"), place.path("moved")).expect("moved");
    std::fs::create_dir_all(place.path("inner/state/runs")).expect("made");
    let attack = place.attack_on("moved");
    gets_nothing(&place, &custody, &attack);
}

fn gets_nothing(place: &Place, custody: &Custody, attack: &[String]) {
    let order = Order {
        program: std::env::current_exe().expect("a path"),
        args: attack.iter().map(Into::into).collect(),
        cwd: place.path("work"),
        ..Order::default()
    };
    let said = block(async {
        let mut child = custody.spawn(order).expect("started");
        let said = said(&mut child).await;
        let exit = child.wait().await;
        assert!(exit.is_success(), "{exit}: {}", child.stderr_tail(2000));
        assert_eq!(child.end(Duration::ZERO).await.survivors, 0);
        said
    });
    let results = results(&said);
    // SAFETY: no arguments.
    assert_eq!(results[0], ("uid", unsafe { libc::getuid() }.to_string().as_str()));
    let names: Vec<&str> = results[1..].iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ATTEMPTS);
    let got: Vec<_> = results.iter().filter(|(_, result)| result.starts_with("GOT")).collect();
    assert!(got.is_empty(), "{got:#?}\n{said}");
    let token = Path::new(&attack[2]).join("token");
    assert_eq!(std::fs::read_to_string(token).expect("still there"), SECRET);
}

/// The control: what the attempts are worth.
fn hostile_without_custody() {
    let place = Place::new();
    let _listening = std::os::unix::net::UnixListener::bind(place.path("inner/socket")).expect("bound");
    let output = Command::new(std::env::current_exe().expect("a path"))
        .args(place.attack())
        .current_dir(place.path("work"))
        .output()
        .expect("started");
    let said = String::from_utf8_lossy(&output.stdout);
    // What the first ones moved or removed cannot be got by the others.
    let worth =
        ["open", "configuration", "list", "link", "link-configuration", "rename", "socket", "environment"];
    for name in worth {
        let result = results(&said).into_iter().find(|(attempt, _)| *attempt == name);
        assert!(result.is_some_and(|(_, result)| result.starts_with("GOT")), "{name}: {result:?}\n{said}");
    }
}

/// Root's child is to be able to own and change files of other users, as without isolation.
fn files_of_others() {
    let place = Place::new();
    let custody = place.custody();
    let theirs = place.path("work/theirs");
    std::fs::write(&theirs, "x").expect("written");
    std::fs::set_permissions(&theirs, PermissionsExt::from_mode(0o600)).expect("changed");
    // SAFETY: no arguments.
    let root = unsafe { libc::getuid() } == 0;
    if root {
        chown(&theirs, Some(1000), Some(1000)).expect("given");
    }
    let script = "cat theirs; stat -c %u:%g theirs; echo y > mine; stat -c %u:%g mine";
    let chown = if root { "; chown 1001:1002 mine; stat -c %u:%g mine" } else { "" };
    let order = Order {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), format!("{script}{chown}").into()],
        cwd: place.path("work"),
        ..Order::default()
    };
    let said = block(async {
        let mut child = custody.spawn(order).expect("started");
        let said = said(&mut child).await;
        assert!(child.wait().await.is_success(), "{}", child.stderr_tail(1000));
        child.end(Duration::ZERO).await;
        said
    });
    // SAFETY: no arguments.
    let me = unsafe { format!("{}:{}", libc::getuid(), libc::getgid()) };
    let expected = if root { format!("x1000:1000\n{me}\n1001:1002\n") } else { format!("x{me}\n{me}\n") };
    assert_eq!(said, expected);
}

/// A part of this binary: a node that starts a script, says its own pid and waits to be killed.
pub(crate) fn node(args: &[String]) {
    let [root, script] = args else { panic!("a directory and a script, not {args:?}") };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    let custody = Custody::open(Place::config(Path::new(root))).expect("opened");
    runtime.block_on(async {
        let order = Order {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), script.into()],
            cwd: Path::new(root).join("work"),
            task: "task-9".to_owned(),
            agent: "tests".to_owned(),
            ..Order::default()
        };
        let mut child = custody.spawn(order).expect("started");
        let mut lines = a2ad::runtime::child::lines::Lines::new(child.stdout.take().expect("a pipe"), 1000);
        while let Ok(a2ad::runtime::child::lines::Line::Whole(line)) = lines.next().await {
            println!("{}", String::from_utf8_lossy(&line));
        }
        std::future::pending::<()>().await;
    });
}

/// A node with a child, both gone wrong: started, heard until `up`, killed.
fn killed_node(place: &Place, script: &str) -> Vec<u32> {
    let mut node = Command::new(std::env::current_exe().expect("a path"))
        .arg("node")
        .arg(place.root.path())
        .arg(script)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("started");
    let mut pids = Vec::new();
    for line in BufReader::new(node.stdout.take().expect("a pipe")).lines() {
        let line = line.expect("text");
        if line == "up" {
            break;
        }
        pids.push(line.parse().unwrap_or_else(|_| panic!("no pid: {line}")));
    }
    node.kill().expect("killed");
    assert_eq!(node.wait().expect("waited").signal(), Some(9));
    pids
}

fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let end = Instant::now() + LONG;
    while !holds() {
        assert!(Instant::now() < end, "never: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn left_children() {
    let place = Place::new();
    let script = "(trap '' TERM; setsid sh -c 'trap \"\" TERM; echo $$; echo ready >> ready; while :; do sleep 1000; done' &) \
                  ; sh -c 'echo $$; echo ready >> ready; exec sleep 1000' & \
                  while [ \"$(cat ready 2>/dev/null | wc -l)\" -lt 2 ]; do sleep 0.01; done; echo up; wait";
    let pids = killed_node(&place, script);
    assert_eq!(pids.len(), 2, "{pids:?}");
    assert!(
        pids.iter().all(|pid| is_alive(*pid)),
        "a killed node leaves grandchildren, or this test shows nothing"
    );
    let runs = place.path("inner/state/runs");
    assert_eq!(std::fs::read_dir(&runs).expect("there").count(), 1);

    let custody = place.custody();
    let left = block(custody.reap_left());
    assert_eq!(left.len(), 1);
    assert_eq!((left[0].task.as_str(), left[0].agent.as_str(), left[0].survivors), ("task-9", "tests", 0));
    assert!(left[0].ended >= 2, "{left:?}");
    assert!(pids.iter().all(|pid| !is_alive(*pid)), "{pids:?}");
    assert_eq!(std::fs::read_dir(&runs).expect("there").count(), 0);
    assert_eq!(std::fs::read_dir(place.path("temp")).expect("there").count(), 0);
    assert!(block(custody.reap_left()).is_empty(), "nothing is ended twice");
}

fn foreign_processes() {
    let place = Place::new();
    let pids = killed_node(&place, "sh -c 'echo $$; echo up; exec sleep 1000'");
    let runs = place.path("inner/state/runs");
    let lease = std::fs::read_dir(&runs).expect("there").next().expect("a lease").expect("readable").path();
    let text = std::fs::read_to_string(&lease).expect("text");

    // The same program with the same arguments, which somebody else started; a lease that names its number but
    // another start; and one from before the machine was restarted.
    let mut foreign = Command::new("/bin/sh")
        .args(["-c", "exec sleep 1000"])
        .env_remove("A2AD_RUN")
        .process_group(0)
        .spawn()
        .expect("started");
    let mut terms: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    terms["child"] = serde_json::json!({ "pid": foreign.id(), "start": 1 });
    terms["nonce_sha256"] = "0".repeat(64).into();
    std::fs::write(runs.join("number.json"), terms.to_string()).expect("written");
    terms["child"] = serde_json::json!({ "pid": foreign.id(), "start": start_of(foreign.id()) });
    terms["boot"] = "another boot".into();
    std::fs::write(runs.join("boot.json"), terms.to_string()).expect("written");
    std::fs::write(runs.join("broken.json"), "{").expect("written");

    let left = block(place.custody().reap_left());
    assert_eq!(left.len(), 3, "{left:?}");
    assert!(is_alive(foreign.id()), "{left:?}");
    assert!(!is_alive(pids[0]));
    assert_eq!(std::fs::read_dir(&runs).expect("there").count(), 0);
    foreign.kill().expect("killed");
    foreign.wait().expect("waited");
}

fn start_of(pid: u32) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("there");
    stat.rsplit(") ").next().and_then(|rest| rest.split(' ').nth(19)?.parse().ok()).expect("a start")
}

fn dies_with_the_node() {
    let place = Place::new();
    let pids = killed_node(&place, "echo $$; echo up; exec sleep 1000");
    until("the program dies with the node", || !is_alive(pids[0]));
    block(place.custody().reap_left());
}

/// Gives itself a user namespace in which no further one may be made.
pub(crate) fn forbid_namespaces() {
    // SAFETY: no arguments.
    let (uid, gid) = unsafe { (libc::getuid(), libc::getgid()) };
    // SAFETY: this program has one thread yet.
    if unsafe { libc::unshare(libc::CLONE_NEWUSER) } != 0 {
        return println!("no user namespaces here anyway");
    }
    std::fs::write("/proc/self/setgroups", "deny").expect("written");
    std::fs::write("/proc/self/uid_map", format!("{uid} {uid} 1")).expect("written");
    std::fs::write("/proc/self/gid_map", format!("{gid} {gid} 1")).expect("written");
    std::fs::write("/proc/sys/user/max_user_namespaces", "0").expect("written");
}

/// Runs the suite as the first process of a container that was entered from outside: the parent of all orphans, and
/// of a session whose number does not exist in there.
pub(crate) fn contained(args: &[String]) {
    // SAFETY: no arguments.
    let (uid, gid) = unsafe { (libc::getuid(), libc::getgid()) };
    let user = if uid == 0 { 0 } else { libc::CLONE_NEWUSER };
    // SAFETY: this program has one thread yet.
    if unsafe { libc::unshare(user | libc::CLONE_NEWPID | libc::CLONE_NEWNS) } != 0 {
        return println!("NOT RUN, no namespaces here: {}", std::io::Error::last_os_error());
    }
    if user != 0 {
        std::fs::write("/proc/self/setgroups", "deny").expect("written");
        std::fs::write("/proc/self/uid_map", format!("{uid} {uid} 1")).expect("written");
        std::fs::write("/proc/self/gid_map", format!("{gid} {gid} 1")).expect("written");
    }
    let status = Command::new(std::env::current_exe().expect("a path")).arg("first").args(args).status();
    std::process::exit(status.expect("started").code().unwrap_or(101));
}

/// Gives the container its own `/proc`.
pub(crate) fn mount_proc() {
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    // SAFETY: the strings live through the calls.
    let mounted = unsafe {
        let alone = libc::mount(
            c"none".as_ptr(),
            c"/".as_ptr(),
            std::ptr::null(),
            libc::MS_REC | libc::MS_PRIVATE,
            std::ptr::null(),
        );
        alone == 0
            && libc::mount(c"proc".as_ptr(), c"/proc".as_ptr(), c"proc".as_ptr(), flags, std::ptr::null())
                == 0
    };
    assert!(mounted, "/proc of the container: {}", std::io::Error::last_os_error());
    assert_eq!(std::process::id(), 1);
}

fn isolation_is_missing() {
    let isolation = Place::new().custody().isolation().clone();
    assert_eq!((isolation.level, isolation.level.as_str()), (Level::None, "none"));
    assert!(isolation.why.contains("user namespace"), "{}", isolation.why);
    assert!(!isolation.mend.is_empty());
}

fn tree_without_namespaces() {
    let place = Place::new();
    let custody = place.custody();
    let script = "(setsid sh -c 'trap \"\" TERM; echo $$; echo ready >> ready; while :; do sleep 1000; done' &) \
                  ; (env -i setsid sh -c 'trap \"\" TERM; echo $$; echo ready >> ready; while :; do sleep 1000; done' &) \
                  ; while [ \"$(cat ready 2>/dev/null | wc -l)\" -lt 2 ]; do sleep 0.01; done; echo up; wait";
    let order = Order {
        program: "/bin/sh".into(),
        args: vec!["-c".into(), script.into()],
        cwd: place.path("work"),
        ..Order::default()
    };
    let pids: Vec<u32> = block(async {
        let mut child = custody.spawn(order).expect("started");
        let mut lines = a2ad::runtime::child::lines::Lines::new(child.stdout.take().expect("a pipe"), 1000);
        let mut pids = Vec::new();
        while let Ok(a2ad::runtime::child::lines::Line::Whole(line)) = lines.next().await {
            match String::from_utf8_lossy(&line).parse() {
                Ok(pid) => pids.push(pid),
                Err(_) => break,
            }
        }
        let ended = child.end(Duration::from_millis(50)).await;
        assert_eq!(ended.survivors, 0);
        pids
    });
    assert_eq!(pids.len(), 2);
    assert!(pids.iter().all(|pid| !is_alive(*pid)), "{pids:?}");
}

//! Children as the runtimes see them. Linux only where the test says so; programs are `/bin/sh` and what it brings.
#![cfg(unix)]
#![expect(clippy::disallowed_methods, reason = "a test that looks at files from outside")]

use std::os::unix::fs::PermissionsExt;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use super::*;

/// Far beyond what anything here needs: a test that hangs is to fail, not to be measured.
const LONG: Duration = Duration::from_secs(60);

struct Place {
    root: tempfile::TempDir,
    custody: Custody,
}

impl Place {
    fn new() -> Self {
        Self::with(|_, config| config)
    }

    fn with(change: impl FnOnce(&Path, CustodyConfig) -> CustodyConfig) -> Self {
        let root = tempfile::tempdir().unwrap();
        for name in ["state", "work"] {
            std::fs::create_dir(root.path().join(name)).unwrap();
        }
        let config = CustodyConfig {
            runs: root.path().join("state/runs"),
            temp: root.path().join("cache/tmp"),
            hide: vec![root.path().join("state"), root.path().join("absent")],
            node_url: "http://127.0.0.1:1/".to_owned(),
            ..CustodyConfig::default()
        };
        let custody = Custody::open(change(root.path(), config)).unwrap();
        Self { root, custody }
    }

    fn order(&self, script: &str) -> Order {
        Order {
            program: "/bin/sh".into(),
            args: vec!["-c".into(), script.into()],
            cwd: self.root.path().join("work"),
            task: "task-1".to_owned(),
            agent: "tests".to_owned(),
            ..Order::default()
        }
    }

    fn start(&self, script: &str) -> Child {
        self.custody.spawn(self.order(script)).unwrap()
    }

    fn start_piped(&self, script: &str) -> Child {
        self.custody.spawn(Order { stdin: Stdin::Piped, ..self.order(script) }).unwrap()
    }

    fn leases(&self) -> usize {
        std::fs::read_dir(self.root.path().join("state/runs")).unwrap().count()
    }

    fn temps(&self) -> usize {
        std::fs::read_dir(self.root.path().join("cache/tmp")).unwrap().count()
    }

    /// What a script prints, run to its end.
    async fn said(&self, order: Order) -> String {
        let mut child = self.custody.spawn(order).unwrap();
        let said = read_all(&mut child).await;
        let exit = soon(child.wait()).await;
        assert!(exit.is_success(), "{exit}: {}", child.stderr_tail(1000));
        child.end(Duration::ZERO).await;
        said
    }
}

async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(LONG, future).await.expect("hangs")
}

async fn read_all(child: &mut Child) -> String {
    let mut said = String::new();
    let mut stdout = child.stdout.take().unwrap();
    soon(stdout.read_to_string(&mut said)).await.unwrap();
    child.stdout = Some(stdout);
    said
}

/// Reads stdout up to the first line that is `word`.
async fn hears(child: &mut Child, word: &str) {
    let mut lines = lines::Lines::new(child.stdout.as_mut().unwrap(), 1000);
    loop {
        match soon(lines.next()).await.unwrap() {
            lines::Line::Whole(line) if line == word.as_bytes() => return,
            lines::Line::End => panic!("{word} was never said: {}", child.stderr_tail(1000)),
            _ => {}
        }
    }
}

async fn until(mut holds: impl FnMut() -> bool, what: &str) {
    let waits = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(LONG, waits).await.unwrap_or_else(|_| panic!("never: {what}"));
}

/// Everything alive that was started with the child's mark, found in another way than by the code under test.
#[cfg(target_os = "linux")]
fn marked(nonce: &str) -> Vec<String> {
    let sign = format!("A2AD_RUN={nonce}");
    let processes = std::fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    processes
        .filter(|path| {
            std::fs::read(path.join("environ"))
                .is_ok_and(|bytes| bytes.split(|&byte| byte == 0).any(|entry| entry == sign.as_bytes()))
        })
        .map(|path| path.display().to_string())
        .collect()
}

#[tokio::test]
async fn a_program_runs_in_its_directory_and_its_exit_is_told() {
    let place = Place::new();
    let mut child = place.start("pwd; echo oops >&2; exit 3");
    let said = read_all(&mut child).await;
    assert_eq!(Path::new(said.trim()), place.root.path().join("work").canonicalize().unwrap());
    assert_eq!(soon(child.wait()).await, Exit { code: Some(3), signal: None });
    assert_eq!(soon(child.wait()).await, Exit { code: Some(3), signal: None }, "asked twice");
    assert_eq!(child.stderr_tail(100), "oops");
    let ended = soon(child.end(LONG)).await;
    assert_eq!(ended, Ended { exit: Exit { code: Some(3), signal: None }, forced: false, survivors: 0 });

    let mut child = place.start("kill -9 $$");
    assert_eq!(soon(child.wait()).await, Exit { code: None, signal: Some(9) });
}

#[tokio::test]
async fn ur_01_02_03_a_program_that_reads_stdin_sees_its_end() {
    let place = Place::new();
    assert_eq!(place.said(place.order("cat; echo done")).await, "done\n");
    let mut child = place.start_piped("cat; echo done");
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(b"prompt\n").await.unwrap();
    drop(stdin);
    assert_eq!(read_all(&mut child).await, "prompt\ndone\n");
    assert!(soon(child.wait()).await.is_success());
}

#[tokio::test]
async fn ur_02_a_probe_has_no_stdin_an_empty_directory_and_a_limit() {
    let place = Place::new();
    let script = |text: &str| {
        let path = place.root.path().join("probed");
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        path
    };
    let version = place.custody.probe(&script("cat; ls -A; echo \"1.2 $1\""), &["--version"]).await;
    assert_eq!(version.unwrap(), "1.2 --version");
    let error = place.custody.probe(&script("echo broken >&2; exit 4"), &[]).await.unwrap_err().to_string();
    assert!(error.contains("exit status 4") && error.contains("broken"), "{error}");
    let sleeper = script("sleep 1000");
    let error = soon(process::probe(&place.custody, &sleeper, &[], Duration::from_millis(100)))
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("did not answer"), "{error}");
    assert!(place.custody.children().is_empty());
}

#[tokio::test]
async fn ur_06_07_a_grandchild_that_holds_stdout_holds_up_nothing() {
    let place = Place::new();
    let mut child = place.start("sleep 1000 & echo answer; exit 0");
    assert!(soon(child.wait()).await.is_success());
    let mut answer = [0; 7];
    soon(child.stdout.as_mut().unwrap().read_exact(&mut answer)).await.unwrap();
    assert_eq!(&answer, b"answer\n");
    let ended = soon(child.end(LONG)).await;
    assert_eq!((ended.exit.code, ended.forced, ended.survivors), (Some(0), false, 0));
    assert_eq!(read_all(&mut child).await, "", "the pipe is closed with the tree");
}

#[tokio::test]
async fn ur_09_the_program_behind_a_wrapper_is_ended_too() {
    let place = Place::new();
    let mut child = place.start("sh -c 'echo $A2AD_RUN; sh -c \"echo up; exec sleep 1000\"; true'; true");
    let mut nonce = String::new();
    let mut stdout = tokio::io::BufReader::new(child.stdout.take().unwrap());
    soon(tokio::io::AsyncBufReadExt::read_line(&mut stdout, &mut nonce)).await.unwrap();
    let mut up = String::new();
    soon(tokio::io::AsyncBufReadExt::read_line(&mut stdout, &mut up)).await.unwrap();
    #[cfg(target_os = "linux")]
    until(|| marked(nonce.trim()).len() == 3, "the wrapper, the inner one and the program run").await;
    let ended = soon(child.end(LONG)).await;
    assert_eq!(ended.survivors, 0);
    #[cfg(target_os = "linux")]
    assert_eq!(marked(nonce.trim()), Vec::<String>::new());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn ur_10_18_what_ignores_term_and_has_a_session_of_its_own_is_killed() {
    let place = Place::new();
    let mut child = place.start(
        "echo $A2AD_RUN > run; trap '' TERM; (setsid sh -c 'trap \"\" TERM; echo up; while :; do sleep 1000; done' &); sleep 1000",
    );
    hears(&mut child, "up").await;
    let nonce = std::fs::read_to_string(place.root.path().join("work/run")).unwrap();
    until(|| marked(nonce.trim()).len() >= 3, "the shell, the other session and their sleeps run").await;
    let ended = soon(child.end(Duration::from_millis(100))).await;
    assert_eq!((ended.exit.signal, ended.forced, ended.survivors), (Some(9), true, 0));
    assert_eq!(marked(nonce.trim()), Vec::<String>::new());
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_process_that_shed_every_sign_is_found_by_its_namespace() {
    let place = Place::new();
    if place.custody.isolation().level == Level::None {
        return missing(&place.custody);
    }
    let mut child = place.start(
        "(env -i setsid sh -c 'trap \"\" TERM; echo $$ > pid; echo up; sleep 1000; true' &); sleep 0.1",
    );
    hears(&mut child, "up").await;
    let pid: u32 =
        std::fs::read_to_string(place.root.path().join("work/pid")).unwrap().trim().parse().unwrap();
    assert!(soon(child.wait()).await.is_success());
    assert!(host::process(pid).is_some());
    let ended = soon(child.end(Duration::from_millis(50))).await;
    assert_eq!((ended.forced, ended.survivors), (true, 0));
    until(|| host::process(pid).is_none(), "the orphan is buried").await;
}

/// A test that needs the namespaces may pass without them on a developer's machine only.
#[cfg(target_os = "linux")]
fn missing(custody: &Custody) {
    let isolation = custody.isolation();
    assert!(std::env::var_os("CI").is_none(), "no isolation here: {} ({})", isolation.why, isolation.mend);
    eprintln!("NOT TESTED: no isolation here: {} ({})", isolation.why, isolation.mend);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_chain_that_forks_and_exits_for_ever_is_caught() {
    let place = Place::new();
    // Ends by itself after a while, should it not be caught.
    let script = "f() { [ $1 -gt 100000 ] || f $(($1 + 1)) & }; echo $A2AD_RUN > run; f 0; f 0; f 0; echo up; sleep 1000";
    for trap in ["trap '' TERM; ", ""] {
        let mut child = place.start(&format!("{trap}{script}"));
        hears(&mut child, "up").await;
        let nonce = std::fs::read_to_string(place.root.path().join("work/run")).unwrap();
        let ended = soon(child.end(Duration::ZERO)).await;
        assert_eq!(ended.survivors, 0);
        assert!(ended.forced || trap.is_empty(), "one that ignores TERM does not leave");
        for _ in 0..20 {
            assert_eq!(marked(nonce.trim()), Vec::<String>::new());
        }
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn many_children_of_one_tree_are_ended_at_once() {
    let place = Place::new();
    let script = "echo $A2AD_RUN > run; i=0; while [ $i -lt 200 ]; do (trap '' TERM; sleep 1000; true) & i=$((i + 1)); done; echo up; wait";
    let mut child = place.start(script);
    hears(&mut child, "up").await;
    let nonce = std::fs::read_to_string(place.root.path().join("work/run")).unwrap();
    assert!(marked(nonce.trim()).len() > 200);
    assert!(place.custody.children()[0].tree > 200);
    let ended = soon(child.end(Duration::ZERO)).await;
    assert_eq!(ended.survivors, 0);
    assert_eq!(marked(nonce.trim()), Vec::<String>::new());
}

#[tokio::test]
async fn ur_11_a_program_that_leaves_when_its_stdin_closes_is_not_forced() {
    let place = Place::new();
    let mut child = place.start_piped("cat >/dev/null; exit 7");
    drop(child.stdin.take());
    let ended = soon(child.leave(LONG)).await;
    assert_eq!(ended, Ended { exit: Exit { code: Some(7), signal: None }, forced: false, survivors: 0 });
    let mut child = place.start_piped("trap '' TERM; echo up; while :; do sleep 1; done");
    hears(&mut child, "up").await;
    drop(child.stdin.take());
    let ended = soon(child.leave(Duration::from_millis(50))).await;
    assert_eq!((ended.forced, ended.survivors), (true, 0));
}

#[tokio::test]
async fn a_stopped_program_hears_that_it_is_to_leave() {
    let place = Place::new();
    let mut child = place.start("trap 'exit 5' TERM; echo up; kill -STOP $$; while :; do sleep 0.01; done");
    hears(&mut child, "up").await;
    let ended = soon(child.end(LONG)).await;
    assert_eq!((ended.exit.code, ended.forced), (Some(5), false));
}

#[tokio::test]
async fn a_dropped_child_takes_its_tree_lease_and_directory_along() {
    let place = Place::new();
    let mut child = place.start("(trap '' TERM; sleep 1000; true) & echo up; sleep 1000");
    hears(&mut child, "up").await;
    assert_eq!((place.leases(), place.temps(), place.custody.children().len()), (1, 1, 1));
    drop(child);
    place.custody.0.config.tracker.close();
    soon(place.custody.0.config.tracker.wait()).await;
    assert_eq!((place.leases(), place.temps(), place.custody.children().len()), (0, 0, 0));
}

#[tokio::test]
async fn an_end_that_is_cancelled_is_finished_in_the_background() {
    let place = Place::new();
    let mut child = place.start("trap '' TERM; echo up; while :; do sleep 1; done");
    hears(&mut child, "up").await;
    assert!(timeout(Duration::from_millis(50), child.end(LONG)).await.is_err());
    drop(child);
    until(|| place.leases() == 0, "the lease goes").await;
}

#[tokio::test]
async fn waiting_can_be_broken_off_and_taken_up_again() {
    let place = Place::new();
    let mut child = place.start_piped("read x; exit 9");
    for _ in 0..3 {
        assert!(timeout(Duration::from_millis(5), child.wait()).await.is_err());
    }
    drop(child.stdin.take());
    assert_eq!(soon(child.wait()).await.code, Some(9));
}

#[tokio::test]
async fn ur_25_the_system_says_why_a_program_does_not_start() {
    let place = Place::new();
    let script = place.root.path().join("script");
    std::fs::write(&script, "#!/no/such/interpreter\n").unwrap();
    let mut told = Vec::new();
    for mode in [0o644, 0o755] {
        std::fs::set_permissions(&script, PermissionsExt::from_mode(mode)).unwrap();
        let order = Order { program: script.clone(), ..place.order("") };
        told.push(place.custody.spawn(order).err().unwrap().to_string());
    }
    assert!(told[0].contains("Permission denied") && told[0].contains("executable"), "{}", told[0]);
    assert!(told[1].contains("No such file") && told[1].contains("interpreter"), "{}", told[1]);
    let order = Order { program: "/no/such/program".into(), ..place.order("") };
    assert!(place.custody.spawn(order).err().unwrap().to_string().contains("No such file"));
    let order = Order { cwd: place.root.path().join("gone"), ..place.order("") };
    assert!(matches!(place.custody.spawn(order), Err(Error::Directory { .. })));
    let order = Order { args: vec!["-c".into(), "x".repeat(200_000).into()], ..place.order("") };
    if cfg!(target_os = "linux") {
        let told = place.custody.spawn(order).err().unwrap().to_string();
        assert!(told.contains("give it on stdin"), "UR-23: {told}");
    }
    assert_eq!(
        (place.leases(), place.temps(), place.custody.children().len()),
        (0, 0, 0),
        "nothing is left of them"
    );
}

#[tokio::test]
async fn ur_36_a_flood_on_stderr_blocks_nothing() {
    let place = Place::new();
    let flood = "i=0; while [ $i -lt 2000 ]; do printf '%01000d\\n' $i >&2; i=$((i + 1)); done; echo last >&2; echo done";
    let mut child = place.start(flood);
    assert_eq!(read_all(&mut child).await, "done\n");
    assert!(soon(child.wait()).await.is_success());
    let tail = child.stderr_tail(usize::MAX);
    assert!(tail.ends_with("01999\nlast") && tail.len() <= 64 * 1024, "{}", tail.len());
}

#[tokio::test]
async fn secrets_do_not_come_back_in_the_end_of_stderr() {
    let place =
        Place::with(|_, config| CustodyConfig { secrets: vec!["a2ad_node_secret".to_owned()], ..config });
    let order = place.order("echo \"$KEY $A2AD_RUN a2ad_node_secret $A2AD_TASK_ID\" >&2");
    let env = vec![
        ("KEY".to_owned(), "sk-very-secret".to_owned()),
        ("A2AD_TASK_ID".to_owned(), "task-0198".to_owned()),
    ];
    let mut child = place.custody.spawn(Order { env, ..order }).unwrap();
    soon(child.wait()).await;
    assert_eq!(child.stderr_tail(1000), "*** *** *** task-0198");
}

#[tokio::test]
async fn ur_22_a_child_sees_the_list_and_nothing_else() {
    let place = Place::new();
    let said = place.said(place.order("env")).await;
    let value =
        |name: &str| said.lines().find_map(|line| line.strip_prefix(&format!("{name}="))).map(str::to_owned);
    let mut expected: Vec<String> = [
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "LANG",
        "TZ",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "NODE_EXTRA_CA_CERTS",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "NO_PROXY",
        "ALL_PROXY",
        "http_proxy",
        "https_proxy",
        "no_proxy",
        "all_proxy",
    ]
    .map(str::to_owned)
    .into();
    // What a shell adds by itself.
    expected
        .extend(["PWD", "OLDPWD", "SHLVL", "_", "TERM", "NO_COLOR", "TMPDIR", "A2AD_RUN"].map(str::to_owned));
    for line in said.lines() {
        let name = line.split('=').next().unwrap();
        assert!(name.starts_with("LC_") || expected.iter().any(|known| known == name), "{line}");
    }
    assert_eq!(value("TERM").as_deref(), Some("dumb"));
    assert_eq!(value("NO_COLOR").as_deref(), Some("1"));
    assert_eq!(value("A2AD_RUN").map(|nonce| nonce.len()), Some(64));
}

#[tokio::test]
async fn the_temporary_directory_is_private_and_goes_with_the_child() {
    let place = Place::new();
    let temp = place.custody.temp().unwrap();
    temp.write("prompt", b"text in a file").unwrap();
    let order = place.order("ls -ld \"$TMPDIR\" | cut -c1-10; cat \"$TMPDIR/prompt\"; mkdir -p \"$TMPDIR/a/b\"; chmod 0 \"$TMPDIR/a\"");
    let said = place.said(Order { temp: Some(temp), ..order }).await;
    assert_eq!(said, "drwx------\ntext in a file");
    assert_eq!(place.temps(), 0);
}

#[tokio::test]
async fn umask_and_niceness_are_the_orders() {
    let place = Place::with(|_, config| CustodyConfig { umask: Some(0o027), ..config });
    let niceness = |said: &str| said.trim().parse::<i32>().unwrap();
    let own = niceness(&place.said(place.order("nice")).await);
    let order = Order { umask: Some(0o077), nice: 3, ..place.order("umask; nice") };
    let said = place.said(order).await;
    let (umask, nice) = said.trim().split_once('\n').unwrap();
    assert_eq!(umask.trim_start_matches('0'), "77");
    assert_eq!(niceness(nice), (own + 3).min(19));
    assert_eq!(place.said(place.order("umask")).await.trim().trim_start_matches('0'), "27");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_child_has_three_descriptors_and_no_other() {
    let place = Place::new();
    // One that is not marked to be closed at exec, as a library may leave it.
    let leaked = rustix::io::dup(std::fs::File::open("/dev/null").unwrap()).unwrap();
    rustix::io::fcntl_setfd(&leaked, rustix::io::FdFlags::empty()).unwrap();
    let said = place.said(place.order("for fd in /proc/$$/fd/*; do echo ${fd##*/}; done")).await;
    let mut open: Vec<u32> = said.lines().map(|line| line.parse().unwrap()).collect();
    // The shell itself has the directory open while it lists it, under a number of 10 and more in some shells.
    open.retain(|fd| std::path::Path::new(&format!("/proc/self/fd/{fd}")).exists() || *fd < 3);
    open.retain(|fd| *fd < 3 || i64::from(*fd) == i64::from(std::os::fd::AsRawFd::as_raw_fd(&leaked)));
    assert_eq!(open, [0, 1, 2]);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_child_leads_a_session_without_a_terminal_and_goes_first_when_memory_is_short() {
    let place = Place::new();
    let mut child =
        place.start_piped("read x; cut -d' ' -f6,7 /proc/$$/stat; cat /proc/$$/oom_score_adj; id -u");
    child.stdin.take().unwrap().write_all(b"go\n").await.unwrap();
    let said = read_all(&mut child).await;
    let own: i32 = std::fs::read_to_string("/proc/self/oom_score_adj").unwrap().trim().parse().unwrap();
    let user = rustix::process::getuid().as_raw();
    assert_eq!(said, format!("{} 0\n{}\n{user}\n", child.pid(), (own + 500).min(1000)));
}

#[tokio::test]
async fn what_runs_is_shown_with_its_task_age_and_last_word() {
    let place = Place::new();
    let mut child = place.start_piped("read x; echo said; read x");
    let shown = place.custody.children();
    let [quiet] = &shown[..] else { panic!("{shown:?}") };
    assert_eq!((quiet.pid, quiet.task.as_str(), quiet.agent.as_str()), (child.pid(), "task-1", "tests"));
    assert_eq!(quiet.silent, None);
    child.stdin.as_mut().unwrap().write_all(b"go\n").await.unwrap();
    hears(&mut child, "said").await;
    let shown = place.custody.children();
    assert!(shown[0].silent.is_some_and(|silent| silent <= shown[0].age));
    if cfg!(target_os = "linux") {
        assert!(shown[0].tree == 1 && shown[0].rss > 0, "{shown:?}");
    }
    soon(child.end(LONG)).await;
    assert!(place.custody.children().is_empty());
}

#[tokio::test]
async fn nothing_of_an_order_may_lie_where_no_child_can_look() {
    let place = Place::new();
    let state = place.root.path().join("state");
    let inside = state.join("work");
    std::fs::create_dir(&inside).unwrap();
    std::os::unix::fs::symlink(&inside, place.root.path().join("link")).unwrap();
    for cwd in [inside.clone(), place.root.path().join("link"), state] {
        let refused = place.custody.spawn(Order { cwd, ..place.order("true") });
        assert!(matches!(refused, Err(Error::Hidden { .. })));
    }
    let refused = place.custody.spawn(Order { program: inside.join("x"), ..place.order("") });
    assert!(matches!(refused, Err(Error::Hidden { .. })));
    let refused = place.custody.spawn(Order { program: "sh".into(), ..place.order("") });
    assert!(matches!(refused, Err(Error::Relative { .. })));
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn orphans_that_die_while_the_child_lives_are_buried() {
    let place = Place::new();
    let mut child = place.start("(sh -c 'echo $$ > pid; sleep 0.05' &); echo up; sleep 1000");
    hears(&mut child, "up").await;
    let file = place.root.path().join("work/pid");
    until(|| std::fs::read_to_string(&file).is_ok_and(|pid| pid.ends_with('\n')), "the orphan runs").await;
    let pid: u32 = std::fs::read_to_string(&file).unwrap().trim().parse().unwrap();
    until(|| host::process(pid).is_none(), "nobody but the custodian would take its status").await;
    soon(child.end(Duration::ZERO)).await;
}

#[tokio::test]
async fn many_births_at_once_are_each_whole() {
    let place = Place::new();
    let mut children: Vec<Child> = (0..40).map(|n| place.start(&format!("echo {n}; exit {n}"))).collect();
    for (n, child) in children.iter_mut().enumerate() {
        assert_eq!(read_all(child).await, format!("{n}\n"));
        assert_eq!(soon(child.wait()).await.code, Some(i32::try_from(n).unwrap()));
        assert_eq!(soon(child.end(LONG)).await.survivors, 0);
    }
    assert_eq!((place.leases(), place.temps()), (0, 0));
}

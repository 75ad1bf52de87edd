//! The tree of a child: everything that came of it, wherever it has moved, found and ended.
//!
//! Used by `process` for living children and by `lease` for those of a dead node. A process belongs to the tree if
//! it is the child, has the child's mark in its environment, lives in the child's session or user namespace, or
//! descends from such a one. It never signals a number without having made sure who has it now.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitOptions, pidfd_open, pidfd_send_signal, waitid,
    waitpid,
};

use super::super::custodian;
use super::super::lease::{Mark, Process};
use super::super::status::Usage;
use super::proc::{self, Proc, UserNamespace};

/// A child and all that came of it.
pub(in super::super) struct Tree {
    mark: Mark,
    child: Option<Process>,
    /// Nobody in the tree is older.
    since: u64,
    user_namespace: Option<UserNamespace>,
    /// Whether a process that the node adopted and that bears no sign may be told to be of this tree.
    adopts: bool,
}

impl Tree {
    /// Of a child that was just started and is not yet waited for.
    pub(in super::super) fn new(mark: Mark, child: Process) -> Self {
        let user_namespace = UserNamespace::of(child.pid);
        raise_oom_score(child.pid);
        Self { mark, child: Some(child), since: child.start, user_namespace, adopts: true }
    }

    /// Of a lease. The number of a user namespace proves nothing once it is empty, so it counts only if a process
    /// that is ours by another sign lives in it.
    pub(in super::super) fn left(
        mark: Mark,
        child: Option<Process>,
        node: Process,
        user_namespace: Option<u64>,
    ) -> Self {
        let since = child.map_or(node.start, |child| child.start);
        let mut tree = Self { mark, child, since, user_namespace: None, adopts: false };
        let ours = tree.members(|_| {});
        let homes = ours.iter().filter_map(|member| UserNamespace::of(member.pid));
        tree.user_namespace = homes.into_iter().find(|home| Some(home.inode) == user_namespace);
        tree
    }

    /// The process that was started.
    pub(in super::super) fn child(&self) -> Process {
        self.child.unwrap_or(Process { pid: 0, start: 0 })
    }

    /// Its user namespace, if it has one of its own.
    pub(in super::super) fn user_namespace(&self) -> Option<u64> {
        self.user_namespace.as_ref().map(|namespace| namespace.inode)
    }

    /// How many are alive.
    #[expect(clippy::unnecessary_wraps, reason = "other systems cannot tell")]
    pub(in super::super) fn alive(&self) -> Option<usize> {
        Some(self.living().len())
    }

    /// What the living use.
    pub(in super::super) fn usage(&self) -> Usage {
        let ticks = rustix::param::clock_ticks_per_second().max(1);
        let page = rustix::param::page_size() as u64;
        self.living().iter().fold(Usage::default(), |sum, member| Usage {
            processes: sum.processes + 1,
            rss: sum.rss + member.rss * page,
            cpu: sum.cpu + Duration::from_millis(member.cpu * 1000 / ticks),
        })
    }

    /// Asks all of them to leave. True: they heard it.
    pub(in super::super) fn terminate(&self) -> bool {
        let mut asked = HashSet::new();
        let mut ask = |member: &Proc| {
            if asked.insert(member.pid) {
                signal(member, Signal::TERM);
                // A stopped process would hear it only when it is continued.
                signal(member, Signal::CONT);
            }
        };
        let members = self.members(&mut ask);
        members.iter().for_each(ask);
        true
    }

    /// Kills until a fresh walk finds nobody, and tells how many are left if that takes longer than `patience`.
    pub(in super::super) fn kill(&self, patience: Duration) -> usize {
        let until = Instant::now() + patience;
        let mut pause = Duration::from_millis(1);
        let mut empty = 0;
        loop {
            // Each is killed as the walk meets it, not after the walk: one that forks and exits all the time is
            // somebody else by then.
            let members = self.members(|member| signal(member, Signal::KILL));
            let living = members.iter().filter(|member| member.is_alive());
            let living: Vec<&Proc> = living.inspect(|member| signal(member, Signal::KILL)).collect();
            empty = if living.is_empty() { empty + 1 } else { 0 };
            // The last look is one after which nobody was killed.
            if empty == 2 {
                return 0;
            }
            if Instant::now() >= until {
                return living.len();
            }
            if empty == 0 {
                std::thread::sleep(pause);
                pause = (pause * 2).min(Duration::from_millis(20));
            }
        }
    }

    fn living(&self) -> Vec<Proc> {
        let mut members = self.members(|_| {});
        members.retain(Proc::is_alive);
        members
    }

    /// Everybody in the tree, zombies too; those the node adopted are buried. `meet` is called at once for each one
    /// that bears a sign, before the others are found by descent.
    fn members(&self, mut meet: impl FnMut(&Proc)) -> Vec<Proc> {
        let me = std::process::id();
        let session = self.session();
        let alone = self.adopts && super::adopts_only_ours();
        let mut known = HashSet::new();
        let mut members = Vec::new();
        let mut others = Vec::new();
        for found in proc::all().filter(|found| found.start >= self.since && found.pid != me) {
            let sign = known.contains(&found.parent) || self.has_sign(&found, session);
            if sign || (alone && found.parent == me && self.is_stray(&found)) {
                meet(&found);
                known.insert(found.pid);
                members.push(found);
            } else {
                others.push(found);
            }
        }
        loop {
            let (new, rest): (Vec<Proc>, Vec<Proc>) =
                others.into_iter().partition(|found| known.contains(&found.parent));
            if new.is_empty() {
                break;
            }
            known.extend(new.iter().map(|found| found.pid));
            members.extend(new);
            others = rest;
        }
        for member in &members {
            bury(member, me);
        }
        members
    }

    fn has_sign(&self, found: &Proc, session: Option<u32>) -> bool {
        self.child == Some(Process { pid: found.pid, start: found.start })
            || session == Some(found.session)
            || self.user_namespace.as_ref().is_some_and(|namespace| namespace.holds(found.pid))
            || proc::mark(found.pid) == Some(self.mark)
    }

    /// The number of the child's session, while it cannot be another's: a number is not given out again as long as a
    /// session has it, so it is foreign only if a later process leads it.
    fn session(&self) -> Option<u32> {
        let child = self.child?;
        match proc::read(child.pid) {
            Some(now) if now.start != child.start => None,
            _ => Some(child.pid),
        }
    }

    /// An orphan that the node adopted and that has shed every sign, as by `env -i setsid`: ours if no other tree was
    /// there when it was started.
    fn is_stray(&self, found: &Proc) -> bool {
        if found.session == super::own_session() {
            return false;
        }
        let trees = custodian::trees();
        let mine = self.child.map(|child| child.pid);
        !trees.contains_key(&found.pid)
            && trees.iter().all(|(pid, start)| Some(*pid) == mine || *start > found.start)
    }
}

/// Signals exactly that process: one that got its number since is spared.
fn signal(member: &Proc, signal: Signal) {
    let Some(pid) = i32::try_from(member.pid).ok().and_then(Pid::from_raw) else { return };
    let handle = pidfd_open(pid, PidfdFlags::empty());
    if proc::read(member.pid).is_none_or(|now| now.start != member.start) {
        return;
    }
    // Failing means that it is gone, or another user's; the next look tells which.
    let _ = match handle {
        Ok(handle) => pidfd_send_signal(handle, signal),
        // Before Linux 5.3.
        Err(rustix::io::Errno::NOSYS) => rustix::process::kill_process(pid, signal),
        Err(error) => Err(error),
    };
}

/// Takes the status of a dead orphan that the node adopted, which nobody else would do. Children that were started
/// here are waited for by those who started them.
fn bury(member: &Proc, me: u32) {
    if member.is_zombie()
        && member.parent == me
        && member.session != super::own_session()
        && !custodian::trees().contains_key(&member.pid)
    {
        let pid = i32::try_from(member.pid).ok().and_then(Pid::from_raw);
        let _ = pid.map(|pid| waitpid(Some(pid), WaitOptions::NOHANG));
    }
}

/// On the custodian's thread, so that no child is between its fork and its entry among the trees.
pub(in super::super) fn bury_adopted() {
    // A look without taking: most of the time nobody has died.
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    if !matches!(waitid(WaitId::All, look), Ok(Some(_))) {
        return;
    }
    let me = std::process::id();
    proc::all().filter(|found| found.parent == me).for_each(|found| bury(&found, me));
}

/// Makes the child the first to go when memory is short (the node should outlive it).
#[expect(clippy::disallowed_methods, reason = "writes /proc")]
fn raise_oom_score(pid: u32) {
    let own = std::fs::read_to_string("/proc/self/oom_score_adj")
        .ok()
        .and_then(|text| text.trim().parse::<i32>().ok());
    let score = own.unwrap_or(0).saturating_add(500).min(1000);
    let _ = std::fs::write(format!("/proc/{pid}/oom_score_adj"), score.to_string());
}

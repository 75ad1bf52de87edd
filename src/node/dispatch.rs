//! Who may run a turn now and who waits: the limits of P-23, one turn a context, one writer a workspace (O-53), and a
//! queue that is fair between principals.
//!
//! The queue itself is the table of SUBMITTED tasks; this is its index, filled at start from the store. A waiting task
//! holds no actor and no program.

use std::{
    collections::{HashMap, VecDeque},
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::mpsc;

use crate::model::{AgentName, ContextId, PrincipalId, TaskId};

/// What a turn takes while it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Needs {
    pub(super) task: TaskId,
    pub(super) agent: AgentName,
    pub(super) principal: PrincipalId,
    pub(super) context: ContextId,
    /// Turns at once of the agent; `None`: any number.
    pub(super) concurrency: Option<usize>,
    /// The workspace it may write in, where turns must not share it.
    pub(super) workspace: Option<PathBuf>,
}

impl Needs {
    fn conversation(&self) -> Conversation {
        (self.agent.clone(), self.principal.clone(), self.context.clone())
    }
}

/// A context belongs to a principal and an agent (P-14).
type Conversation = (AgentName, PrincipalId, ContextId);

/// The limits, as configured; `None` is off.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limits {
    pub(super) running: Option<usize>,
    pub(super) running_per_principal: Option<usize>,
    pub(super) queued: Option<usize>,
    pub(super) queued_per_principal: Option<usize>,
}

/// What the dispatcher wants done.
pub(super) enum Wake {
    /// A waiting task may begin.
    Begin(TaskId, Permit),
    /// A suspended task keeps a conversation that another waits for; its program can be had back later.
    MakeRoom(TaskId),
}

/// The answer to who asks to run.
pub(super) enum Admission {
    /// At once.
    Run(Permit),
    /// It has a place in the queue, held until [`Dispatch::confirm`] or [`Dispatch::withdraw`].
    Queued,
    /// There is no place left; which limit says so.
    Full(&'static str),
}

/// A handle on the one state of all turns.
#[derive(Clone)]
pub(super) struct Dispatch {
    state: Arc<Mutex<State>>,
    wakes: mpsc::UnboundedSender<Wake>,
}

#[derive(Default)]
struct State {
    limits: Limits,
    paused: bool,
    running: usize,
    by_principal: HashMap<PrincipalId, usize>,
    by_agent: HashMap<AgentName, usize>,
    /// Who holds a conversation, how often, and whether its turn is suspended.
    held: HashMap<Conversation, Holder>,
    writing: HashMap<PathBuf, usize>,
    queue: Queue,
}

struct Holder {
    task: TaskId,
    permits: usize,
    suspended: bool,
}

/// Waiting turns: one line a principal, served in turn.
#[derive(Default)]
struct Queue {
    lines: HashMap<PrincipalId, VecDeque<Waiting>>,
    order: VecDeque<PrincipalId>,
    conversations: HashMap<Conversation, usize>,
    length: usize,
}

struct Waiting {
    needs: Needs,
    /// Whether its row is committed.
    ready: bool,
}

impl Queue {
    fn push(&mut self, needs: Needs, ready: bool) {
        *self.conversations.entry(needs.conversation()).or_default() += 1;
        self.length += 1;
        let line = self.lines.entry(needs.principal.clone()).or_default();
        if line.is_empty() {
            self.order.push_back(needs.principal.clone());
        }
        line.push_back(Waiting { needs, ready });
    }

    fn take(&mut self, principal: &PrincipalId, place: usize) -> Option<Needs> {
        let line = self.lines.get_mut(principal)?;
        let waiting = line.remove(place)?;
        if line.is_empty() {
            self.lines.remove(principal);
            self.order.retain(|other| other != principal);
        }
        self.length -= 1;
        let conversation = waiting.needs.conversation();
        if let Some(count) = self.conversations.get_mut(&conversation) {
            *count -= 1;
            if *count == 0 {
                self.conversations.remove(&conversation);
            }
        }
        Some(waiting.needs)
    }

    fn find(&self, task: &TaskId) -> Option<(PrincipalId, usize)> {
        self.lines.iter().find_map(|(principal, line)| {
            let place = line.iter().position(|waiting| waiting.needs.task == *task)?;
            Some((principal.clone(), place))
        })
    }
}

impl Dispatch {
    /// A dispatcher without turns, and what it will ask for.
    pub(super) fn new(limits: Limits) -> (Self, mpsc::UnboundedReceiver<Wake>) {
        let (wakes, asked) = mpsc::unbounded_channel();
        let state = Arc::new(Mutex::new(State { limits, ..State::default() }));
        (Self { state, wakes }, asked)
    }

    /// Runs now, waits, or is refused.
    pub(super) fn admit(&self, needs: Needs) -> Admission {
        let mut state = self.lock();
        if !state.paused
            && !state.queue.conversations.contains_key(&needs.conversation())
            && state.fits(&needs)
        {
            return Admission::Run(self.take(&mut state, needs));
        }
        let waiting = state.queue.lines.get(&needs.principal).map_or(0, VecDeque::len);
        if state.limits.queued.is_some_and(|most| state.queue.length >= most) {
            return Admission::Full("limits.queued_tasks");
        }
        if state.limits.queued_per_principal.is_some_and(|most| waiting >= most) {
            return Admission::Full("limits.queued_per_principal");
        }
        state.queue.push(needs, false);
        Admission::Queued
    }

    /// A task that is in the table already gets its place, whatever the limits say.
    pub(super) fn enqueue(&self, needs: Needs) {
        let mut state = self.lock();
        state.queue.push(needs, true);
        self.pump(&mut state);
    }

    /// The row of a queued task is committed: it may begin.
    pub(super) fn confirm(&self, task: &TaskId) {
        let mut state = self.lock();
        if let Some((principal, place)) = state.queue.find(task)
            && let Some(waiting) = state.queue.lines.get_mut(&principal).and_then(|line| line.get_mut(place))
        {
            waiting.ready = true;
        }
        self.pump(&mut state);
    }

    /// A waiting task waits no more.
    pub(super) fn withdraw(&self, task: &TaskId) {
        let mut state = self.lock();
        if let Some((principal, place)) = state.queue.find(task) {
            state.queue.take(&principal, place);
        }
        self.pump(&mut state);
    }

    /// The place of a waiting task among those of its agent, from 1.
    pub(super) fn place(&self, task: &TaskId) -> Option<usize> {
        let state = self.lock();
        let (principal, place) = state.queue.find(task)?;
        Some(place + 1).filter(|_| state.queue.lines.contains_key(&principal))
    }

    /// Takes a place beyond the limits, for a suspended turn that goes on by itself (J-22).
    pub(super) fn force(&self, needs: Needs) -> Permit {
        let mut state = self.lock();
        self.take(&mut state, needs)
    }

    /// Whether waiting tasks may begin.
    pub(super) fn pause(&self, paused: bool) {
        let mut state = self.lock();
        state.paused = paused;
        self.pump(&mut state);
    }

    /// Takes new limits.
    pub(super) fn limit(&self, limits: Limits) {
        let mut state = self.lock();
        state.limits = limits;
        self.pump(&mut state);
    }

    /// Turns that run, turns that wait, and whether the latter may begin.
    pub(super) fn counts(&self) -> (usize, usize, bool) {
        let state = self.lock();
        (state.running, state.queue.length, state.paused)
    }

    /// Turns of an agent that run, and that wait.
    pub(super) fn counts_of(&self, agent: &AgentName) -> (usize, usize) {
        let state = self.lock();
        let queued =
            state.queue.lines.values().flatten().filter(|waiting| waiting.needs.agent == *agent).count();
        (state.by_agent.get(agent).copied().unwrap_or(0), queued)
    }

    /// Begins what may begin, one of each principal in turn.
    fn pump(&self, state: &mut State) {
        if state.paused {
            return;
        }
        let mut passed = 0;
        while passed < state.queue.order.len() {
            let Some(principal) = state.queue.order.front().cloned() else { return };
            state.queue.order.rotate_left(1);
            match state.first_fit(&principal).and_then(|place| state.queue.take(&principal, place)) {
                Some(needs) => {
                    passed = 0;
                    let task = needs.task.clone();
                    let permit = self.take(state, needs);
                    if let Err(mpsc::error::SendError(Wake::Begin(_, permit))) =
                        self.wakes.send(Wake::Begin(task, permit))
                    {
                        // The node has stopped, so nothing is to begin. The permit must not lock what is locked.
                        permit.give_back(state);
                        return;
                    }
                }
                None => passed += 1,
            }
        }
        for task in state.blockers() {
            let _ = self.wakes.send(Wake::MakeRoom(task));
        }
    }

    fn take(&self, state: &mut State, needs: Needs) -> Permit {
        state.begin(&needs);
        let holder = state.held.entry(needs.conversation()).or_insert_with(|| Holder {
            task: needs.task.clone(),
            permits: 0,
            suspended: false,
        });
        holder.permits += 1;
        holder.suspended = false;
        Permit { dispatch: self.clone(), needs, running: true, held: true }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        // The state is counters that each method leaves whole, so a panic elsewhere can't have torn it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn fits(&self, needs: &Needs) -> bool {
        let under = |most: Option<usize>, count: usize| most.is_none_or(|most| count < most);
        let held = self.held.get(&needs.conversation());
        under(self.limits.running, self.running)
            && under(
                self.limits.running_per_principal,
                self.by_principal.get(&needs.principal).copied().unwrap_or(0),
            )
            && under(needs.concurrency, self.by_agent.get(&needs.agent).copied().unwrap_or(0))
            && held.is_none_or(|holder| holder.task == needs.task)
            && needs.workspace.as_ref().is_none_or(|workspace| !self.writing.contains_key(workspace))
    }

    /// The first of a line that may begin; a conversation's tasks keep their order.
    fn first_fit(&self, principal: &PrincipalId) -> Option<usize> {
        let mut seen = Vec::new();
        self.queue.lines.get(principal)?.iter().position(|waiting| {
            let conversation = waiting.needs.conversation();
            let fits = waiting.ready && !seen.contains(&conversation) && self.fits(&waiting.needs);
            seen.push(conversation);
            fits
        })
    }

    /// Suspended tasks whose conversation others wait for.
    fn blockers(&self) -> Vec<TaskId> {
        self.queue
            .conversations
            .keys()
            .filter_map(|conversation| self.held.get(conversation))
            .filter(|holder| holder.suspended)
            .map(|holder| holder.task.clone())
            .collect()
    }

    fn begin(&mut self, needs: &Needs) {
        self.running += 1;
        *self.by_principal.entry(needs.principal.clone()).or_default() += 1;
        *self.by_agent.entry(needs.agent.clone()).or_default() += 1;
        if let Some(workspace) = &needs.workspace {
            *self.writing.entry(workspace.clone()).or_default() += 1;
        }
    }

    fn end(&mut self, needs: &Needs) {
        fn less<K: std::hash::Hash + Eq>(counts: &mut HashMap<K, usize>, key: &K) {
            if let Some(count) = counts.get_mut(key) {
                *count -= 1;
                if *count == 0 {
                    counts.remove(key);
                }
            }
        }
        self.running -= 1;
        less(&mut self.by_principal, &needs.principal);
        less(&mut self.by_agent, &needs.agent);
        if let Some(workspace) = &needs.workspace {
            less(&mut self.writing, workspace);
        }
    }
}

/// The right to run a turn; dropping it lets the next one in.
pub(super) struct Permit {
    dispatch: Dispatch,
    needs: Needs,
    /// Whether its turn counts as running.
    running: bool,
    /// Whether it holds its conversation.
    held: bool,
}

impl Permit {
    /// Gives back all it has, to a state that is locked already.
    fn give_back(mut self, state: &mut State) {
        self.release(state);
    }

    fn release(&mut self, state: &mut State) {
        if std::mem::take(&mut self.running) {
            state.end(&self.needs);
        }
        let conversation = self.needs.conversation();
        if std::mem::take(&mut self.held)
            && let Some(holder) = state.held.get_mut(&conversation)
        {
            holder.permits -= 1;
            if holder.permits == 0 {
                state.held.remove(&conversation);
            }
        }
    }

    /// The turn is suspended: its place is free, the conversation stays held while its program lives (P-23).
    pub(super) fn suspend(&mut self) {
        let mut state = self.dispatch.lock();
        if std::mem::take(&mut self.running) {
            state.end(&self.needs);
        }
        if let Some(holder) = state.held.get_mut(&self.needs.conversation()) {
            holder.suspended = true;
        }
        self.dispatch.pump(&mut state);
    }

    /// A suspended turn goes on. `false`: there is no place now.
    pub(super) fn resume(&mut self) -> bool {
        let mut state = self.dispatch.lock();
        if self.running {
            return true;
        }
        if state.paused || !state.fits(&self.needs) {
            return false;
        }
        state.begin(&self.needs);
        if let Some(holder) = state.held.get_mut(&self.needs.conversation()) {
            holder.suspended = false;
        }
        self.running = true;
        true
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if self.held {
            let dispatch = self.dispatch.clone();
            let mut state = dispatch.lock();
            self.release(&mut state);
            dispatch.pump(&mut state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(task: &str, agent: &str, principal: &str, context: &str) -> Needs {
        Needs {
            task: task.into(),
            agent: agent.parse().unwrap(),
            principal: principal.into(),
            context: context.into(),
            concurrency: Some(1),
            workspace: None,
        }
    }

    fn queue(dispatch: &Dispatch, needs: Needs) {
        let task = needs.task.clone();
        assert!(matches!(dispatch.admit(needs), Admission::Queued), "{task} did not queue");
        dispatch.confirm(&task);
    }

    fn run(dispatch: &Dispatch, needs: Needs) -> Permit {
        match dispatch.admit(needs) {
            Admission::Run(permit) => permit,
            Admission::Queued | Admission::Full(_) => panic!("did not run"),
        }
    }

    fn begun(asked: &mut mpsc::UnboundedReceiver<Wake>) -> Option<(String, Permit)> {
        match asked.try_recv().ok()? {
            Wake::Begin(task, permit) => Some((task.to_string(), permit)),
            Wake::MakeRoom(task) => panic!("room was asked of {task}"),
        }
    }

    #[test]
    fn principals_take_turns_whoever_queued_more() {
        let (dispatch, mut asked) = Dispatch::new(Limits::default());
        let mut permit = run(&dispatch, needs("0", "a", "ann", "0"));
        for task in ["1", "2", "3"] {
            queue(&dispatch, needs(task, "a", "ann", task));
        }
        queue(&dispatch, needs("9", "a", "bob", "9"));
        let mut order = Vec::new();
        for _ in 0..4 {
            drop(permit);
            let (task, next) = begun(&mut asked).expect("somebody begins");
            order.push(task);
            permit = next;
        }
        assert_eq!(order, ["1", "9", "2", "3"]);
    }

    #[test]
    fn ur_45_turns_of_one_context_wait_for_each_other_and_others_run() {
        let (dispatch, mut asked) = Dispatch::new(Limits::default());
        let many =
            |task: &str, context: &str| Needs { concurrency: None, ..needs(task, "a", "ann", context) };
        let first = run(&dispatch, many("1", "c"));
        queue(&dispatch, many("2", "c"));
        queue(&dispatch, many("3", "c"));
        let _other = run(&dispatch, many("4", "d"));
        drop(first);
        let (task, second) = begun(&mut asked).unwrap();
        assert_eq!(task, "2");
        assert!(begun(&mut asked).is_none());
        drop(second);
        assert_eq!(begun(&mut asked).unwrap().0, "3");
    }

    #[test]
    fn turns_that_write_in_one_workspace_run_one_at_a_time() {
        let (dispatch, mut asked) = Dispatch::new(Limits::default());
        let writes = |task: &str, agent: &str| Needs {
            workspace: Some("/w".into()),
            ..needs(task, agent, "ann", task)
        };
        let first = run(&dispatch, writes("1", "a"));
        queue(&dispatch, writes("2", "b"));
        drop(first);
        assert_eq!(begun(&mut asked).unwrap().0, "2");
    }

    #[test]
    fn a_suspended_turn_frees_its_place_but_not_its_conversation() {
        let (dispatch, mut asked) = Dispatch::new(Limits::default());
        let mut first = run(&dispatch, needs("1", "a", "ann", "c"));
        first.suspend();
        let second = run(&dispatch, needs("2", "a", "ann", "d"));
        assert!(!first.resume(), "the agent's one place is taken");
        drop(second);
        assert!(first.resume());
        first.suspend();
        queue(&dispatch, needs("3", "a", "ann", "c"));
        assert!(matches!(asked.try_recv(), Ok(Wake::MakeRoom(task)) if task.as_str() == "1"));
    }

    #[test]
    fn limits_queue_and_then_refuse() {
        let limits =
            Limits { running: Some(1), queued: Some(2), queued_per_principal: Some(1), ..Limits::default() };
        let (dispatch, _asked) = Dispatch::new(limits);
        let _permit = run(&dispatch, needs("1", "a", "ann", "1"));
        queue(&dispatch, needs("2", "b", "ann", "2"));
        assert!(matches!(
            dispatch.admit(needs("3", "b", "ann", "3")),
            Admission::Full("limits.queued_per_principal")
        ));
        queue(&dispatch, needs("4", "b", "bob", "4"));
        assert!(matches!(
            dispatch.admit(needs("5", "b", "eve", "5")),
            Admission::Full("limits.queued_tasks")
        ));
    }

    #[test]
    fn a_paused_node_begins_nothing_until_it_goes_on() {
        let (dispatch, mut asked) = Dispatch::new(Limits::default());
        dispatch.pause(true);
        queue(&dispatch, needs("1", "a", "ann", "1"));
        assert!(begun(&mut asked).is_none());
        dispatch.pause(false);
        assert_eq!(begun(&mut asked).unwrap().0, "1");
    }
}

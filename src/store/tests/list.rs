use proptest::prelude::*;

use super::*;

/// Opens tasks, many in a transaction.
async fn open_all(store: &Store, tasks: &[TaskRow]) {
    for some in tasks.chunks(1000) {
        store.commit(rows(some.iter().cloned().map(Row::NewTask).collect())).await.unwrap();
    }
}

/// All pages of a list, one after the other, and the total that the first told.
async fn walk(store: &Store, query: &PageQuery) -> (Vec<TaskRow>, u64) {
    let mut query = query.clone();
    let mut total = None;
    let mut found: Vec<TaskRow> = Vec::new();
    loop {
        let page = store.page(query.clone()).await.unwrap();
        assert!(page.tasks.len() <= query.limit);
        assert!(page.tasks.len() == query.limit || !page.more, "a page that is not the last is full");
        assert_eq!(*total.get_or_insert(page.total), page.total, "the same on every page");
        query.before = page.tasks.last().map(|last| (last.status_at, last.id.clone()));
        found.extend(page.tasks);
        if !page.more {
            return (found, total.unwrap());
        }
    }
}

fn matches(query: &PageQuery, task: &TaskRow) -> bool {
    query.scope.as_ref().is_none_or(|scope| *scope == task.scope)
        && query.agent.as_ref().is_none_or(|agent| *agent == task.agent)
        && query.context.as_ref().is_none_or(|context| *context == task.context)
        && query.state.is_none_or(|state| state == task.state)
        && query.since.is_none_or(|since| task.status_at >= since)
}

/// What a list should hold, in the order of P-32.
fn expected(tasks: &[TaskRow], query: &PageQuery) -> Vec<TaskRow> {
    let mut found: Vec<TaskRow> = tasks.iter().filter(|task| matches(query, task)).cloned().collect();
    found.sort_by(|a, b| b.status_at.cmp(&a.status_at).then_with(|| a.id.cmp(&b.id)));
    found
}

fn scope() -> impl Strategy<Value = PrincipalId> {
    prop::sample::select(vec![desk(), PrincipalId::local(), PrincipalId::token("lab")])
}

fn named() -> impl Strategy<Value = AgentName> {
    prop::sample::select(vec![agent("echo"), agent("claude")])
}

fn context() -> impl Strategy<Value = ContextId> {
    prop::sample::select(vec![ContextId::from("c1"), ContextId::from("c2"), ContextId::from("c3")])
}

fn state() -> impl Strategy<Value = TaskState> {
    prop::sample::select(TaskState::ALL.to_vec())
}

prop_compose! {
    fn some_task()(
        id in "[a-c]{6}", scope in scope(), agent in named(), context in context(), state in state(),
        status_at in 0..6_i64,
    ) -> TaskRow {
        TaskRow { scope, agent, context, state, status_at: at(status_at), ..task(&id) }
    }
}

prop_compose! {
    fn some_query()(
        scope in prop::option::of(scope()), agent in prop::option::of(named()),
        context in prop::option::weighted(0.3, context()), state in prop::option::weighted(0.3, state()),
        since in prop::option::weighted(0.3, 0..7_i64), limit in 1..20_usize,
    ) -> PageQuery {
        PageQuery { scope, agent, context, state, since: since.map(at), before: None, limit }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn the_pages_of_a_list_are_the_list(
        tasks in prop::collection::vec(some_task(), 0..80),
        changes in prop::collection::vec((any::<prop::sample::Index>(), state(), 0..6_i64), 0..30),
        queries in prop::collection::vec(some_query(), 1..8),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut tasks = tasks;
            tasks.sort_by(|a, b| a.id.cmp(&b.id));
            tasks.dedup_by(|a, b| a.id == b.id);
            let place = Place::new();
            let store = place.open().await;
            open_all(&store, &tasks).await;
            for (which, state, status_at) in changes {
                if tasks.is_empty() {
                    break;
                }
                let row = which.get_mut(&mut tasks);
                (row.state, row.status_at) = (state, at(status_at));
                store.commit(rows(vec![Row::Head(head(row, row.seq))])).await.unwrap();
            }
            for query in &queries {
                let expected = expected(&tasks, query);
                let (found, total) = walk(&store, query).await;
                assert_eq!(total, expected.len() as u64, "{query:?}");
                assert_eq!(found, expected, "{query:?}");
            }
            let totals = store.totals().await.unwrap();
            for state in TaskState::ALL {
                let count = tasks.iter().filter(|task| task.state == state).count();
                assert_eq!(totals.of(state), count as u64, "{state:?}");
            }
            assert_eq!(totals.all(), tasks.len() as u64);
        });
    }
}

#[tokio::test]
async fn a_large_context_is_listed_like_a_small_one() {
    let place = Place::new();
    let store = place.open().await;
    let tasks: Vec<TaskRow> = (0..2_400)
        .map(|n| TaskRow {
            context: ContextId::from(if n % 2 == 0 { "large" } else { "other" }),
            status_at: at(n / 7),
            ..task(&format!("t{n:04}"))
        })
        .collect();
    open_all(&store, &tasks).await;
    let context = Some(ContextId::from("large"));
    let query = PageQuery { context, scope: Some(desk()), limit: 500, ..PageQuery::default() };
    let (found, total) = walk(&store, &query).await;
    assert_eq!(total, 1_200);
    assert_eq!(found, expected(&tasks, &query));
}

#[tokio::test]
async fn totals_are_exact_from_the_counter_and_filtered_ones_to_ten_thousand() {
    let place = Place::new();
    let store = place.open().await;
    let tasks: Vec<TaskRow> =
        (0..10_050).map(|n| TaskRow { status_at: at(n), ..task(&format!("t{n:05}")) }).collect();
    open_all(&store, &tasks).await;
    let total = async |query: PageQuery| store.page(query).await.unwrap().total;
    let query = PageQuery { limit: 1, ..PageQuery::default() };
    assert_eq!(total(query.clone()).await, 10_050);
    assert_eq!(total(PageQuery { state: Some(TaskState::Working), ..query.clone() }).await, 10_050);
    assert_eq!(total(PageQuery { since: Some(at(0)), ..query.clone() }).await, 10_000);
    assert_eq!(total(PageQuery { since: Some(at(51)), ..query.clone() }).await, 9_999);
    assert_eq!(total(PageQuery { context: Some(ContextId::from("c1")), ..query }).await, 10_000);
    assert_eq!(store.owned(&desk()).unwrap(), 10_050);
    assert_eq!(store.owned(&PrincipalId::local()).unwrap(), 0);
}

#[tokio::test]
async fn the_queue_is_in_the_order_of_opening_whoever_asked() {
    let place = Place::new();
    let store = place.open().await;
    let waiting = |id: &str, scope: PrincipalId, name: &str, opened: i64| TaskRow {
        state: TaskState::Submitted,
        agent: agent(name),
        scope,
        opened_at: at(opened),
        ..task(id)
    };
    let tasks = [
        waiting("t3", desk(), "echo", 30),
        waiting("t1", PrincipalId::local(), "claude", 10),
        waiting("t2", desk(), "claude", 20),
        task("running"),
    ];
    open_all(&store, &tasks).await;
    let queue: Vec<TaskId> = store.queued().await.unwrap().into_iter().map(|row| row.id).collect();
    assert_eq!(queue, ["t1", "t2", "t3"].map(TaskId::from));
}

#[tokio::test]
async fn an_agent_is_known_for_as_long_as_a_task_of_it_is_there() {
    let place = Place::new();
    let store = place.open().await;
    open_all(&store, &[TaskRow { state: TaskState::Failed, agent: agent("gone"), ..task("t1") }]).await;
    assert!(store.knows(&agent("gone")).unwrap());
    assert!(!store.knows(&agent("echo")).unwrap());
    store.delete_task(&TaskId::from("t1")).await.unwrap();
    assert!(!store.knows(&agent("gone")).unwrap());
}

use futures_util::FutureExt as _;
use proptest::prelude::*;

use super::*;

/// Reads so many entries, asserting that they follow each other.
async fn read(tail: &mut Tail, entries: u64) {
    for _ in 0..entries {
        let due = tail.cursor() + 1;
        assert_eq!(tail.next().await.unwrap(), entry(due));
    }
    assert!(tail.next().now_or_never().is_none(), "nothing may follow {}", tail.cursor());
}

#[derive(Clone, Debug)]
enum Step {
    /// The journal gains so many entries.
    Write(u64),
    /// Somebody begins to read after this part of what is there.
    Watch(prop::sample::Index),
    /// One who reads takes at most so many entries.
    Read(prop::sample::Index, u64),
    /// The node is started anew; those who read come back with their cursors.
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1..40_u64).prop_map(Step::Write),
        1 => (250..600_u64).prop_map(Step::Write),
        3 => any::<prop::sample::Index>().prop_map(Step::Watch),
        4 => (any::<prop::sample::Index>(), 1..400_u64).prop_map(|(who, most)| Step::Read(who, most)),
        1 => Just(Step::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_tail_has_no_gap_and_no_repeat_whatever_happens(steps in prop::collection::vec(step(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let place = Place::new();
            let mut store = place.open().await;
            let mut row = TaskRow { seq: 1, ..task("t1") };
            store.commit(opening(&row, 1)).await.unwrap();
            let mut tails: Vec<Tail> = Vec::new();
            for step in steps {
                match step {
                    Step::Write(entries) => {
                        store.commit(going_on(&row, row.seq + entries)).await.unwrap();
                        row.seq += entries;
                    }
                    Step::Watch(from) => {
                        let places = usize::try_from(row.seq).unwrap() + 1;
                        tails.push(store.tail(&row.id, from.index(places) as u64));
                    }
                    Step::Read(who, most) if !tails.is_empty() => {
                        let tail = who.get_mut(&mut tails);
                        for _ in 0..most.min(row.seq - tail.cursor()) {
                            let due = tail.cursor() + 1;
                            assert_eq!(tail.next().await.unwrap(), entry(due));
                        }
                    }
                    Step::Read(..) => {}
                    Step::Reopen => {
                        let cursors: Vec<Seq> = tails.iter().map(Tail::cursor).collect();
                        tails.clear();
                        store.close().await;
                        store = place.open().await;
                        tails = cursors.into_iter().map(|after| store.tail(&row.id, after)).collect();
                    }
                }
            }
            for tail in &mut tails {
                let left = row.seq - tail.cursor();
                read(tail, left).await;
            }
        });
    }
}

#[tokio::test]
async fn ur_49_what_happened_between_disconnect_and_return_is_read() {
    let place = Place::new();
    let store = place.open().await;
    let mut row = TaskRow { seq: 3, ..task("t1") };
    store.commit(opening(&row, 3)).await.unwrap();
    let mut tail = store.tail(&row.id, 0);
    read(&mut tail, 3).await;
    let cursor = tail.cursor();
    drop(tail);
    store.commit(going_on(&row, 700)).await.unwrap();
    row.seq = 700;
    store.close().await;
    let store = place.open().await;
    let mut tail = store.tail(&row.id, cursor);
    read(&mut tail, 697).await;
    store.commit(going_on(&row, 701)).await.unwrap();
    read(&mut tail, 1).await;
}

#[tokio::test]
async fn waiting_may_be_given_up_and_begun_again() {
    let place = Place::new();
    let store = place.open().await;
    let mut row = TaskRow { seq: 1, ..task("t1") };
    store.commit(opening(&row, 1)).await.unwrap();
    let mut tail = store.tail(&row.id, 0);
    read(&mut tail, 1).await;
    for seq in 2..20 {
        assert!(tail.next().now_or_never().is_none());
        store.commit(going_on(&row, seq)).await.unwrap();
        row.seq = seq;
        read(&mut tail, 1).await;
    }
}

#[tokio::test]
async fn a_waiting_reader_is_woken() {
    let place = Place::new();
    let store = place.open().await;
    let row = TaskRow { seq: 1, ..task("t1") };
    store.commit(opening(&row, 1)).await.unwrap();
    let mut tail = store.tail(&row.id, 1);
    let mut watch = store.head(&row.id);
    let (entry, newest, written) =
        tokio::join!(tail.next(), watch.beyond(1), store.commit(going_on(&row, 4)));
    written.unwrap();
    assert_eq!(entry.unwrap().seq, 2);
    assert_eq!(newest.unwrap(), 4);
}

#[tokio::test]
async fn large_entries_are_read_a_few_at_a_time() {
    let place = Place::new();
    let store = place.open().await;
    let row = task("t1");
    let mut batch = opening(&row, 6);
    for entry in &mut batch.appends[0].entries {
        entry.fact = Bytes::from(vec![b'x'; 200 * 1024]);
    }
    let expected = batch.appends[0].entries.clone();
    store.commit(batch).await.unwrap();
    let mut tail = store.tail(&row.id, 0);
    for entry in expected {
        assert_eq!(tail.next().await.unwrap(), entry);
    }
    assert!(tail.next().now_or_never().is_none());
}

#[tokio::test]
async fn when_nobody_watches_nothing_is_kept() {
    let place = Place::new();
    let store = place.open().await;
    let row = TaskRow { seq: 1, ..task("t1") };
    store.commit(opening(&row, 1)).await.unwrap();
    assert_eq!(store.0.shared.wakes.len(), 0);
    let (first, second, watch) = (store.tail(&row.id, 0), store.tail(&row.id, 1), store.head(&row.id));
    assert_eq!(store.0.shared.wakes.len(), 1);
    drop((first, watch));
    assert_eq!(store.0.shared.wakes.len(), 1);
    drop(second);
    assert_eq!(store.0.shared.wakes.len(), 0);
}

#[tokio::test]
async fn a_deleted_task_ends_its_readers() {
    let place = Place::new();
    let store = place.open().await;
    let row = TaskRow { seq: 1, ..task("t1") };
    store.commit(opening(&row, 1)).await.unwrap();
    let mut tail = store.tail(&row.id, 1);
    assert!(tail.next().now_or_never().is_none());
    store.delete_task(&row.id).await.unwrap();
    let ended = tail.next().await.unwrap_err();
    assert!(matches!(ended, Error::Deleted(id) if id == row.id));
}

#[tokio::test]
async fn a_node_that_stops_ends_its_readers() {
    let place = Place::new();
    let store = place.open().await;
    let row = TaskRow { seq: 1, ..task("t1") };
    store.commit(opening(&row, 1)).await.unwrap();
    let mut tail = store.tail(&row.id, 1);
    assert!(tail.next().now_or_never().is_none());
    store.clone().close().await;
    assert!(matches!(tail.next().await, Err(Error::Closed)));
    assert!(matches!(store.tail(&row.id, 1).next().await, Err(Error::Closed | Error::Io(_))));
}

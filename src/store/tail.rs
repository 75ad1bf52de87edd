//! Watching a journal: subscribe, then read. What wakes a reader holds only the newest number, so nothing can
//! overflow; a slow reader costs a cursor.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::error::Error;
use super::journal;
use super::readers::Readers;
use super::rows::{Append, Entry, Snapshot, StreamId};
use crate::model::Seq;

/// Entries that a reader takes from the database at a time.
const PAGE: usize = 256;

/// Bytes of facts that a reader takes at a time, and that are kept for the readers of one journal.
const BYTES: usize = 256 * 1024;

/// Entries that are kept for the readers of one journal, so that a hundred of them don't read each from disk.
const RECENT: usize = 256;

/// How far a journal has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Newest {
    /// To this entry, as far as is known since somebody watches.
    At(Seq),
    /// It has been deleted.
    Deleted,
    /// The node stops.
    Closed,
}

/// What the readers of one journal share.
struct Channel {
    newest: watch::Sender<Newest>,
    recent: Mutex<Recent>,
}

/// The newest entries, dense, oldest first; and the task as of the last one, where it was written whole with it.
#[derive(Default)]
struct Recent {
    entries: VecDeque<Entry>,
    bytes: usize,
    snapshot: Option<Snapshot>,
}

impl Recent {
    fn push(&mut self, entry: Entry) {
        if self.entries.back().is_some_and(|last| last.seq + 1 != entry.seq) {
            *self = Self::default();
        }
        self.bytes += entry.fact.len();
        self.entries.push_back(entry);
        while self.entries.len() > RECENT || self.bytes > BYTES {
            let Some(oldest) = self.entries.pop_front() else { break };
            self.bytes -= oldest.fact.len();
        }
    }

    fn get(&self, seq: Seq) -> Option<Entry> {
        let first = self.entries.front()?.seq;
        let place = usize::try_from(seq.checked_sub(first)?).ok()?;
        self.entries.get(place).cloned()
    }
}

/// The journals that somebody watches.
#[derive(Default)]
pub(super) struct Wakes {
    streams: Mutex<Streams>,
}

#[derive(Default)]
struct Streams {
    watched: HashMap<StreamId, Arc<Channel>>,
    closed: bool,
}

impl Wakes {
    fn streams(&self) -> MutexGuard<'_, Streams> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells the readers of a journal what it gained. The writer calls it in the order of the journal.
    pub(super) fn publish(&self, append: Append, snapshot: Option<Snapshot>) {
        let Some(channel) = self.streams().watched.get(&append.stream).cloned() else { return };
        let Some(newest) = append.entries.last().map(|entry| entry.seq) else { return };
        let mut recent = channel.recent.lock().unwrap_or_else(PoisonError::into_inner);
        append.entries.into_iter().for_each(|entry| recent.push(entry));
        recent.snapshot = snapshot.filter(|snapshot| snapshot.json.len() <= BYTES);
        drop(recent);
        channel.newest.send_replace(Newest::At(newest));
    }

    /// Tells the readers of journals that these are no more.
    pub(super) fn gone(&self, deleted: &[StreamId]) {
        for stream in deleted {
            if let Some(channel) = self.streams().watched.get(stream) {
                channel.newest.send_replace(Newest::Deleted);
            }
        }
    }

    /// Ends all watching.
    pub(super) fn close(&self) {
        let mut streams = self.streams();
        streams.closed = true;
        for channel in streams.watched.values() {
            channel.newest.send_replace(Newest::Closed);
        }
    }

    pub(super) fn watch(self: &Arc<Self>, stream: &StreamId) -> Watch {
        let mut streams = self.streams();
        let start = if streams.closed { Newest::Closed } else { Newest::At(0) };
        let channel = streams.watched.entry(stream.clone()).or_insert_with(|| {
            Arc::new(Channel { newest: watch::Sender::new(start), recent: Mutex::default() })
        });
        Watch {
            stream: stream.clone(),
            newest: channel.newest.subscribe(),
            channel: Arc::clone(channel),
            wakes: Arc::clone(self),
        }
    }

    /// How many journals are watched.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.streams().watched.len()
    }
}

/// The newest number of a journal, for as long as somebody looks.
pub struct Watch {
    stream: StreamId,
    newest: watch::Receiver<Newest>,
    channel: Arc<Channel>,
    wakes: Arc<Wakes>,
}

impl Watch {
    /// Waits until the journal has gone beyond `seq`, counting only what is committed while this watch lives;
    /// answers how far. Safe to drop and call again.
    ///
    /// # Errors
    /// The journal has been deleted, or the node stops.
    pub async fn beyond(&mut self, seq: Seq) -> Result<Seq, Error> {
        let reached = |newest: &Newest| !matches!(newest, Newest::At(at) if *at <= seq);
        // The watch holds the sender, so waiting can't fail.
        match self.newest.wait_for(reached).await.as_deref() {
            Ok(Newest::At(at)) => Ok(*at),
            Ok(Newest::Deleted) => Err(Error::Deleted(self.stream.clone())),
            Ok(Newest::Closed) | Err(_) => Err(Error::Closed),
        }
    }

    fn recent(&self) -> MutexGuard<'_, Recent> {
        self.channel.recent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let mut streams = self.wakes.streams();
        if self.channel.newest.receiver_count() == 1 {
            streams.watched.remove(&self.stream);
        }
    }
}

/// A cursor over a journal: what is there, then what comes.
pub struct Tail {
    readers: Arc<Readers>,
    watch: Watch,
    cursor: Seq,
    /// Entries that were read and not yet handed out.
    page: VecDeque<Entry>,
    /// Whether the database held nothing more when it was read last.
    caught_up: bool,
}

impl Tail {
    pub(super) fn new(readers: Arc<Readers>, wakes: &Arc<Wakes>, stream: &StreamId, after: Seq) -> Self {
        Self { readers, watch: wakes.watch(stream), cursor: after, page: VecDeque::new(), caught_up: false }
    }

    /// Of a journal that is yet to begin: there is nothing to be read first.
    pub(super) fn of_new(readers: Arc<Readers>, wakes: &Arc<Wakes>, stream: &StreamId, after: Seq) -> Self {
        Self { caught_up: true, ..Self::new(readers, wakes, stream, after) }
    }

    /// The next entry, once there is one. It does not stop by itself after a terminal fact. Safe to drop and call
    /// again: nothing is skipped.
    ///
    /// # Errors
    /// The journal has been deleted, the node stops, or the database can't be read.
    pub async fn next(&mut self) -> Result<Entry, Error> {
        loop {
            if let Some(entry) = self.ready() {
                self.cursor = entry.seq;
                return Ok(entry);
            }
            if self.caught_up {
                self.watch.beyond(self.cursor).await?;
                self.caught_up = false;
            } else {
                self.read()?;
            }
        }
    }

    /// The task as of the last entry that was handed out, where it was written whole with it and that was just now.
    #[must_use]
    pub fn snapshot(&self) -> Option<Snapshot> {
        let recent = self.watch.recent();
        recent.snapshot.as_ref().filter(|snapshot| snapshot.seq == self.cursor).cloned()
    }

    /// The number of the last entry that was handed out.
    #[must_use]
    pub const fn cursor(&self) -> Seq {
        self.cursor
    }

    fn ready(&mut self) -> Option<Entry> {
        if let Some(entry) = self.page.pop_front() {
            if self.page.is_empty() {
                // An idle reader keeps no memory.
                self.page = VecDeque::new();
            }
            return Some(entry);
        }
        self.watch.recent().get(self.cursor + 1)
    }

    fn read(&mut self) -> Result<(), Error> {
        let stream = &self.watch.stream;
        let page = self.readers.with(|db| journal::entries(db, stream, self.cursor, PAGE, BYTES))?;
        self.caught_up = !page.more;
        self.page = page.entries.into();
        Ok(())
    }
}

//! What an answer that was given before says of itself (P-21), beside the header that the doors write.
//!
//! Called for sends that join an earlier one. It changes the answer, never what is stored.

use futures_util::{StreamExt, TryStreamExt};

use super::{Reply, book::read};
use crate::model::{Fault, Metadata, Update};

/// The mark: `true` in the metadata of the task or the message.
const REPLAYED: &str = "a2ad/replayed";

/// Marks an answer; of a stream its first event, which is the task.
pub(super) fn marked(reply: Reply) -> Result<Reply, Fault> {
    Ok(match reply {
        Reply::Task(mut task) => {
            mark(&mut task.metadata);
            Reply::Task(task)
        }
        Reply::Stored(json) => {
            let mut task = read(&json)?;
            mark(&mut task.metadata);
            Reply::Task(task)
        }
        Reply::Message(mut message) => {
            mark(&mut message.metadata);
            Reply::Message(message)
        }
        Reply::Updates(updates) => {
            let mut first = true;
            let marked = updates.map_ok(move |(seq, mut update)| {
                if std::mem::take(&mut first) {
                    mark_first(&mut update);
                }
                (seq, update)
            });
            Reply::Updates(marked.boxed())
        }
        Reply::Page(page) => Reply::Page(page),
    })
}

fn mark_first(update: &mut Update) {
    match update {
        Update::Task(task) => mark(&mut task.metadata),
        Update::Message(message) => mark(&mut message.metadata),
        Update::StatusUpdate(_) | Update::ArtifactUpdate(_) => {}
    }
}

fn mark(metadata: &mut Option<Metadata>) {
    metadata.get_or_insert_default().set(REPLAYED, &true);
}

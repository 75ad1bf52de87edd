//! How long an id of a caller may be. What is stored, searched and written with every task is not a place for text.

use crate::model::{Fault, Message, Operation};

/// Bytes of an id that a caller makes: many times what any known way to make one needs.
pub(super) const LONGEST_ID: usize = 512;

/// Refuses ids that would be stored and are too long. An id that is only looked up needs no bound: what is no known
/// task is not found, whatever it looks like (P-3).
pub(super) fn check(operation: &Operation) -> Result<(), Fault> {
    match operation {
        Operation::Send(send) | Operation::Stream(send) => check_message(&send.message),
        Operation::GetTask(_)
        | Operation::ListTasks(_)
        | Operation::CancelTask(_)
        | Operation::Subscribe(_)
        | Operation::CreatePush(_)
        | Operation::GetPush(_)
        | Operation::ListPush(_)
        | Operation::DeletePush(_)
        | Operation::GetCard(_) => Ok(()),
    }
}

fn check_message(message: &Message) -> Result<(), Fault> {
    short("message.messageId", message.message_id.as_str())?;
    if let Some(context) = &message.context_id {
        short("message.contextId", context.as_str())?;
    }
    for (place, task) in message.reference_task_ids.iter().enumerate() {
        short(&format!("message.referenceTaskIds[{place}]"), task.as_str())?;
    }
    Ok(())
}

fn short(path: &str, id: &str) -> Result<(), Fault> {
    if id.len() > LONGEST_ID {
        return Err(Fault::invalid(path, format!("must be at most {LONGEST_ID} bytes")));
    }
    Ok(())
}

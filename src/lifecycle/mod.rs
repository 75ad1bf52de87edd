//! What may happen to a task, decided without I/O and without a clock.
//!
//! `node`'s actor is the one caller of [`decide`]; whoever reads a journal calls [`apply`]. Nothing here waits,
//! reads the time, makes an id or knows of a store.

mod event;
mod machine;
mod view;

pub use event::{Author, Event, Fact, FactKind, UnknownFact};
pub use machine::{Command, Turn, apply, decide, turn};
pub use view::{DEFAULT_HISTORY, cut};

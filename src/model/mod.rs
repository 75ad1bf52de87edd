//! The nouns of A2A 1.0, in the ProtoJSON shape of the specification, and a few of our own.
//!
//! Everybody calls this module; it calls nobody. It holds plain data whose invariants are types that can fail to
//! parse, and never I/O, never a decision about a task.

mod artifact;
mod caller;
mod card;
mod fault;
mod ids;
mod json;
pub mod log;
mod message;
mod operation;
pub mod ops;
mod part;
mod progress;
pub mod proto;
mod push;
pub mod secret;
mod task;
mod timestamp;
pub mod unique;
mod update;

pub use artifact::Artifact;
pub use caller::{Agents, Caller, Kind, PrincipalId, Role as CallerRole, Via};
pub use card::{
    AgentCapabilities, AgentCard, AgentExtension, AgentInterface, AgentProvider, AgentSkill,
    SecurityRequirement, StringList,
};
pub use fault::Fault;
pub use ids::{AgentName, ArtifactId, BadName, ContextId, MessageId, Seq, Session, TaskId};
pub use json::{Json, Metadata};
pub use message::{MOST_PARTS, Message, Role};
pub use operation::{
    CancelTask, DeletePush, GetCard, GetPush, GetTask, ListPush, ListTasks, Operation, Send,
    SendConfiguration, Subscribe,
};
pub use part::{Content, Part};
pub use progress::{Ask, FailureClass, Outcome, Progress};
pub use push::{AuthenticationInfo, PushConfig};
pub use task::{Task, TaskState, TaskStatus};
pub use timestamp::Timestamp;
pub use update::{ArtifactUpdate, StatusUpdate, Update};

//! a2ad: one small binary that turns the agent programs of a machine into agents that anyone can dial over A2A.
//!
//! # The idea
//!
//! 1. Every call, whatever its envelope, becomes one [`Operation`](model::Operation); every answer leaves as one
//!    [`Reply`](node::Reply).
//! 2. A task changes only when a [`Fact`](lifecycle::Fact) is appended to its journal, and only one actor per live
//!    task appends.
//! 3. What happens is decided by a pure machine: [`lifecycle::decide`] and [`lifecycle::apply`].
//! 4. Everyone who watches is a cursor over the same journal: [`Store::tail`](store::Store::tail).
//! 5. Everything that does the work is a [`Runtime`](runtime::Runtime): a job in, progress out.
//! 6. A dialect is translated at the edge, and a binding is only an envelope.
//!
//! # In the order of a message's life
//!
//! | module | what | calls |
//! |---|---|---|
//! | [`cli`] | the command line, one file a sub-command; a client of the node | `config`, `daemon`, `peer`, `wire` |
//! | [`config`] | file, environment and flags become one [`Config`](config::Config) | each module's `config` |
//! | [`daemon`] | builds everything, and takes it down again | all |
//! | [`doors`] | whoever calls in: listeners, credentials, JSON-RPC, HTTP+JSON, streams, cards | `node`, `wire` |
//! | [`wire`] | pure codecs: bytes to operations and back, for both halves; names and codes | |
//! | [`node`] | what the node does: access, queue, actors, recovery | `lifecycle`, `store`, `runtime` |
//! | [`lifecycle`] | what may happen to a task, decided without I/O and without a clock | |
//! | [`store`] | the journal and what stands beside it, in SQLite | `lifecycle` |
//! | [`runtime`] | who does the work: `echo`, `exec`, `jsonl`, `claude`, and the custody of children | |
//! | [`peer`] | the A2A client | `wire` |
//! | [`model`] | the nouns of A2A 1.0, and a few of our own | |
//!
//! All call `model`. `ARCHITECTURE.md` has the whole table and the reasons; `tests/architecture` holds the code to it.
//!
//! # I want to add a …
//!
//! | what | where |
//! |---|---|
//! | runtime | a file or folder in `runtime/` that implements [`Runtime`](runtime::Runtime); a word in [`RuntimeKind`](runtime::config::RuntimeKind); a line in `runtime/kinds.rs`; its defaults in `config/agents.rs` |
//! | sub-command | a file in `cli/`, a variant in `cli/mod.rs`; what it asks of a running node: a type in [`model::ops`], a path in `doors/ops.rs` |
//! | operation | a variant of [`Operation`](model::Operation), a row in `wire/method.rs`, its codec in `wire/v1.rs`, its handler in `node/` |
//! | error | a variant of [`Fault`](model::Fault), a row in `wire/fault.rs` |
//! | dialect | a variant of [`Dialect`](wire::Dialect) and a file or folder in `wire/` |
//! | binding | a door in `doors/` that uses `doors/call.rs`, its paths in `doors/router.rs`; for the client `peer/binding.rs` |
//! | watcher | a module with a cursor: [`Store::tail`](store::Store::tail) from its own place |
//! | kind of fact | a variant of [`Fact`](lifecycle::Fact), an arm of `decide` and `apply`, and a sample in `proto-fixtures/journal/` that must decode for ever |
//! | key of the configuration | a row in `config/keys.rs`, a line in `config/init.toml`, a field of the `config` of the module that acts on it, a row in `docs/configuration.md` |
//! | column or table | a further script in `store/schema/`, never a change to one that was released |

pub mod cli;
pub mod config;
pub mod daemon;
pub mod doors;
pub mod lifecycle;
pub mod model;
pub mod node;
pub mod peer;
pub mod runtime;
pub mod store;
pub mod wire;

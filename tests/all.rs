//! The suite: a real node in this process, on a free port, with a state directory of its own.
#![allow(missing_docs, reason = "tests are sentences")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails where it stands")]

mod support;

mod suite {
    mod auth;
    mod card;
    mod cli;
    mod dial;
    mod doors;
    mod official;
    mod removed;
    mod rest;
    mod stream;
    mod v03;
    mod version;
}

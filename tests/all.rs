//! The suite: a real node in this process, on a free port, with a state directory of its own.
#![allow(missing_docs, reason = "tests are sentences")]

mod support;

mod suite {
    mod auth;
    mod card;
    mod doors;
    mod stream;
}

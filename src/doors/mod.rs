//! doors.

pub mod config;

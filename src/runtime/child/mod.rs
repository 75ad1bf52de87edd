//! Child processes: the one place where a program is started and ended.

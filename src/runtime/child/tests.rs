//! Children as the runtimes see them.

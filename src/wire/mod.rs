//! Codecs: pure, no I/O.

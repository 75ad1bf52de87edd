//! Tests of the codecs as a whole.

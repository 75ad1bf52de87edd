//! Nouns of the protocol.

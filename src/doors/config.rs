//! What the configuration says to `doors`.

//! What the configuration says to `store`.

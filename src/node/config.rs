//! What the configuration says to `node`.

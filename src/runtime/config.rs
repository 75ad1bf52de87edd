//! What the configuration says to `runtime`.

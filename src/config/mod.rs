//! The configuration: file, environment and flags become one Config.

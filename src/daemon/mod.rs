//! placeholder
pub mod offline;
/// x
#[derive(Debug, thiserror::Error)]
#[error("x")]
pub struct Error;
/// x
pub async fn run(_flags: crate::config::Flags) -> Result<(), Error> {
    Ok(())
}

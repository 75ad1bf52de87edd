//! A new configuration under a running node (O-22).

use std::sync::Arc;

use super::{Daemon, Error, build, files, logs, offline};
use crate::{
    config::{Config, Look},
    model::ops::Reloaded,
};

impl Daemon {
    /// Reads the configuration again. A faulty one leaves the old one in force.
    ///
    /// # Errors
    /// Every fault of the new configuration.
    pub(super) async fn reload(&self) -> Result<Reloaded, Error> {
        let _one = self.reloading.lock().await;
        let old = self.config.load_full();
        if files::Place::of(&old.paths.config) != self.place {
            return Err(Error::Replaced(old.paths.config.display().to_string()));
        }
        let new = Config::load(&self.flags, &self.around, Look::Machine).map_err(Error::Config)?;
        let log = logs::prepare(&new.log)?;
        let registry = build::registry(&new, &self.custody, &self.node.agents())?;
        let mut reloaded = Reloaded {
            changed: Vec::new(),
            restart: Vec::new(),
            warnings: new.warnings.iter().map(ToString::to_string).collect(),
        };
        for change in old.changes(&new) {
            let list = if change.restart { &mut reloaded.restart } else { &mut reloaded.changed };
            let value = |value: Option<String>| value.unwrap_or_else(|| "unset".into());
            list.push(format!("{}: {} -> {}", change.key, value(change.from), value(change.to)));
        }
        self.node.adopt(registry, new.node.clone(), offline::file_tokens(&new)).await;
        self.live.replace(new.doors.clone());
        self.log.replace(log);
        build::look(&self.node.agents(), &self.looks, &self.custody).await;
        self.config.store(Arc::new(new));
        tracing::info!(
            changed = reloaded.changed.len(),
            restart = reloaded.restart.len(),
            "configuration reloaded"
        );
        Ok(reloaded)
    }
}

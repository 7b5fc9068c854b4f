//! Follows a value: reads it with a watch, delivers what is new, waits, and repeats.

use super::{Configuration, ConfigurationSeen, Mutant, Setting};
use crate::helpers::{next_session, reconnected, until_known};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Either, SessionEvents, Watch, ZooKeeper, race};
use vivarium_model::id::SessionId;
use vivarium_model::op::{Data, SessionState};
use vivarium_model::stat::Stat;
use vivarium_model::zxid::Zxid;

/// A subscription to a configuration. See the module [`configuration`](super) for its contract.
pub struct Subscription {
    configuration: Configuration,
    /// The session in which it follows, with a handle pinned to it.
    scope: Option<Scope>,
    last: Last,
}

struct Scope {
    zookeeper: ZooKeeper,
    session: SessionId,
    events: SessionEvents,
    /// Fires at the next change; `None` if the value must be read.
    watch: Option<Watch>,
    /// True if the last delivered value was seen in this session, or if the server has caught up in it.
    is_fresh: bool,
}

/// What was delivered last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Last {
    /// The newest value.
    value: Option<(Zxid, i32)>,
    /// True if the absence of a value was delivered after it, or first.
    is_absent: bool,
}

impl Subscription {
    pub(super) fn new(configuration: Configuration) -> Subscription {
        Subscription { configuration, scope: None, last: Last::default() }
    }

    /// Waits for a setting that is newer than the last one delivered; the first call returns the present one.
    ///
    /// Cancel-safe: the next call continues to wait.
    ///
    /// # Errors
    /// Returns the server's refusal to let the value be read.
    pub async fn next(&mut self) -> Result<Setting, Error> {
        loop {
            match self.step().await {
                Ok(Some(setting)) => {
                    let path = Arc::clone(&self.configuration.path);
                    let seen = ConfigurationSeen::Delivered { path, setting: setting.clone() };
                    self.configuration.zookeeper.observe(seen);
                    return Ok(setting);
                }
                Ok(None) => {}
                Err(Error::SessionExpired) => {
                    if let Some(old) = &self.scope {
                        next_session(&self.configuration.zookeeper, old.session).await;
                    }
                    self.scope = None;
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn step(&mut self) -> Result<Option<Setting>, Error> {
        let Subscription { configuration, scope, last } = self;
        let scope = match scope {
            Some(scope) => scope,
            none => none.insert(Scope::begin(&configuration.zookeeper).await),
        };
        let has_waited = scope.watch.is_some();
        scope.wait(configuration).await?;
        match scope.read(configuration, has_waited).await? {
            Some((data, stat)) => {
                // From here on, this session has seen everything that was delivered.
                scope.is_fresh |= last.value.is_none_or(|(mzxid, _)| stat.mzxid >= mzxid);
                Ok(last.newer(configuration, data, &stat))
            }
            None if last.is_absent || scope.watch.is_none() => Ok(None),
            None => scope.absent(last).await,
        }
    }
}

impl Scope {
    async fn begin(zookeeper: &ZooKeeper) -> Scope {
        let session = zookeeper.connect().await;
        let zookeeper = zookeeper.scope(session);
        let events = zookeeper.session_events();
        Scope { zookeeper, session, events, watch: None, is_fresh: false }
    }

    async fn wait(&mut self, configuration: &Configuration) -> Result<(), Error> {
        let Some(watch) = &mut self.watch else { return Ok(()) };
        if !configuration.mutants.has(Mutant::ConfigNoRecheckOnReconnect) {
            let changed = watch.changed().await;
            self.watch = None;
            return changed.map(drop);
        }
        // Models a client that forgets its watches when the connection is lost, and reads nothing when it is back.
        let (zookeeper, path) = (&self.zookeeper, &configuration.path);
        while let Either::Right(state) = race(watch.changed(), self.events.next()).await {
            if state.is_final() {
                return Err(Error::SessionExpired);
            }
            if state == SessionState::Disconnected {
                reconnected(&mut self.events).await?;
                *watch = until_known(zookeeper, || zookeeper.exists_watch(path)).await?.1;
            }
        }
        self.watch = None;
        Ok(())
    }

    /// Reads the value with a watch for the next one (recipe rule 2.1.1). Returns neither if the value was created and
    /// deleted meanwhile.
    async fn read(
        &mut self,
        configuration: &Configuration,
        has_waited: bool,
    ) -> Result<Option<(Data, Stat)>, Error> {
        let (zookeeper, path) = (&self.zookeeper, &configuration.path);
        if configuration.mutants.has(Mutant::ConfigWatchAfterRead) && has_waited {
            // The mutant reads first and watches afterwards, so changes in between fire nothing.
            let read = until_known(zookeeper, || zookeeper.get_data(path)).await;
            let (_, watch) = until_known(zookeeper, || zookeeper.exists_watch(path)).await?;
            self.watch = Some(watch);
            return match read {
                Ok(value) => Ok(Some(value)),
                Err(Error::NoNode) => Ok(None),
                Err(error) => Err(error),
            };
        }
        match until_known(zookeeper, || zookeeper.get_data_watch(path)).await {
            Ok((data, stat, watch)) => {
                self.watch = Some(watch);
                return Ok(Some((data, stat)));
            }
            Err(Error::NoNode) => {}
            Err(error) => return Err(error),
        }
        let (stat, watch) = until_known(zookeeper, || zookeeper.exists_watch(path)).await?;
        self.watch = stat.is_none().then_some(watch);
        Ok(None)
    }

    /// Processes the absence of the znode. The server may not have the znode yet if it has not shown it in this session
    /// (recipe rule 2.1.2).
    async fn absent(&mut self, last: &mut Last) -> Result<Option<Setting>, Error> {
        if last.value.is_some() && !self.is_fresh {
            self.watch = None;
            until_known(&self.zookeeper, || self.zookeeper.sync("/")).await?;
            self.is_fresh = true;
            return Ok(None);
        }
        last.is_absent = true;
        Ok(Some(Setting::Absent))
    }
}

impl Last {
    /// Returns what was read if it is newer than what was delivered.
    fn newer(&mut self, configuration: &Configuration, data: Data, stat: &Stat) -> Option<Setting> {
        let mutants = configuration.mutants;
        let is_newer = match self.value {
            None => true,
            Some((_, version)) if mutants.has(Mutant::ConfigVersionNotMzxid) => {
                stat.version > version
            }
            Some((mzxid, _)) => stat.mzxid > mzxid,
        };
        if !is_newer {
            return None;
        }
        *self = Last { value: Some((stat.mzxid, stat.version)), is_absent: false };
        Some(Setting::Value { mzxid: stat.mzxid, data })
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let path = Arc::clone(&self.configuration.path);
        self.configuration.zookeeper.observe(ConfigurationSeen::Unsubscribed { path });
    }
}

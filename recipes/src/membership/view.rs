//! A view of a group, kept up to date.

use super::{Group, MembershipSeen, Mutant};
use crate::helpers::{reconnected, until_known};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Either, SessionEvents, Watch, ZooKeeper, race};
use vivarium_model::op::SessionState;

/// The members of a group at some zxid. The view ends with its session.
pub struct GroupView {
    zookeeper: ZooKeeper,
    group: Group,
    /// The viewer's own id, if it is a member.
    own: Option<Arc<str>>,
    members: Vec<Arc<str>>,
    /// Fires at the next change; `None` if the group must be read again.
    watch: Option<Watch>,
    events: SessionEvents,
}

impl Group {
    /// Returns a view of the present members. `own` is the viewer's id if it is a member.
    ///
    /// # Errors
    /// Returns `SessionExpired` or the server's refusal of the path.
    pub async fn view(&self, own: Option<&str>) -> Result<GroupView, Error> {
        let mut view = GroupView {
            zookeeper: self.zookeeper.clone(),
            group: self.clone(),
            own: own.map(Arc::from),
            members: Vec::new(),
            watch: None,
            events: self.zookeeper.session_events(),
        };
        view.read().await?;
        view.tell();
        Ok(view)
    }
}

impl GroupView {
    /// Returns the ids of the members, in lexical order.
    pub fn members(&self) -> &[Arc<str>] {
        &self.members
    }

    /// Waits until the members have changed.
    ///
    /// Cancel-safe: the next call continues to wait.
    ///
    /// # Errors
    /// Returns `SessionExpired`: create a view again in the next session.
    pub async fn changed(&mut self) -> Result<(), Error> {
        loop {
            let before = self.members.clone();
            self.wait().await?;
            self.read().await?;
            if self.members != before {
                self.tell();
                return Ok(());
            }
        }
    }

    async fn wait(&mut self) -> Result<(), Error> {
        let Some(watch) = &mut self.watch else { return Ok(()) };
        if !self.group.mutants.has(Mutant::GroupNoRecheckOnReconnect) {
            // The client sets the watch again after it has reconnected, but not every missed change fires it (recipe
            // rule 1.2.7).
            let woken = race(watch.changed(), reconnected(&mut self.events)).await;
            self.watch = None;
            return match woken {
                Either::Left(changed) => changed.map(drop),
                Either::Right(connected) => connected,
            };
        }
        // Models a client that forgets its watches when the connection is lost, and reads nothing when it is back.
        while let Either::Right(state) = race(watch.changed(), self.events.next()).await {
            if state == SessionState::Disconnected {
                reconnected(&mut self.events).await?;
                let list = || self.zookeeper.get_children_watch(&self.group.directory);
                *watch = until_known(&self.zookeeper, list).await?.1;
            }
        }
        self.watch = None;
        Ok(())
    }

    /// Reads the members with a watch, which every later change fires.
    async fn read(&mut self) -> Result<(), Error> {
        let (zookeeper, directory) = (&self.zookeeper, &self.group.directory);
        let names = loop {
            match until_known(zookeeper, || zookeeper.get_children_watch(directory)).await {
                Ok((names, watch)) => {
                    self.watch = Some(watch);
                    break names;
                }
                Err(Error::NoNode) => {
                    // The directory does not exist, so no member has ever joined.
                    let exists = || zookeeper.exists_watch(directory);
                    let (stat, watch) = until_known(zookeeper, exists).await?;
                    if stat.is_none() {
                        self.watch = Some(watch);
                        break Vec::new();
                    }
                }
                Err(error) => return Err(error),
            }
        };
        let mut members: Vec<Arc<str>> = names.into_iter().map(Arc::from).collect();
        // Only existing members are in the view, which need not include the viewer itself (recipe rule 2.1.5).
        if self.group.mutants.has(Mutant::GroupInsertsItself) {
            members.extend(self.own.clone());
        }
        members.sort();
        members.dedup();
        self.members = members;
        Ok(())
    }

    fn tell(&self) {
        let (group, members) = (Arc::clone(&self.group.directory), self.members.clone());
        self.zookeeper.observe(MembershipSeen::View { group, members });
    }
}

impl Drop for GroupView {
    fn drop(&mut self) {
        let group = Arc::clone(&self.group.directory);
        self.zookeeper.observe(MembershipSeen::LooksAway { group });
    }
}

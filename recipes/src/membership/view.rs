//! A view of a group, kept up to date.

use super::{Group, MembershipSeen, Mutant};
use crate::helpers::{reconnected, until_known};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Either, SessionEvents, Watch, ZooKeeper, race};
use vivarium_model::op::SessionState;

/// The members of a group as they were at some zxid. It ends with its session.
pub struct GroupView {
    zookeeper: ZooKeeper,
    group: Group,
    /// Who looks, where that is a member itself.
    own: Option<Arc<str>>,
    members: Vec<Arc<str>>,
    /// For the next change; `None` where the group must be read again.
    watch: Option<Watch>,
    events: SessionEvents,
}

impl Group {
    /// The members now, for whoever is `own`, or no member.
    ///
    /// # Errors
    /// `SessionExpired`, or the server's refusal of the path.
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
    /// The ids of the members, in lexical order.
    pub fn members(&self) -> &[Arc<str>] {
        &self.members
    }

    /// Waits until the members are others than they were.
    ///
    /// Cancel-safe: the next call goes on waiting.
    ///
    /// # Errors
    /// `SessionExpired`: look again in the next session.
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
            // The client sets the watch again when it is back, but not everything that it missed fires it
            // (recipe rule 1.2.7).
            let woken = race(watch.changed(), reconnected(&mut self.events)).await;
            self.watch = None;
            return match woken {
                Either::Left(changed) => changed.map(drop),
                Either::Right(connected) => connected,
            };
        }
        // A client that forgets its watches when the connection is lost, and looks at nothing when it is
        // back.
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

    /// Reads the members, with a watch: whatever comes after this read fires it.
    async fn read(&mut self) -> Result<(), Error> {
        let (zookeeper, directory) = (&self.zookeeper, &self.group.directory);
        let names = loop {
            match until_known(zookeeper, || zookeeper.get_children_watch(directory)).await {
                Ok((names, watch)) => {
                    self.watch = Some(watch);
                    break names;
                }
                Err(Error::NoNode) => {
                    // Nobody has ever joined.
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
        // Nobody is put in who is not there, oneself included (recipe rule 2.1.5).
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

//! The common part of all caches: the copy, the session that keeps it up to date, and the events.
//!
//! The copy changes in [`Engine::deliver`] only. The result of a look is compared with the copy after all earlier
//! events are delivered, so that no event refers to a content that the program has not seen.

use super::event::{CacheEvent, Cached, Extent, is_below};
use super::look::{Found, Look, Part};
use super::places::Places;
use super::{CacheSeen, Mutant, Mutants};
use crate::helpers::{next_session, reconnected, settle, until_known};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Either, SessionEvents, ZooKeeper, join_all, race};
use vivarium_model::id::SessionId;
use vivarium_model::op::{Data, SessionState};
use vivarium_model::path;
use vivarium_model::stat::Stat;

/// A cache of any extent.
pub(super) struct Engine {
    zookeeper: ZooKeeper,
    root: Arc<str>,
    extent: Extent,
    mutants: Mutants,
    /// The local copy.
    content: BTreeMap<Arc<str>, Cached>,
    /// Events that are not delivered yet.
    ready: VecDeque<CacheEvent>,
    /// The present session; `None` between two sessions.
    scope: Option<Scope>,
    has_begun: bool,
}

/// The state that belongs to one session.
struct Scope {
    zookeeper: ZooKeeper,
    session: SessionId,
    /// True if the server has caught up with the beginning of the synchronisation.
    is_settled: bool,
    /// True if the synchronisation is complete.
    is_initialized: bool,
    places: Places,
    /// The results of looks that were not compared with the copy yet.
    found: VecDeque<(Look, Found)>,
    /// Children that vanished before they were read, and are waited for: for a mutant.
    vanished: u32,
    events: SessionEvents,
    /// True if it does not look again after a disconnection: for a mutant.
    forgets: bool,
}

impl Engine {
    pub(super) fn new(zookeeper: ZooKeeper, root: Arc<str>, extent: Extent) -> Engine {
        let (content, ready, mutants) = (BTreeMap::new(), VecDeque::new(), Mutants::NONE);
        Engine { zookeeper, root, extent, mutants, content, ready, scope: None, has_begun: false }
    }

    #[cfg(feature = "checking")]
    pub(super) fn with_mutants(mut self, mutants: Mutants) -> Engine {
        self.mutants = mutants;
        self
    }

    pub(super) fn content(&self) -> &BTreeMap<Arc<str>, Cached> {
        &self.content
    }

    pub(super) fn is_initialized(&self) -> bool {
        self.scope.as_ref().is_some_and(|scope| scope.is_initialized)
    }

    /// Returns the next event. Cancel-safe.
    pub(super) async fn next(&mut self) -> Result<CacheEvent, Error> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(self.deliver(event));
            }
            match self.advance().await {
                Err(Error::SessionExpired) => {
                    if let Some(old) = &self.scope {
                        next_session(&self.zookeeper, old.session).await;
                    }
                    self.scope = None;
                }
                done => done?,
            }
        }
    }

    fn deliver(&mut self, event: CacheEvent) -> CacheEvent {
        match &event {
            CacheEvent::Added { path, znode } | CacheEvent::Changed { path, znode } => {
                self.content.insert(Arc::clone(path), znode.clone());
            }
            CacheEvent::Removed { path, .. } => {
                self.content.remove(path);
            }
            CacheEvent::Initialized => {}
        }
        let (root, told) = (Arc::clone(&self.root), event.clone());
        self.zookeeper.observe(CacheSeen::Delivered { root, event: told });
        event
    }

    /// Runs one step. Each step leaves a consistent state if it is dropped.
    async fn advance(&mut self) -> Result<(), Error> {
        let Some(scope) = &mut self.scope else {
            self.scope = Some(self.begin().await);
            self.has_begun = true;
            return Ok(());
        };
        if let Some((look, found)) = scope.found.pop_front() {
            return self.compare(&look, found);
        }
        if !scope.is_settled {
            // The server's state may be older than the beginning of this synchronisation (recipe rule 2.16.2).
            if !self.mutants.has(Mutant::CacheBelievesLaggard) {
                settle(&scope.zookeeper).await?;
            }
            scope.is_settled = true;
            return Ok(());
        }
        let is_early =
            self.mutants.has(Mutant::CacheInitializedEarly) && scope.is_listed(&self.root);
        let is_complete = is_early || !scope.places.has_new() && scope.vanished == 0;
        if is_complete && !scope.is_initialized {
            scope.is_initialized = true;
            self.ready.push_back(CacheEvent::Initialized);
            return Ok(());
        }
        match scope.places.looks(&self.root) {
            looks if looks.is_empty() => scope.wait().await,
            looks => scope.take(looks, self.mutants).await,
        }
    }

    async fn begin(&self) -> Scope {
        let session = self.zookeeper.connect().await;
        let (root, extent) = (Arc::clone(&self.root), self.extent);
        self.zookeeper.observe(CacheSeen::Begun { root, extent });
        let zookeeper = self.zookeeper.scope(session);
        let part = if self.extent.holds_root() { Part::Data } else { Part::Children };
        let forgets = self.mutants.has(Mutant::CacheNoRecheckOnReconnect);
        let events = zookeeper.session_events();
        Scope {
            zookeeper,
            session,
            is_settled: false,
            is_initialized: false,
            places: Places::of(&self.root, part),
            found: VecDeque::new(),
            vanished: 0,
            events,
            forgets,
        }
    }

    /// Compares the result of a look with the copy.
    fn compare(&mut self, look: &Look, found: Found) -> Result<(), Error> {
        let Some(scope) = &mut self.scope else { return Ok(()) };
        let is_believed = self.mutants.has(Mutant::CacheChildBeforeParent);
        if !is_believed && scope.places.is_uncertain(&look.path, look.part) {
            return Ok(());
        }
        let Some(place) = scope.places.get_mut(&look.path) else {
            // Its parent was read, and does not list it any more.
            return Ok(());
        };
        match found {
            Found::Data(data, stat, watch) => {
                place.data.looked_at(watch);
                self.compare_data(&look.path, data, &stat);
            }
            Found::Children(names, watch) => {
                place.children.looked_at(watch);
                self.compare_children(&look.path, &names);
            }
            Found::Nothing(watch) => {
                place.part(look.part).looked_at(watch);
                return self.compare_nothing(look);
            }
        }
        Ok(())
    }

    fn compare_data(&mut self, path: &Arc<str>, data: Data, stat: &Stat) {
        let znode = Cached::new(data, stat);
        let known = self.content.get(path);
        let is_same =
            known.is_some_and(|known| match self.mutants.has(Mutant::CacheVersionNotMzxid) {
                true => known.version == znode.version,
                false => known.mzxid == znode.mzxid,
            });
        let is_anew = known.is_none_or(|known| known.czxid != znode.czxid) && !is_same;
        if is_anew {
            // Everything below the old znode had to be deleted before it.
            self.remove(path);
        }
        let Some(scope) = &mut self.scope else { return };
        if is_anew {
            scope.places.forget_below(path);
        }
        if let Some(place) = scope.places.get_mut(path)
            && self.extent == Extent::Tree
            && stat.ephemeral_owner.is_none()
            && (is_anew || place.children.is_unwanted())
        {
            place.children.want();
        }
        let path = Arc::clone(path);
        if is_anew {
            if self.mutants.has(Mutant::CacheAddsWithoutData) {
                let early = Cached { data: Data::default(), ..znode.clone() };
                self.ready.push_back(CacheEvent::Added { path: Arc::clone(&path), znode: early });
                self.ready.push_back(CacheEvent::Changed { path, znode });
                return;
            }
            self.ready.push_back(CacheEvent::Added { path, znode });
        } else if !is_same {
            self.ready.push_back(CacheEvent::Changed { path, znode });
        }
    }

    fn compare_children(&mut self, parent: &Arc<str>, names: &[String]) {
        let Some(scope) = &mut self.scope else { return };
        names.iter().for_each(|name| scope.places.list(parent, name));
        let listed: BTreeSet<&str> = names.iter().map(String::as_str).collect();
        let mut gone: Vec<Arc<str>> = scope.places.children(parent).cloned().collect();
        if !self.mutants.has(Mutant::CacheKeepsVanished) {
            // Also children known from an earlier session (recipe rule 2.16.5).
            let of_parent = |path: &&Arc<str>| path::parent(path) == Some(&**parent);
            gone.extend(self.content.keys().filter(of_parent).cloned());
        }
        gone.retain(|path| !listed.contains(path::name(path)));
        gone.sort();
        gone.dedup();
        for path in gone {
            scope.places.forget(&path);
            Engine::remove_from(&mut self.content, &mut self.ready, self.mutants, &path);
        }
    }

    /// Processes a look that found no znode.
    fn compare_nothing(&mut self, look: &Look) -> Result<(), Error> {
        let (root, path) = (Arc::clone(&self.root), &look.path);
        if look.part == Part::Children && self.extent == Extent::Tree {
            // The watch for the znode's data reports the same.
            return Ok(());
        }
        let Some(scope) = &mut self.scope else { return Ok(()) };
        if *path == root {
            scope.places.forget_below(path);
            if let Some(place) = scope.places.get_mut(path)
                && self.extent == Extent::Tree
            {
                place.children.looked_at(None);
            }
        } else {
            // The watch for its parent's children fires when it is back (recipe rule 2.16.4).
            if self.mutants.has(Mutant::FailOnVanishedPeer) {
                return Err(Error::NoNode);
            }
            if self.mutants.has(Mutant::InitCountsVanished) && !look.is_again {
                scope.vanished += 1;
            }
            scope.places.forget(path);
        }
        self.remove(path);
        Ok(())
    }

    /// Queues the removal of this znode and all its descendants.
    fn remove(&mut self, path: &str) {
        Engine::remove_from(&mut self.content, &mut self.ready, self.mutants, path);
    }

    fn remove_from(
        content: &mut BTreeMap<Arc<str>, Cached>,
        ready: &mut VecDeque<CacheEvent>,
        mutants: Mutants,
        gone: &str,
    ) {
        if mutants.has(Mutant::CacheForgetsDescendants) {
            content.retain(|path, _| !is_below(gone, path));
        }
        // In reverse order, so that no child is without its parent.
        for (path, znode) in content.iter().rev() {
            if **path == *gone || is_below(gone, path) {
                let (path, znode) = (Arc::clone(path), znode.clone());
                ready.push_back(CacheEvent::Removed { path, znode });
            }
        }
    }
}

impl Scope {
    /// Takes these looks concurrently.
    async fn take(&mut self, looks: Vec<Look>, mutants: Mutants) -> Result<(), Error> {
        let taken = looks.iter().map(|look| look.take(&self.zookeeper, mutants));
        let found: Result<Vec<Found>, Error> = join_all(taken).await.into_iter().collect();
        let found = found?;
        // An event comes before the reply that reflects it (rule 3.2.1). So the watches that have fired by now identify
        // the results that belong to another znode of the same path.
        self.places.notice().await?;
        self.found.extend(looks.into_iter().zip(found));
        Ok(())
    }

    /// Waits until something must be looked at again.
    async fn wait(&mut self) -> Result<(), Error> {
        if self.forgets {
            return self.wait_forgetfully().await;
        }
        match race(self.places.changed(), reconnected(&mut self.events)).await {
            Either::Left(changed) => changed,
            // The client sets its watches again, but one for children is not notified of some creations (recipe rule
            // 1.2.7).
            Either::Right(connected) => {
                connected?;
                self.places.want_children_again();
                Ok(())
            }
        }
    }

    /// Waits like the mutant `CacheNoRecheckOnReconnect`.
    async fn wait_forgetfully(&mut self) -> Result<(), Error> {
        let events = &mut self.events;
        // Models a client that forgets its watches when the connection is lost, and reads nothing when it is back.
        while let Either::Right(state) = race(self.places.changed(), events.next()).await {
            if state.is_final() {
                return Err(Error::SessionExpired);
            }
            if state != SessionState::Disconnected {
                continue;
            }
            reconnected(events).await?;
            let zookeeper = &self.zookeeper;
            for (path, part, watch) in self.places.watched() {
                let list = || zookeeper.get_children_watch(path);
                match part {
                    Part::Children => match until_known(zookeeper, list).await {
                        Ok((_, set)) => *watch = set,
                        Err(Error::NoNode) => {}
                        Err(error) => return Err(error),
                    },
                    Part::Data => {
                        *watch = until_known(zookeeper, || zookeeper.exists_watch(path)).await?.1;
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns true if the root's children have been listed: for a mutant.
    fn is_listed(&mut self, root: &str) -> bool {
        let is_looked_at = |place: &mut super::places::Place| {
            !matches!(place.data, super::places::State::New)
                && !matches!(place.children, super::places::State::New)
        };
        self.places.get_mut(root).is_some_and(is_looked_at)
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        if self.has_begun {
            self.zookeeper.observe(CacheSeen::Closed { root: Arc::clone(&self.root) });
        }
    }
}

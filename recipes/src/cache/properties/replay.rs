//! CA2 and CA5: the events of a cache, replayed.
//!
//! CA2: an event fits the content that it is applied to: it adds a znode that is absent, changes or removes one that
//! is present, and leaves no child without its parent in a copy that holds both. The content that a program reads
//! from the copy equals the result of the events.
//!
//! CA5: a cache reports nothing after its end.

use crate::cache::event::is_below;
use crate::cache::{CacheEvent, CacheSeen, Cached, Extent};
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::ClientId;
use vivarium_model::minds;
use vivarium_model::path;
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection};

/// The content that one cache has reported.
#[derive(Clone, Debug, Hash)]
pub(super) struct Replay {
    pub(super) extent: Extent,
    pub(super) content: BTreeMap<Arc<str>, Cached>,
    /// True if the present synchronisation is complete.
    pub(super) is_initialized: bool,
}

/// The content that the cache of each client has reported.
#[derive(Clone, Debug, Hash)]
pub(super) struct Replays {
    pub(super) root: Arc<str>,
    pub(super) caches: BTreeMap<ClientId, Replay>,
}

/// An event that concerns caches.
pub(super) enum OfCache<'a> {
    /// A program ends, and its cache with it.
    Ends(ClientId),
    /// A cache reports an observation.
    Says(ClientId, &'a CacheSeen),
}

impl Replays {
    /// Returns the part of an event that concerns caches; no other events change the record.
    pub(super) fn read(event: &Event) -> Option<OfCache<'_>> {
        match event {
            Event::Killed { client }
            | Event::Finished { client, .. }
            | Event::Panicked { client, .. } => Some(OfCache::Ends(*client)),
            _ => event.observed().map(|(client, seen)| OfCache::Says(client, seen)),
        }
    }

    pub(super) fn new(root: &str) -> Replays {
        Replays { root: root.into(), caches: BTreeMap::new() }
    }

    /// Applies an event. The error says why it does not fit.
    pub(super) fn take(&mut self, of: &OfCache<'_>) -> Result<(), String> {
        let (client, seen) = match of {
            OfCache::Ends(client) => {
                self.caches.remove(client);
                return Ok(());
            }
            OfCache::Says(_, seen) if *seen.root() != self.root => return Ok(()),
            OfCache::Says(client, seen) => (*client, *seen),
        };
        match seen {
            CacheSeen::Begun { extent, .. } => {
                let fresh =
                    || Replay { extent: *extent, content: BTreeMap::new(), is_initialized: false };
                self.caches.entry(client).or_insert_with(fresh).is_initialized = false;
                Ok(())
            }
            CacheSeen::Delivered { event, .. } => match self.caches.get_mut(&client) {
                Some(cache) => cache.apply(&self.root, event),
                None => Ok(()),
            },
            CacheSeen::Closed { .. } => {
                self.caches.remove(&client);
                Ok(())
            }
            CacheSeen::Content { .. } => Ok(()),
        }
    }
}

impl Replay {
    fn apply(&mut self, root: &str, event: &CacheEvent) -> Result<(), String> {
        match event {
            CacheEvent::Initialized => self.is_initialized = true,
            CacheEvent::Added { path, znode } => {
                let parent = path::parent(path).filter(|parent| self.extent.holds(root, parent));
                if let Some(parent) = parent.filter(|parent| !self.content.contains_key(*parent)) {
                    return Err(format!("{path} is added without {parent}"));
                }
                if self.content.insert(Arc::clone(path), znode.clone()).is_some() {
                    return Err(format!("{path} is added, and is there already"));
                }
            }
            CacheEvent::Changed { path, znode } => {
                let before = self.content.insert(Arc::clone(path), znode.clone());
                if before.is_none_or(|before| before.czxid != znode.czxid) {
                    return Err(format!("{path} is changed, and is not there"));
                }
            }
            CacheEvent::Removed { path, znode } => {
                if self.content.remove(path).is_none_or(|before| before.czxid != znode.czxid) {
                    return Err(format!("{path} is removed, and is not there"));
                }
                let orphan = self.content.keys().find(|other| is_below(path, other));
                if let Some(orphan) = orphan.filter(|_| self.extent == Extent::Tree) {
                    return Err(format!("{path} is removed before {orphan}"));
                }
            }
        }
        Ok(())
    }
}

/// CA2. See the module.
#[derive(Clone, Debug, Hash)]
pub struct Replayed(Replays);

impl Replayed {
    /// Watches caches of this znode.
    pub fn new(root: &str) -> Replayed {
        Replayed(Replays::new(root))
    }
}

impl Declared for Replayed {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "cache CA2 replay",
        LooksBack::Nothing,
        minds! { |this, view, event|
            // Each client has its own record, so the order among clients does not matter.
            #[unordered]
            let Some(of) = Replays::read(event) => this.take(&of),
            #[needed]
            #[unordered]
            Observed(_, CacheSeen::Delivered { .. }) => {},
            #[needed]
            #[unordered]
            Observed(client, CacheSeen::Content { root, znodes })
                if *root == this.0.root =>
            {
                this.content(client, root, znodes)
            },
        },
    );
}

impl Replayed {
    fn take(&mut self, of: &OfCache<'_>) -> Result<(), Objection> {
        self.0.take(of).map_err(|why| {
            let client = match of {
                OfCache::Says(client, _) => client.to_string(),
                OfCache::Ends(_) => String::new(),
            };
            self.objection(format!("in the copy of {} that {client} has, {why}", self.0.root))
        })
    }

    fn content(
        &self,
        client: ClientId,
        root: &Arc<str>,
        znodes: &[(Arc<str>, Cached)],
    ) -> Result<(), Objection> {
        let Some(cache) = self.0.caches.get(&client) else { return Ok(()) };
        let is_same = cache.content.len() == znodes.len()
            && znodes.iter().all(|(path, znode)| cache.content.get(path) == Some(znode));
        if is_same {
            return Ok(());
        }
        let paths = |paths: Vec<&Arc<str>>| {
            paths.iter().map(|path| path.to_string()).collect::<Vec<_>>().join(", ")
        };
        let is = paths(znodes.iter().map(|(path, _)| path).collect());
        let told = paths(cache.content.keys().collect());
        let saw =
            format!("{client} has [{is}] in its copy of {root}, but its events add up to [{told}]");
        Err(self.objection(saw))
    }
}

/// CA5. See the module.
#[derive(Clone, Debug, Hash)]
pub struct Silent(Replays);

impl Silent {
    /// Watches caches of this znode.
    pub fn new(root: &str) -> Silent {
        Silent(Replays::new(root))
    }
}

impl Declared for Silent {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "cache CA5 silent behind its end",
        LooksBack::Nothing,
        minds! { |this, view, event|
            // Each client has its own record, so the order among clients does not matter.
            #[needed]
            #[unordered]
            Observed(client, CacheSeen::Delivered { root, .. }) => this.delivered(client, root),
            // CA2 checks whether the event fits; its result is ignored here.
            #[unordered]
            let Some(of) = Replays::read(event) => drop(this.0.take(&of)),
        },
    );
}

impl Silent {
    fn delivered(&self, client: ClientId, root: &Arc<str>) -> Result<(), Objection> {
        if *root != self.0.root || self.0.caches.contains_key(&client) {
            return Ok(());
        }
        let saw = format!("{client} is notified of {root} by a cache that has ended or not begun");
        Err(self.objection(saw))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contention::properties::scene::{S1, Scene};
    use vivarium_model::id::Xid;
    use vivarium_model::observation::Observed;
    use vivarium_model::property::Monitor;
    use vivarium_model::zxid::Zxid;

    const ROOT: &str = "/cache";

    fn seen(seen: CacheSeen) -> Event {
        let (client, session, next_xid) = (ClientId(1), Some(S1), Xid(1));
        Event::Observed { client, session, next_xid, observation: Observed::new(seen) }
    }

    fn begun() -> Event {
        seen(CacheSeen::Begun { root: ROOT.into(), extent: Extent::Tree })
    }

    fn delivered(event: CacheEvent) -> Event {
        seen(CacheSeen::Delivered { root: ROOT.into(), event })
    }

    fn znode(czxid: u64) -> Cached {
        let (czxid, mzxid) = (Zxid(czxid), Zxid(czxid));
        Cached { czxid, mzxid, version: 0, data: [].into() }
    }

    fn added(path: &str, czxid: u64) -> Event {
        delivered(CacheEvent::Added { path: path.into(), znode: znode(czxid) })
    }

    fn removed(path: &str, czxid: u64) -> Event {
        delivered(CacheEvent::Removed { path: path.into(), znode: znode(czxid) })
    }

    fn run<M: Monitor>(monitor: M, events: impl IntoIterator<Item = Event>) -> Option<String> {
        let mut scene = Scene::new(monitor);
        events.into_iter().for_each(|event| scene.event(event));
        scene.end()
    }

    #[test]
    fn an_event_that_makes_no_sense_is_refused() {
        let replayed =
            |events: Vec<Event>| run(Replayed::new(ROOT), std::iter::once(begun()).chain(events));
        let tree = || vec![added(ROOT, 1), added("/cache/a", 2)];
        let and = |event: Event| replayed([tree(), vec![event]].concat());
        assert_eq!(replayed(tree()), None);
        assert_eq!(and(removed("/cache/a", 2)), None);
        assert_eq!(and(added("/other/a", 3)), None);
        let said = |saw: Option<String>, what: &str| {
            assert!(saw.as_ref().is_some_and(|saw| saw.contains(what)), "{saw:?}");
        };
        said(and(removed(ROOT, 1)), "is removed before /cache/a");
        said(and(removed("/cache/a", 3)), "is not there");
        said(and(added("/cache/a", 3)), "is there already");
        said(and(added("/cache/b/x", 3)), "is added without /cache/b");
    }

    #[test]
    fn a_copy_that_was_not_told_is_refused() {
        let content = |paths: &[(&str, u64)]| {
            let znodes = paths.iter().map(|(path, zxid)| (Arc::from(*path), znode(*zxid)));
            let content = CacheSeen::Content { root: ROOT.into(), znodes: znodes.collect() };
            run(Replayed::new(ROOT), [begun(), added(ROOT, 1), seen(content)])
        };
        assert_eq!(content(&[(ROOT, 1)]), None);
        assert!(content(&[]).is_some_and(|saw| saw.contains("its events add up to [/cache]")));
        assert!(content(&[(ROOT, 2)]).is_some());
        assert!(content(&[(ROOT, 1), ("/cache/a", 2)]).is_some());
    }

    #[test]
    fn an_event_behind_the_end_is_refused() {
        let close = || seen(CacheSeen::Closed { root: ROOT.into() });
        let silent = |events: Vec<Event>| run(Silent::new(ROOT), events);
        assert_eq!(silent(vec![begun(), added(ROOT, 1), close(), begun(), added(ROOT, 1)]), None);
        let late = silent(vec![begun(), close(), added(ROOT, 1)]);
        assert!(late.is_some_and(|saw| saw.contains("has ended")));
    }

    #[test]
    fn a_copy_that_is_complete_twice_is_refused() {
        let complete = |events: Vec<Event>| run(super::super::Complete::new(ROOT), events);
        let initialized = || delivered(CacheEvent::Initialized);
        assert_eq!(complete(vec![begun(), initialized(), begun(), initialized()]), None);
        let twice = complete(vec![begun(), initialized(), initialized()]);
        assert!(twice.is_some_and(|saw| saw.contains("twice")));
        assert!(complete(vec![begun(), added(ROOT, 1), initialized()]).is_some());
    }

    #[test]
    fn a_znode_that_goes_back_is_refused() {
        let onward = |events: Vec<Event>| run(super::super::Onward::new(ROOT), events);
        assert_eq!(onward(vec![added(ROOT, 1), removed(ROOT, 1), added(ROOT, 2)]), None);
        assert!(onward(vec![added(ROOT, 1), removed(ROOT, 1), added(ROOT, 1)]).is_some());
        assert!(onward(vec![added(ROOT, 2), added(ROOT, 1)]).is_some());
    }
}

//! A client's watches as its program has set them (rules 3.1.1 and 3.3).

use crate::program::host::{Input, Outcome};
use crate::vocabulary::error::Error;
use crate::vocabulary::id::CallId;
use crate::vocabulary::op::{
    AddWatchMode, EventType, Request, Response, WatchedEvent, WatcherType,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The five kinds of watches, in the order of the lists of SetWatches2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    Data,
    Exist,
    Child,
    Persistent,
    Recursive,
}

#[derive(Clone, Debug, Hash)]
pub(super) struct Watch {
    path: Arc<str>,
    kind: Kind,
    /// The call that its events go to.
    pub(super) call: CallId,
}

impl Watch {
    /// Returns the watch that a request sets if it has this result (rule 3.3.1).
    pub(super) fn set_by(
        request: &Request,
        result: &Result<Response, Error>,
        call: CallId,
    ) -> Option<Watch> {
        let is_absent = matches!(result, Err(Error::NoNode));
        let (path, kind) = match request {
            Request::GetData { path, watch: true } if result.is_ok() => (path, Kind::Data),
            Request::GetChildren { path, watch: true } if result.is_ok() => (path, Kind::Child),
            Request::Exists { path, watch: true } if result.is_ok() => (path, Kind::Data),
            Request::Exists { path, watch: true } if is_absent => (path, Kind::Exist),
            Request::AddWatch { path, mode } if result.is_ok() || is_absent => match mode {
                AddWatchMode::Persistent => (path, Kind::Persistent),
                AddWatchMode::PersistentRecursive => (path, Kind::Recursive),
            },
            _ => return None,
        };
        Some(Watch { path: Arc::clone(path), kind, call })
    }

    fn stays(&self) -> bool {
        matches!(self.kind, Kind::Persistent | Kind::Recursive)
    }

    /// Returns the number of levels between the watch's path and the event's if the event fires the watch. Nearer
    /// watches are notified first.
    fn distance(&self, event: &WatchedEvent) -> Option<usize> {
        let of_children = event.kind == EventType::NodeChildrenChanged;
        let is_deleted = event.kind == EventType::NodeDeleted;
        let kinds = match self.kind {
            Kind::Data | Kind::Exist | Kind::Recursive => !of_children,
            Kind::Child => of_children || is_deleted,
            Kind::Persistent => true,
        };
        if !kinds {
            return None;
        }
        if self.path == event.path {
            return Some(0);
        }
        let root = if &*self.path == "/" { "" } else { &*self.path };
        let rest = event.path.strip_prefix(root).filter(|rest| rest.starts_with('/'));
        rest.filter(|_| self.kind == Kind::Recursive).map(|rest| rest.matches('/').count())
    }

    /// Returns the event that a removal of these watches sends to this one, or `None` if it does not remove this
    /// watch (rule 3.3.3).
    fn removal(&self, path: &str, kind: WatcherType) -> Option<EventType> {
        let told = match self.kind {
            Kind::Data | Kind::Exist => EventType::DataWatchRemoved,
            Kind::Child => EventType::ChildWatchRemoved,
            Kind::Persistent | Kind::Recursive => EventType::PersistentWatchRemoved,
        };
        let meant = match kind {
            WatcherType::Any => true,
            WatcherType::Children => self.kind == Kind::Child,
            WatcherType::Data => told == EventType::DataWatchRemoved,
            WatcherType::Persistent => self.kind == Kind::Persistent,
            WatcherType::PersistentRecursive => self.kind == Kind::Recursive,
        };
        (meant && *self.path == *path).then_some(told)
    }
}

/// The watched paths by kind, as SetWatches sends them to a server to which the client reconnects.
pub(super) type Lists = [BTreeSet<Arc<str>>; 5];

/// All watches, in the order of registration.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Watches(Vec<Watch>);

impl Watches {
    pub(super) fn set(&mut self, watch: Watch) {
        self.0.push(watch);
    }

    pub(super) fn forget(&mut self, call: CallId) {
        self.0.retain(|watch| watch.call != call);
    }

    /// Returns the inputs that notify the program of an event, nearest watches first; `own` is the event with the
    /// program's path. One-shot watches are removed (rule 3.3.2).
    pub(super) fn fire(&mut self, event: &WatchedEvent, own: &WatchedEvent) -> Vec<(usize, Input)> {
        let mut told: Vec<(usize, Input)> = Vec::new();
        self.0.retain(|watch| {
            let Some(distance) = watch.distance(event) else { return true };
            let (call, event) = (watch.call, own.clone());
            told.push((
                distance,
                match watch.stays() {
                    true => Input::Event { call, event },
                    false => Input::Reply { call, outcome: Outcome::Watch(Ok(event)) },
                },
            ));
            watch.stays()
        });
        told.sort_by_key(|(distance, _)| *distance);
        told
    }

    /// Returns true if a removal of this path and kind would remove at least one watch.
    pub(super) fn has(&self, path: &str, kind: WatcherType) -> bool {
        self.0.iter().any(|watch| watch.removal(path, kind).is_some())
    }

    /// Removes these watches, and returns the calls to notify, each with its event.
    pub(super) fn remove(&mut self, path: &str, kind: WatcherType) -> Vec<(CallId, EventType)> {
        let mut told = Vec::new();
        self.0.retain(|watch| match watch.removal(path, kind) {
            Some(event) => {
                told.push((watch.call, event));
                false
            }
            None => true,
        });
        told
    }

    /// Removes all watches, and returns the calls to notify.
    pub(super) fn end(&mut self) -> Vec<CallId> {
        std::mem::take(&mut self.0).into_iter().map(|watch| watch.call).collect()
    }

    /// Returns the paths that SetWatches must send (rule 3.4.1).
    pub(super) fn lists(&self) -> Lists {
        let mut lists = Lists::default();
        for watch in &self.0 {
            lists[watch.kind as usize].insert(Arc::clone(&watch.path));
        }
        lists
    }
}

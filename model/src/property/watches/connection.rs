//! The watches of one connection, and the events that are due to them.

use super::changes::{Change, Changes, Whose, is_at_or_below};
use crate::property::Saw;
use crate::vocabulary::op::{AddWatchMode, EventType, WatchedEvent, WatcherType};
use crate::vocabulary::path::parent;
use crate::vocabulary::zxid::Zxid;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// The kinds of watches at a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Kind {
    Data,
    Child,
    Persistent,
    Recursive,
}

impl Kind {
    pub(super) fn of(mode: AddWatchMode) -> Kind {
        match mode {
            AddWatchMode::Persistent => Kind::Persistent,
            AddWatchMode::PersistentRecursive => Kind::Recursive,
        }
    }

    fn is_one_shot(self) -> bool {
        matches!(self, Kind::Data | Kind::Child)
    }

    fn is_of(self, removed: WatcherType) -> bool {
        match removed {
            WatcherType::Children => self == Kind::Child,
            WatcherType::Data => self == Kind::Data,
            WatcherType::Persistent => self == Kind::Persistent,
            WatcherType::PersistentRecursive => self == Kind::Recursive,
            WatcherType::Any => true,
        }
    }

    /// Returns true if the change fires a watch of this kind on the changed path itself (rule 3.1.1).
    fn hears(self, change: &Change) -> bool {
        match self {
            Kind::Data | Kind::Recursive => change.whose == Whose::Data,
            Kind::Child => change.whose == Whose::Child,
            Kind::Persistent => true,
        }
    }
}

/// The watches that a client sends after a reconnect (rule 3.4.1).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Lists {
    pub(super) relative_zxid: Zxid,
    pub(super) data: Vec<Arc<str>>,
    pub(super) exist: Vec<Arc<str>>,
    pub(super) child: Vec<Arc<str>>,
    pub(super) persistent: Vec<Arc<str>>,
    pub(super) recursive: Vec<Arc<str>>,
}

/// A due event: the zxid of its transaction, the path, the type, and the index of the change within the transaction.
type Event = (Zxid, Arc<str>, EventType, usize);

/// The kinds of watches that the event is due to, and whether the server may withhold it.
#[derive(Clone, Debug, Default, Hash)]
struct Owed {
    kinds: BTreeSet<Kind>,
    hidden: bool,
}

/// A server's watches of one connection.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Watches {
    armed: BTreeMap<Kind, BTreeSet<Arc<str>>>,
    /// Events of committed transactions that the client has not read; the server may not have applied these
    /// transactions yet.
    owed: BTreeMap<Event, Owed>,
    /// SetWatches requests without a reply, and the events read since that nothing else explains.
    asked: VecDeque<Lists>,
    made_up: Vec<WatchedEvent>,
    /// Zxid of the last event.
    last: Zxid,
}

impl Watches {
    /// Records a watch that was set by a request with a reply at this zxid.
    pub(super) fn set(&mut self, kind: Kind, path: &Arc<str>, at: Zxid, changes: &Changes) {
        if kind == Kind::Recursive {
            for (path, change) in changes.below(path, at).filter(|(_, it)| kind.hears(it)) {
                self.owe(kind, path, change);
            }
        } else {
            for change in changes.after(path, at).filter(|it| kind.hears(it)) {
                self.owe(kind, path, change);
                if kind.is_one_shot() {
                    return;
                }
            }
        }
        self.armed.entry(kind).or_default().insert(Arc::clone(path));
    }

    /// Removes watches after a request with a reply at this zxid.
    pub(super) fn removed(&mut self, removed: WatcherType, path: &str, at: Zxid) {
        for (_, paths) in self.armed.iter_mut().filter(|(kind, _)| kind.is_of(removed)) {
            paths.remove(path);
        }
        let others = self.armed.get(&Kind::Recursive).cloned().unwrap_or_default();
        let is_gone = |kind: Kind, of: &str| match kind {
            Kind::Recursive => {
                let still = || others.iter().any(|other| is_at_or_below(of, other));
                is_at_or_below(of, path) && !still()
            }
            _ => *of == *path,
        };
        self.owed.retain(|(zxid, of, ..), owed| {
            let goes = |kind: &Kind| *zxid > at && kind.is_of(removed) && is_gone(*kind, of);
            owed.kinds.retain(|kind| !goes(kind));
            !owed.kinds.is_empty()
        });
    }

    /// Records a change of a committed transaction, and fires the watches that it concerns.
    pub(super) fn committed(&mut self, path: &Arc<str>, change: &Change) {
        // Most of a thousand connections watch nothing, and each of them is asked about each change.
        if self.armed.values().all(BTreeSet::is_empty) {
            return;
        }
        let is_armed = |kind: Kind, path: &str| {
            self.armed.get(&kind).is_some_and(|paths| paths.contains(path))
        };
        let above = || std::iter::successors(Some(&**path), |path| parent(path));
        let kinds = [Kind::Data, Kind::Child, Kind::Persistent, Kind::Recursive];
        let hear = kinds.into_iter().filter(|kind| {
            let here = match kind {
                Kind::Recursive => above().any(|path| is_armed(*kind, path)),
                _ => is_armed(*kind, path),
            };
            here && kind.hears(change)
        });
        for kind in hear.collect::<Vec<_>>() {
            self.owe(kind, path, change);
            if kind.is_one_shot()
                && let Some(paths) = self.armed.get_mut(&kind)
            {
                paths.remove(path);
            }
        }
    }

    fn owe(&mut self, kind: Kind, path: &Arc<str>, change: &Change) {
        let event = (change.zxid, Arc::clone(path), change.kind, change.place);
        let owed = self.owed.entry(event).or_default();
        owed.kinds.insert(kind);
        owed.hidden |= change.hidden;
    }

    /// Judges an event that the client has read.
    pub(super) fn notified(&mut self, event: &WatchedEvent) -> Result<(), Saw> {
        let WatchedEvent { kind, path, zxid } = event;
        if *zxid < self.last {
            return Err(Saw::from(format!(
                "was notified of {kind:?} of {path} at {zxid} after an event of {}",
                self.last
            ))
            .about(self.last));
        }
        self.last = *zxid;
        let of_place = |place| (*zxid, Arc::clone(path), *kind, place);
        let first = self.owed.range(of_place(0)..=of_place(usize::MAX)).next();
        if let Some((event, _)) = first {
            let event = event.clone();
            self.owed.remove(&event);
            return Ok(());
        }
        if self.asked.is_empty() {
            return Err(Saw::from(format!(
                "was notified of {kind:?} of {path} at {zxid}, for which no watch is set"
            )));
        }
        self.made_up.push(event.clone());
        Ok(())
    }

    /// Judges that the client has read something that shows the tree at this zxid: it must have read before every
    /// event due until then (rule 3.2.1).
    pub(super) fn shown(&mut self, zxid: Zxid) -> Result<(), Saw> {
        while let Some(((at, path, kind, _), owed)) = self.owed.first_key_value() {
            if *at > zxid {
                break;
            }
            if !owed.hidden {
                return Err(Saw::from(format!(
                    "read the tree at {zxid} without a notification of {kind:?} of {path} at {at}, although it \
                     watches this path"
                ))
                .about(*at)
                .about(Arc::clone(path)));
            }
            self.owed.pop_first();
        }
        Ok(())
    }

    /// Records the watches that the client has sent with SetWatches.
    pub(super) fn rearming(&mut self, lists: Lists) {
        self.asked.push_back(lists);
    }

    /// Judges the reply to SetWatches: at this zxid, the server has set each watch or has generated its event.
    pub(super) fn rearmed(&mut self, zxid: Zxid, changes: &Changes) -> Result<(), Saw> {
        self.shown(zxid)?;
        let Some(lists) = self.asked.pop_front() else {
            return Err(Saw::from(format!(
                "received a reply to SetWatches at {zxid}, which it had not sent"
            )));
        };
        let told = std::mem::take(&mut self.made_up);
        let unset = |event: &&WatchedEvent| event.zxid != zxid;
        if let Some(WatchedEvent { kind, path, zxid }) = told.iter().find(unset) {
            return Err(Saw::from(format!(
                "was notified of {kind:?} of {path} at {zxid}, for which no watch is set"
            )));
        }
        let mut told: BTreeSet<(EventType, Arc<str>)> =
            told.into_iter().map(|event| (event.kind, event.path)).collect();
        let mut explained = Vec::new();
        for (kind, path, missed) in missed(&lists, zxid, changes) {
            match missed {
                Missed::Surely(event) | Missed::Perhaps(event)
                    if told.contains(&(event, Arc::clone(path))) =>
                {
                    explained.push((event, Arc::clone(path)));
                }
                Missed::Surely(event) => {
                    return Err(Saw::from(format!(
                        "received the reply to SetWatches at {zxid} without a notification of {event:?} of {path}, \
                         which it watches; it had seen {}",
                        lists.relative_zxid
                    ))
                    .about(lists.relative_zxid)
                    .about(Arc::clone(path)));
                }
                Missed::Nothing | Missed::Perhaps(_) => self.set(kind, path, zxid, changes),
            }
        }
        explained.iter().for_each(|event| {
            told.remove(event);
        });
        if let Some((kind, path)) = told.first() {
            return Err(Saw::from(format!(
                "was notified of {kind:?} of {path} when its watches were set at {zxid}, though it had seen {} and missed \
                 nothing of the kind",
                lists.relative_zxid
            ))
            .about(lists.relative_zxid)
            .about(Arc::clone(path)));
        }
        let persistent = lists.persistent.iter().map(|path| (Kind::Persistent, path));
        let recursive = lists.recursive.iter().map(|path| (Kind::Recursive, path));
        persistent.chain(recursive).for_each(|(kind, path)| self.set(kind, path, zxid, changes));
        Ok(())
    }
}

/// Returns the event that the client has missed for each one-shot watch of the lists, if any.
fn missed<'a>(
    lists: &'a Lists,
    until: Zxid,
    changes: &Changes,
) -> impl Iterator<Item = (Kind, &'a Arc<str>, Missed)> {
    let since = lists.relative_zxid;
    let data = lists.data.iter().map(move |path| {
        let stands = changes.exists(path, until);
        let changed = || behind(path, since, until, changes).any(|it| it.whose == Whose::Data);
        (
            Kind::Data,
            path,
            match stands {
                false => Missed::Surely(EventType::NodeDeleted),
                true => Missed::if_so(changed(), EventType::NodeDataChanged),
            },
        )
    });
    let exist = lists.exist.iter().map(move |path| {
        let stands = changes.exists(path, until);
        (Kind::Data, path, Missed::if_so(stands, EventType::NodeCreated))
    });
    let child = lists
        .child
        .iter()
        .map(move |path| (Kind::Child, path, missed_of_children(path, since, until, changes)));
    data.chain(exist).chain(child)
}

/// Returns the changes of a path after `since` up to `until`.
fn behind<'a>(
    path: &str,
    since: Zxid,
    until: Zxid,
    changes: &'a Changes,
) -> impl Iterator<Item = &'a Change> {
    changes.after(path, since).take_while(move |change| change.zxid <= until)
}

/// The event that a disconnected client has missed for one watch.
enum Missed {
    Nothing,
    Surely(EventType),
    /// The server may or may not detect the change from its counters (rule 1.4.3).
    Perhaps(EventType),
}

impl Missed {
    fn if_so(is_so: bool, event: EventType) -> Missed {
        if is_so { Missed::Surely(event) } else { Missed::Nothing }
    }
}

fn missed_of_children(path: &str, since: Zxid, until: Zxid, changes: &Changes) -> Missed {
    if !changes.exists(path, until) {
        return Missed::Surely(EventType::NodeDeleted);
    }
    let missed = || behind(path, since, until, changes);
    let shows = |it: &Change| match it.kind {
        EventType::NodeChildrenChanged => it.moves,
        // The znode was deleted and created again.
        kind => kind == EventType::NodeCreated,
    };
    if missed().any(shows) {
        Missed::Surely(EventType::NodeChildrenChanged)
    } else if missed().any(|it| it.kind == EventType::NodeChildrenChanged) {
        Missed::Perhaps(EventType::NodeChildrenChanged)
    } else {
        Missed::Nothing
    }
}

//! Records the stage of each member by session: from the observations of programs, and from the registrations in the
//! committed history.

use crate::double_barrier::DoubleBarrierSeen;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::{ClientId, SessionId};
use vivarium_model::property::View;

/// The record of one double barrier. It drops a session once that is over in the committed history.
#[derive(Clone, Debug, Hash)]
pub struct Ledger {
    barrier: Arc<str>,
    members: BTreeMap<(u64, SessionId), Member>,
}

/// A session in a generation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Member {
    pub(super) client: ClientId,
    pub(super) party: Arc<str>,
    /// The directory in which it registers.
    directory: Arc<str>,
    pub(super) stage: Stage,
}

/// The stage of a session in a generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Stage {
    /// The session has begun to enter.
    Entering,
    /// The session believes that it is inside.
    Inside,
    /// The session has begun to leave.
    Leaving,
    /// The session has given up: its registration does not count.
    GaveUp,
    /// The session has withdrawn or left, or its program does not run any more: its registration counts as long as it
    /// exists.
    Gone,
}

impl Ledger {
    /// Starts with no members.
    pub fn new(barrier: &str) -> Ledger {
        Ledger { barrier: barrier.into(), members: BTreeMap::new() }
    }

    /// Returns the part of an event that concerns double barriers; no other events change the record.
    pub(super) fn read(event: &Event) -> Option<Entry<'_>> {
        match event {
            Event::Observed { client, session, observation, .. } => {
                let seen: &DoubleBarrierSeen = observation.read()?;
                let (barrier, generation) = seen.place();
                let (client, session) = (*client, *session);
                Some(Entry::Said(Said { client, session, barrier, generation, seen }))
            }
            Event::Killed { client }
            | Event::Started { client }
            | Event::Finished { client, .. }
            | Event::Panicked { client, .. } => Some(Entry::Stops(*client)),
            Event::Committed { .. } => Some(Entry::Committed),
            _ => None,
        }
    }

    /// Returns the observation if it is one of this double barrier.
    pub(super) fn said<'a>(&self, entry: &'a Entry<'_>) -> Option<&'a Said<'a>> {
        match entry {
            Entry::Said(said) if *said.barrier == self.barrier => Some(said),
            _ => None,
        }
    }

    /// Applies an event.
    pub(super) fn see(&mut self, view: View<'_>, entry: &Entry<'_>) {
        match entry {
            Entry::Stops(client) => self.stops(*client, None),
            Entry::Committed => {
                let sessions = view.history.tree().sessions();
                self.members.retain(|(_, session), _| sessions.contains_key(session));
            }
            Entry::Said(said) if *said.barrier == self.barrier => self.hears(view, said),
            Entry::Said(_) => {}
        }
    }

    fn hears(&mut self, view: View<'_>, said: &Said<'_>) {
        let Some(session) = said.session else { return };
        // A program that reports in another session knows that its last one is over.
        self.stops(said.client, Some(session));
        let key = (said.generation, session);
        let stage = match said.seen {
            DoubleBarrierSeen::Entering { members, party, .. } => {
                if view.history.tree().sessions().contains_key(&session) {
                    let member = Member {
                        client: said.client,
                        party: Arc::clone(party),
                        directory: Arc::clone(members),
                        stage: Stage::Entering,
                    };
                    self.members.insert(key, member);
                }
                return;
            }
            DoubleBarrierSeen::Entered { .. } => Stage::Inside,
            DoubleBarrierSeen::Leaving { .. } => Stage::Leaving,
            DoubleBarrierSeen::Aborted { .. } | DoubleBarrierSeen::TimedOut { .. } => Stage::GaveUp,
            DoubleBarrierSeen::Withdrew { .. }
            | DoubleBarrierSeen::Left { .. }
            | DoubleBarrierSeen::OutOfPatience { .. } => Stage::Gone,
        };
        if let Some(member) = self.members.get_mut(&key) {
            member.stage = stage;
        }
    }

    /// Marks a client's sessions as gone, except for one: its program has ended, or continues in that session only.
    fn stops(&mut self, client: ClientId, except: Option<SessionId>) {
        for ((_, session), member) in &mut self.members {
            if member.client == client && Some(*session) != except && member.stage != Stage::GaveUp
            {
                member.stage = Stage::Gone;
            }
        }
    }

    /// Returns the sessions of a generation.
    pub(super) fn of(&self, generation: u64) -> impl Iterator<Item = (SessionId, &Member)> {
        let range = (generation, SessionId(0))..=(generation, SessionId(u64::MAX));
        self.members.range(range).map(|((_, session), member)| (*session, member))
    }

    /// Returns all sessions, with their generations.
    pub(super) fn all(&self) -> impl Iterator<Item = (u64, SessionId, &Member)> {
        self.members.iter().map(|((generation, session), member)| (*generation, *session, member))
    }

    /// Returns the generations that have a session.
    pub(super) fn generations(&self) -> BTreeSet<u64> {
        self.members.keys().map(|(generation, _)| *generation).collect()
    }
}

impl Member {
    /// Returns true if this session's registration exists in the committed history.
    pub(super) fn is_registered(&self, view: View<'_>, session: SessionId) -> bool {
        let tree = view.history.tree();
        let prefix = format!("{}/", self.directory);
        tree.ephemerals(session).any(|path| path.starts_with(&prefix))
    }
}

/// An event that concerns double barriers.
pub(super) enum Entry<'a> {
    Committed,
    /// A client's program ends, or begins anew.
    Stops(ClientId),
    /// A program reports an observation.
    Said(Said<'a>),
}

/// An observation of a program.
pub(super) struct Said<'a> {
    pub(super) client: ClientId,
    pub(super) session: Option<SessionId>,
    barrier: &'a Arc<str>,
    pub(super) generation: u64,
    pub(super) seen: &'a DoubleBarrierSeen,
}

//! Who is where: what programs said of themselves, by session, and what the committed history says of their
//! registrations.

use crate::double_barrier::DoubleBarrierSeen;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::{ClientId, SessionId};
use vivarium_model::property::View;

/// An account of one double barrier. What belongs to a session that is over in the committed history is dropped.
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
    /// Where it registers.
    directory: Arc<str>,
    pub(super) stage: Stage,
}

/// How far a session has come in a generation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Stage {
    /// It has begun to enter.
    Entering,
    /// It believes that it is inside.
    Inside,
    /// It has said that it leaves.
    Leaving,
    /// It has given up: its registration does not count.
    GaveUp,
    /// It goes its way, or does not run any more: its registration counts as long as it stands.
    Gone,
}

impl Ledger {
    /// Of the double barrier in this directory.
    pub fn new(barrier: &str) -> Ledger {
        Ledger { barrier: barrier.into(), members: BTreeMap::new() }
    }

    /// What a program says of this double barrier, and of which generation.
    pub(super) fn said<'a>(&self, event: &'a Event) -> Option<Said<'a>> {
        let Event::Observed { client, session, observation, .. } = event else { return None };
        let seen: &DoubleBarrierSeen = observation.read()?;
        let (barrier, generation) = seen.place();
        let is_ours = *barrier == self.barrier;
        is_ours.then_some(Said { client: *client, session: *session, generation, seen })
    }

    /// Whether an event of this kind can change the account.
    pub(super) fn concerns(event: &Event) -> bool {
        match event {
            Event::Observed { observation, .. } => {
                observation.read::<DoubleBarrierSeen>().is_some()
            }
            Event::Committed { .. }
            | Event::Killed { .. }
            | Event::Started { .. }
            | Event::Finished { .. }
            | Event::Panicked { .. } => true,
            _ => false,
        }
    }

    /// Writes an event down.
    pub(super) fn see(&mut self, view: View<'_>, event: &Event) {
        match event {
            Event::Killed { client }
            | Event::Started { client }
            | Event::Finished { client, .. }
            | Event::Panicked { client, .. } => self.stops(*client, None),
            Event::Committed { .. } => {
                let sessions = view.history.tree().sessions();
                self.members.retain(|(_, session), _| sessions.contains_key(session));
            }
            _ => {
                if let Some(said) = self.said(event) {
                    self.hears(view, &said);
                }
            }
        }
    }

    fn hears(&mut self, view: View<'_>, said: &Said<'_>) {
        let Some(session) = said.session else { return };
        // Whoever speaks in another session knows that the last one is over.
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

    /// A client's program ends, or goes on in this session only.
    fn stops(&mut self, client: ClientId, except: Option<SessionId>) {
        for ((_, session), member) in &mut self.members {
            if member.client == client && Some(*session) != except && member.stage != Stage::GaveUp
            {
                member.stage = Stage::Gone;
            }
        }
    }

    /// The sessions of a generation.
    pub(super) fn of(&self, generation: u64) -> impl Iterator<Item = (SessionId, &Member)> {
        let range = (generation, SessionId(0))..=(generation, SessionId(u64::MAX));
        self.members.range(range).map(|((_, session), member)| (*session, member))
    }

    /// All of them, with their generations.
    pub(super) fn all(&self) -> impl Iterator<Item = (u64, SessionId, &Member)> {
        self.members.iter().map(|((generation, session), member)| (*generation, *session, member))
    }

    /// The generations in which anybody is.
    pub(super) fn generations(&self) -> BTreeSet<u64> {
        self.members.keys().map(|(generation, _)| *generation).collect()
    }
}

impl Member {
    /// Whether this session's registration stands in the committed history.
    pub(super) fn is_registered(&self, view: View<'_>, session: SessionId) -> bool {
        let tree = view.history.tree();
        let prefix = format!("{}/", self.directory);
        tree.ephemerals(session).any(|path| path.starts_with(&prefix))
    }
}

/// What a program says.
pub(super) struct Said<'a> {
    pub(super) client: ClientId,
    pub(super) session: Option<SessionId>,
    pub(super) generation: u64,
    pub(super) seen: &'a DoubleBarrierSeen,
}

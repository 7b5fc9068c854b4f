//! Expands states into worlds and folds worlds into states.

use super::ProgramModel;
use super::pieces::{Client, Listener, Shared};
use super::progress::progress_of;
use super::reductions::Flaw;
use super::scene::Scene;
use super::state::{MAX_CLIENTS, State};
use crate::every::intern::Number;
use crate::every::memo::Memo;
use std::sync::Arc;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::history::History;
use vivarium_model::id::ClientId;
use vivarium_model::property::{LooksBack, Monitors, Objection};
use vivarium_model::service::{Common, Service};
use vivarium_model::world::World;
use vivarium_model::zxid::Zxid;

/// The number of pieces that a model holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pieces {
    /// States of single clients.
    pub clients: u32,
    /// States of what clients share: logs and sessions.
    pub shared: u32,
    /// States of the monitors.
    pub monitors: u32,
    /// Combinations of clients' states and of what clients can see of the shared ones, in which steps were computed.
    pub steps: u32,
}

impl ProgramModel {
    /// Returns the number of pieces that this model holds. A breadth-first search replaces the model by models that
    /// hold only the pieces that are still needed.
    pub fn pieces(&self) -> Pieces {
        Pieces {
            clients: self.tables.clients.len(),
            shared: self.tables.shared.len(),
            monitors: self.tables.witnesses.len(),
            steps: self.tables.steps.len(),
        }
    }

    /// Estimates the memory of the pieces, in bytes.
    pub(super) fn tables_bytes(&self) -> u64 {
        let tables = &self.tables;
        let pieces = tables.clients.bytes() + tables.shared.bytes() + tables.witnesses.bytes();
        let steps = tables.steps.bytes() + tables.deferred.bytes() + tables.expired.bytes();
        let graphs = tables.graphs.bytes() + tables.listeners.bytes() + tables.orbits.bytes();
        pieces + steps + graphs + tables.events.bytes() + tables.witnessed.bytes()
    }

    pub(super) fn clients(&self) -> impl DoubleEndedIterator<Item = ClientId> + use<> {
        (0..self.config.clients.len()).map(ClientId::at)
    }

    /// Expands a state into a scene.
    pub(super) fn scene(&self, state: &State) -> Scene {
        self.scene_with(state, self.tables.witnesses.get(state.witnesses).monitors.clone())
    }

    /// Expands a state into a scene with these monitors.
    pub(super) fn scene_with(&self, state: &State, monitors: Monitors) -> Scene {
        let clients = || state.clients.iter().flatten().map(|at| self.tables.clients.get(*at));
        let shared = self.tables.shared.get(state.shared);
        let service = Service::of_pieces(&shared.common, clients().map(|client| &client.share));
        let host = Memo::at(Arc::clone(&self.trie), clients().map(|client| client.place));
        let history = Arc::clone(&shared.history);
        Scene { world: World::of_pieces(service, host, history, monitors), left: state.left }
    }

    /// Folds a scene into a state.
    pub(super) fn fold(&self, scene: &Scene, objection: Option<Objection>) -> State {
        let mut clients = [None; MAX_CLIENTS];
        for client in self.clients() {
            clients[client.index()] = Some(self.client(scene, client));
        }
        let mut state = State {
            clients,
            shared: self.shared(scene),
            witnesses: self.monitors(scene.world.monitors()),
            left: scene.left,
            length: 0,
            objection: objection.map(Arc::new),
            fingerprint: Fingerprint::default(),
        };
        state.fingerprint = self.fingerprint_of(&state);
        state
    }

    /// Folds a scene that was derived from another one by a step. Parts shared with the earlier scene keep their pieces
    /// without a look-up. Returns the pieces of the clients and the shared piece.
    pub(super) fn refold(
        &self,
        here: &State,
        before: &Scene,
        after: &Scene,
    ) -> ([Option<Number>; MAX_CLIENTS], Number) {
        let (old, new) = (before.world.grain(), after.world.grain());
        let mut clients = here.clients;
        for client in self.clients() {
            let place = |scene: &Scene| scene.world.host().node(client).map(|node| node.id());
            if !new.has_same_share(old, client) || place(before) != place(after) {
                clients[client.index()] = Some(self.client(after, client));
            }
        }
        let shared = if new.has_same_common(old) { here.shared } else { self.shared(after) };
        (clients, shared)
    }

    fn client(&self, scene: &Scene, client: ClientId) -> Number {
        let share = scene.world.grain().share(client);
        let host = scene.world.host();
        let node = host.node(client);
        let place = node.as_ref().map(|node| (node.id(), node.fingerprint()));
        let program = place.map(|(_, fingerprint)| fingerprint);
        let fingerprint = Fingerprint::of(&(client, share.fingerprint(), program));
        self.tables.clients.number(fingerprint.0, || Client {
            has_finished: share.has_finished(),
            floor: share.floor(),
            reads: share.reads(),
            listener: self.tables.listeners.number(share.listener().0, || Listener(share.clone())),
            place: place.map(|(id, _)| id),
            fingerprint,
            progress: share.progress() + progress_of(node, share.has_finished()),
            share,
        })
    }

    fn shared(&self, scene: &Scene) -> Number {
        let common = scene.world.grain().common();
        let history = Arc::clone(scene.world.shared_history());
        let rest = self.rest(&common);
        let mut whole = common.log(Zxid::ZERO);
        whole.add(rest);
        self.tables.shared.number(whole.0, || Shared {
            rest,
            whole,
            sessions: self.clients().map(|client| common.sessions_of(client)).collect(),
            tip: Fingerprint::of(history.tree()),
            has_reaped: common.has_reaped(),
            progress: common.progress(),
            history: shared_tree(history, &common),
            common,
        })
    }

    /// Returns the fingerprint of what all clients share except the log; it includes what monitors can look up in the
    /// history.
    fn rest(&self, common: &Common) -> Fingerprint {
        let looks_back =
            self.looks_back == LooksBack::Whole && !self.has(Flaw::PastIgnoresMonitors);
        Fingerprint::of(&(common.rest(), looks_back.then(|| common.told())))
    }

    /// Returns the state's fingerprint: that of its pieces, and of the log from the first position that any client can
    /// still observe. Earlier parts of the log make no difference.
    pub(super) fn fingerprint_of(&self, state: &State) -> Fingerprint {
        self.identity(state, self.reductions.past)
    }

    /// Returns the fingerprint of the state in a search that forgets the past, even if this search does not.
    pub fn without_past(&self, state: &State) -> Fingerprint {
        self.identity(state, true)
    }

    /// Returns the zxid below which the log is no part of this state.
    pub(super) fn forgotten_below(&self, state: &State) -> Zxid {
        match self.reductions.past {
            true => self.floor(state, &self.tables.shared.get(state.shared).common),
            false => Zxid::ZERO,
        }
    }

    fn identity(&self, state: &State, forgets: bool) -> Fingerprint {
        let shared = self.tables.shared.get(state.shared);
        let mut whole = self.tables.witnesses.get(state.witnesses).fingerprint;
        let clients = || state.clients.iter().flatten().map(|at| self.tables.clients.get(*at));
        clients().for_each(|client| whole.add(client.fingerprint));
        let floor = if forgets { self.floor(state, &shared.common) } else { Zxid::ZERO };
        whole.add(shared.above(floor));
        whole.add(state.left.fingerprint());
        if let Some(objection) = &state.objection {
            whole.add(Fingerprint::of(&(&objection.property, &objection.saw)));
        }
        whole
    }

    /// Returns a zxid below which no client will observe the log. (`Floor::at` has the reasons.)
    fn floor(&self, state: &State, common: &Common) -> Zxid {
        let clients = state.clients.iter().flatten().map(|at| self.tables.clients.get(*at));
        let forgets_sessions = self.has(Flaw::PastIgnoresNewSessions);
        let left = state.left;
        let can_lose = (left.lost > 0 || left.expiries > 0) && !forgets_sessions;
        if can_lose && clients.clone().any(|client| !client.has_finished) {
            return Zxid::ZERO;
        }
        if self.has(Flaw::PastIgnoresServers) {
            return common.last();
        }
        let shown = clients.filter_map(|client| client.floor.at(common));
        shown.fold(common.last(), Zxid::min)
    }
}

/// Returns the history with the tree of the log, which is then stored once.
fn shared_tree(mut history: Arc<History>, common: &Common) -> Arc<History> {
    Arc::make_mut(&mut history).share_tree(common.tree());
    history
}

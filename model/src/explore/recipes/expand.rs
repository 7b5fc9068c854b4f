//! What clients can do: worked out in a world, kept in tables.

use super::pieces::{Changed, Choices, Client, Number, Shared, Table, Transition, Watchers};
use super::scene::Scene;
use super::state::{MAX_CLIENTS, State};
use super::{Recipes, quiet};
use crate::effect::{Effects, Status};
use crate::explore::memo::Memo;
use crate::fingerprint::Fingerprint;
use crate::grain::Grain;
use crate::id::{ClientId, SessionId};
use crate::machines::ProgramState;
use crate::property::Objection;
use crate::service::Service;
use crate::step::Step;
use crate::time::Time;
use crate::world::World;
use crate::zxid::Zxid;
use std::sync::Arc;

/// All tables of a search.
pub(super) struct Tables {
    pub(super) clients: Table<Client>,
    pub(super) shared: Table<Shared>,
    pub(super) watchers: Table<Watchers>,
    pub(super) choices: Table<Choices>,
}

impl Tables {
    pub(super) fn new() -> Tables {
        Tables {
            clients: Table::new(),
            shared: Table::new(),
            watchers: Table::new(),
            choices: Table::new(),
        }
    }
}

/// How many pieces a model holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pieces {
    /// States of single clients.
    pub clients: u32,
    /// States of what they share: logs and sessions.
    pub shared: u32,
    /// States of the monitors.
    pub monitors: u32,
    /// Combinations of these that a client was seen to act in.
    pub choices: u32,
}

impl Recipes {
    /// How many pieces this model holds. In the course of a search breadth first it is left behind by
    /// models that hold those which are still needed.
    pub fn pieces(&self) -> Pieces {
        Pieces {
            clients: self.tables.clients.len(),
            shared: self.tables.shared.len(),
            monitors: self.tables.watchers.len(),
            choices: self.tables.choices.len(),
        }
    }

    /// About what the pieces take in memory.
    pub(super) fn tables_bytes(&self) -> u64 {
        let Tables { clients, shared, watchers, choices } = &self.tables;
        clients.bytes() + shared.bytes() + watchers.bytes() + choices.bytes()
    }

    pub(super) fn clients(&self) -> impl Iterator<Item = ClientId> + use<> {
        (0..self.config.clients.len()).map(ClientId::at)
    }

    pub(super) fn choices_at(&self, number: Number) -> &Choices {
        self.tables.choices.get(number)
    }

    /// Unfolds a state.
    pub(super) fn scene(&self, state: &State) -> Scene {
        let clients = || state.clients.iter().flatten().map(|at| self.tables.clients.get(*at));
        let shared = self.tables.shared.get(state.shared);
        let service = Service::of_pieces(&shared.common, clients().map(|client| &client.share));
        let host = Memo::at(Arc::clone(&self.trie), clients().map(|client| client.place));
        let monitors = self.tables.watchers.get(state.watchers).monitors.clone();
        let history = Arc::clone(&shared.history);
        Scene {
            world: World::of_pieces(service, host, history, monitors),
            left: state.left,
            steps: Vec::new(),
        }
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
            watchers: self.watchers(scene),
            left: scene.left,
            length: 0,
            objection: objection.map(Arc::new),
            fingerprint: Fingerprint::default(),
        };
        state.fingerprint = self.fingerprint_of(&state);
        state
    }

    /// Folds a scene that comes from another one: what is shared with that needs no look at all.
    fn refold(&self, here: &State, before: &Scene, after: &Scene) -> State {
        let (old, new) = (before.world.grain(), after.world.grain());
        let mut clients = here.clients;
        for client in self.clients() {
            let place = |scene: &Scene| scene.world.host().node(client).map(|node| node.id());
            if !new.has_same_share(old, client) || place(before) != place(after) {
                clients[client.index()] = Some(self.client(after, client));
            }
        }
        let (old_monitors, monitors) = (before.world.monitors(), after.world.monitors());
        let same_monitors = monitors.is_shared_with(old_monitors);
        State {
            clients,
            shared: if new.has_same_common(old) { here.shared } else { self.shared(after) },
            watchers: if same_monitors { here.watchers } else { self.watchers(after) },
            ..here.clone()
        }
    }

    fn client(&self, scene: &Scene, client: ClientId) -> Number {
        let share = scene.world.grain().share(client);
        let host = scene.world.host();
        let place = host.node(client).map(|node| (node.id(), node.fingerprint()));
        let program = place.map(|(_, fingerprint)| fingerprint);
        let fingerprint = Fingerprint::of(&(client, share.fingerprint(), program));
        self.tables.clients.number(fingerprint.0, || Client {
            floor: share.floor(),
            share,
            place: place.map(|(id, _)| id),
            fingerprint,
        })
    }

    fn shared(&self, scene: &Scene) -> Number {
        let common = scene.world.grain().common();
        let history = Arc::clone(scene.world.shared_history());
        let shared = Shared { rest: common.rest(), common, history };
        self.tables.shared.number(shared.key(), || shared)
    }

    fn watchers(&self, scene: &Scene) -> Number {
        let monitors = scene.world.monitors();
        let fingerprint = monitors.fingerprint();
        let entry = || Watchers { monitors: monitors.clone(), fingerprint };
        self.tables.watchers.number(fingerprint.0, entry)
    }

    /// The state's fingerprint: of its pieces, and of the log from where any client can still be
    /// shown it; what lies before makes no difference any more.
    pub(super) fn fingerprint_of(&self, state: &State) -> Fingerprint {
        let shared = self.tables.shared.get(state.shared);
        let mut whole = self.tables.watchers.get(state.watchers).fingerprint;
        let mut floor = shared.common.last();
        for number in state.clients.iter().flatten() {
            let client = self.tables.clients.get(*number);
            whole.add(client.fingerprint);
            floor = client.floor.map_or(floor, |its| its.min(floor));
        }
        whole.add(shared.rest);
        whole.add(shared.common.log(floor));
        whole.add(state.left.fingerprint());
        if let Some(objection) = &state.objection {
            whole.add(Fingerprint::of(&(&objection.property, &objection.saw)));
        }
        whole
    }

    /// What a client can do in a state.
    pub(super) fn choices(&self, state: &State, client: ClientId) -> Number {
        let number = state.clients[client.index()].expect("there is such a client");
        let key = state.key(number);
        if let Some(number) = self.tables.choices.find(key) {
            return number;
        }
        let choices = self.work_out(state, client);
        if choices.depends_on_others {
            self.tables.choices.add(choices)
        } else {
            self.tables.choices.number(key, || choices)
        }
    }

    fn work_out(&self, state: &State, client: ClientId) -> Choices {
        let mut found = Choices::new(state.left);
        let scene = self.scene(state);
        let mut sleeps = Vec::new();
        scene.world.grain().sleeps(client, &mut sleeps);
        found.withheld = !sleeps.is_empty() && scene.left.timers == 0;
        let here = &State { length: 0, ..state.clone() };
        for step in sleeps {
            found.sleeps.extend(self.transition(here, &scene, client, &[], step, true));
        }
        self.wander(state, client, &mut found);
        let changed = |transition: &Transition| matches!(transition.clients, Changed::All(_));
        let all = found.ordinary.iter().chain(&found.faults).chain(&found.sleeps);
        found.depends_on_others = all.into_iter().any(changed);
        found
    }

    /// All ways on from a state by steps of one client that concern nobody else, up to its first
    /// step that may, or until it has to wait.
    fn wander(&self, state: &State, client: ClientId, found: &mut Choices) {
        let own = |state: &State| state.clients[client.index()];
        let mut seen = vec![(own(state), state.shared, state.left)];
        let mut open = vec![(State { length: 0, ..state.clone() }, Vec::new())];
        while let Some(nearest) = (0..open.len()).min_by_key(|at| open[*at].0.length) {
            let (here, way) = open.swap_remove(nearest);
            let scene = self.scene(&here);
            let mut steps = Vec::new();
            self.ordinary_of(&scene, client, &mut steps);
            if steps.is_empty() && !way.is_empty() {
                Self::record(found, self.wait(&here, client, &way));
            }
            faults_of(&scene, client, &mut steps);
            for step in steps {
                let Some(took) = self.transition(&here, &scene, client, &way, step, false) else {
                    continue;
                };
                if !self.reductions || !self.concerns_nobody_else(&here, &scene, client, &took) {
                    Self::record(found, took);
                    continue;
                }
                let next = here.after(self, client, &took);
                let place = (own(&next), next.shared, next.left);
                if !seen.contains(&place) {
                    seen.push(place);
                    let mut way = way.clone();
                    way.push(step);
                    open.push((next, way));
                }
            }
        }
    }

    /// A way with a fault on it is a fault.
    fn record(found: &mut Choices, took: Transition) {
        match took.left == found.left {
            true => found.ordinary.push(took),
            false => found.faults.push(took),
        }
    }

    fn ordinary_of(&self, scene: &Scene, client: ClientId, steps: &mut Vec<Step>) {
        let service = scene.world.grain();
        service.enabled(client, self.prefixes(), steps);
        let drawn = service.numbers_drawn(client);
        steps.extend(service.draws(client).map(|call| quiet::draw(client, call, drawn)));
    }

    /// Whether a step could as well have been taken at any later moment, before or after whatever
    /// other clients do: it changed its own client only, told the monitors nothing that they mind
    /// the order of, and depended on no more of the log than the prefix that it names.
    fn concerns_nobody_else(
        &self,
        before: &State,
        scene: &Scene,
        client: ClientId,
        took: &Transition,
    ) -> bool {
        let step = took.choices.last().expect("a transition has a last step");
        let unchanged = took.watchers == before.watchers
            && took.objection.is_none()
            && matches!(took.clients, Changed::Itself(_))
            // That a session has expired is known to the leader, but matters to its client only.
            && (took.shared == before.shared || matches!(step, Step::Expire(_)));
        unchanged
            && match step {
                Step::Serve { prefix, .. } => {
                    *prefix != Zxid::ZERO || scene.world.grain().reads(client)
                }
                Step::Notify(_) | Step::Random { .. } | Step::Expire(_) => true,
                Step::Fire(_) => true,
                Step::BreakClient { .. } | Step::Cancel(_) => !self.reads_matter,
                Step::ToClient(_) => !self.reads_matter,
                Step::Input(_) => self.is_quiet_input(scene, client),
                _ => false,
            }
    }

    /// The client has come this way and waits.
    fn wait(&self, here: &State, client: ClientId, way: &[Step]) -> Transition {
        Transition {
            choices: way.into(),
            clients: Changed::Itself(here.clients[client.index()].expect("it is a client")),
            shared: here.shared,
            watchers: here.watchers,
            length: here.length,
            left: here.left,
            objection: None,
        }
    }

    /// What a step comes to, after others on the way here; `None` where it is not possible.
    fn transition(
        &self,
        here: &State,
        scene: &Scene,
        client: ClientId,
        way: &[Step],
        step: Step,
        at_rest: bool,
    ) -> Option<Transition> {
        let mut next = scene.clone();
        let result = self.run(&mut next, client, step, at_rest).transpose()?;
        let folded = self.refold(here, scene, &next);
        let others = self.clients().any(|other| {
            other != client && folded.clients[other.index()] != here.clients[other.index()]
        });
        let clients = if others {
            Changed::All(folded.clients.iter().flatten().copied().collect())
        } else {
            Changed::Itself(folded.clients[client.index()].expect("it is one of the clients"))
        };
        let length = u32::try_from(next.steps.len()).expect("few steps").max(1);
        Some(Transition {
            choices: way.iter().copied().chain([step]).collect(),
            clients,
            shared: folded.shared,
            watchers: folded.watchers,
            length: here.length + length,
            left: next.left,
            objection: result.err().map(Arc::new),
        })
    }

    /// Takes a step of a client in a scene, with what follows quietly; `None` where it is not
    /// possible.
    ///
    /// # Errors
    /// An objection.
    pub(super) fn run(
        &self,
        scene: &mut Scene,
        client: ClientId,
        step: Step,
        at_rest: bool,
    ) -> Result<Option<()>, Objection> {
        let mut effects = Effects::default();
        if at_rest {
            scene.world.at_rest(Time::ZERO).inspect_err(|_| scene.steps.push(step))?;
        } else {
            scene.spend(&step);
        }
        if scene.take(step, &mut effects)? != Status::Done {
            return Ok(None);
        }
        if self.reductions {
            self.settle(scene, client, &mut effects)?;
        }
        Ok(Some(()))
    }
}

fn faults_of(scene: &Scene, client: ClientId, steps: &mut Vec<Step>) {
    let (service, left) = (scene.world.grain(), scene.left);
    if service.program(client) != ProgramState::Running {
        return;
    }
    if left.lost > 0 && service.is_connected(client) {
        let connection = service.connection(client);
        steps.push(Step::BreakClient { connection, to_server: 0, to_client: 0 });
    }
    if left.cancels > 0 && service.can_cancel(client) {
        steps.push(Step::Cancel(client));
    }
    if left.kills > 0 {
        steps.push(Step::Kill(client));
    }
    let live = |session: &SessionId| service.is_alive(*session);
    if left.expiries > 0
        && let Some(session) = service.session(client).filter(live)
    {
        steps.push(Step::Expire(session));
    }
    if left.timers > 0 {
        service.sleeps(client, steps);
    }
}

//! A run from the clients' point of view: their steps and events, in order, and what is known only at the end of the
//! run (the proposals that are committed, and the servers' zxids when they answered).

use crate::host::DirectHost;
use crate::scenario::run::Run;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vivarium_model::effect::{Effects, Status};
use vivarium_model::event::Event;
use vivarium_model::handle::Program;
use vivarium_model::id::{ClientId, SessionId, Xid};
use vivarium_model::op::SessionState;
use vivarium_model::step::Step;
use vivarium_model::time::Time;
use vivarium_model::timer::{ClientTimer, Timer};
use vivarium_model::txn::Txn;
use vivarium_model::world::World;
use vivarium_model::zxid::Zxid;

/// A step of the run that has a counterpart.
pub(super) struct Turn {
    /// Its number in the run, from 1.
    pub(super) number: u64,
    pub(super) at: Time,
    pub(super) step: Step,
    pub(super) does: Does,
    /// Events of clients and programs.
    pub(super) events: Vec<Event>,
}

/// The kind of a step.
pub(super) enum Does {
    /// A client machine or a program takes the same step.
    Same(ClientId),
    /// A client machine reads a packet.
    Read(ClientId),
    /// A client's connection, or its attempt at one, ends.
    Lose(ClientId),
    /// A leader proposes these transactions, which are committed now or later.
    Propose(Vec<Arc<Txn>>),
}

/// A whole run.
pub(super) struct Script {
    pub(super) turns: Vec<Turn>,
    /// The server's zxid when it answered a request.
    pub(super) answered: BTreeMap<(ClientId, SessionId, Xid), Zxid>,
    /// For each client, the server's zxid when it answered each SetWatches, in order; `None` if the client did not
    /// read the answer.
    pub(super) rearmed: BTreeMap<ClientId, Vec<Option<Zxid>>>,
    /// The client of each session that the client itself knew.
    pub(super) owner: BTreeMap<SessionId, ClientId>,
}

impl Script {
    /// Repeats the steps of a run and records what concerns clients.
    pub(super) fn of(
        run: &Run,
        programs: Vec<Program>,
        steps: &[(Time, Step)],
    ) -> Result<Script, String> {
        let config = Arc::new(run.config.clone());
        let mut world = World::new(config, DirectHost::new(programs), Vec::new());
        let mut effects = Effects::default();
        world.begin(&mut effects);
        let (mut turns, mut committed) = (Vec::new(), BTreeSet::new());
        for (number, (at, step)) in (1..).zip(steps) {
            effects.clear();
            let before = reader(step).map(|client| standing(&world, client));
            match world.apply(*at, step, &mut effects) {
                Ok(Status::Done) => {}
                other => return Err(format!("step {number} cannot be taken again: {other:?}")),
            }
            let mut proposed = Vec::new();
            for event in &effects.events {
                match event {
                    Event::Committed { txn, .. } => _ = committed.insert(txn.zxid),
                    Event::Proposed { txn, .. } => proposed.push(Arc::clone(txn)),
                    _ => {}
                }
            }
            let events: Vec<Event> = effects.events.drain(..).filter(is_of_a_client).collect();
            if !proposed.is_empty() {
                let (does, events) = (Does::Propose(proposed), Vec::new());
                turns.push(Turn { number, at: *at, step: *step, does, events });
            }
            let does = match before {
                Some(before) => read(step, &before, &standing(&world, before.client), &events),
                None => same(step),
            };
            match does {
                Some(does) => turns.push(Turn { number, at: *at, step: *step, does, events }),
                None if events.is_empty() => {}
                None => {
                    return Err(format!(
                        "step {number} ({step}) caused events of clients: {events:?}"
                    ));
                }
            }
        }
        Ok(Script::gather(turns, &committed))
    }

    fn gather(mut turns: Vec<Turn>, committed: &BTreeSet<Zxid>) -> Script {
        for turn in &mut turns {
            if let Does::Propose(txns) = &mut turn.does {
                txns.retain(|txn| committed.contains(&txn.zxid));
            }
        }
        turns.retain(|turn| !matches!(&turn.does, Does::Propose(txns) if txns.is_empty()));
        let (mut answered, mut owner) = (BTreeMap::new(), BTreeMap::new());
        let mut rearmed: BTreeMap<ClientId, Vec<Option<Zxid>>> = BTreeMap::new();
        let mut open: BTreeMap<ClientId, usize> = BTreeMap::new();
        for event in turns.iter().flat_map(|turn| &turn.events) {
            match event {
                Event::Replied { client, session, xid, zxid, .. } => {
                    answered.insert((*client, *session, *xid), *zxid);
                }
                Event::Rearming { client, .. } => rearmed.entry(*client).or_default().push(None),
                Event::Rearmed { client, zxid, .. } => {
                    let of_client = rearmed.entry(*client).or_default();
                    let next = open.entry(*client).or_default();
                    of_client[*next] = Some(*zxid);
                    *next += 1;
                }
                // Missed events precede the answer, and have the same zxid.
                Event::Notified { client, event, .. } => {
                    let next = *open.entry(*client).or_default();
                    let asked = rearmed.get_mut(client).and_then(|all| all.get_mut(next));
                    asked.into_iter().for_each(|place| _ = place.get_or_insert(event.zxid));
                }
                Event::Session { client, session: Some(session), state, .. } => {
                    if *state == SessionState::SyncConnected {
                        owner.insert(*session, *client);
                    }
                    // Requests that were not answered on the previous connection will not be answered.
                    let asked = rearmed.get(client).map_or(0, Vec::len);
                    open.insert(*client, asked);
                }
                _ => {}
            }
        }
        Script { turns, answered, rearmed, owner }
    }
}

/// The connection of a client machine.
struct Standing {
    client: ClientId,
    has_connection: bool,
    connection: Option<vivarium_model::id::ClientConnection>,
}

fn standing(world: &World<DirectHost>, client: ClientId) -> Standing {
    let machine = world.ensemble().machine(client);
    let has_connection = machine.state().has_connection();
    Standing { client, has_connection, connection: machine.connection() }
}

/// Returns the client whose machine reads, or whose timer fires because there is nothing to read.
fn reader(step: &Step) -> Option<ClientId> {
    match step {
        Step::ToClient(connection) => Some(connection.client),
        Step::Fire(Timer::Client(client, ClientTimer::Connect | ClientTimer::Read)) => {
            Some(*client)
        }
        _ => None,
    }
}

fn read(step: &Step, before: &Standing, after: &Standing, events: &[Event]) -> Option<Does> {
    if matches!(step, Step::ToClient(connection) if before.connection != Some(*connection)) {
        return None;
    }
    let by_packet = |event: &Event| {
        matches!(event, Event::Replied { .. })
            || matches!(event, Event::Session { state, .. }
                if matches!(state, SessionState::Expired | SessionState::AuthFailed))
    };
    let is_over = before.has_connection && before.connection != after.connection;
    if is_over && !events.iter().any(by_packet) {
        return Some(Does::Lose(before.client));
    }
    (!events.is_empty()).then_some(Does::Read(before.client))
}

/// Returns the kind of a step that is the same at both grains.
fn same(step: &Step) -> Option<Does> {
    match step {
        Step::Start(client)
        | Step::Input(client)
        | Step::Random { client, .. }
        | Step::Resource { client, .. }
        | Step::Message { to: client, .. }
        | Step::Kill(client)
        | Step::Cancel(client)
        | Step::Fire(Timer::Sleep(client, _) | Timer::Client(client, ClientTimer::Reconnect)) => {
            Some(Does::Same(*client))
        }
        _ => None,
    }
}

/// Returns true for an event of a client machine or a program that exists at both grains.
fn is_of_a_client(event: &Event) -> bool {
    matches!(
        event,
        Event::Sent { .. }
            | Event::Replied { .. }
            | Event::Lost { .. }
            | Event::Refused { .. }
            | Event::Session { .. }
            | Event::Notified { .. }
            | Event::Rearming { .. }
            | Event::Rearmed { .. }
            | Event::Authenticating { .. }
            | Event::Authenticated { .. }
            | Event::Observed { .. }
            | Event::Started { .. }
            | Event::Finished { .. }
            | Event::Panicked { .. }
            | Event::Killed { .. }
            | Event::Cancelled { .. }
            | Event::ResourceWrite { .. }
    )
}

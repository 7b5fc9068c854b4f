//! The steps of a client, one by one, and which of them are private.
//!
//! A step is *private* if it can be taken later instead: whatever step another client takes next, that step can be
//! taken first and the private step second, both orders lead to the same state, and no monitor can tell them apart. (In
//! Lipton's terms, a right mover.) The conditions for a step of client *i*:
//!
//! * It changes *i*'s own piece only. Other clients add to that piece in one way only: a message, which is queued after
//!   those that are there.
//! * It depends only on parts of the shared pieces that other clients never remove: a prefix of the log, or whether a
//!   session of *i* is alive. It takes the same from the budget now and later.
//! * No monitor minds the order of its events ([`Monitor::minds_order`]); what it changes in monitors is an account of
//!   *i* only.
//!
//! | Step | Private | Why |
//! |---|---|---|
//! | the server answers a read or a sync at a prefix, takes SetWatches or a proof of identity, reattaches a session | yes | the prefix stays in the log, and later transactions fire no earlier watch; only a client's own steps change whether its sessions are alive |
//! | the server applies the log up to the transaction that notifies its client | yes | a later step reaches the same transaction |
//! | the client machine reads a packet, or tries to connect; the program takes an input, draws a random number, reads its clock, gets a message | yes | its own piece only |
//! | the connection is lost; a cancellation; a sleep ends early; the program is killed; it starts again | yes | its own piece and the budget |
//! | the client's live session expires | yes | the leader's table changes in the entry of this session, which only this client's steps read |
//! | the client gives up its session by its own clock | yes | like a lost connection; only this client's steps ask whether its session is still kept alive |
//! | a session expires that no process keeps alive | no | another client that deletes its ephemeral changes the expiry |
//! | a write, a new session, a late write, a closeSession, the deletion of a container, a request to a resource | no | others' steps change what it reads, or read what it changes |
//! | a step that sends a message, or has an event whose order a monitor minds | no | |
//!
//! The search checks privacy while it uses it (`check.rs`).
//!
//! [`Monitor::minds_order`]: vivarium_model::property::Monitor::minds_order

use super::ProgramModel;
use super::budget::account_of;
use super::check::REDUCTION;
use super::kept::Question;
use super::pieces::{AtOnce, Change, OwnStep, OwnSteps};
use super::reductions::Flaw;
use super::scene::Scene;
use super::state::State;
use crate::budget::Account;
use crate::every::intern::Number;
use crate::every::trie::{other_random_numbers, random_number};
use std::sync::Arc;
use vivarium_model::bounds::SEARCHED_INPUTS;
use vivarium_model::effect::{Effects, Status};
use vivarium_model::grain::Grain;
use vivarium_model::host::Output;
use vivarium_model::id::{CallId, ClientId, SessionId};
use vivarium_model::machines::ProgramState;
use vivarium_model::op::Request;
use vivarium_model::packet::ClientPacket;
use vivarium_model::property::{Monitors, Objection};
use vivarium_model::service::Service;
use vivarium_model::step::Step;
use vivarium_model::timer::{ClientTimer, Timer};

impl ProgramModel {
    /// Computes what a client can do in a state, without what monitors make of it.
    pub(super) fn try_all(&self, state: &State, client: ClientId) -> OwnSteps {
        let scene = self.scene_with(state, Monitors::new(Vec::new()));
        let mut steps = Vec::new();
        self.ordinary_of(&scene, client, &mut steps);
        let idle = steps.is_empty();
        let input_withheld = is_told_enough(&scene, client);
        if input_withheld {
            steps.retain(|step| !matches!(step, Step::Input(_)));
        }
        faults_of(&scene, client, &mut steps);
        if scene.left.deletions > 0 && self.deletes(client) {
            scene.world.grain().deletions(&mut steps);
        }
        if let Some(flaw) = self.flaw {
            take_at_once(flaw, &scene, client, &mut steps);
        }
        let paid = |step: Step| (step, account_of(scene.world.grain(), &step));
        let all: Vec<(Step, Option<Account>)> = steps.into_iter().map(paid).collect();
        let defers = self.question(client, state.place(client)) != Question::Everything;
        let mut all = self.try_each(state, &scene, client, all, defers);
        self.mark_at_once(&scene, client, &mut all);
        let mut in_time = Vec::new();
        scene.world.grain().sleeps(client, &mut in_time);
        let sleeps = !in_time.is_empty();
        if self.deletes(client) {
            scene.world.grain().deletions(&mut in_time);
        }
        let free = in_time.into_iter().map(|step| (step, None)).collect();
        let in_time = self.try_each(state, &scene, client, free, false);
        OwnSteps {
            depends_on_others: all.iter().chain(&in_time).any(|step| step.all.is_some()),
            all: all.into(),
            in_time: in_time.into(),
            idle,
            withheld: sleeps && state.left.timers == 0,
            input_withheld,
        }
    }

    pub(super) fn ordinary_of(&self, scene: &Scene, client: ClientId, steps: &mut Vec<Step>) {
        let service = scene.world.grain();
        service.enabled(client, self.prefixes(), steps);
        let drawn = service.numbers_drawn(client);
        for call in service.draws(client) {
            steps.push(draw(client, call, drawn));
            if self.draws_others {
                let others = other_random_numbers(client, drawn);
                steps.extend(others.map(|value| Step::Random { client, call, value }));
            }
        }
        for (call, least) in service.clock_calls(client) {
            let later = self.delays.iter().filter(|_| scene.left.delays > 0).map(|by| least + *by);
            let readings = [least].into_iter().chain(later);
            steps.extend(readings.map(|reading| Step::Clock { client, call, reading }));
        }
    }

    /// Returns true if the leader's deletions of containers are tried among this client's steps. Deletions belong to no
    /// client and change only the shared pieces, so any one client would do; the first is used.
    pub(super) fn deletes(&self, client: ClientId) -> bool {
        client.index() == 0
    }

    /// Computes the result of a step that reads the whole shared piece.
    pub(super) fn try_deferred(&self, state: &State, client: ClientId, step: Step) -> OwnStep {
        let scene = self.scene_with(state, Monitors::new(Vec::new()));
        let account = account_of(scene.world.grain(), &step);
        self.try_step(state, &scene, client, step, account).unwrap_or_else(|| {
            let saw = format!("`{step}` was looked up as a possible step, and cannot be taken");
            let objection = Some(Arc::new(Objection::new(REDUCTION, saw)));
            let client = state.place(client).client;
            OwnStep {
                shared: Change::Nothing,
                objection,
                ..OwnStep::deferred(step, account, client)
            }
        })
    }

    /// Computes the results of those steps that are enabled, or defers it for those that read the whole shared piece.
    /// Each account pays for a step.
    fn try_each(
        &self,
        here: &State,
        scene: &Scene,
        client: ClientId,
        steps: Vec<(Step, Option<Account>)>,
        defers: bool,
    ) -> Vec<OwnStep> {
        let take =
            |(step, account)| match defers && scene.world.grain().reads_the_end(client, &step) {
                true => Some(OwnStep::deferred(step, account, here.place(client).client)),
                false => self.try_step(here, scene, client, step, account),
            };
        steps.into_iter().filter_map(take).collect()
    }

    /// Computes the result of a step; `None` if it is not enabled.
    fn try_step(
        &self,
        here: &State,
        scene: &Scene,
        client: ClientId,
        step: Step,
        account: Option<Account>,
    ) -> Option<OwnStep> {
        let (mut next, mut effects) = (scene.clone(), Effects::default());
        let result = next.take(step, &mut effects);
        if result.as_ref().is_ok_and(|status| *status != Status::Done) {
            return None;
        }
        let (clients, shared) = self.refold(here, scene, &next);
        let is_changed = |other: &ClientId| clients[other.index()] != here.clients[other.index()];
        let others = self.clients().any(|other| other != client && is_changed(&other));
        let all = others.then(|| clients.iter().flatten().copied().collect::<Arc<[Number]>>());
        let mut own = OwnStep {
            step,
            private: false,
            at_once: AtOnce::No,
            account,
            client: clients[client.index()].expect("it is one of the clients"),
            all,
            shared: match step {
                _ if shared == here.shared => Change::Nothing,
                // Everything else that changes the shared piece reads all of it.
                Step::Expire(session) if !scene.world.grain().is_orphan(session) => {
                    Change::Expiry(session)
                }
                _ => Change::To(shared),
            },
            events: self.events(&effects.events),
            objection: result.err().map(Arc::new),
        };
        own.private = self.is_private(scene, client, &own);
        Some(own)
    }

    /// Marks each step that could be the only one tried: a program's next input, or a packet for its client machine,
    /// that makes no difference to the client's other steps, now or later.
    fn mark_at_once(&self, scene: &Scene, client: ClientId, all: &mut [OwnStep]) {
        if !self.reductions.inputs || !self.is_unharmed(scene, client) {
            return;
        }
        // Deletions are listed with this client's steps but belong to no client: if the program's last input were the
        // only step tried, no deletion before it would be.
        let is_deletion = |own: &OwnStep| matches!(own.step, Step::DeleteContainer(_));
        if all.iter().any(is_deletion) && !self.has(Flaw::AtOnceThoughDeleting) {
            return;
        }
        let service = scene.world.grain();
        for own in all {
            let at_once = match own.step {
                Step::Input(_) => {
                    let reaction = self.reaction(scene, client);
                    service.can_take_at_once(client, &reaction) || self.has(Flaw::InputAlways)
                }
                Step::ToClient(_) => {
                    service.can_read_at_once(client) || self.has(Flaw::PacketAlways)
                }
                _ => false,
            };
            if at_once {
                own.at_once = self.if_heard(service, client);
            }
        }
    }

    /// Returns whether a step of this client that concerns a monitor can be taken at once. A monitor that accounts for
    /// the client needs its requests and replies in order.
    fn if_heard(&self, service: &Service, client: ClientId) -> AtOnce {
        let sends = service.sends_at_once(client);
        if self.has(Flaw::HeardAtOnce)
            || sends && !self.told_matters && !service.has_commit_under_way(client)
        {
            AtOnce::IfPrivate
        } else if sends || !self.told_matters {
            AtOnce::IfUnheard
        } else {
            AtOnce::No
        }
    }

    /// Returns true if no fault can strike this client any more.
    fn is_unharmed(&self, scene: &Scene, client: ClientId) -> bool {
        let left = scene.left;
        let service = scene.world.grain();
        let mut sleeps = Vec::new();
        service.sleeps(client, &mut sleeps);
        (left.lost == 0 || self.has(Flaw::AtOnceThoughLost))
            && (left.expiries == 0 || self.has(Flaw::AtOnceThoughExpiring))
            && (left.kills == 0 || self.has(Flaw::AtOnceThoughKilled))
            && (left.cancels == 0 || !service.can_cancel(client))
            && (left.timers == 0 || sleeps.is_empty() || self.has(Flaw::AtOnceThoughTimed))
    }

    /// Returns what a program does with its next input.
    pub(super) fn reaction(&self, scene: &Scene, client: ClientId) -> Arc<[Output]> {
        let input = scene.world.grain().next_input(client).expect("the step is possible");
        Arc::clone(scene.world.host().peek(client, input).outputs())
    }

    /// Returns true if a step can be taken later instead, as far as ZooKeeper and the programs are concerned. The table
    /// in the module documentation gives the reasons.
    fn is_private(&self, scene: &Scene, client: ClientId, own: &OwnStep) -> bool {
        let service = scene.world.grain();
        let step = &own.step;
        if own.objection.is_some() || own.all.is_some() {
            return false;
        }
        let is_late = self.has(Flaw::LateIsPrivate) && matches!(step, Step::Late(_));
        let is_deleted =
            self.has(Flaw::DeletionIsPrivate) && matches!(step, Step::DeleteContainer(_));
        let expires = matches!(step, Step::Expire(_));
        if own.shared != Change::Nothing && !expires && !is_late && !is_deleted {
            return false;
        }
        match step {
            Step::Serve { .. } => match service.oldest_packet(client) {
                Some(ClientPacket::Request { request, .. }) => {
                    request.is_read()
                        || matches!(**request, Request::Sync { .. })
                        || self.has(Flaw::FailedWriteIsPrivate)
                }
                Some(ClientPacket::Connect { session, .. }) => session.is_some(),
                Some(ClientPacket::SetWatches { .. } | ClientPacket::Auth { .. }) => true,
                Some(ClientPacket::Ping) | None => false,
            },
            Step::Expire(session) => {
                !service.is_orphan(*session) || self.has(Flaw::OrphanExpiryIsPrivate)
            }
            Step::Notify(_)
            | Step::ToClient(_)
            | Step::Fire(_)
            | Step::Input(_)
            | Step::Random { .. }
            | Step::Clock { .. }
            | Step::Message { .. }
            | Step::BreakClient { .. }
            | Step::Cancel(_)
            | Step::Kill(_)
            | Step::Start(_) => true,
            Step::Late(_) => is_late,
            Step::DeleteContainer(_) => is_deleted,
            _ => false,
        }
    }
}

/// Draws a fresh random number. The model decides which alternatives are tried ([`ProgramModel::drawing_others`]).
fn draw(client: ClientId, call: CallId, number: u64) -> Step {
    Step::Random { client, call, value: random_number(client, number) }
}

/// Returns true if a program that can take an input has reached the bound: it had that many inputs or made that many
/// requests.
fn is_told_enough(scene: &Scene, client: ClientId) -> bool {
    let service = scene.world.grain();
    let inputs = scene.world.host().node(client).map_or(0, |node| node.inputs());
    inputs.max(service.requests(client)) >= SEARCHED_INPUTS && service.next_input(client).is_some()
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
    if left.expiries > 0 && service.can_give_up(client) {
        steps.push(Step::Fire(Timer::Client(client, ClientTimer::Expiry)));
    }
    if left.timers > 0 {
        service.sleeps(client, steps);
    }
}

/// Applies a planted mistake: if a step of its kind is enabled, no other step of the client is tried.
fn take_at_once(flaw: Flaw, scene: &Scene, client: ClientId, steps: &mut Vec<Step>) {
    let service: &Service = scene.world.grain();
    let syncs = || {
        let oldest = service.oldest_packet(client);
        matches!(oldest, Some(ClientPacket::Request { request, .. })
            if matches!(**request, Request::Sync { .. }))
    };
    let at_once = |step: &Step| match (flaw, step) {
        (Flaw::InputAtOnce, Step::Input(_)) => true,
        (Flaw::PacketAtOnce, Step::ToClient(_)) => true,
        (Flaw::SyncAtOnce, Step::Serve { .. }) => syncs(),
        (Flaw::RandomAtOnce, Step::Random { .. }) => true,
        (Flaw::SessionAtOnce, Step::ToClient(_)) => service.session(client).is_none(),
        _ => false,
    };
    if steps.iter().any(at_once) {
        steps.retain(at_once);
    }
}

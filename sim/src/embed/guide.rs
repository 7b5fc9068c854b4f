//! Repeats a run at the service grain, turn by turn.

use super::same::{Names, plain};
use super::script::{Does, Script, Turn};
use super::{Cost, Embedded};
use crate::budget::Account;
use crate::host::DirectHost;
use crate::scenario::run::Run;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vivarium_model::config::Config;
use vivarium_model::effect::{Effects, Status};
use vivarium_model::error::Error;
use vivarium_model::event::Event;
use vivarium_model::grain::Grain;
use vivarium_model::handle::Program;
use vivarium_model::id::{CallId, ClientId, SessionId, Xid};
use vivarium_model::machines::ProgramState;
use vivarium_model::op::SessionState;
use vivarium_model::packet::ClientPacket;
use vivarium_model::service::{Prefixes, Service};
use vivarium_model::step::Step;
use vivarium_model::time::Time;
use vivarium_model::timer::Timer;
use vivarium_model::txn::{Txn, TxnBody};
use vivarium_model::world::World;
use vivarium_model::zxid::Zxid;

/// The state of the run at the service grain.
pub(super) struct Guide<'a> {
    script: &'a Script,
    world: World<DirectHost, Service>,
    names: Names,
    /// Number of times that each client has set its watches again.
    rearmings: BTreeMap<ClientId, usize>,
    /// Sessions with a write that was refused because the session had moved.
    moved: BTreeSet<SessionId>,
    effects: Effects,
    /// The clients' events at the service grain in the present turn.
    events: Vec<Event>,
    enabled: Vec<Step>,
    at: Time,
    cost: Cost,
    steps: u64,
    compared: u64,
}

impl<'a> Guide<'a> {
    pub(super) fn new(run: &Run, programs: Vec<Program>, script: &'a Script) -> Guide<'a> {
        let config = Config { deletes_containers: true, ..run.config.clone() };
        let service = Service::new(Arc::new(config));
        let mut world = World::over(service, DirectHost::new(programs), Vec::new());
        let mut effects = Effects::default();
        world.begin(&mut effects);
        Guide {
            script,
            world,
            names: Names::default(),
            rearmings: BTreeMap::new(),
            moved: BTreeSet::new(),
            effects,
            events: Vec::new(),
            enabled: Vec::new(),
            at: Time::ZERO,
            cost: Cost::default(),
            steps: 0,
            compared: 0,
        }
    }

    pub(super) fn embedded(&self, steps: u64) -> Embedded {
        let (steps, events) = ((steps, self.steps), self.compared);
        Embedded { cost: self.cost, steps, events }
    }

    fn service(&self) -> &Service {
        self.world.grain()
    }

    /// Repeats a turn of the run.
    pub(super) fn follow(&mut self, turn: &Turn) -> Result<(), String> {
        self.at = turn.at;
        self.events.clear();
        let client = match &turn.does {
            Does::Propose(txns) => {
                return txns.iter().try_for_each(|txn| self.commit(txn));
            }
            Does::Same(client) => {
                self.same(*client, turn.step)?;
                *client
            }
            Does::Lose(client) => {
                self.lose(*client)?;
                *client
            }
            Does::Read(client) => {
                self.read(*client, &turn.events)?;
                *client
            }
        };
        self.compare(client, &turn.events)
    }

    /// Checks that the events at both grains are equal.
    fn compare(&mut self, client: ClientId, events: &[Event]) -> Result<(), String> {
        let connection = self.service().connection(client);
        let expected = events.iter().map(|event| self.names.translated(event, connection));
        let expected: Vec<Event> = expected.collect();
        let here: Vec<Event> = self.events.iter().map(plain).collect();
        if expected == here {
            self.compared += here.len() as u64;
            return Ok(());
        }
        Err(format!("the run reports {expected:?}, but the service grain reports {here:?}"))
    }

    // ---- steps ----

    /// Takes a step that a search would try too.
    fn take(&mut self, client: ClientId, step: Step) -> Result<(), String> {
        if !self.can(client, &step) {
            return Err(format!("{client} cannot take the step `{step}` there"));
        }
        self.force(step)
    }

    /// Returns true if a search would try this step, faults included.
    fn can(&mut self, client: ClientId, step: &Step) -> bool {
        let mut enabled = std::mem::take(&mut self.enabled);
        enabled.clear();
        let service = self.world.grain();
        service.enabled(client, Prefixes::All, &mut enabled);
        let runs = service.program(client) == ProgramState::Running;
        let can = enabled.contains(step)
            || match step {
                Step::Random { call, .. } => service.draws(client).any(|draws| draws == *call),
                Step::Fire(Timer::Sleep(..)) => {
                    enabled.clear();
                    service.sleeps(client, &mut enabled);
                    enabled.contains(step)
                }
                Step::BreakClient { .. } => runs && service.is_connected(client),
                Step::Kill(_) => runs,
                Step::Cancel(_) => runs && service.can_cancel(client),
                Step::Expire(session) => {
                    runs && service.is_alive(*session) && service.session(client) == Some(*session)
                }
                _ => false,
            };
        self.enabled = enabled;
        can
    }

    fn force(&mut self, step: Step) -> Result<(), String> {
        self.apply(step)?;
        self.tell_time()
    }

    /// Answers programs that asked for the time with the time of the run.
    fn tell_time(&mut self) -> Result<(), String> {
        let clients = (0..self.service().config().clients.len()).map(ClientId::at);
        let reading = self.at;
        let calls = |client| {
            let calls = self.service().clock_calls(client);
            calls.map(move |(call, _least)| Step::Clock { client, call, reading })
        };
        let readings: Vec<Step> = clients.flat_map(calls).collect();
        readings.into_iter().try_for_each(|reading| self.apply(reading))
    }

    fn apply(&mut self, step: Step) -> Result<(), String> {
        self.effects.clear();
        match self.world.apply(self.at, &step, &mut self.effects) {
            Ok(Status::Done) => {}
            other => return Err(format!("{step} cannot be taken there: {other:?}")),
        }
        self.steps += 1;
        for event in &self.effects.events {
            if let Event::Rearming { client, .. } = event {
                *self.rearmings.entry(*client).or_default() += 1;
            }
        }
        let clients =
            |event: &Event| !matches!(event, Event::Committed { .. } | Event::LearnsOfEnd { .. });
        self.events.extend(self.effects.events.iter().filter(|event| clients(event)).cloned());
        Ok(())
    }

    fn same(&mut self, client: ClientId, step: Step) -> Result<(), String> {
        match step {
            Step::Kill(_) => self.cost[Account::Kills] += 1,
            Step::Cancel(_) => self.cost[Account::Cancels] += 1,
            Step::Fire(Timer::Sleep(..)) => self.cost[Account::Timers] += 1,
            // Of a request that nobody waits for any more a search has another name.
            Step::Resource { .. } if !self.can(client, &step) => {
                return self.take(client, Step::Resource { client, call: CallId::ABANDONED });
            }
            _ => {}
        }
        self.take(client, step)
    }

    fn lose(&mut self, client: ClientId) -> Result<(), String> {
        let connection = self.service().connection(client);
        let reads = Step::ToClient(connection);
        let service = self.service();
        if service.has_hung_up(client) && !service.has_news(client) && self.can(client, &reads) {
            return self.take(client, reads);
        }
        self.cost[Account::Lost] += 1;
        self.take(client, Step::BreakClient { connection, to_server: 0, to_client: 0 })
    }

    // ---- servers ----

    /// Advances the server until it has sent what the client reads in the run, and lets the client read it.
    fn read(&mut self, client: ClientId, events: &[Event]) -> Result<(), String> {
        let first = events.first().expect("a client that reads is told something");
        for _ in 0..1_000 {
            if self.service().has_news(client) {
                return self.take(client, Step::ToClient(self.service().connection(client)));
            }
            match first {
                Event::Notified { event, .. } => match self.service().oldest_packet(client) {
                    Some(ClientPacket::SetWatches { .. }) => {
                        self.set_watches(client, event.zxid)?
                    }
                    _ => self.take(client, Step::Notify(client))?,
                },
                Event::Session { session: Some(session), state, .. } => {
                    self.shake_hands(client, *session, *state)?;
                }
                _ => self.serve(client)?,
            }
        }
        Err(format!("its server never sends what {client} reads"))
    }

    /// Serves a connect request.
    fn shake_hands(
        &mut self,
        client: ClientId,
        session: SessionId,
        state: SessionState,
    ) -> Result<(), String> {
        let asked = match self.service().oldest_packet(client) {
            Some(ClientPacket::Connect { session, .. }) => *session,
            // The reply to a refused identity.
            _ => return self.serve(client),
        };
        let Some(here) = asked else {
            return Err(format!("{client} was connected with a session that was never committed"));
        };
        if self.names.sessions.get(&session) != Some(&here) {
            return Err(format!(
                "{client} asked for session {here}, but was connected with {session}"
            ));
        }
        match (state, self.service().is_alive(here)) {
            (SessionState::Expired, true) => self.expire(client, here)?,
            (SessionState::Expired, false) => {
                return self.serve_last(client);
            }
            _ => {}
        }
        self.moved.remove(&here);
        self.serve_first(client)
    }

    /// Serves the oldest packet at the earliest possible place in the log.
    fn serve_first(&mut self, client: ClientId) -> Result<(), String> {
        let first = self.places(client).next();
        let first = first.ok_or_else(|| format!("{client}'s server has nothing to serve"))?;
        self.take(client, first)
    }

    /// Serves the oldest packet at the latest possible place in the log.
    fn serve_last(&mut self, client: ClientId) -> Result<(), String> {
        let last = self.places(client).last();
        let last = last.ok_or_else(|| format!("{client}'s server has nothing to serve"))?;
        self.take(client, last)
    }

    fn places(&mut self, client: ClientId) -> impl Iterator<Item = Step> {
        self.enabled.clear();
        self.world.grain().enabled(client, Prefixes::All, &mut self.enabled);
        self.enabled.iter().filter(|step| matches!(step, Step::Serve { .. })).copied()
    }

    /// Serves the oldest packet at its place in the run.
    fn serve(&mut self, client: ClientId) -> Result<(), String> {
        let Some(packet) = self.service().oldest_packet(client) else {
            return Err(format!(
                "{client}'s server has nothing to serve: no packet of {client} is in flight"
            ));
        };
        match packet {
            ClientPacket::Request { xid, request } => {
                let (xid, asks) = (*xid, request.is_read());
                let session = self.run_session(client);
                let zxid = self.script.answered.get(&(client, session, xid)).copied();
                let is_sync = matches!(**request, vivarium_model::op::Request::Sync { .. });
                if !asks && !is_sync {
                    return Err(format!("request {} of {client} was not decided yet", xid.0));
                }
                match zxid {
                    Some(zxid) => self.serve_at(client, self.names.zxid(zxid)),
                    None => self.serve_first(client),
                }
            }
            ClientPacket::SetWatches { .. } => self.set_watches(client, Zxid::ZERO),
            ClientPacket::Auth { .. } | ClientPacket::Connect { .. } | ClientPacket::Ping => {
                self.serve_first(client)
            }
        }
    }

    /// Serves a SetWatches at the place of its answer in the run, or at that of a notification that it caused.
    fn set_watches(&mut self, client: ClientId, told: Zxid) -> Result<(), String> {
        let which = self.rearmings.get(&client).copied().unwrap_or_default();
        let all = self.script.rearmed.get(&client);
        let answered = all.and_then(|all| all.get(which.checked_sub(1)?).copied());
        let zxid = answered.ok_or_else(|| format!("{client} never set its watches again"))?;
        match zxid.or((told > Zxid::ZERO).then_some(told)) {
            Some(zxid) => self.serve_at(client, self.names.zxid(zxid)),
            None => self.serve_first(client),
        }
    }

    /// Serves the oldest packet at this place, after the notifications of everything before it.
    fn serve_at(&mut self, client: ClientId, prefix: Zxid) -> Result<(), String> {
        let step = Step::Serve { client, prefix };
        while !self.can(client, &step) && self.can(client, &Step::Notify(client)) {
            self.take(client, Step::Notify(client))?;
        }
        self.take(client, step)
    }

    /// Returns the session on a client's connection, by its id in the run.
    fn run_session(&self, client: ClientId) -> SessionId {
        let here = self.service().attached(client);
        let named = self.names.sessions.iter().find(|(_, named)| Some(**named) == here);
        named.map_or(SessionId(0), |(session, _)| *session)
    }

    fn expire(&mut self, client: ClientId, session: SessionId) -> Result<(), String> {
        let is_orphan = self.service().is_orphan(session);
        self.cost[Account::Expiries] += u64::from(!is_orphan);
        let step = Step::Expire(session);
        match self.can(client, &step) {
            true => self.take(client, step),
            // No client keeps it and it has nothing to lose, so its end has no observable effect.
            false => self.force(step),
        }
    }

    // ---- writes ----

    /// Repeats a committed transaction of the run at the service grain. Leaves out those of sessions that no client ever
    /// knew, and deletions of containers that the leader refused.
    fn commit(&mut self, txn: &Txn) -> Result<(), String> {
        let here = self.names.sessions.get(&txn.session).copied();
        self.world.grain_mut().number_next(txn.zxid);
        match (&txn.body, here) {
            (TxnBody::CreateSession { .. }, _) => self.begin_session(txn)?,
            (_, None) if txn.session == SessionId(0) => self.delete_container(txn)?,
            // A session that no client ever knew.
            (_, None) if !self.script.owner.contains_key(&txn.session) => {}
            (_, None) => return Err(format!("{txn} comes before its session")),
            (TxnBody::CloseSession { .. }, Some(session)) if txn.cxid == Xid(0) => {
                self.close_session(session)?;
            }
            (_, Some(session)) => self.write(txn, session)?,
        }
        self.names.zxids.insert(txn.zxid, self.service().last_zxid());
        Ok(())
    }

    /// Repeats the leader's own write. One that the leader refuses changes nothing.
    fn delete_container(&mut self, txn: &Txn) -> Result<(), String> {
        let path = match &txn.body {
            TxnBody::DeleteContainer { path } => path,
            TxnBody::Error(_) => return Ok(()),
            _ => return Err(format!("the leader cannot propose {txn} by itself")),
        };
        let step = self.service().deletion_of(path);
        let step = step.ok_or_else(|| format!("{txn}, but {path} is not due"))?;
        self.cost[Account::Deletions] += 1;
        self.force(step)
    }

    fn begin_session(&mut self, txn: &Txn) -> Result<(), String> {
        let Some(client) = self.script.owner.get(&txn.session).copied() else { return Ok(()) };
        let asks = self.service().oldest_packet(client);
        if !matches!(asks, Some(ClientPacket::Connect { session: None, .. })) {
            return Err(format!("{txn}, but {client} asks for no session"));
        }
        self.take(client, Step::Serve { client, prefix: Zxid::ZERO })?;
        let here = self.service().attached(client).expect("it was just begun");
        self.names.sessions.insert(txn.session, here);
        Ok(())
    }

    fn close_session(&mut self, session: SessionId) -> Result<(), String> {
        let client = session.client();
        if self.service().is_alive(session) {
            self.expire(client, session)?;
        }
        match self.service().is_closing(session) {
            true => self.take(client, Step::CloseSession(session)),
            // It was closed before.
            false => Ok(()),
        }
    }

    /// Repeats a client's write: one in flight to its server, or a late one.
    fn write(&mut self, txn: &Txn, session: SessionId) -> Result<(), String> {
        if txn.body == TxnBody::Error(Error::SessionMoved) {
            // It arrived on another connection than the last one that the leader has accepted. Here the write ends
            // with its connection: if that is the client's present one, the connection is lost, as the client will
            // notice.
            if self.is_under_way(session, txn.cxid) {
                self.moved.insert(session);
            }
            return Ok(());
        }
        if matches!(txn.body, TxnBody::CloseSession { .. }) && self.moved.contains(&session) {
            // The connection on which a closeSession arrives is not checked.
            return self.close_session(session);
        }
        let client = session.client();
        let service = self.service();
        let fails = matches!(txn.body, TxnBody::Error(_) | TxnBody::FailedMulti(_));
        if fails && service.has_hung_up(client) {
            // Its server has closed the connection and answers nothing any more.
            return Ok(());
        }
        if self.is_under_way(session, txn.cxid) {
            let is_it = |packet: &ClientPacket| is_request(packet, txn.cxid);
            while !self.service().oldest_packet(client).is_some_and(is_it) {
                self.serve(client)?;
            }
            return self.serve_write(client);
        }
        if service.late_writes(session).any(|xid| xid == txn.cxid) {
            while self.service().late_writes(session).any(|xid| xid == txn.cxid) {
                self.take(client, Step::Late(session))?;
            }
            return Ok(());
        }
        match txn.body {
            // It changes nothing and has no reply.
            _ if fails => Ok(()),
            TxnBody::CloseSession { .. } if !service.is_alive(session) => Ok(()),
            _ => Err(format!("{txn}, but no such write of {session} is under way")),
        }
    }

    /// Returns true if a request is in flight to the server of its session's client.
    fn is_under_way(&self, session: SessionId, xid: Xid) -> bool {
        let (service, client) = (self.service(), session.client());
        service.attached(client) == Some(session)
            && service.under_way(client).any(|packet| is_request(packet, xid))
    }

    fn serve_write(&mut self, client: ClientId) -> Result<(), String> {
        let step = Step::Serve { client, prefix: Zxid::ZERO };
        self.take(client, step)
    }
}

fn is_request(packet: &ClientPacket, number: Xid) -> bool {
    matches!(packet, ClientPacket::Request { xid, .. } if *xid == number)
}

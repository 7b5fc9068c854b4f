//! The clients' side of the double: passes inputs to the programs, and executes their outputs.

use super::{Client, Double, Queued};
use std::sync::Arc;
use std::time::Duration;
use vivarium_model::error::Error;
use vivarium_model::event::Event;
use vivarium_model::host::{Input, Operation, Outcome, Output};
use vivarium_model::id::{CallId, ClientId, ServerId, SessionId, Xid};
use vivarium_model::observation::Observed;
use vivarium_model::op::{SessionState, WatchedEvent};
use vivarium_model::property::View;
use vivarium_model::txn::TxnBody;
use vivarium_recipes::lock::LockSeen;

impl Double {
    pub(super) fn client(&mut self, client: ClientId) -> &mut Client {
        self.clients.get_mut(&client).expect("a client that was started")
    }

    pub(super) fn begin_session(&mut self, client: ClientId) {
        self.sessions += 1;
        let session = SessionId::new(ServerId(1), 1, self.sessions);
        let timeout = Duration::from_secs(6);
        let _ = self.commit(session, Xid(0), TxnBody::CreateSession { timeout });
        let state = self.client(client);
        state.session = Some(session);
        state.next_xid = Xid(1);
        self.catch_up(client);
        self.event(Event::Session {
            client,
            session: Some(session),
            server: Some(ServerId(1)),
            state: SessionState::SyncConnected,
        });
    }

    pub(super) fn session_state(&mut self, client: ClientId, state: SessionState) {
        let session = self.client(client).session;
        let server = (state == SessionState::SyncConnected).then_some(ServerId(1));
        self.event(Event::Session { client, session, server, state });
        self.feed(client, Input::Session(state.into()));
    }

    pub(super) fn session_over(&mut self, client: ClientId, how: SessionState) {
        let state = self.client(client);
        let session = state.session.take();
        // All of these inputs are queued at once: calls that the program makes when it learns of the end belong to
        // its next session.
        let requests = std::mem::take(&mut state.requests);
        let watches = std::mem::take(&mut state.watches);
        state.inbox.push_back(Input::Session(how.into()));
        for call in requests.into_iter().filter_map(|queued| queued.call) {
            let outcome = Outcome::Response(Err(Error::SessionExpired));
            state.inbox.push_back(Input::Reply { call, outcome });
        }
        for (call, _) in watches {
            let outcome = Outcome::Watch(Err(Error::SessionExpired));
            state.inbox.push_back(Input::Reply { call, outcome });
        }
        self.event(Event::Session { client, session, server: None, state: how });
        self.pump();
    }

    pub(super) fn reply(&mut self, client: ClientId, call: Option<CallId>, outcome: Outcome) {
        if let Some(call) = call {
            self.feed(client, Input::Reply { call, outcome });
        }
    }

    pub(super) fn feed(&mut self, client: ClientId, input: Input) {
        self.client(client).inbox.push_back(input);
        self.pump();
    }

    /// Delivers inputs one by one, including those that result from them, until there are none.
    pub(super) fn pump(&mut self) {
        if self.pumping {
            return;
        }
        self.pumping = true;
        while let Some((client, input)) = self.next_input() {
            if self.client(client).finished.is_some() {
                continue;
            }
            let mut outputs = Vec::new();
            self.client(client).process.feed(input, &mut outputs);
            for output in outputs {
                self.output(client, output);
            }
        }
        self.pumping = false;
    }

    pub(super) fn next_input(&mut self) -> Option<(ClientId, Input)> {
        self.clients
            .iter_mut()
            .find_map(|(client, state)| Some((*client, state.inbox.pop_front()?)))
    }

    pub(super) fn output(&mut self, client: ClientId, output: Output) {
        match output {
            Output::Submit { call, operation } => self.submit(client, call, operation),
            Output::Abandon { call } => self.client(client).forget(call),
            Output::Observe(observation) => self.observe(client, observation),
            Output::Finished(result) => {
                self.journal.push(format!("{client}: finished, {result:?}"));
                self.client(client).finished = Some(result.clone());
                self.event(Event::Finished { client, result });
            }
            Output::Panicked(message) => panic!("{client} panicked: {message}"),
            Output::Send { .. } => unreachable!("the lock sends no messages"),
        }
    }

    pub(super) fn submit(&mut self, client: ClientId, call: CallId, operation: Operation) {
        match operation {
            Operation::Request { request, watch, scope } => {
                let state = self.client(client);
                if state.session.is_none()
                    || scope.is_some_and(|scope| state.session != Some(scope))
                {
                    let refused = Outcome::Response(Err(Error::SessionExpired));
                    return self.reply(client, Some(call), refused);
                }
                let xid = state.next_xid;
                state.next_xid = xid.next();
                state.requests.push_back(Queued { xid, request, call: Some(call), watch });
            }
            Operation::Connect => {
                if self.client(client).session.is_none() {
                    self.begin_session(client);
                    self.feed(client, Input::Session(SessionState::SyncConnected.into()));
                }
                let session = self.client(client).session.expect("just begun");
                self.reply(client, Some(call), Outcome::Connected(session));
            }
            Operation::Close => match self.client(client).session {
                None => self.reply(client, Some(call), Outcome::Closed),
                Some(session) => {
                    let _ = self.close(session, Xid(0));
                    self.session_over(client, SessionState::Closed);
                    self.reply(client, Some(call), Outcome::Closed);
                }
            },
            Operation::Sleep(span) => {
                let due = self.at + span;
                self.client(client).sleeping.push((due, call));
            }
            Operation::Now => self.reply(client, Some(call), Outcome::Now(self.at)),
            Operation::Random => {
                let state = self.client(client);
                state.randoms += 1;
                let random = u64::from(client.0) << 8 | state.randoms;
                self.reply(client, Some(call), Outcome::Random(random));
            }
            Operation::Cancelled => self.client(client).cancel = Some(call),
            Operation::Resource(write) => {
                let token = write.token.expect("the lock's worker passes its token");
                let largest = self.resources.entry(Arc::clone(&write.resource)).or_insert(token);
                let accepted = token >= *largest;
                *largest = token.max(*largest);
                let outcome = if accepted { Ok(()) } else { Err(*largest) };
                let resource = write.resource;
                self.event(Event::ResourceWrite { client, resource, token: Some(token), accepted });
                self.journal.push(format!("{client}: resource write {token}, {outcome:?}"));
                self.reply(client, Some(call), Outcome::Resource(outcome));
            }
            Operation::Receive => unreachable!("the lock receives no messages"),
            Operation::AddAuth { .. } | Operation::RemoveWatches { .. } => {
                unreachable!("the lock proves no identity and removes no watch")
            }
        }
    }

    pub(super) fn observe(&mut self, client: ClientId, observation: Observed) {
        self.journal.push(format!("{client}: {}", in_words(&observation)));
        let Client { session, next_xid, .. } = *self.client(client);
        self.event(Event::Observed { client, session, next_xid, observation });
    }

    pub(super) fn event(&mut self, event: Event) {
        // Each transaction is reported once, when it is the last one.
        let is_commit = matches!(event, Event::Committed { .. });
        let view = if is_commit { View::of_new } else { View::new };
        let view = view(self.at, &self.history);
        for monitor in &mut self.monitors {
            let objection = monitor.event(view.within(monitor.looks_back()), &event).err();
            self.objections.extend(objection.map(|objection| objection.to_string()));
        }
    }
}

impl Client {
    /// Fires data watches only: the lock sets no others.
    pub(super) fn fire(&mut self, event: &WatchedEvent) {
        let watches = std::mem::take(&mut self.watches);
        let (fired, rest): (Vec<_>, Vec<_>) =
            watches.into_iter().partition(|(_, path)| *path == event.path);
        self.watches = rest;
        for (call, _) in fired {
            let outcome = Outcome::Watch(Ok(event.clone()));
            self.inbox.push_back(Input::Reply { call, outcome });
        }
    }

    pub(super) fn forget(&mut self, abandoned: CallId) {
        self.inbox
            .retain(|input| !matches!(input, Input::Reply { call, .. } if *call == abandoned));
        for queued in &mut self.requests {
            if queued.call == Some(abandoned) {
                queued.call = None;
                queued.watch = None;
            }
            queued.watch = queued.watch.filter(|watch| *watch != abandoned);
        }
        self.watches.retain(|(watch, _)| *watch != abandoned);
        self.sleeping.retain(|(_, sleep)| *sleep != abandoned);
        self.cancel = self.cancel.filter(|cancel| *cancel != abandoned);
    }
}

fn in_words(observation: &Observed) -> String {
    let Some(seen) = observation.read() else { return format!("says {}", observation.name()) };
    match seen {
        LockSeen::Attempt { attempt, .. } => format!("ATTEMPT {attempt}"),
        LockSeen::NodeKnown { node, .. } => format!("KNOWS {node}"),
        LockSeen::Waiting { on, .. } => format!("WAITS on {on}"),
        LockSeen::Granted { token, .. } => format!("GRANTED {token}"),
        LockSeen::Lost { token, .. } => format!("LOST {token}"),
        LockSeen::Releasing { token, .. } => format!("RELEASING {token}"),
        LockSeen::Released { token, .. } => format!("RELEASED {token}"),
        LockSeen::GaveUp { attempt, .. } => format!("GAVE UP {attempt}"),
    }
}

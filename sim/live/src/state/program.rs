//! What a program asks for through its handle, and what an engine around it does to it.

use super::super::limits::Limits;
use super::super::order::Source;
use super::super::timers::later;
use super::{After, State};
use std::collections::VecDeque;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::{SystemTime, UNIX_EPOCH};
use vivarium_model::client::ClientInput;
use vivarium_model::error::Error;
use vivarium_model::event::Event;
use vivarium_model::handle::calls::{Calls, Pending};
use vivarium_model::handle::transport::Ticket;
use vivarium_model::host::{Input, Message, Operation, Outcome, ResourceRequest};
use vivarium_model::id::{CallId, ClientId};
use vivarium_model::observation::Observed;
use vivarium_model::op::{Request, Response};
use vivarium_model::time::Time;

/// What a program asks for that has nothing to do with ZooKeeper.
#[derive(Default)]
pub(super) struct Outside {
    /// Calls that wait for a message, oldest first.
    receiving: VecDeque<CallId>,
    /// Messages that the program has not received.
    received: VecDeque<Message>,
    /// Calls that wait for a cancellation.
    cancellable: Vec<CallId>,
}

impl State {
    /// Begins a call; its answer may be there at once.
    pub(crate) fn submit(
        &mut self,
        operation: Operation,
        waker: &Waker,
        after: &mut After,
    ) -> Ticket {
        let (call, ticket) = self.calls.begin(operation.clone(), waker);
        self.order.asked(Source::Call(ticket), waker);
        self.begin(call, operation, after);
        ticket
    }

    /// Carries out an operation.
    pub(crate) fn begin(&mut self, call: CallId, operation: Operation, after: &mut After) {
        let outcome = match &operation {
            Operation::Sleep(span) => {
                self.timers.sleep(call, later(*span));
                return;
            }
            Operation::Now => Outcome::Now(now()),
            Operation::Random => Outcome::Random(self.random.u64(..)),
            Operation::Connect if self.is_over || self.is_ending => return,
            Operation::Resource(request) => match self.write_resource(request) {
                Some(outcome) => outcome,
                None => return,
            },
            Operation::Receive => match self.outside.received.pop_front() {
                Some(message) => Outcome::Message(message),
                None => return self.outside.receiving.push_back(call),
            },
            Operation::Cancelled => return self.outside.cancellable.push(call),
            _ if self.is_over => {
                if let Operation::Request { request, .. } = &operation {
                    self.limits.release(Some(Limits::bytes(request)));
                }
                refusal(&operation)
            }
            Operation::Request { request, .. } => {
                let bytes = Limits::bytes(request);
                if !Limits::is_too_long(bytes) {
                    let input = ClientInput::Call { call, operation };
                    return self.admitted_input(input, Some(bytes), after);
                }
                self.limits.release(Some(bytes));
                Outcome::Response(Err(Error::BadArguments))
            }
            Operation::RemoveWatches { .. }
            | Operation::AddAuth { .. }
            | Operation::Connect
            | Operation::Close => {
                return self.input(ClientInput::Call { call, operation }, after);
            }
        };
        self.tell(Input::Reply { call, outcome }, after);
    }

    fn write_resource(&mut self, request: &ResourceRequest) -> Option<Outcome> {
        let surroundings = self.settings.surroundings.clone()?;
        let client = self.settings.client;
        let result = surroundings.write(client, request);
        self.event(Event::ResourceWrite {
            client,
            resource: Arc::clone(&request.resource),
            token: request.token,
            accepted: result.is_ok(),
        });
        Some(Outcome::Resource(result))
    }

    /// Returns true if programs can write to resources and send messages.
    pub(crate) fn has_surroundings(&self) -> bool {
        self.settings.surroundings.is_some()
    }

    /// Sends a message to another program.
    pub(crate) fn send_message(&self, to: ClientId, body: Arc<[u8]>) {
        if let Some(surroundings) = &self.settings.surroundings {
            surroundings.send(self.settings.client, to, body);
        }
    }

    /// Hands a message to the program.
    pub(crate) fn deliver(&mut self, message: Message, after: &mut After) {
        match self.outside.receiving.pop_front() {
            Some(call) => {
                let outcome = Outcome::Message(message);
                self.tell(Input::Reply { call, outcome }, after);
            }
            None => self.outside.received.push_back(message),
        }
    }

    /// Cancels what the program lets an engine cancel.
    pub(crate) fn cancel(&mut self, after: &mut After) {
        let client = self.settings.client;
        for call in std::mem::take(&mut self.outside.cancellable) {
            self.event(Event::Cancelled { client, call });
            self.tell(Input::Reply { call, outcome: Outcome::Cancelled }, after);
        }
    }

    /// Forgets a call whose answer is no longer wanted.
    pub(crate) fn abandon(&mut self, ticket: Ticket, after: &mut After) {
        self.order.forget(Source::Call(ticket));
        let (call, discarded) = self.calls.abandon(ticket);
        after.discard(discarded);
        if let Some(call) = call {
            self.timers.wake(call);
            self.outside.receiving.retain(|receiving| *receiving != call);
            self.outside.cancellable.retain(|cancellable| *cancellable != call);
            self.input(ClientInput::Abandon { call }, after);
        }
    }

    /// Takes an answer in its order.
    pub(crate) fn take<T>(
        &mut self,
        source: Source,
        waker: &Waker,
        after: &mut After,
        poll: impl FnOnce(&mut Calls) -> (Poll<T>, Option<Waker>),
    ) -> Poll<T> {
        self.order.asked(source, waker);
        if !self.order.may_take(source) {
            after.wake(Some(waker.clone()));
            return Poll::Pending;
        }
        let (polled, old) = poll(&mut self.calls);
        if polled.is_ready() {
            self.order.took(source);
            if let Source::Call(ticket) = source
                && self.calls.is_free(ticket)
            {
                self.order.forget(source);
            }
        }
        after.replace(old);
        polled
    }

    /// Reports an observation of the program.
    pub(crate) fn observe(&mut self, observation: Observed) {
        let (client, session) = (self.settings.client, self.machine.session());
        let next_xid = self.machine.next_xid();
        self.event(Event::Observed { client, session, next_xid, observation });
    }

    /// Begins to close the session for good.
    pub(crate) fn end(&mut self, after: &mut After) {
        // The driver ends by itself if there is no session to close.
        self.has_changed = true;
        after.wake(self.driver.take());
        if !std::mem::replace(&mut self.is_ending, true) && !self.is_over {
            // What waits for a connection would begin another session.
            for (call, pending) in self.calls.pending() {
                if pending == Pending::Answer(Operation::Connect) {
                    self.input(ClientInput::Abandon { call }, after);
                }
            }
            let (call, ticket) = self.calls.begin(Operation::Close, Waker::noop());
            self.input(ClientInput::Call { call, operation: Operation::Close }, after);
            self.abandon(ticket, after);
        }
    }

    /// Gives up the session: no driver will serve the client.
    pub(crate) fn give_up(&mut self, after: &mut After) {
        (self.is_ending, self.is_over) = (true, true);
        self.input(ClientInput::GiveUp, after);
        self.link.close();
    }
}

/// The wall clock, in microseconds since 1970.
fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time(u64::try_from(since.as_micros()).unwrap_or(u64::MAX))
}

/// Returns the answer to an operation on a client that has ended.
fn refusal(operation: &Operation) -> Outcome {
    match operation {
        Operation::AddAuth { .. } => Outcome::AuthAdded(Err(Error::SessionExpired)),
        Operation::Close => Outcome::Closed,
        Operation::Request { request, .. } if **request == Request::CloseSession => {
            Outcome::Response(Ok(Response::Closed))
        }
        _ => Outcome::Response(Err(Error::SessionExpired)),
    }
}

//! A program whose awaits are watched.

use super::{Awaited, Fate, Witness};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use vivarium_model::error::Error;
use vivarium_model::handle::transport::{BoxFuture, Subscription, Ticket, Transport, Unseen};
use vivarium_model::handle::{Program, ZooKeeper, program};
use vivarium_model::host::{Operation, Outcome};
use vivarium_model::id::{ClientId, SessionId};
use vivarium_model::observation::Observed;
use vivarium_model::op::{Request, SessionChange, WatchedEvent};

/// Returns the program, whose awaits the witness sees.
pub(crate) fn traced<W: Witness + 'static>(traced: Program, witness: &Arc<W>) -> Program {
    let witness = Arc::clone(witness);
    program(move |zookeeper: ZooKeeper| {
        let client = zookeeper.client();
        witness.starts(client);
        let below = Arc::clone(zookeeper.transport());
        let handle =
            ZooKeeper::new(Arc::new(Tracing { below, client, witness: Arc::clone(&witness) }));
        let traced = traced.clone();
        let future = Box::pin(async move { traced.run(handle).await });
        Whole { future, client, witness: Arc::clone(&witness), has_returned: false }
    })
}

/// The main future of a program. If it is dropped before it has returned, the process was killed.
struct Whole<W: Witness> {
    future: BoxFuture<Result<(), String>>,
    client: ClientId,
    witness: Arc<W>,
    has_returned: bool,
}

impl<W: Witness> Future for Whole<W> {
    type Output = Result<(), String>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = self.future.as_mut().poll(context);
        self.has_returned |= polled.is_ready();
        polled
    }
}

impl<W: Witness> Drop for Whole<W> {
    fn drop(&mut self) {
        // The fields, and with them the pending calls, are dropped after this.
        if !self.has_returned {
            self.witness.killed(self.client);
        }
    }
}

/// A transport that passes everything on.
struct Tracing<W> {
    below: Arc<dyn Transport>,
    client: ClientId,
    witness: Arc<W>,
}

impl<W: Witness> Tracing<W> {
    fn awaits(&self, awaited: Awaited) {
        self.witness.awaits(self.client, awaited);
    }

    fn ended(&self, awaited: Awaited, fate: Fate) {
        self.witness.ended(self.client, awaited, fate);
    }

    fn polled<T>(
        &self,
        awaited: Awaited,
        polled: Poll<T>,
        fate: impl FnOnce(&T) -> Fate,
    ) -> Poll<T> {
        match &polled {
            Poll::Pending => self.awaits(awaited),
            Poll::Ready(answer) => self.ended(awaited, fate(answer)),
        }
        polled
    }
}

impl<W: Witness> Transport for Tracing<W> {
    fn client(&self) -> ClientId {
        self.below.client()
    }

    fn admit(&self, request: &Request) -> Option<BoxFuture<()>> {
        self.below.admit(request)
    }

    fn submit(&self, operation: Operation, waker: &Waker) -> Ticket {
        let ticket = self.below.submit(operation, waker);
        self.awaits(Awaited::Answer(ticket));
        ticket
    }

    fn submit_watching(
        &self,
        request: Arc<Request>,
        scope: Option<SessionId>,
        waker: &Waker,
    ) -> (Ticket, Ticket) {
        let (reply, event) = self.below.submit_watching(request, scope, waker);
        self.awaits(Awaited::Answer(reply));
        (reply, event)
    }

    fn keep_back(&self, ticket: Ticket, unseen: Unseen) {
        self.below.keep_back(ticket, unseen);
    }

    fn poll(&self, ticket: Ticket, waker: &Waker) -> Poll<Outcome> {
        self.polled(Awaited::Answer(ticket), self.below.poll(ticket, waker), Fate::of)
    }

    fn poll_events(&self, ticket: Ticket, waker: &Waker) -> Poll<Result<WatchedEvent, Error>> {
        let polled = self.below.poll_events(ticket, waker);
        self.polled(Awaited::Answer(ticket), polled, |event| {
            Fate::of(&Outcome::Watch(event.clone()))
        })
    }

    fn abandon(&self, ticket: Ticket) {
        self.ended(Awaited::Answer(ticket), Fate::Dropped);
        self.below.abandon(ticket);
    }

    fn subscribe(&self, of_sessions: bool) -> Subscription {
        self.below.subscribe(of_sessions)
    }

    fn poll_session(&self, subscription: Subscription, waker: &Waker) -> Poll<SessionChange> {
        let polled = self.below.poll_session(subscription, waker);
        self.polled(Awaited::Change(subscription), polled, |_| Fate::Answered)
    }

    fn unsubscribe(&self, subscription: Subscription) {
        self.ended(Awaited::Change(subscription), Fate::Dropped);
        self.below.unsubscribe(subscription);
    }

    fn spawn(&self, future: BoxFuture<()>) {
        self.below.spawn(future);
    }

    fn observe(&self, observation: Observed) {
        self.below.observe(observation);
    }

    fn send(&self, to: ClientId, body: Arc<[u8]>) {
        self.below.send(to, body);
    }
}

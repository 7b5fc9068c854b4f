//! The interface below the handle.
//!
//! Everything that a program can do goes through this object-safe trait, so the same program runs in the simulator
//! and in the model checker (over [`super::port::Port`]) and over a client of a real ensemble.

use crate::program::host::{Operation, Outcome};
use crate::vocabulary::error::Error;
use crate::vocabulary::id::{ClientId, SessionId};
use crate::vocabulary::observation::Observed;
use crate::vocabulary::op::{Request, SessionChange, WatchedEvent};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// A boxed future that may move between threads.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send + 'static>>;

/// Identifies a pending answer between a handle and its transport. It is valid until [`Transport::poll`] has returned
/// the answer, or until [`Transport::abandon`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket(pub u32);

impl Ticket {
    /// The ticket of a call that will never be answered, because the program's process is dead.
    pub const DEAD: Ticket = Ticket(u32::MAX);
}

/// Identifies one of a handle's subscriptions to changes of its session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subscription(pub u32);

impl Subscription {
    /// The subscription of a program whose process is dead: it collects nothing.
    pub const DEAD: Subscription = Subscription(u32::MAX);
}

/// The parts of a reply that the program does not observe, because the called method hides them. Two answers that
/// differ only in these parts are equal for the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Unseen {
    /// No part is hidden.
    #[default]
    Nothing,
    /// Every Stat is hidden.
    Stats,
    /// Everything is hidden except success or the error; of a watch event, the zxid is hidden.
    Content,
}

/// Carries a program's calls to ZooKeeper and to the program's environment.
///
/// A transport must keep two promises. An answer is of the kind that its operation asks for (a
/// `create` is never answered with children). Answers, watch events and session changes reach the
/// program in one order. That each call suspends once is the handle's own doing.
pub trait Transport: Send + Sync {
    /// The client machine that the program runs on.
    fn client(&self) -> ClientId;

    /// Asks to begin a request. `None` lets it begin; otherwise it begins within the poll in which this future is
    /// ready. So a client of a real ensemble bounds what it holds.
    fn admit(&self, request: &Request) -> Option<BoxFuture<()>> {
        let _ = request;
        None
    }

    /// Begins a call without a watch; `waker` is to be woken by its answer.
    fn submit(&self, operation: Operation, waker: &Waker) -> Ticket;

    /// Begins a request that asks for a watch: the tickets of its reply and of the watch event.
    /// The second one is answered only if the reply registers the watch (rule 1.8.1): any
    /// answer but an error does, and for `exists` and `addWatch` NoNode does too. `waker` is to be
    /// woken by the reply. The watch of an `addWatch` stays, see [`Transport::poll_events`].
    fn submit_watching(
        &self,
        request: Arc<Request>,
        scope: Option<SessionId>,
        waker: &Waker,
    ) -> (Ticket, Ticket);

    /// The program will not see this of the answer that it has just asked for. Of interest to who
    /// wants to know which answers are the same to it; the answer itself may be whole.
    fn keep_back(&self, ticket: Ticket, unseen: Unseen) {
        let _ = (ticket, unseen);
    }

    /// The answer, once it is there; until then `waker` is to be woken by it.
    fn poll(&self, ticket: Ticket, waker: &Waker) -> Poll<Outcome>;

    /// The next event of a watch that stays; until there is one `waker` is to be woken by it. The
    /// ticket ends with a PersistentWatchRemoved, or with the error that ended the session; what came
    /// before is returned before.
    fn poll_events(&self, ticket: Ticket, waker: &Waker) -> Poll<Result<WatchedEvent, Error>>;

    /// The program no longer wants this answer. What was asked stays asked.
    fn abandon(&self, ticket: Ticket);

    /// Begins to collect changes of the session's state; `of_sessions` if the session of each matters.
    fn subscribe(&self, of_sessions: bool) -> Subscription;

    /// The next collected change; until there is one `waker` is to be woken by it.
    fn poll_session(&self, subscription: Subscription, waker: &Waker) -> Poll<SessionChange>;

    /// Ends a subscription.
    fn unsubscribe(&self, subscription: Subscription);

    /// Runs a future beside the program's own, for as long as the program runs.
    fn spawn(&self, future: BoxFuture<()>);

    /// Tells the monitors something.
    fn observe(&self, observation: Observed);

    /// Sends a message to another program.
    fn send(&self, to: ClientId, body: Arc<[u8]>);
}

/// A submitted call. Dropped before its answer was taken, it abandons the call.
pub(super) struct Call<'a> {
    transport: &'a dyn Transport,
    /// `None` once the answer is taken.
    ticket: Option<Ticket>,
    /// Submitted within this very poll, with its waker: suspends without asking for the answer.
    fresh: bool,
}

impl<'a> Call<'a> {
    /// Awaits what was submitted under `ticket`, within this very poll and with its waker.
    pub(super) fn new(transport: &'a dyn Transport, ticket: Ticket) -> Call<'a> {
        Call { transport, ticket: Some(ticket), fresh: true }
    }

    /// Submits an operation and awaits its outcome.
    pub(super) async fn submit(transport: &'a dyn Transport, operation: Operation) -> Outcome {
        let ticket = with_waker(|waker| transport.submit(operation, waker)).await;
        Call::new(transport, ticket).await
    }
}

/// Waits until the transport lets the request begin.
pub(super) async fn admitted(transport: &dyn Transport, request: &Request) {
    if let Some(admission) = transport.admit(request) {
        admission.await;
    }
}

/// Calls `act` with the waker of the present task, and does not suspend.
pub(super) async fn with_waker<T>(act: impl FnOnce(&Waker) -> T) -> T {
    let mut act = Some(act);
    poll_fn(|context| {
        let act = act.take().expect("a future is not polled after its end");
        Poll::Ready(act(context.waker()))
    })
    .await
}

impl Future for Call<'_> {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Outcome> {
        if std::mem::take(&mut self.fresh) {
            return Poll::Pending;
        }
        let ticket = self.ticket.expect("a call is not polled after its answer");
        let polled = self.transport.poll(ticket, context.waker());
        if polled.is_ready() {
            self.ticket = None;
        }
        polled
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.transport.abandon(ticket);
        }
    }
}

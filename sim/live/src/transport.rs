//! The transport of handles: what a program does through [`ZooKeeper`](vivarium_model::handle::ZooKeeper) becomes
//! inputs of the client machine.

use super::limits::Limits;
use super::order::Source;
use super::state::{After, State};
use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use tokio::task::JoinSet;
use vivarium_model::error::Error;
use vivarium_model::handle::transport::{Subscription, Ticket};
use vivarium_model::handle::{BoxFuture, Transport};
use vivarium_model::host::{Operation, Outcome};
use vivarium_model::id::{ClientId, SessionId};
use vivarium_model::observation::Observed;
use vivarium_model::op::{Request, SessionChange, WatchedEvent};

/// Why a program is stopped that sends, receives or writes to a resource without [`Builder::surroundings`].
///
/// [`Builder::surroundings`]: crate::Builder::surroundings
const OUTSIDE: &str =
    "messages between programs and outside resources exist only where an engine runs the program";

/// What a client's handles and its driver share.
pub(crate) struct Shared {
    state: Mutex<State>,
    limits: Limits,
    client: ClientId,
    /// The tasks that programs have spawned.
    tasks: Mutex<JoinSet<()>>,
    runtime: tokio::runtime::Handle,
}

impl Shared {
    pub(crate) fn new(state: State, limits: Limits, client: ClientId) -> Arc<Shared> {
        Arc::new(Shared {
            state: Mutex::new(state),
            limits,
            client,
            tasks: Mutex::new(JoinSet::new()),
            runtime: tokio::runtime::Handle::current(),
        })
    }

    /// Changes the state, then wakes the driver if the change concerns it, and the tasks whose calls were answered.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut State, &mut After) -> T) -> T {
        let mut after = After::default();
        let result = {
            let mut state = self.lock();
            let before = state.timers.next();
            let result = act(&mut state, &mut after);
            let is_earlier = match (before, state.timers.next()) {
                (Some(before), Some(next)) => next < before,
                (None, next) => next.is_some(),
                (Some(_), None) => false,
            };
            if std::mem::take(&mut state.link.is_dirty) || is_earlier {
                state.has_changed = true;
                after.wake(state.driver.take());
            }
            result
        };
        after.finish();
        result
    }

    /// For the driver: ready if something that concerns it has changed since the last time.
    pub(crate) fn poll_changed(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.lock();
        if std::mem::take(&mut state.has_changed) {
            return Poll::Ready(());
        }
        state.driver = Some(context.waker().clone());
        Poll::Pending
    }

    /// For the driver: waits until something that concerns it changes.
    pub(crate) async fn changed(&self) {
        poll_fn(|context| self.poll_changed(context)).await;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the tasks that programs have spawned.
    pub(crate) fn abort_tasks(&self) {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
    }
}

/// The transport of all handles of a client. Dropping the last one closes the session.
pub(crate) struct Handles {
    pub(crate) shared: Arc<Shared>,
}

impl Drop for Handles {
    fn drop(&mut self) {
        self.shared.with(|state, after| {
            state.is_unused = true;
            state.end(after);
        });
    }
}

impl Transport for Handles {
    fn client(&self) -> ClientId {
        self.shared.client
    }

    fn admit(&self, request: &Request) -> Option<BoxFuture<()>> {
        self.shared.limits.admit(request)
    }

    fn submit(&self, operation: Operation, waker: &Waker) -> Ticket {
        let is_outside = matches!(operation, Operation::Receive | Operation::Resource(_));
        assert!(!is_outside || self.shared.with(|state, _| state.has_surroundings()), "{OUTSIDE}");
        self.shared.with(|state, after| state.submit(operation, waker, after))
    }

    fn submit_watching(
        &self,
        request: Arc<Request>,
        scope: Option<SessionId>,
        waker: &Waker,
    ) -> (Ticket, Ticket) {
        self.shared.with(|state, after| {
            let began = state.calls.begin_watching(request, scope, waker);
            state.order.asked(Source::Call(began.reply), waker);
            state.begin(began.call, began.operation, after);
            (began.reply, began.event)
        })
    }

    fn poll(&self, ticket: Ticket, waker: &Waker) -> Poll<Outcome> {
        let source = Source::Call(ticket);
        self.shared.with(|state, after| {
            state.take(source, waker, after, |calls| calls.poll(ticket, waker))
        })
    }

    fn poll_events(&self, ticket: Ticket, waker: &Waker) -> Poll<Result<WatchedEvent, Error>> {
        let source = Source::Call(ticket);
        self.shared.with(|state, after| {
            state.take(source, waker, after, |calls| calls.poll_events(ticket, waker))
        })
    }

    fn abandon(&self, ticket: Ticket) {
        self.shared.with(|state, after| state.abandon(ticket, after));
    }

    fn subscribe(&self, of_sessions: bool) -> Subscription {
        self.shared.with(|state, _| state.calls.subscribe(of_sessions))
    }

    fn poll_session(&self, subscription: Subscription, waker: &Waker) -> Poll<SessionChange> {
        let source = Source::Session(subscription);
        self.shared.with(|state, after| {
            state.take(source, waker, after, |calls| calls.poll_session(subscription, waker))
        })
    }

    fn unsubscribe(&self, subscription: Subscription) {
        self.shared.with(|state, after| {
            state.order.forget(Source::Session(subscription));
            after.replace(state.calls.unsubscribe(subscription));
        });
    }

    fn spawn(&self, future: BoxFuture<()>) {
        let mut tasks = self.shared.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        // Those that have ended are forgotten.
        while let Some(ended) = tasks.try_join_next() {
            if let Some(panicked) = ended.err().filter(tokio::task::JoinError::is_panic) {
                tracing::error!(%panicked, "a task of the program");
            }
        }
        tasks.spawn_on(future, &self.shared.runtime);
    }

    fn observe(&self, observation: Observed) {
        self.shared.with(|state, _| state.observe(observation));
    }

    fn send(&self, to: ClientId, body: Arc<[u8]>) {
        assert!(self.shared.with(|state, _| state.has_surroundings()), "{OUTSIDE}");
        self.shared.with(|state, _| state.send_message(to, body));
    }
}

impl fmt::Debug for Handles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handles").field("client", &self.shared.client).finish_non_exhaustive()
    }
}

//! More methods of [`ZooKeeper`]: its session and the program's environment.

use super::ZooKeeper;
use super::combinators::{Either, TimedOut, race};
use super::transport::Call;
use super::watch::{SessionChanges, SessionEvents};
use crate::program::host::{Operation, Outcome};
use crate::vocabulary::id::SessionId;
use crate::vocabulary::observation::{Custom, Observation, Observed, Value};
use crate::vocabulary::time::{Duration, Time};
use std::future::Future;
use std::sync::Arc;

/// Unwraps the only outcome that an operation can have.
macro_rules! expect {
    ($outcome:expr, $variant:pat => $value:expr) => {
        match $outcome {
            $variant => $value,
            other => unreachable!("an operation was answered with {other:?}"),
        }
    };
}

/// The methods for the session.
impl ZooKeeper {
    /// Waits until the session is connected, and returns its id. After Expired, Closed or AuthFailed it begins a new
    /// session first. A client that accepts read-only servers may be connected to one, and then has an id that the
    /// server made up; [`SessionEvents`] reports that.
    pub async fn connect(&self) -> SessionId {
        expect!(self.call(Operation::Connect).await, Outcome::Connected(session) => session)
    }

    /// Closes the session (`closeSession`, rule 2.8.9), which deletes its ephemeral znodes.
    pub async fn close(&self) {
        expect!(self.call(Operation::Close).await, Outcome::Closed => ());
    }

    /// Returns a stream of every later change of the session's state.
    pub fn session_events(&self) -> SessionEvents {
        SessionEvents::new(Arc::clone(&self.transport))
    }

    /// Returns a stream of every later change of a session's state, with the session's id. In a search, a program
    /// that reads the ids has more states than one that does not.
    pub fn session_changes(&self) -> SessionChanges {
        SessionChanges::new(Arc::clone(&self.transport))
    }
}

/// The methods for the program's environment.
impl ZooKeeper {
    /// Waits; in virtual time if the program is simulated.
    pub async fn sleep(&self, span: Duration) {
        expect!(self.call(Operation::Sleep(span)).await, Outcome::Elapsed => ());
    }

    /// Returns the reading of the program's clock.
    pub async fn now(&self) -> Time {
        expect!(self.call(Operation::Now).await, Outcome::Now(time) => time)
    }

    /// Returns a random number.
    pub async fn random(&self) -> u64 {
        expect!(self.call(Operation::Random).await, Outcome::Random(value) => value)
    }

    /// Runs a future concurrently with the program's main one, in the same process and session. Tasks run in the
    /// order in which they become ready. When the program returns, its remaining tasks are dropped silently.
    pub fn spawn(&self, future: impl Future<Output = ()> + Send + 'static) {
        self.transport.spawn(Box::pin(future));
    }

    /// Makes an observation: monitors that know its type read it typed
    /// ([`Event::observed`](crate::vocabulary::event::Event::observed)), all others by its name and fields.
    pub fn observe(&self, observation: impl Observation) {
        self.transport.observe(Observed::new(observation));
    }

    /// Makes an observation that has no type of its own but a name and fields.
    ///
    /// ```
    /// # use vivarium_model::handle::ZooKeeper;
    /// fn report(zookeeper: &ZooKeeper, round: i64) {
    ///     zookeeper.custom("arrived", &[("round", round.into()), ("late", false.into())]);
    /// }
    /// ```
    pub fn custom(&self, name: &str, fields: &[(&str, Value)]) {
        self.observe(Custom::new(name, fields));
    }

    /// Awaits `future` for at most `span`, then drops it. If it is ready at that moment, its output wins.
    ///
    /// # Errors
    /// [`TimedOut`] if the span passed first.
    pub async fn timeout<F: Future>(
        &self,
        span: Duration,
        future: F,
    ) -> Result<F::Output, TimedOut> {
        match race(future, self.sleep(span)).await {
            Either::Left(output) => Ok(output),
            Either::Right(()) => Err(TimedOut),
        }
    }

    pub(super) async fn call(&self, operation: Operation) -> Outcome {
        Call::submit(&*self.transport, operation).await
    }
}

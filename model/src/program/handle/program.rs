//! Programs: a single future, or rounds that pass on a state.

use super::ZooKeeper;
use super::transport::BoxFuture;
use crate::vocabulary::fingerprint::Fingerprint;
use std::any::Any;
use std::fmt;
use std::future::Future;
use std::hash::Hash;
use std::marker::PhantomData;
use std::sync::Arc;

/// The code that a client machine runs each time its process starts. Made by [`program`] or [`rounds`].
#[derive(Clone)]
pub struct Program(Arc<dyn Body>);

/// Makes a program from an `async fn` or a closure over the handle.
///
/// ```
/// use std::time::Duration;
/// use vivarium_model::handle::program;
///
/// let rounds = 3;
/// let patient = program(move |zookeeper| async move {
///     for _ in 0..rounds {
///         zookeeper.sleep(Duration::from_millis(100)).await;
///     }
///     Ok(())
/// });
/// # let _ = patient;
/// ```
pub fn program<P, F>(program: P) -> Program
where
    P: Fn(ZooKeeper) -> F + Send + Sync + 'static,
    F: Future<Output = Result<(), String>> + Send + 'static,
{
    Program(Arc::new(Whole(program)))
}

/// How a round of a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Round<S> {
    /// Another round follows and begins with this state.
    Again(S),
    /// The program returns.
    Done,
}

/// Makes a program that is a loop from one round of it. The only thing that a round passes to the next is its state.
///
/// The program behaves like the same loop in a [`program`]. At the end of a round its future is dropped, and with it
/// its pending calls, watches and subscriptions; the next round begins immediately. A task spawned by a round
/// continues during the later ones, as in any program.
///
/// The explorer benefits from this form. Only a round's state survives it, so rounds that begin with equal states are
/// one state of the search, whatever happened before: a loop that retries for ever has no more states than one try.
/// If something else survives, such as a running task, the explorer distinguishes the histories, as it does for any
/// program. States are compared by `Eq`; derive it and `Hash`, so that they cover all fields.
///
/// ```
/// use vivarium_model::error::Error;
/// use vivarium_model::handle::{Round, ZooKeeper, rounds};
/// use vivarium_model::op::CreateMode;
///
/// let stubborn = rounds(1, |zookeeper: ZooKeeper, attempt: u32| async move {
///     zookeeper.connect().await;
///     match zookeeper.create("/members", b"", CreateMode::Persistent).await {
///         Ok(_) | Err(Error::NodeExists) => Ok(Round::Done),
///         Err(Error::ConnectionLoss) if attempt < 3 => Ok(Round::Again(attempt + 1)),
///         Err(error) => Err(error.to_string()),
///     }
/// });
/// # let _ = stubborn;
/// ```
///
/// A counter outside the state does not compile, because rounds cannot change what they share:
///
/// ```compile_fail
/// use vivarium_model::handle::{Round, ZooKeeper, rounds};
///
/// let mut attempts = 0;
/// let forgetful = rounds((), move |zookeeper: ZooKeeper, ()| {
///     attempts += 1;
///     async move {
///         zookeeper.connect().await;
///         Ok(Round::Done)
///     }
/// });
/// ```
///
/// In an `Arc` or a static it compiles. Then the program is not a function of its inputs, and an explorer that
/// notices this reports it and gives no verdict.
pub fn rounds<S, P, F>(first: S, round: P) -> Program
where
    S: Clone + Eq + Hash + Send + Sync + 'static,
    P: Fn(ZooKeeper, S) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Round<S>, String>> + Send + 'static,
{
    Program(Arc::new(InRounds { first: Carried::new(first), round, state: PhantomData }))
}

/// The state that one round of a program passes to the next, of any type.
#[derive(Clone)]
pub struct Carried(Arc<dyn Value>);

/// The result of a round, for a state of any type. A program that is not a loop passes on no state.
pub(super) type RoundEnd = Result<Option<Carried>, String>;

impl Program {
    /// Runs the program over a handle, round after round, outside of any engine.
    ///
    /// # Errors
    /// The program's own.
    pub async fn run(&self, zookeeper: ZooKeeper) -> Result<(), String> {
        let mut state = self.first();
        loop {
            match self.round(zookeeper.clone(), state).await? {
                Some(next) => state = Some(next),
                None => return Ok(()),
            }
        }
    }

    /// Returns the state of the first round; `None` if the program is not a loop.
    pub(super) fn first(&self) -> Option<Carried> {
        self.0.first()
    }

    /// Returns the future of a round that begins with this state.
    pub(super) fn round(
        &self,
        zookeeper: ZooKeeper,
        state: Option<Carried>,
    ) -> BoxFuture<RoundEnd> {
        self.0.round(zookeeper, state)
    }
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").finish_non_exhaustive()
    }
}

trait Body: Send + Sync {
    fn first(&self) -> Option<Carried>;
    fn round(&self, zookeeper: ZooKeeper, state: Option<Carried>) -> BoxFuture<RoundEnd>;
}

struct Whole<P>(P);

impl<P, F> Body for Whole<P>
where
    P: Fn(ZooKeeper) -> F + Send + Sync,
    F: Future<Output = Result<(), String>> + Send + 'static,
{
    fn first(&self) -> Option<Carried> {
        None
    }

    fn round(&self, zookeeper: ZooKeeper, _nothing: Option<Carried>) -> BoxFuture<RoundEnd> {
        let main = (self.0)(zookeeper);
        Box::pin(async move { main.await.map(|()| None) })
    }
}

struct InRounds<S, P> {
    first: Carried,
    round: P,
    state: PhantomData<fn() -> S>,
}

impl<S, P, F> Body for InRounds<S, P>
where
    S: Clone + Eq + Hash + Send + Sync + 'static,
    P: Fn(ZooKeeper, S) -> F + Send + Sync,
    F: Future<Output = Result<Round<S>, String>> + Send + 'static,
{
    fn first(&self) -> Option<Carried> {
        Some(self.first.clone())
    }

    fn round(&self, zookeeper: ZooKeeper, state: Option<Carried>) -> BoxFuture<RoundEnd> {
        let state = state.as_ref().and_then(Carried::get::<S>);
        let state = state.expect("a round begins with what the one before handed on").clone();
        let round = (self.round)(zookeeper, state);
        Box::pin(async move {
            Ok(match round.await? {
                Round::Again(state) => Some(Carried::new(state)),
                Round::Done => None,
            })
        })
    }
}

trait Value: Any + Send + Sync {
    fn equals(&self, other: &dyn Any) -> bool;
    fn fingerprint(&self) -> Fingerprint;
}

impl<S: Eq + Hash + Send + Sync + 'static> Value for S {
    fn equals(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<S>() == Some(self)
    }

    fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(self)
    }
}

impl Carried {
    fn new<S: Eq + Hash + Send + Sync + 'static>(state: S) -> Carried {
        Carried(Arc::new(state))
    }

    fn get<S: 'static>(&self) -> Option<&S> {
        let value: &dyn Any = &*self.0;
        value.downcast_ref()
    }

    /// Returns the fingerprint by the type's own `Hash`.
    pub fn fingerprint(&self) -> Fingerprint {
        (*self.0).fingerprint()
    }
}

/// Compares by the type's own `Eq`.
impl PartialEq for Carried {
    fn eq(&self, other: &Carried) -> bool {
        (*self.0).equals(&*other.0)
    }
}

impl fmt::Debug for Carried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Carried").field(&self.fingerprint()).finish()
    }
}

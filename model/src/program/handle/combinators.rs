//! Awaiting several futures concurrently and deterministically.
//!
//! These functions poll their parts in the written order, so which of two ready futures wins depends on the program's
//! text and never on chance. An unbiased `select!` uses a random number that is not derived from the seed; do not use
//! one in a program.

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;

/// The output of one of two futures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Either<L, R> {
    /// The first.
    Left(L),
    /// The second.
    Right(R),
}

/// The engine cancelled the future, which was dropped at its await point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("cancelled")]
pub struct Cancelled;

/// The time limit passed before the future was ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[error("timed out")]
pub struct TimedOut;

/// Awaits the future that is ready first; `a` if both are. The other is dropped before this returns.
///
/// ```
/// use vivarium_model::handle::{Either, ZooKeeper, race};
/// use std::time::Duration;
///
/// async fn first_change(zookeeper: &ZooKeeper) -> Result<bool, vivarium_model::error::Error> {
///     let (_, _, mut watch) = zookeeper.get_data_watch("/flag").await?;
///     match race(watch.changed(), zookeeper.sleep(Duration::from_secs(1))).await {
///         Either::Left(event) => event.map(|_| true),
///         Either::Right(()) => Ok(false),
///     }
/// }
/// ```
pub async fn race<A: Future, B: Future>(a: A, b: B) -> Either<A::Output, B::Output> {
    let mut a = pin!(a);
    let mut b = pin!(b);
    poll_fn(|context| {
        if let Poll::Ready(output) = a.as_mut().poll(context) {
            return Poll::Ready(Either::Left(output));
        }
        b.as_mut().poll(context).map(Either::Right)
    })
    .await
}

/// Awaits both futures.
pub async fn join<A: Future, B: Future>(a: A, b: B) -> (A::Output, B::Output) {
    let mut a = pin!(a);
    let mut b = pin!(b);
    let (mut left, mut right) = (None, None);
    poll_fn(|context| {
        poll_once(&mut left, a.as_mut(), context);
        poll_once(&mut right, b.as_mut(), context);
        if left.is_some() && right.is_some() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    (left.expect("the first is ready"), right.expect("the second is ready"))
}

/// Awaits all futures, and returns their outputs in the order given. All are polled for the first time in that order.
pub async fn join_all<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut parts: Vec<_> =
        futures.into_iter().map(|future| (Box::pin(future), None::<F::Output>)).collect();
    poll_fn(|context| {
        let mut pending = false;
        for (future, output) in &mut parts {
            poll_once(output, future.as_mut(), context);
            pending |= output.is_none();
        }
        if pending { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    parts.into_iter().map(|(_, output)| output.expect("all are ready")).collect()
}

fn poll_once<F: Future>(
    output: &mut Option<F::Output>,
    future: Pin<&mut F>,
    context: &mut std::task::Context<'_>,
) {
    if output.is_none()
        && let Poll::Ready(ready) = future.poll(context)
    {
        *output = Some(ready);
    }
}

impl<L: fmt::Display, R: fmt::Display> fmt::Display for Either<L, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Either::Left(left) => left.fmt(f),
            Either::Right(right) => right.fmt(f),
        }
    }
}

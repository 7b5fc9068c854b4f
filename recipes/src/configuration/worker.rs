//! A program that publishes or follows a configuration, for scenarios and as an example.

use super::{Configuration, Mutants};
use crate::helpers::in_sessions;
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Either, Program, Round, ZooKeeper, race, rounds};
use vivarium_model::time::Duration;

/// A change that a publisher makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Publishes a new value.
    Publish,
    /// Deletes the value.
    Remove,
}

/// Configures a [`configuration_worker`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigurationWork {
    /// The configuration's path.
    pub path: Arc<str>,
    /// The changes that the worker makes, one after the other, before it subscribes.
    pub steps: Vec<Step>,
    /// How long the worker waits before each change.
    pub pause: Duration,
    /// How long the worker follows the configuration; `None` for not at all.
    pub follow: Option<Duration>,
    /// Whether the engine may cancel waiting for the next value; the worker then waits again.
    pub cancel: bool,
    /// Whether to close the session at the end.
    pub close: bool,
    /// The mutants.
    pub mutants: Mutants,
}

/// Returns a program that publishes, and then follows the configuration for some time.
///
/// The program fails with the server's error for a path.
pub fn configuration_worker(work: ConfigurationWork) -> Program {
    rounds(0usize, move |zookeeper, step| {
        let work = work.clone();
        async move {
            let Some(what) = work.steps.get(step) else {
                follow(&zookeeper, &work).await.map_err(|error| error.to_string())?;
                if work.close {
                    zookeeper.close().await;
                }
                return Ok(Round::Done);
            };
            if !work.pause.is_zero() {
                zookeeper.sleep(work.pause).await;
            }
            publish(&zookeeper, &work, step, *what).await.map_err(|error| error.to_string())?;
            Ok(Round::Again(step + 1))
        }
    })
}

async fn publish(
    zookeeper: &ZooKeeper,
    work: &ConfigurationWork,
    number: usize,
    what: Step,
) -> Result<(), Error> {
    let value = format!("{}.{number}", zookeeper.client().0).into_bytes();
    in_sessions(zookeeper, |zookeeper, _| {
        let configuration =
            Configuration::new(zookeeper, Arc::clone(&work.path)).with_mutants(work.mutants);
        let value = &value;
        async move {
            match what {
                Step::Publish => configuration.publish(value).await.map(drop),
                Step::Remove => configuration.remove().await,
            }
        }
    })
    .await
}

async fn follow(zookeeper: &ZooKeeper, work: &ConfigurationWork) -> Result<(), Error> {
    let Some(span) = work.follow else { return Ok(()) };
    let configuration =
        Configuration::new(zookeeper.clone(), Arc::clone(&work.path)).with_mutants(work.mutants);
    let following = async {
        let mut subscription = configuration.subscribe();
        loop {
            if work.cancel {
                if let Ok(next) = zookeeper.cancellable(subscription.next()).await {
                    next?;
                }
            } else {
                subscription.next().await?;
            }
        }
    };
    match race(following, zookeeper.sleep(span)).await {
        Either::Left(ended) => ended,
        Either::Right(()) => Ok(()),
    }
}

//! A program that is a member of a group and looks at it, for scenarios and as an example.

use super::{Group, Mutants};
use crate::helpers::in_sessions;
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Either, Program, Round, ZooKeeper, race, rounds};
use vivarium_model::time::Duration;

/// Configures a [`member_worker`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberWork {
    /// The group's directory.
    pub group: Arc<str>,
    /// The member's id.
    pub id: Arc<str>,
    /// How many times to join and leave.
    pub rounds: u32,
    /// How long to stay a member each time.
    pub stay: Duration,
    /// Whether the engine may cancel a membership at any await point: joining, looking, or leaving.
    pub cancel: bool,
    /// How long to look at the group after the last round, without being a member.
    pub linger: Duration,
    /// Whether to close the session at the end.
    pub close: bool,
    /// The mutants.
    pub mutants: Mutants,
}

/// Returns a program that joins a group, looks at it for some time, and leaves, round by round; finally it looks at
/// the group as a non-member.
///
/// The program fails with the server's error for a path.
pub fn member_worker(work: MemberWork) -> Program {
    rounds(0u32, move |zookeeper, round| {
        let work = work.clone();
        async move {
            if round < work.rounds {
                take_part(&zookeeper, &work).await.map_err(|error| error.to_string())?;
                return Ok(Round::Again(round + 1));
            }
            look_on(&zookeeper, &work).await.map_err(|error| error.to_string())?;
            if work.close {
                zookeeper.close().await;
            }
            Ok(Round::Done)
        }
    })
}

async fn take_part(zookeeper: &ZooKeeper, work: &MemberWork) -> Result<(), Error> {
    let group = Group::new(zookeeper.clone(), Arc::clone(&work.group)).with_mutants(work.mutants);
    let member = group.while_member(&work.id, |group| async move {
        match race(look(&group, &work.id), zookeeper.sleep(work.stay)).await {
            Either::Left(ended) => ended,
            Either::Right(()) => Ok(()),
        }
    });
    match work.cancel {
        true => zookeeper.cancellable(member).await.unwrap_or(Ok(())),
        false => member.await,
    }
}

/// Looks at the group as a non-member for some time.
async fn look_on(zookeeper: &ZooKeeper, work: &MemberWork) -> Result<(), Error> {
    let looking = in_sessions(zookeeper, |zookeeper, _| {
        let group = Group::new(zookeeper, Arc::clone(&work.group)).with_mutants(work.mutants);
        async move { look(&group, &work.id).await }
    });
    match race(looking, zookeeper.sleep(work.linger)).await {
        Either::Left(ended) => ended,
        Either::Right(()) => Ok(()),
    }
}

/// Looks at the group until an error occurs.
async fn look(group: &Group, own: &str) -> Result<(), Error> {
    let mut view = group.view(Some(own)).await?;
    loop {
        view.changed().await?;
    }
}

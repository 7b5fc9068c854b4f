//! Leaving a generation (recipe rule 2.3.7): the lowest member stays until the end and waits for the highest;
//! everybody else goes at once and waits for the lowest. So one deletion wakes one member.

use super::place::{Closing, Place};
use super::{Mutant, Mutants};
use crate::helpers::until_known;
use vivarium_model::error::{self, Error};
use vivarium_model::handle::ZooKeeper;
use vivarium_model::op::Version;

/// Why a member has not left together with the others. It is no member any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum LeaveError {
    /// The session ended, and the membership with it.
    #[error("the session ended before all members had left")]
    SessionExpired,
    /// The others were still inside when the time was up.
    #[error("others were still inside when the time was up")]
    TimedOut,
    /// The server refuses the paths.
    #[error("the double barrier's znodes cannot be used: {0}")]
    Refused(error::Error),
}

/// What a member is to those that leave with it.
pub(super) struct Member {
    /// Pinned to the session of the registration.
    pub(super) zookeeper: ZooKeeper,
    pub(super) place: Place,
    /// The name of its znode.
    pub(super) name: String,
    pub(super) mutants: Mutants,
    /// Its znode is deleted, or needs no deletion by this member.
    pub(super) is_gone: bool,
}

/// What a member does next.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Next {
    /// Nobody is inside but itself, at most.
    Close,
    /// The lowest member waits for the highest.
    Stay(String),
    /// Everybody else goes, and waits for the lowest.
    Go(String),
}

/// Leaves, and waits until all have left.
pub(super) async fn leave(member: &mut Member) -> Result<(), LeaveError> {
    loop {
        let Some(names) = member.place.list(&member.zookeeper).await? else {
            // Closed, and so everybody was out, this member too.
            member.is_gone = true;
            return Ok(());
        };
        match next(&names, &member.name) {
            Next::Close => {
                go(member).await?;
                if member.place.close(&member.zookeeper).await? == Closing::Closed {
                    return Ok(());
                }
            }
            Next::Stay(highest) => wait_for(member, &highest).await?,
            Next::Go(lowest) => {
                let was_there = go(member).await?;
                // It has been here before, so its znode is gone. Taken for a failure, that ends the wait while
                // others are inside (`DbLeaveUnconditional`).
                if !was_there && member.mutants.has(Mutant::DbLeaveUnconditional) {
                    return Ok(());
                }
                wait_for(member, &lowest).await?;
            }
        }
    }
}

/// Looks again and again until all are out, as a mutant does when it waits no longer.
pub(super) async fn spin(member: &Member) -> Result<(), LeaveError> {
    while member.place.list(&member.zookeeper).await?.is_some_and(|names| !names.is_empty()) {}
    Ok(())
}

/// Where a member stands among these, who are in order.
fn next(names: &[String], own: &str) -> Next {
    match names {
        [] => Next::Close,
        [only] if only == own => Next::Close,
        [lowest, .., highest] if lowest == own => Next::Stay(highest.clone()),
        [lowest, ..] => Next::Go(lowest.clone()),
    }
}

/// Deletes the member's znode, if that has not been done; whether it was there. A delete that is repeated after a
/// lost connection may find that it was done (recipe rule 2.3.8).
async fn go(member: &mut Member) -> Result<bool, LeaveError> {
    if member.is_gone {
        return Ok(false);
    }
    let (zookeeper, node) = (&member.zookeeper, member.place.node(&member.name));
    let was_there = match until_known(zookeeper, || zookeeper.delete(&node, Version::Any)).await {
        Ok(()) => true,
        Err(Error::NoNode) => false,
        Err(error) => return Err(error.into()),
    };
    member.is_gone = true;
    Ok(was_there)
}

/// Waits until something happens to a member; one that has gone already is not waited for.
async fn wait_for(member: &Member, name: &str) -> Result<(), LeaveError> {
    let (zookeeper, node) = (&member.zookeeper, member.place.node(name));
    match until_known(zookeeper, || zookeeper.watch_data(&node)).await {
        Ok(mut watch) => Ok(watch.changed().await.map(drop)?),
        Err(Error::NoNode) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

impl From<error::Error> for LeaveError {
    fn from(error: error::Error) -> LeaveError {
        match error {
            error::Error::SessionExpired => LeaveError::SessionExpired,
            other => LeaveError::Refused(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_waits_for_the_highest_and_everybody_else_for_the_lowest() {
        let names = ["a", "b", "c"].map(String::from);
        assert_eq!(next(&names, "a"), Next::Stay("c".into()));
        assert_eq!(next(&names, "b"), Next::Go("a".into()));
        assert_eq!(next(&names, "c"), Next::Go("a".into()));
        assert_eq!(next(&names, "d"), Next::Go("a".into()));
        assert_eq!(next(&names[..1], "a"), Next::Close);
        assert_eq!(next(&names[..1], "b"), Next::Go("a".into()));
        assert_eq!(next(&[], "a"), Next::Close);
    }
}

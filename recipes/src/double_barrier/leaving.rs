//! Leaving a generation (recipe rule 2.3.7): the lowest member stays until the end and waits for the highest; all
//! others delete their znodes immediately and wait for the lowest. So one deletion wakes one member.

use super::place::{Closing, Place};
use super::{Mutant, Mutants};
use crate::helpers::until_known;
use vivarium_model::error::{self, Error};
use vivarium_model::handle::ZooKeeper;
use vivarium_model::op::Version;

/// Why a member did not leave together with the others. It is no member any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum LeaveError {
    /// The session ended, and the membership with it.
    #[error("the session ended before all members had left")]
    SessionExpired,
    /// Others were still inside when the time was over.
    #[error("others were still inside when the time was up")]
    TimedOut,
    /// The server refuses the paths.
    #[error("the double barrier's znodes cannot be used: {0}")]
    Refused(error::Error),
}

/// A member that is leaving.
pub(super) struct Member {
    /// Pinned to the session of the registration.
    pub(super) zookeeper: ZooKeeper,
    pub(super) place: Place,
    /// The name of its znode.
    pub(super) name: String,
    pub(super) mutants: Mutants,
    /// True if its znode is deleted, or if this member need not delete it.
    pub(super) is_gone: bool,
}

/// The next action of a member.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Next {
    /// At most this member is inside.
    Close,
    /// This is the lowest member, which waits for the highest.
    Stay(String),
    /// This is another member, which deletes its znode and waits for the lowest.
    Go(String),
}

/// Leaves, and waits until all have left.
pub(super) async fn leave(member: &mut Member) -> Result<(), LeaveError> {
    loop {
        let Some(names) = member.place.list(&member.zookeeper).await? else {
            // The generation is closed, so all members are out, including this one.
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
                // Its znode is gone because it has been here before. The mutant treats this as a failure, and ends the
                // wait while others are inside (`DbLeaveUnconditional`).
                if !was_there && member.mutants.has(Mutant::DbLeaveUnconditional) {
                    return Ok(());
                }
                wait_for(member, &lowest).await?;
            }
        }
    }
}

/// Lists repeatedly until all are out, as a mutant does instead of waiting.
pub(super) async fn spin(member: &Member) -> Result<(), LeaveError> {
    while member.place.list(&member.zookeeper).await?.is_some_and(|names| !names.is_empty()) {}
    Ok(())
}

/// Returns a member's next action, given all members in order.
fn next(names: &[String], own: &str) -> Next {
    match names {
        [] => Next::Close,
        [only] if only == own => Next::Close,
        [lowest, .., highest] if lowest == own => Next::Stay(highest.clone()),
        [lowest, ..] => Next::Go(lowest.clone()),
    }
}

/// Deletes the member's znode unless this is done. Returns whether it existed. A delete that is repeated after a lost
/// connection may find that the first one was applied (recipe rule 2.3.8).
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

/// Waits for a change of a member's znode; returns immediately if it is gone already.
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

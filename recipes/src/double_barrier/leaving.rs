//! Leaving a generation (recipe rule 2.3.7): the lowest member stays until the end and waits for the highest;
//! everybody else goes at once and waits for the lowest. So one deletion wakes one member.

use super::Mutant;
use super::guard::{Entered, LeaveError};
use super::place::Closing;
use crate::helpers::until_known;
use vivarium_model::error::Error;
use vivarium_model::op::Version;

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
pub(super) async fn leave(member: &mut Entered) -> Result<(), LeaveError> {
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
pub(super) async fn spin(member: &Entered) -> Result<(), LeaveError> {
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
async fn go(member: &mut Entered) -> Result<bool, LeaveError> {
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
async fn wait_for(member: &Entered, name: &str) -> Result<(), LeaveError> {
    let (zookeeper, node) = (&member.zookeeper, member.place.node(name));
    match until_known(zookeeper, || zookeeper.watch_data(&node)).await {
        Ok(mut watch) => Ok(watch.changed().await.map(drop)?),
        Err(Error::NoNode) => Ok(()),
        Err(error) => Err(error.into()),
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

//! S15: a client and its leader have the same session timeout.
//!
//! A client pings, and gives up a silent connection, by the timeout of its ConnectResponse (rules 2.1.3 and 2.8.1).
//! The leader expires its session by the timeout that it tracks (rule 2.3.2). If the two differ, a live client loses
//! its session, or a dead one keeps it. No event has both timeouts, so a sweep compares the two machines after a
//! client has connected.

use super::Objection;
use crate::ensemble::Ensemble;
use crate::server::Role;
use crate::vocabulary::event::Event;
use crate::vocabulary::id::SessionId;
use crate::vocabulary::op::SessionState;
use crate::vocabulary::time::Duration;

/// Checks S15 for the sessions that a step has connected.
///
/// # Errors
/// The objection of S15, if a client's timeout differs from the one that the leader tracks.
pub fn told_timeout(events: &[Event], ensemble: &Ensemble) -> Result<(), Objection> {
    for event in events {
        let Event::Session {
            client,
            session: Some(session),
            state: SessionState::SyncConnected,
            ..
        } = event
        else {
            continue;
        };
        let told = ensemble.machine(*client).timeout();
        same(*session, told, tracked(ensemble, *session))?;
    }
    Ok(())
}

/// Returns the timeout by which the established leader expires a session, or `None` if it does not know the session.
fn tracked(ensemble: &Ensemble, session: SessionId) -> Option<Duration> {
    let leader = ensemble.server(ensemble.leader()?)?;
    let Role::Leading(leader) = leader.role() else { return None };
    leader.tracked_timeout(session)
}

fn same(session: SessionId, told: Duration, tracked: Option<Duration>) -> Result<(), Objection> {
    match tracked {
        Some(tracked) if tracked != told => Err(Objection::new(
            "S15 the timeout told is the one kept",
            format!(
                "the client of session {session} received a timeout of {told:?}, but the leader tracks the session \
                 with {tracked:?}."
            ),
        )
        .about(session)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_that_is_not_the_one_told() {
        let (session, told) = (SessionId(1), Duration::from_secs(2));
        assert_eq!(same(session, told, Some(told)), Ok(()));
        assert_eq!(same(session, told, None), Ok(()), "the leader does not know of it");
        let saw = same(session, told, Some(2 * told)).expect_err("another one").to_string();
        assert!(saw.starts_with("S15 the timeout told is the one kept"), "{saw}");
        assert!(
            saw.contains("a timeout of 2s, but the leader tracks the session with 4s"),
            "{saw}"
        );
    }
}

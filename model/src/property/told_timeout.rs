//! S15: a client and its leader have the same session timeout.
//!
//! A client pings, and takes a silent connection for broken, by the timeout of its ConnectResponse (rules 2.1.3 and
//! 2.8.1); the leader expires its session by the one that it tracks (rule 2.3.2). With two different ones, a client that is
//! alive loses its session, or one that is dead keeps it. No event tells both, so a sweep looks at the machines
//! when a client has been connected.

use super::Objection;
use crate::ensemble::Ensemble;
use crate::server::Role;
use crate::vocabulary::event::Event;
use crate::vocabulary::id::SessionId;
use crate::vocabulary::op::SessionState;
use crate::vocabulary::time::Duration;

/// Asked of what a step has caused.
///
/// # Errors
/// A client has another timeout than the leader tracks.
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

/// The timeout by which the established leader expires a session; `None` where it does not know of it.
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
                "the client of the session {session} was told a timeout of {told:?}, and the leader tracks {tracked:?}."
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
        assert!(saw.contains("a timeout of 2s, and the leader tracks 4s"), "{saw}");
    }
}

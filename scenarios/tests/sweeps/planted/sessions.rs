//! Sessions that the service grain would not have accepted, kept or refused in this way.

use super::*;

/// A request in flight is answered at the session's closeSession instead of being lost.
pub(super) fn reads_after_close(events: &[Event]) -> Option<Planted> {
    let lost = find(events, |event| match event {
        Event::Lost { client, session, xid, request } if request.is_read() => {
            Some((*client, *session, *xid, request))
        }
        _ => None,
    });
    for (at, (client, session, xid, request)) in lost {
        let first = !matches!(events[at - 1], Event::Lost { client: its, .. } if its == client);
        if let Some((_, zxid)) = closed(events, session).filter(|(when, _)| *when < at && first) {
            let connection = ClientConnection { client, slot: 0 };
            let (request, result) = (Arc::clone(request), Err(Error::NoNode));
            let answer = Event::Replied { client, session, connection, xid, zxid, request, result };
            return instead(events, at, answer);
        }
    }
    None
}

fn in_state(state: SessionState) -> impl Fn(&Event) -> Option<(ClientId, SessionId)> {
    move |event| match event {
        Event::Session { client, session: Some(session), state: its, .. } if *its == state => {
            Some((*client, *session))
        }
        _ => None,
    }
}

fn with_state(events: &[Event], at: usize, state: SessionState) -> Event {
    let mut event = events[at].clone();
    let Event::Session { state: its, .. } = &mut event else { panic!("a session's state") };
    *its = state;
    event
}

/// A session that its server refuses is accepted, although it was closed before its connection was lost.
pub(super) fn accepted_after_close(events: &[Event]) -> Option<Planted> {
    for (at, (_, session)) in find(events, in_state(SessionState::Expired)) {
        let lost = find(events, in_state(SessionState::Disconnected));
        let lost = lost.filter(|(lost, (_, its))| *lost < at && *its == session).last();
        let Some((lost, _)) = lost else { continue };
        let planted = instead(events, at, with_state(events, at, SessionState::SyncConnected));
        let one_leader = !events[..at].iter().any(|event| matches!(event, Event::LeftRole { .. }));
        if closed(events, session).is_some_and(|(closed, _)| closed < lost) && one_leader {
            return planted;
        }
    }
    None
}

/// A session that its server accepted is refused.
pub(super) fn expired_unclosed(events: &[Event]) -> Option<Planted> {
    let (at, _) =
        find(events, in_state(SessionState::SyncConnected)).find(|(at, (_, session))| {
            let before = find(&events[..*at], in_state(SessionState::SyncConnected));
            before.into_iter().any(|(_, (_, its))| its == *session)
        })?;
    instead(events, at, with_state(events, at, SessionState::Expired))
}

/// A new session has the id of another client's session.
pub(super) fn two_clients(events: &[Event]) -> Option<Planted> {
    let mut begun = find(events, in_state(SessionState::SyncConnected));
    let (_, (first, taken)) = begun.next()?;
    let (at, _) = begun.find(|(_, (client, _))| *client != first)?;
    let mut event = events[at].clone();
    let Event::Session { session, .. } = &mut event else { panic!("a session's state") };
    *session = Some(taken);
    instead(events, at, event)
}

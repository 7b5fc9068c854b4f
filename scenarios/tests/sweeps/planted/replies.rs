//! Replies that no server of the service grain could have given.

use super::*;

fn reply(event: &Event, change: impl FnOnce(&mut Zxid, &mut Result<Response, Error>)) -> Event {
    let mut event = event.clone();
    let Event::Replied { zxid, result, .. } = &mut event else { panic!("a reply") };
    change(zxid, result);
    event
}

/// A write that is answered, but not committed.
pub(super) fn reply_without_commit(events: &[Event]) -> Option<Planted> {
    commits(events).find_map(|(at, txn)| {
        let answer = events.iter().position(|event| {
            matches!(event, Event::Replied { session, xid, .. }
                if *session == txn.session && *xid == txn.cxid)
        })?;
        let mut between = events[at + 1..answer].iter();
        let quiet = !between.any(|event| matches!(event, Event::Committed { .. }));
        (quiet && txn.cxid > Xid(0)).then(|| without(events, &[at]))?
    })
}

pub(super) fn another_answer(events: &[Event]) -> Option<Planted> {
    let (at, _) = find(events, |event| match event {
        Event::Replied { request, result: Ok(_), .. } => {
            matches!(**request, Request::Write(Op::Create { .. })).then_some(())
        }
        _ => None,
    })
    .next()?;
    instead(events, at, reply(&events[at], |_, result| *result = Err(Error::NodeExists)))
}

pub(super) fn read_at(event: &Event) -> Option<(SessionId, ClientConnection, Zxid)> {
    match event {
        Event::Replied { session, connection, zxid, request, .. } if request.is_read() => {
            Some((*session, *connection, *zxid))
        }
        _ => None,
    }
}

/// The second of two reads of a session shows an older state.
fn goes_back(events: &[Event], reconnected: bool) -> Option<Planted> {
    for (at, (session, _, zxid)) in find(events, read_at) {
        let again = |event: &Event| matches!(event, Event::Session { session: Some(its), .. } if *its == session);
        let of_session = |later: &(usize, (SessionId, ClientConnection, Zxid))| {
            later.0 > at && later.1.0 == session
        };
        let Some((later, _)) = find(events, read_at).find(of_session) else { continue };
        let older = commits(events).filter(|(_, txn)| txn.zxid < zxid).last();
        if let Some((_, older)) = older
            && events[at..later].iter().any(again) == reconnected
        {
            let back = reply(&events[later], |zxid, _| *zxid = older.zxid);
            return instead(events, later, back);
        }
    }
    None
}

pub(super) fn read_goes_back(events: &[Event]) -> Option<Planted> {
    goes_back(events, false)
}

pub(super) fn goes_back_after_reconnect(events: &[Event]) -> Option<Planted> {
    goes_back(events, true)
}

pub(super) fn stale_stat(events: &[Event]) -> Option<Planted> {
    let (at, _) = find(events, |event| match event {
        Event::Replied { result: Ok(Response::Data(_, stat)), .. } => {
            (stat.version > 0).then_some(())
        }
        _ => None,
    })
    .next()?;
    let stale = reply(&events[at], |_, result| {
        let Ok(Response::Data(_, stat)) = result else { panic!("data") };
        stat.version -= 1;
    });
    instead(events, at, stale)
}

/// The second of two requests in flight is answered first.
pub(super) fn replies_swapped(events: &[Event]) -> Option<Planted> {
    let replies = find(events, |event| match event {
        Event::Replied { client, xid, .. } => Some((*client, *xid)),
        _ => None,
    });
    for (at, (client, xid)) in replies {
        let Some(next) = next_seen(events, at, client) else { continue };
        let Event::Replied { xid: later, .. } = &events[next] else { continue };
        let sent = |event: &Event| matches!(event, Event::Sent { client: its, xid, .. } if *its == client && xid == later);
        if *later == xid.next() && !events[at..next].iter().any(sent) {
            return swapped(events, at, next);
        }
    }
    None
}

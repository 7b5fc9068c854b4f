//! Deviations to plant in the events of a real run.

use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::event::Event;
use vivarium_model::id::{ClientConnection, ClientId, SessionId, Xid};
use vivarium_model::op::{EventType, Op, Request, Response, SessionState, Version, WatchedEvent};
use vivarium_model::path::ZnodePath;
use vivarium_model::txn::{Txn, TxnBody};
use vivarium_model::zxid::Zxid;

/// A deviation.
pub struct Plant {
    /// What it is.
    pub name: &'static str,
    /// Plants it where it first can.
    pub plant: fn(&[Event]) -> Option<Planted>,
}

/// A run that is real but for one thing.
pub struct Planted {
    /// What happened.
    pub events: Vec<Event>,
    /// Where it ceases to be real.
    pub at: usize,
}

/// All of them.
pub fn table() -> Vec<Plant> {
    let plant = |name, plant| Plant { name, plant };
    vec![
        plant("a transaction that nobody sent", nobody_sent),
        plant("a write that is decided twice", decided_twice),
        plant("a sequence suffix used again", suffix_reused),
        plant("a version check ignored", version_ignored),
        plant("a closeSession that leaves an ephemeral behind", ephemeral_left),
        plant("writes of one connection in another order", writes_swapped),
        plant("a late write after the session came back and wrote", late_write),
        plant("a write refused as moved, of a session that never moved", moved_nowhere),
        plant("a reply without a commit", reply_without_commit),
        plant("another write's answer", another_answer),
        plant("a read that goes back", read_goes_back),
        plant("a read that goes back after a reconnect", goes_back_after_reconnect),
        plant("a stale Stat", stale_stat),
        plant("replies out of order", replies_swapped),
        plant("a watch event after the data that it announces", event_after_data),
        plant("a watch event lost", event_lost),
        plant("an event that SetWatches had to make up, lost", made_up_event_lost),
        plant("a watch event invented", event_invented),
        plant("a watch event delivered twice", event_twice),
        plant("a session that reads after its close", reads_after_close),
        plant("a session accepted after its close", accepted_after_close),
        plant("a session expired that was never closed", expired_unclosed),
        plant("a session given to two clients", two_clients),
    ]
}

// ---- how to plant ----

/// The run up to `at`, and this instead of what came then: what follows does not matter.
fn instead(events: &[Event], at: usize, event: Event) -> Option<Planted> {
    let mut planted = events[..at].to_vec();
    planted.push(event);
    Some(Planted { events: planted, at })
}

/// The run with this inserted behind `at`.
fn behind(events: &[Event], at: usize, event: Event) -> Option<Planted> {
    instead(events, at + 1, event)
}

/// The run without what happened at these places.
fn without(events: &[Event], places: &[usize]) -> Option<Planted> {
    let kept = events.iter().enumerate().filter(|(at, _)| !places.contains(at));
    let events = kept.map(|(_, event)| event.clone()).collect();
    Some(Planted { events, at: places[0] })
}

/// The run with two events in each other's place.
fn swapped(events: &[Event], one: usize, other: usize) -> Option<Planted> {
    let mut events = events.to_vec();
    events.swap(one, other);
    Some(Planted { events, at: one })
}

// ---- what to look for ----

/// Every first report of a commit, with its place.
fn commits(events: &[Event]) -> impl Iterator<Item = (usize, &Arc<Txn>)> + Clone {
    let mut last = Zxid::ZERO;
    events.iter().enumerate().filter_map(move |(at, event)| match event {
        Event::Committed { txn, .. } if txn.zxid > last => {
            last = txn.zxid;
            Some((at, txn))
        }
        _ => None,
    })
}

fn commit(events: &[Event], at: usize, change: impl FnOnce(&mut Txn)) -> Event {
    let Event::Committed { leader, txn } = &events[at] else { panic!("a commit") };
    let mut txn = (**txn).clone();
    change(&mut txn);
    Event::Committed { leader: *leader, txn: Arc::new(txn) }
}

/// A transaction of the same session behind the one at `at`.
fn next_commit(events: &[Event], at: usize, change: impl FnOnce(&mut Txn)) -> Option<Planted> {
    let event = commit(events, at, |txn| {
        txn.zxid = txn.zxid.next().expect("not the epoch's last");
        change(txn);
    });
    behind(events, at, event)
}

/// What a client machine itself sees: which client, and whether its connection ends or begins here.
fn client_of(event: &Event) -> Option<ClientId> {
    match event {
        Event::Replied { client, .. }
        | Event::Lost { client, .. }
        | Event::Session { client, .. }
        | Event::Notified { client, .. }
        | Event::Rearmed { client, .. }
        | Event::Killed { client }
        | Event::Finished { client, .. } => Some(*client),
        _ => None,
    }
}

/// The next thing that this client sees after `at`.
fn next_seen(events: &[Event], at: usize, client: ClientId) -> Option<usize> {
    let mine = |later: &usize| client_of(&events[*later]) == Some(client);
    (at + 1..events.len()).find(mine)
}

/// Places of events that `choose` takes, with what it takes.
fn find<'a, T>(
    events: &'a [Event],
    choose: impl Fn(&'a Event) -> Option<T>,
) -> impl Iterator<Item = (usize, T)> {
    events.iter().enumerate().filter_map(move |(at, event)| Some((at, choose(event)?)))
}

fn request_of(events: &[Event], session: SessionId, xid: Xid) -> Option<&Request> {
    events.iter().find_map(|event| match event {
        Event::Sent { session: its, xid: number, request, .. }
            if *its == session && *number == xid =>
        {
            Some(&**request)
        }
        _ => None,
    })
}

fn closed(events: &[Event], session: SessionId) -> Option<(usize, Zxid)> {
    let closes =
        |txn: &Txn| txn.session == session && matches!(txn.body, TxnBody::CloseSession { .. });
    commits(events).find(|(_, txn)| closes(txn)).map(|(at, txn)| (at, txn.zxid))
}

// ---- transactions ----

fn nobody_sent(events: &[Event]) -> Option<Planted> {
    let (at, _) = commits(events).find(|(_, txn)| matches!(txn.body, TxnBody::SetData { .. }))?;
    next_commit(events, at, |txn| txn.cxid = Xid(9_999))
}

fn decided_twice(events: &[Event]) -> Option<Planted> {
    let (at, _) = commits(events).find(|(_, txn)| matches!(txn.body, TxnBody::SetData { .. }))?;
    next_commit(events, at, |_same| ())
}

fn suffix_reused(events: &[Event]) -> Option<Planted> {
    let sequential = |txn: &Txn| match &txn.body {
        TxnBody::Create { path, .. } => path.starts_with("/s-").then(|| path.clone()),
        _ => None,
    };
    let mut creates = commits(events).filter_map(|(at, txn)| Some((at, sequential(txn)?)));
    let (_, used) = creates.next()?;
    let (at, _) = creates.next()?;
    let event = commit(events, at, |txn| {
        let TxnBody::Create { path, .. } = &mut txn.body else { panic!("a create") };
        *path = ZnodePath::new(&*used).expect("a path");
    });
    instead(events, at, event)
}

fn version_ignored(events: &[Event]) -> Option<Planted> {
    for (at, txn) in commits(events).filter(|(_, t)| t.body == TxnBody::Error(Error::BadVersion)) {
        if let Some(Request::Write(Op::SetData { path, data, version: Version::Is(expected) })) =
            request_of(events, txn.session, txn.cxid)
        {
            let path = ZnodePath::new(&**path).expect("a path");
            let body = TxnBody::SetData { path, data: Arc::clone(data), version: expected + 1 };
            return instead(events, at, commit(events, at, |txn| txn.body = body));
        }
    }
    None
}

fn ephemeral_left(events: &[Event]) -> Option<Planted> {
    let some = |body: &TxnBody| matches!(body, TxnBody::CloseSession { ephemerals } if !ephemerals.is_empty());
    let (at, _) = commits(events).find(|(_, txn)| some(&txn.body))?;
    let event = commit(events, at, |txn| {
        let TxnBody::CloseSession { ephemerals } = &mut txn.body else { panic!("a close") };
        ephemerals.pop();
    });
    instead(events, at, event)
}

/// The second of two writes that were sent together is committed first.
fn writes_swapped(events: &[Event]) -> Option<Planted> {
    let mut all = commits(events).filter(|(_, txn)| txn.cxid > Xid(0)).collect::<Vec<_>>();
    all.retain(|(_, txn)| matches!(txn.body, TxnBody::SetData { .. }));
    let pair = all.windows(2).find(|pair| {
        let [(one, first), (_, second)] = pair else { return false };
        let sent_before = events[..*one].iter().any(|event| {
            matches!(event,
            Event::Sent { session, xid, .. } if *session == second.session && *xid == second.cxid)
        });
        first.session == second.session && first.cxid.next() == second.cxid && sent_before
    })?;
    let (one, second) = (pair[0].0, pair[1].1);
    instead(events, one, commit(events, one, |txn| txn.cxid = second.cxid))
}

/// A write that was lost and never committed is committed behind one of a later connection.
fn late_write(events: &[Event]) -> Option<Planted> {
    let lost = find(events, |event| match event {
        Event::Lost { session, xid, request, .. } if matches!(**request, Request::Write(_)) => {
            Some((*session, *xid))
        }
        _ => None,
    });
    for (lost_at, (session, lost)) in lost {
        if commits(events).any(|(_, txn)| txn.session == session && txn.cxid == lost) {
            continue;
        }
        let later = commits(events).find(|(at, txn)| {
            *at > lost_at
                && txn.session == session
                && txn.cxid > lost
                && matches!(txn.body, TxnBody::SetData { .. } | TxnBody::Create { .. })
        });
        if let Some((at, _)) = later {
            return next_commit(events, at, |txn| {
                txn.cxid = lost;
                txn.body = TxnBody::Error(Error::NoNode);
            });
        }
    }
    None
}

fn moved_nowhere(events: &[Event]) -> Option<Planted> {
    let (at, _) = commits(events).find(|(at, txn)| {
        let leaves = |event: &Event| {
            matches!(event, Event::Session { session: Some(session), state, .. }
                if *session == txn.session && *state == SessionState::Disconnected)
        };
        matches!(txn.body, TxnBody::SetData { .. }) && !events[..*at].iter().any(leaves)
    })?;
    let moved = TxnBody::Error(Error::SessionMoved);
    instead(events, at, commit(events, at, |txn| txn.body = moved))
}

// ---- replies ----

fn reply(event: &Event, change: impl FnOnce(&mut Zxid, &mut Result<Response, Error>)) -> Event {
    let mut event = event.clone();
    let Event::Replied { zxid, result, .. } = &mut event else { panic!("a reply") };
    change(zxid, result);
    event
}

/// A write of which nothing is committed, though it is answered.
fn reply_without_commit(events: &[Event]) -> Option<Planted> {
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

fn another_answer(events: &[Event]) -> Option<Planted> {
    let (at, _) = find(events, |event| match event {
        Event::Replied { request, result: Ok(_), .. } => {
            matches!(**request, Request::Write(Op::Create { .. })).then_some(())
        }
        _ => None,
    })
    .next()?;
    instead(events, at, reply(&events[at], |_, result| *result = Err(Error::NodeExists)))
}

fn read_at(event: &Event) -> Option<(SessionId, ClientConnection, Zxid)> {
    match event {
        Event::Replied { session, connection, zxid, request, .. } if request.is_read() => {
            Some((*session, *connection, *zxid))
        }
        _ => None,
    }
}

/// Of two reads of a session, the second shows less.
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

fn read_goes_back(events: &[Event]) -> Option<Planted> {
    goes_back(events, false)
}

fn goes_back_after_reconnect(events: &[Event]) -> Option<Planted> {
    goes_back(events, true)
}

fn stale_stat(events: &[Event]) -> Option<Planted> {
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
fn replies_swapped(events: &[Event]) -> Option<Planted> {
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

// ---- watches ----

fn notified(event: &Event) -> Option<(ClientId, &WatchedEvent)> {
    match event {
        Event::Notified { client, event, .. } => Some((*client, event)),
        _ => None,
    }
}

/// The reply that reflects a change is read before the event of that change.
fn event_after_data(events: &[Event]) -> Option<Planted> {
    let at = |(at, (client, event)): (usize, (ClientId, &WatchedEvent))| {
        let next = next_seen(events, at, client)?;
        let (_, _, zxid) = read_at(&events[next])?;
        let sent =
            |event: &Event| matches!(event, Event::Sent { client: its, .. } if *its == client);
        (zxid >= event.zxid && !events[at..next].iter().any(sent)).then_some((at, next))
    };
    let (one, other) = find(events, notified).find_map(at)?;
    swapped(events, one, other)
}

/// A later event is read, an earlier one never was.
fn event_lost(events: &[Event]) -> Option<Planted> {
    let at = |(at, (client, event)): (usize, (ClientId, &WatchedEvent))| {
        let next = next_seen(events, at, client)?;
        let (_, later) = notified(&events[next])?;
        (later.zxid > event.zxid).then_some(at)
    };
    without(events, &[find(events, notified).find_map(at)?])
}

fn made_up_event_lost(events: &[Event]) -> Option<Planted> {
    let at = |(at, (client, _)): (usize, (ClientId, &WatchedEvent))| {
        let next = next_seen(events, at, client)?;
        matches!(events[next], Event::Rearmed { .. }).then_some(at)
    };
    without(events, &[find(events, notified).find_map(at)?])
}

fn event_invented(events: &[Event]) -> Option<Planted> {
    let (at, (client, session, zxid)) = find(events, |event| match event {
        Event::Replied { client, session, zxid, request, .. } if request.is_read() => {
            Some((*client, *session, *zxid))
        }
        _ => None,
    })
    .next()?;
    let event = WatchedEvent { kind: EventType::NodeDataChanged, path: Arc::from("/"), zxid };
    behind(events, at, Event::Notified { client, session, event })
}

fn event_twice(events: &[Event]) -> Option<Planted> {
    let (at, _) = find(events, notified).next()?;
    behind(events, at, events[at].clone())
}

// ---- sessions ----

/// A request in flight is answered at the session's closeSession instead of being lost.
fn reads_after_close(events: &[Event]) -> Option<Planted> {
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

/// A session that its server refuses is taken, though everybody knows that it is closed.
fn accepted_after_close(events: &[Event]) -> Option<Planted> {
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

/// A session that its server took is refused.
fn expired_unclosed(events: &[Event]) -> Option<Planted> {
    let (at, _) =
        find(events, in_state(SessionState::SyncConnected)).find(|(at, (_, session))| {
            let before = find(&events[..*at], in_state(SessionState::SyncConnected));
            before.into_iter().any(|(_, (_, its))| its == *session)
        })?;
    instead(events, at, with_state(events, at, SessionState::Expired))
}

/// A new session is one that another client has already.
fn two_clients(events: &[Event]) -> Option<Planted> {
    let mut begun = find(events, in_state(SessionState::SyncConnected));
    let (_, (first, taken)) = begun.next()?;
    let (at, _) = begun.find(|(_, (client, _))| *client != first)?;
    let mut event = events[at].clone();
    let Event::Session { session, .. } = &mut event else { panic!("a session's state") };
    *session = Some(taken);
    instead(events, at, event)
}

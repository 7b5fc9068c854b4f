//! Deviations that tests plant in the events of a real run.

mod replies;
mod sessions;
mod transactions;
mod watches;

use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::event::Event;
use vivarium_model::id::{ClientConnection, ClientId, SessionId, Xid};
use vivarium_model::op::{EventType, Op, Request, Response, SessionState, Version, WatchedEvent};
use vivarium_model::path::ZnodePath;
use vivarium_model::txn::{Txn, TxnBody};
use vivarium_model::zxid::Zxid;

/// A deviation.
pub(crate) struct Plant {
    /// The deviation's name.
    pub name: &'static str,
    /// Plants the deviation at the first possible place.
    pub plant: fn(&[Event]) -> Option<Planted>,
}

/// A run that is real except for one event.
pub(crate) struct Planted {
    /// The events of the run.
    pub events: Vec<Event>,
    /// The first event that is not real.
    pub at: usize,
}

/// Returns all deviations.
pub(crate) fn table() -> Vec<Plant> {
    let plant = |name, plant| Plant { name, plant };
    vec![
        plant("a transaction that nobody sent", transactions::nobody_sent),
        plant("a write that is decided twice", transactions::decided_twice),
        plant("a sequence suffix used again", transactions::suffix_reused),
        plant("a version check ignored", transactions::version_ignored),
        plant("a closeSession that leaves an ephemeral behind", transactions::ephemeral_left),
        plant("writes of one connection in another order", transactions::writes_swapped),
        plant("a late write after the session came back and wrote", transactions::late_write),
        plant(
            "a write refused as moved, of a session that never moved",
            transactions::moved_nowhere,
        ),
        plant("a reply without a commit", replies::reply_without_commit),
        plant("another write's answer", replies::another_answer),
        plant("a read that goes back", replies::read_goes_back),
        plant("a read that goes back after a reconnect", replies::goes_back_after_reconnect),
        plant("a stale Stat", replies::stale_stat),
        plant("replies out of order", replies::replies_swapped),
        plant("a watch event after the data that it announces", watches::event_after_data),
        plant("a watch event lost", watches::event_lost),
        plant("an event that SetWatches had to make up, lost", watches::made_up_event_lost),
        plant("a watch event invented", watches::event_invented),
        plant("a watch event delivered twice", watches::event_twice),
        plant("a session that reads after its close", sessions::reads_after_close),
        plant("a session accepted after its close", sessions::accepted_after_close),
        plant("a session expired that was never closed", sessions::expired_unclosed),
        plant("a session given to two clients", sessions::two_clients),
    ]
}

// ---- how to plant ----

/// Returns the run up to `at`, with this event in place of the next one; what follows does not matter.
fn instead(events: &[Event], at: usize, event: Event) -> Option<Planted> {
    let mut planted = events[..at].to_vec();
    planted.push(event);
    Some(Planted { events: planted, at })
}

/// Returns the run with this event inserted after `at`.
fn behind(events: &[Event], at: usize, event: Event) -> Option<Planted> {
    instead(events, at + 1, event)
}

/// Returns the run without the events at these places.
fn without(events: &[Event], places: &[usize]) -> Option<Planted> {
    let kept = events.iter().enumerate().filter(|(at, _)| !places.contains(at));
    let events = kept.map(|(_, event)| event.clone()).collect();
    Some(Planted { events, at: places[0] })
}

/// Returns the run with two events exchanged.
fn swapped(events: &[Event], one: usize, other: usize) -> Option<Planted> {
    let mut events = events.to_vec();
    events.swap(one, other);
    Some(Planted { events, at: one })
}

// ---- what to look for ----

/// Returns every first report of a commit, with its place.
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

/// Inserts a transaction of the same session after the one at `at`.
fn next_commit(events: &[Event], at: usize, change: impl FnOnce(&mut Txn)) -> Option<Planted> {
    let event = commit(events, at, |txn| {
        txn.zxid = txn.zxid.next().expect("not the epoch's last");
        change(txn);
    });
    behind(events, at, event)
}

/// Returns the client if its own machine sees this event.
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

/// Returns the place of the next event that this client sees after `at`.
fn next_seen(events: &[Event], at: usize, client: ClientId) -> Option<usize> {
    let mine = |later: &usize| client_of(&events[*later]) == Some(client);
    (at + 1..events.len()).find(mine)
}

/// Returns the places of the events that `choose` selects, with its results.
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

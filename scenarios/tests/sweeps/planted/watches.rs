//! Watch events that the service grain would not have sent in this way.

use super::replies::read_at;
use super::*;

fn notified(event: &Event) -> Option<(ClientId, &WatchedEvent)> {
    match event {
        Event::Notified { client, event, .. } => Some((*client, event)),
        _ => None,
    }
}

/// The reply that reflects a change is read before the event of that change.
pub(super) fn event_after_data(events: &[Event]) -> Option<Planted> {
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

/// A later event is read, but an earlier one never was.
pub(super) fn event_lost(events: &[Event]) -> Option<Planted> {
    let at = |(at, (client, event)): (usize, (ClientId, &WatchedEvent))| {
        let next = next_seen(events, at, client)?;
        let (_, later) = notified(&events[next])?;
        (later.zxid > event.zxid).then_some(at)
    };
    without(events, &[find(events, notified).find_map(at)?])
}

pub(super) fn made_up_event_lost(events: &[Event]) -> Option<Planted> {
    let at = |(at, (client, _)): (usize, (ClientId, &WatchedEvent))| {
        let next = next_seen(events, at, client)?;
        matches!(events[next], Event::Rearmed { .. }).then_some(at)
    };
    without(events, &[find(events, notified).find_map(at)?])
}

pub(super) fn event_invented(events: &[Event]) -> Option<Planted> {
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

pub(super) fn event_twice(events: &[Event]) -> Option<Planted> {
    let (at, _) = find(events, notified).next()?;
    behind(events, at, events[at].clone())
}

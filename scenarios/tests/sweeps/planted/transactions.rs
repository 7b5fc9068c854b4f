//! Transactions that the service grain would not have decided in this way.

use super::*;

pub(super) fn nobody_sent(events: &[Event]) -> Option<Planted> {
    let (at, _) = commits(events).find(|(_, txn)| matches!(txn.body, TxnBody::SetData { .. }))?;
    next_commit(events, at, |txn| txn.cxid = Xid(9_999))
}

pub(super) fn decided_twice(events: &[Event]) -> Option<Planted> {
    let (at, _) = commits(events).find(|(_, txn)| matches!(txn.body, TxnBody::SetData { .. }))?;
    next_commit(events, at, |_same| ())
}

pub(super) fn suffix_reused(events: &[Event]) -> Option<Planted> {
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

pub(super) fn version_ignored(events: &[Event]) -> Option<Planted> {
    for (at, txn) in commits(events).filter(|(_, t)| t.body == TxnBody::Error(Error::BadVersion)) {
        if let Some(Request::Write(Op::SetData { path, data, version: Version::Is(expected) })) =
            request_of(events, txn.session, txn.cxid)
        {
            let path = ZnodePath::new(&**path).expect("a path");
            let body = TxnBody::SetData { path, data: data.clone(), version: expected + 1 };
            return instead(events, at, commit(events, at, |txn| txn.body = body));
        }
    }
    None
}

pub(super) fn ephemeral_left(events: &[Event]) -> Option<Planted> {
    let some = |body: &TxnBody| matches!(body, TxnBody::CloseSession { ephemerals } if !ephemerals.is_empty());
    let (at, _) = commits(events).find(|(_, txn)| some(&txn.body))?;
    let event = commit(events, at, |txn| {
        let TxnBody::CloseSession { ephemerals } = &mut txn.body else { panic!("a close") };
        ephemerals.pop();
    });
    instead(events, at, event)
}

/// The second of two writes that were sent together is committed first.
pub(super) fn writes_swapped(events: &[Event]) -> Option<Planted> {
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

/// A write that was lost and never committed is committed after one of a later connection.
pub(super) fn late_write(events: &[Event]) -> Option<Planted> {
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

pub(super) fn moved_nowhere(events: &[Event]) -> Option<Planted> {
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

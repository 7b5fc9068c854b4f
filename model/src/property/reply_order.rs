//! H2: replies come in the order of the requests.
//!
//! On one connection, a client reads the replies in the order in which it sent the requests, one reply for each
//! request, and none to a request that it did not send there (rules 2.8.5 and 4.5). When a connection breaks, all its
//! outstanding replies are lost.

use super::{Declaration, Declared, LooksBack};
use crate::minds;
use crate::vocabulary::event::Event;
use crate::vocabulary::id::{ClientConnection, ClientId, SessionId, Xid};
use crate::vocabulary::op::SessionState;
use std::collections::{BTreeMap, VecDeque};

/// The monitor of H2.
#[derive(Clone, Debug, Default, Hash)]
pub struct ReplyOrder {
    /// Requests without a reply, by connection, oldest first.
    waiting: BTreeMap<ClientConnection, Waiting>,
}

/// The outstanding requests of one connection, which has one session.
#[derive(Clone, Debug, Hash)]
struct Waiting {
    session: SessionId,
    xids: VecDeque<Xid>,
}

impl ReplyOrder {
    /// Returns a monitor that knows no request.
    pub fn new() -> ReplyOrder {
        ReplyOrder::default()
    }

    fn sent(&mut self, connection: ClientConnection, session: SessionId, xid: Xid) {
        let fresh = || Waiting { session, xids: VecDeque::new() };
        let waiting = self.waiting.entry(connection).or_insert_with(fresh);
        if waiting.session != session {
            // A connection of an earlier session has used the slot before.
            *waiting = fresh();
        }
        waiting.xids.push_back(xid);
    }

    fn replied(
        &mut self,
        connection: ClientConnection,
        session: SessionId,
        xid: Xid,
    ) -> Result<(), String> {
        let waiting = self.waiting.get_mut(&connection).filter(|w| w.session == session);
        let xids = waiting.map(|waiting| &mut waiting.xids);
        match xids {
            Some(xids) if xids.front() == Some(&xid) => {
                xids.pop_front();
                if xids.is_empty() {
                    self.waiting.remove(&connection);
                }
                Ok(())
            }
            Some(xids) if xids.contains(&xid) => Err(format!(
                "the reply to request {} came by {connection} before the one to request {}, which \
                 was sent first.",
                xid.0, xids[0].0
            )),
            _ => Err(format!(
                "{connection} of session {session} carried a reply to request {}, for which no \
                 reply was due there.",
                xid.0
            )),
        }
    }

    fn forget(&mut self, client: ClientId) {
        self.waiting.retain(|connection, _| connection.client != client);
    }
}

impl Declared for ReplyOrder {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "H2 replies in order",
        LooksBack::Tip,
        minds! { |this, view, event|
            Event::Sent { session, connection, xid, .. } => this.sent(*connection, *session, *xid),
            Event::Replied { session, connection, xid, .. } => {
                this.replied(*connection, *session, *xid).map_err(|saw| this.objection(saw))
            },
            // Slots of connections are reused, so the outstanding requests of a broken connection are dropped.
            Event::Session { client, state: SessionState::Disconnected | SessionState::Expired, .. }
            | Event::Killed { client } => this.forget(*client),
        },
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::testing::{ONE, Trial, create_request, exists, lost, session, z};
    use crate::property::testing::{replied as reply, sent as send};
    use crate::vocabulary::error::Error;

    fn sent(xid: u32) -> Event {
        send(xid, exists("/a"))
    }

    fn replied(xid: u32) -> Event {
        reply(xid, z(1, 1), exists("/a"), Err(Error::NoNode))
    }

    #[test]
    fn a_reply_that_overtakes_another() {
        let mut trial = Trial::new(ReplyOrder::new());
        trial.accepts(sent(1));
        trial.accepts(sent(2));
        assert_eq!(
            trial.objects(replied(2)),
            "H2 replies in order: the reply to request 2 came by client 1 connection 0 before the \
             one to request 1, which was sent first."
        );
    }

    #[test]
    fn a_reply_to_nothing() {
        let mut trial = Trial::new(ReplyOrder::new());
        trial.accepts(sent(1));
        trial.accepts(replied(1));
        assert_eq!(
            trial.objects(replied(1)),
            "H2 replies in order: client 1 connection 0 of session 0x10 carried a reply to request \
             1, for which no reply was due there."
        );
    }

    #[test]
    fn a_reply_of_the_old_connection_on_the_new_one() {
        let mut trial = Trial::new(ReplyOrder::new());
        trial.accepts(send(1, create_request("/a", "")));
        trial.accepts(session(SessionState::Disconnected, None));
        trial.accepts(lost(1, create_request("/a", "")));
        trial.accepts(session(SessionState::SyncConnected, Some(ONE)));
        trial.accepts(sent(2));
        assert!(trial.objects(replied(1)).contains("no reply was due"));
    }

    #[test]
    fn a_reused_slot_starts_afresh() {
        let mut trial = Trial::new(ReplyOrder::new());
        trial.accepts(sent(1));
        trial.accepts(sent(2));
        trial.accepts(session(SessionState::Disconnected, None));
        trial.accepts(session(SessionState::SyncConnected, Some(ONE)));
        trial.accepts(sent(3));
        trial.accepts(replied(3));
        // The first request of a new session is accepted too, although its numbers begin again.
        trial.accepts(sent(4));
        let of_new_session = |mut event: Event| {
            if let Event::Sent { session, .. } | Event::Replied { session, .. } = &mut event {
                *session = SessionId(0x20);
            }
            event
        };
        trial.accepts(of_new_session(sent(1)));
        trial.accepts(of_new_session(replied(1)));
    }
}

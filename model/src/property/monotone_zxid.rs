//! H3: a session never goes back in time.
//!
//! The header zxids of a session's replies never decrease, even after a reconnect to another server: a server whose
//! zxid is below what the client has seen closes the connection (rules 2.1.2 and 4.6).

use super::{Declaration, Declared, LooksBack};
use crate::minds;
use crate::vocabulary::config::Config;
use crate::vocabulary::event::Event;
use crate::vocabulary::id::SessionId;
use crate::vocabulary::op::SessionState;
use crate::vocabulary::release::Release;
use crate::vocabulary::zxid::Zxid;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The monitor of H3.
#[derive(Clone, Debug, Default, Hash)]
pub struct MonotoneZxid {
    /// The largest header zxid of each living session.
    seen: BTreeMap<SessionId, Zxid>,
    /// The release whose operations the servers know.
    operations_of: Release,
}

impl MonotoneZxid {
    /// Returns a monitor that knows no session.
    pub fn new() -> MonotoneZxid {
        MonotoneZxid::default()
    }
}

impl Declared for MonotoneZxid {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "H3 a session never goes back in time",
        LooksBack::Tip,
        minds! { |this, view, event|
            Event::Refused { client, session, xid, request }
                if this.operations_of.knows(request) => {
                let saw = format!(
                    "request {} of session {session} ({request}, {client}) was refused without a zxid, although \
                     the servers know such a request.",
                    xid.0
                );
                Err(this.objection(saw))
            },
            Event::Replied { client, session, xid, zxid, request, .. } => {
                let seen = this.seen.entry(*session).or_default();
                match zxid < seen {
                    true => {
                        let saw = format!(
                            "the reply to request {} of session {session} ({request}, {client}) was \
                             built at {zxid}, but the session had seen {seen} before.",
                            xid.0
                        );
                        Err(this.objection(saw))
                    }
                    false => {
                        *seen = *zxid;
                        Ok(())
                    }
                }
            },
            Event::Session { session: Some(session), state: SessionState::Expired | SessionState::Closed, .. } => {
                this.seen.remove(session);
            },
        },
    )
    .begin(Self::begin);
}

impl MonotoneZxid {
    fn begin(&mut self, config: &Arc<Config>) {
        self.operations_of = config.options.operations_of;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::Monitor;
    use crate::property::testing::{CLIENT, SESSION, Trial, exists, replied, session, z};
    use crate::vocabulary::error::Error;
    use crate::vocabulary::id::{ServerId, Xid};
    use crate::vocabulary::op::Request;

    fn read(xid: u32, zxid: Zxid) -> Event {
        replied(xid, zxid, exists("/a"), Err(Error::NoNode))
    }

    /// An older server refuses an operation that it does not know without a zxid. A server that knows it has a zxid to tell.
    #[test]
    fn an_operation_that_is_known_is_not_refused() {
        let is_accepted = |release| {
            let mut config = Config::new(3, 1);
            config.options.operations_of = release;
            let mut monitor = MonotoneZxid::new();
            Monitor::begin(&mut monitor, &Arc::new(config));
            let (client, session, request) = (CLIENT, SESSION, Arc::new(Request::WhoAmI));
            let refused = Event::Refused { client, session, xid: Xid(2), request };
            Trial::new(monitor).feed(&refused).is_ok()
        };
        assert!(is_accepted(Release::V3_6_4));
        assert!(!is_accepted(Release::V3_7_2));
    }

    #[test]
    fn a_reconnect_to_a_server_that_is_behind() {
        let mut trial = Trial::new(MonotoneZxid::new());
        trial.accepts(read(1, z(1, 5)));
        trial.accepts(session(SessionState::Disconnected, None));
        trial.accepts(session(SessionState::SyncConnected, Some(ServerId(2))));
        assert_eq!(
            trial.objects(read(2, z(1, 4))),
            "H3 a session never goes back in time: the reply to request 2 of session 0x10 (exists \
             /a, client 1) was built at 1:4, but the session had seen 1:5 before."
        );
    }

    #[test]
    fn another_session_may_read_an_older_state() {
        let mut trial = Trial::new(MonotoneZxid::new());
        trial.accepts(read(1, z(1, 5)));
        trial.accepts(read(2, z(1, 5)));
        let mut stale = read(1, z(1, 2));
        if let Event::Replied { session, .. } = &mut stale {
            *session = SessionId(0x20);
        }
        trial.accepts(stale);
        // An opening zxid is above every zxid of the epoch before.
        trial.accepts(read(3, z(2, 0)));
    }
}

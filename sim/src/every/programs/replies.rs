//! Requests, replies and notifications: what clients send and receive.
//!
//! A client learns which prefix of the log a server had applied only from the zxids of replies. So the reduction of
//! prefixes is not used if a monitor is concerned by replies.

use super::ProgramModel;
use super::check::REDUCTION;
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::event::Event;
use vivarium_model::id::{ClientConnection, ClientId, SessionId, Xid};
use vivarium_model::op::{EventType, Request, WatchedEvent};
use vivarium_model::property::{Monitor, Monitors, Objection};
use vivarium_model::zxid::Zxid;

/// Returns true if any monitor is concerned by what clients send and receive. Monitors are asked about made-up events.
pub(super) fn matters(monitors: &[Box<dyn Monitor>]) -> bool {
    let (client, session, xid, zxid) = (ClientId(1), SessionId(1), Xid(1), Zxid(1));
    let connection = ClientConnection { client, slot: 0 };
    let replied = |request: Request| {
        let (request, result) = (Arc::new(request), Err(Error::NoNode));
        Event::Replied { client, session, connection, xid, zxid, request, result }
    };
    let path = || Arc::from("/a");
    let request = Arc::new(Request::Sync { path: path() });
    let event = WatchedEvent { kind: EventType::NodeDeleted, path: path(), zxid };
    let told = [
        Event::Sent { client, session, connection, xid, request },
        replied(Request::Sync { path: path() }),
        replied(Request::Exists { path: path(), watch: false }),
        replied(Request::GetChildren { path: path(), watch: false }),
        Event::Rearmed { client, session, zxid },
        Event::Notified { client, session, event },
    ];
    monitors.iter().any(|monitor| told.iter().any(|event| monitor.concerns(event)))
}

impl ProgramModel {
    /// Checks that a monitor that denied concern for the made-up events is not concerned by a real event of these
    /// kinds.
    ///
    /// # Errors
    /// Returns an objection if a monitor is concerned.
    pub(super) fn check_replies(
        &self,
        monitors: &Monitors,
        events: &[Event],
    ) -> Result<(), Objection> {
        let tells = |event: &&Event| {
            matches!(
                event,
                Event::Sent { .. }
                    | Event::Replied { .. }
                    | Event::Refused { .. }
                    | Event::Rearmed { .. }
                    | Event::Notified { .. }
            )
        };
        if self.told_matters || !self.reductions.any() {
            return Ok(());
        }
        let mut told = events.iter().filter(tells);
        match told.find_map(|event| monitors.iter().find(|monitor| monitor.concerns(event))) {
            None => Ok(()),
            Some(monitor) => Err(Objection::new(
                REDUCTION,
                format!(
                    "`{}` depends on an event at which a client sends or receives something, but excluded other events \
                     of this kind: `concerns` must give the same answer for all events of a kind",
                    monitor.name()
                ),
            )),
        }
    }
}

//! Events as sentences without a full stop.

use super::{Answer, plural};
use crate::vocabulary::event::{AtMaster, Event, Over};
use crate::vocabulary::id::{ClientId, ServerId, SessionId};
use crate::vocabulary::op::SessionState;
use crate::vocabulary::zxid::Zxid;
use std::fmt::{self, Display};

impl Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&sentence(self))
    }
}

/// A single table, so that the compiler reports an event without words.
fn sentence(event: &Event) -> String {
    match event {
        // ---- elections, synchronisation, broadcast, and the lives of servers ----
        Event::Elected { server, leader, round } if server == leader => {
            format!("{server} ends election round {round}: LEADING")
        }
        Event::Elected { server, leader, round } => {
            format!("{server} ends election round {round}: FOLLOWING {leader}")
        }
        Event::Authenticating { client, session, scheme, .. } => {
            format!("{client} (session {session}) proves an identity by {scheme}")
        }
        Event::Authenticated { client, session } => {
            format!("{client} (session {session}) reads that its identity was accepted")
        }
        Event::Unexpected { server, what } => format!("{server} reads {what}"),
        Event::Activated { server, configuration } => format!(
            "{server} activates the configuration of {} ({})",
            configuration.version(),
            configuration.members()
        ),
        Event::Designated { server, leader } if server == leader => {
            format!("{server} is designated: LEADING without an election")
        }
        Event::Designated { server, leader } => {
            format!("{server} follows the designated {leader} without an election")
        }
        Event::LeftRole { server, reason } => format!("{server} goes back to LOOKING: {reason}"),
        Event::Followed { leader, learner, epoch } => {
            format!("{leader} reads that {learner} follows it into epoch {epoch}")
        }
        Event::Established { leader, epoch, last_zxid } => {
            format!("{leader} is established as leader of epoch {epoch}, history up to {last_zxid}")
        }
        Event::Synchronising { leader, learner, mode } => {
            format!("{leader} synchronises {} by {mode}", learner.learner)
        }
        Event::AtMaster { master, observer, what } => at_master(*master, observer.learner, *what),
        Event::AcksStalled { leader, learner } => {
            format!("{leader} hangs up on {}, whose acks do not come", learner.learner)
        }
        Event::Proposed { leader, txn } => format!("{leader} proposes {txn}"),
        Event::Committed { leader, txn } => format!("{leader} commits {txn}"),
        Event::Applied { server, txn, .. } => format!("{server} applies {txn}"),
        Event::Serving { server, zxid, .. } => {
            format!("{server} serves clients, its tree is at {zxid}")
        }
        Event::Acked { server, zxid, durable } => {
            format!("{server} acknowledges {zxid} (its log is durable up to {durable})")
        }
        Event::AckedNewLeader { server, epoch, history, durable, current_epoch } => format!(
            "{server} acknowledges NEWLEADER of epoch {epoch} with history up to {history} \
             (durable: log up to {durable}, currentEpoch {current_epoch})"
        ),
        Event::SnapshotTruncated { server, label, before, after } => format!(
            "{server} truncates its snapshot {label} to write it anew (until then a start would load up to {before}, \
             now up to {after})"
        ),
        Event::EpochUndone { server, file, written, found } => format!(
            "the power loss has undone the renaming of {file} at {server}: epoch {found}, where it had written {written}"
        ),
        Event::Crashed { server, lost: 0 } => format!("{server} crashed, its log lost nothing"),
        Event::Crashed { server, lost } => {
            let lost = plural(*lost, "transaction");
            format!("{server} crashed and lost {lost} at the end of its log")
        }
        Event::Restarted { server } => format!("{server} restarted from its disk"),
        Event::Exited { server, reason } => format!("{server} exited: {reason}"),

        Event::Reattached { server, session } => {
            format!("{session} is back at {server}, which has its old connection")
        }
        Event::Heard { server, session } => format!("{server} receives a packet of {session}"),
        Event::TouchesForwarded { learner, sessions } => {
            let sessions = plural(sessions.len(), "session");
            format!("{} reports {sessions} as active to its leader", learner.learner)
        }
        Event::Touched { leader, sessions } => {
            format!("{leader} learns that {} had activity", plural(sessions.len(), "session"))
        }
        Event::SyncRead { leader, session, xid, by_learner } => {
            let whose = if *by_learner { "a learner's" } else { "its own" };
            format!("{leader} reads the sync xid {} of {session}, {whose} client", xid.0)
        }
        Event::TakenForExpired { leader, session } => {
            format!("{leader} expires {session} before its timeout has passed")
        }

        // ---- client machines ----
        Event::Mismatched { client, packet, awaited, .. } => match awaited {
            Some(xid) => format!("{client} reads {packet} where xid {} is due: it hangs up", xid.0),
            None => format!("{client} reads {packet}, which answers no request: it hangs up"),
        },
        Event::Sent { client, xid, request, connection, .. } => {
            format!("{client} sends xid {} on connection {}: {request}", xid.0, connection.slot)
        }
        Event::Replied { client, xid, zxid, request, result, .. } => {
            format!("{client} reads xid {}: {request} = {} (zxid {zxid})", xid.0, Answer(result))
        }
        Event::Refused { client, xid, request, .. } => {
            format!("{client} reads xid {}: {request} = Unimplemented, without a zxid", xid.0)
        }
        Event::Lost { client, xid, request, .. } => {
            format!("{client} gets ConnectionLoss for xid {}: {request}, outcome unknown", xid.0)
        }
        Event::Session { client, session, server, state } => {
            session_change(*client, *session, *server, *state)
        }
        Event::Notified { client, event, .. } => {
            format!("{client} is notified: {event}")
        }
        Event::Rearming { client, relative_zxid, data, exist, child, .. } => {
            let paths = plural(data.len() + exist.len() + child.len(), "path");
            format!("{client} sets its watches again ({paths}), having seen {relative_zxid}")
        }
        Event::Rearmed { client, zxid, .. } => {
            format!("{client} reads that its watches are set (zxid {zxid})")
        }

        // ---- programs ----
        Event::Observed { client, session, observation, .. } => match session {
            Some(session) => format!("{client} (session {session}) {observation}"),
            None => format!("{client} {observation}"),
        },
        Event::LearnsOfEnd { client, over: Over::Session(session) } => {
            format!("{client}'s program knows that session {session} is over")
        }
        Event::LearnsOfEnd { client, over: Over::AllBut(session) } => {
            format!("{client}'s program knows that its sessions before {session} are over")
        }
        Event::Started { client } => format!("{client} starts its program"),
        Event::Finished { client, result: Ok(()) } => format!("{client}'s program returned Ok"),
        Event::Finished { client, result: Err(message) } => {
            format!("{client}'s program returned Err: {message}")
        }
        Event::Panicked { client, message } => format!("{client}'s program panicked: {message}"),
        Event::Killed { client } => {
            format!("{client}'s program was killed, its session lives until it expires")
        }
        Event::Paused { client } => format!("{client} stands still"),
        Event::Resumed { client } => format!("{client} goes on"),
        Event::Cancelled { client, .. } => {
            format!("{client}'s program was cancelled at its await point")
        }
        Event::ResourceWrite { client, resource, token, accepted } => {
            resource_write(*client, resource, *token, *accepted)
        }
    }
}

fn at_master(master: ServerId, observer: ServerId, what: AtMaster) -> String {
    match what {
        AtMaster::Synchronises => format!("{master} is the observer master of {observer}"),
        AtMaster::SendsCached => {
            format!("{master} sends {observer} what it has sent to its observers before")
        }
        AtMaster::TooFarBehind => {
            format!("{master} refuses {observer}, which lacks more than it keeps for observers")
        }
        AtMaster::EndsMeanwhile => {
            format!(
                "{master} stops being the observer master of {observer} while it synchronises it"
            )
        }
        AtMaster::Outlives => {
            format!("{master} leaves its role, and goes on synchronising {observer}")
        }
    }
}

fn session_change(
    client: ClientId,
    session: Option<SessionId>,
    server: Option<ServerId>,
    state: SessionState,
) -> String {
    let session = session.map_or("its session".to_string(), |id| format!("session {id}"));
    match (state, server) {
        (SessionState::SyncConnected, Some(server)) => {
            format!("{client} is SyncConnected to {server} with {session}")
        }
        (SessionState::SyncConnected, None) => format!("{client} is SyncConnected with {session}"),
        (SessionState::ConnectedReadOnly, _) => {
            format!("{client} is ConnectedReadOnly with {session}")
        }
        (SessionState::AuthFailed, _) => format!("{client} is refused its identity: AuthFailed"),
        (SessionState::Disconnected, _) => {
            format!("{client} is Disconnected, {session} may live on")
        }
        (SessionState::Expired, _) => format!("{client} learns that {session} is Expired"),
        (SessionState::Closed, _) => format!("{client} has closed {session}"),
    }
}

fn resource_write(client: ClientId, resource: &str, token: Option<Zxid>, accepted: bool) -> String {
    let token = token.map_or("without a token".to_string(), |token| format!("with token {token}"));
    if accepted {
        format!("resource {resource} accepts a write of {client} {token}")
    } else {
        format!("resource {resource} REFUSES a write of {client} {token}: it has seen a larger one")
    }
}

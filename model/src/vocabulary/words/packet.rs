//! The packets of the client protocol, of the quorum protocol and of elections.

use super::{Answer, list, plural};
use crate::vocabulary::packet::{
    ClientPacket, LeaderPacket, LearnerPacket, Notification, PeerState, ServerPacket,
    ServerRequest, Vote,
};
use std::fmt::{self, Display};

impl Display for ClientPacket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClientPacket::Connect { last_zxid_seen, timeout, session, read_only } => {
                match session {
                    Some(session) => write!(f, "ConnectRequest(session {session}")?,
                    None => write!(f, "ConnectRequest(new session")?,
                }
                let read_only = if *read_only { ", read-only will do" } else { "" };
                write!(f, ", timeout {timeout:?}, lastZxidSeen {last_zxid_seen}{read_only})")
            }
            ClientPacket::Request { xid, request } => write!(f, "request xid {}: {request}", xid.0),
            ClientPacket::Ping => f.write_str("PING"),
            // The proof is a secret.
            ClientPacket::Auth { scheme, .. } => write!(f, "auth by {scheme}"),
            ClientPacket::SetWatches {
                relative_zxid,
                data,
                exist,
                child,
                persistent,
                recursive,
            } => {
                write!(f, "SETWATCHES(relativeZxid {relative_zxid}")?;
                let lists = [
                    ("data", data),
                    ("exist", exist),
                    ("child", child),
                    ("persistent", persistent),
                    ("recursive", recursive),
                ];
                for (kind, paths) in lists {
                    if !paths.is_empty() {
                        write!(f, ", {kind} [{}]", list(paths.iter()))?;
                    }
                }
                f.write_str(")")
            }
        }
    }
}

impl Display for ServerPacket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServerPacket::Connected { session, timeout, read_only } => {
                let read_only = if *read_only { ", read-only" } else { "" };
                write!(f, "ConnectResponse(session {session}, timeout {timeout:?}{read_only})")
            }
            ServerPacket::Expired => f.write_str("ConnectResponse(the session has expired)"),
            ServerPacket::Reply { xid, zxid, result } => {
                write!(f, "reply xid {} (zxid {zxid}): {}", xid.0, Answer(result))
            }
            ServerPacket::Notification(event) => write!(f, "notification {event}"),
            ServerPacket::Authenticated { result: Ok(()) } => f.write_str("auth reply"),
            ServerPacket::Authenticated { result: Err(error) } => {
                write!(f, "auth reply: {error:?}")
            }
            ServerPacket::Pong => f.write_str("PING reply"),
            ServerPacket::WatchesSet { zxid } => write!(f, "SETWATCHES reply (zxid {zxid})"),
        }
    }
}

impl Display for ServerRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServerRequest::Client(request) => request.fmt(f),
            ServerRequest::CreateSession { timeout } => {
                write!(f, "createSession (timeout {timeout:?})")
            }
        }
    }
}

impl Display for LearnerPacket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LearnerPacket::FollowerInfo { accepted_epoch, .. } => {
                write!(f, "FOLLOWERINFO(acceptedEpoch {accepted_epoch})")
            }
            LearnerPacket::ObserverInfo { accepted_epoch, .. } => {
                write!(f, "OBSERVERINFO(acceptedEpoch {accepted_epoch})")
            }
            LearnerPacket::AckEpoch { current_epoch: Some(epoch), last_zxid } => {
                write!(f, "ACKEPOCH(currentEpoch {epoch}, last zxid {last_zxid})")
            }
            LearnerPacket::AckEpoch { current_epoch: None, last_zxid } => {
                write!(f, "ACKEPOCH(currentEpoch -1, last zxid {last_zxid})")
            }
            LearnerPacket::Ack(zxid) => write!(f, "ACK {zxid}"),
            LearnerPacket::Ping { touched } if touched.is_empty() => f.write_str("PING"),
            LearnerPacket::Ping { touched } => {
                write!(f, "PING(active sessions {})", list(touched.iter()))
            }
            LearnerPacket::Request { session, xid, request, .. } => {
                write!(f, "REQUEST of session {session} xid {}: {request}", xid.0)
            }
            LearnerPacket::Revalidate { session, .. } => write!(f, "REVALIDATE session {session}"),
            LearnerPacket::Relayed { observer, packet } => {
                write!(f, "{packet}, for {}", observer.learner)
            }
        }
    }
}

impl Display for LeaderPacket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LeaderPacket::LeaderInfo { epoch } => write!(f, "LEADERINFO epoch {epoch}"),
            LeaderPacket::Diff(zxid) => write!(f, "DIFF {zxid}"),
            LeaderPacket::Trunc(zxid) => write!(f, "TRUNC {zxid}"),
            LeaderPacket::Snap(zxid) => write!(f, "SNAP {zxid}"),
            LeaderPacket::SnapSessions(sessions) => {
                write!(f, "SNAP: {}", plural(sessions.len(), "session"))
            }
            LeaderPacket::SnapNodes(nodes) if nodes.is_empty() => f.write_str("SNAP: no znodes"),
            LeaderPacket::SnapNodes(nodes) => {
                write!(f, "SNAP: znodes {}", list(nodes.iter().map(|(path, _)| path)))
            }
            LeaderPacket::SnapEnd => f.write_str("SNAP: end"),
            LeaderPacket::Proposal(txn) => write!(f, "PROPOSAL {txn}"),
            LeaderPacket::Commit(zxid) => write!(f, "COMMIT {zxid}"),
            LeaderPacket::Inform(txn) => write!(f, "INFORM {txn}"),
            LeaderPacket::NewLeader(epoch, _) => write!(f, "NEWLEADER epoch {epoch}"),
            LeaderPacket::CommitAndActivate { zxid, designated } => {
                write!(f, "COMMITANDACTIVATE {zxid}, designated {designated}")
            }
            LeaderPacket::InformAndActivate { txn, designated } => {
                write!(f, "INFORMANDACTIVATE {txn}, designated {designated}")
            }
            LeaderPacket::UpToDate(_) => f.write_str("UPTODATE"),
            LeaderPacket::Ping => f.write_str("PING"),
            LeaderPacket::Revalidated { session, timeout: Some(timeout), .. } => {
                write!(f, "REVALIDATE session {session}: valid, timeout {timeout:?}")
            }
            LeaderPacket::Revalidated { session, timeout: None, .. } => {
                write!(f, "REVALIDATE session {session}: not valid")
            }
            LeaderPacket::Synced { session, xid } => {
                write!(f, "SYNC of session {session} xid {}", xid.0)
            }
        }
    }
}

impl Display for PeerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PeerState::Looking => "LOOKING",
            PeerState::Following => "FOLLOWING",
            PeerState::Leading => "LEADING",
            PeerState::Observing => "OBSERVING",
        })
    }
}

impl Display for Vote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Vote { peer_epoch, zxid, leader } = self;
        write!(f, "vote for {leader} (peerEpoch {peer_epoch}, zxid {zxid})")
    }
}

impl Display for Notification {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, round {}, {}", self.state, self.round, self.vote)
    }
}

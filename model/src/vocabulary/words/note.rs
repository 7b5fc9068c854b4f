//! Notes as sentences without a full stop.

use crate::vocabulary::file_system::Writing;
use crate::vocabulary::note::Note;
use crate::vocabulary::packet::Delivered;
use crate::vocabulary::step::Unwritten;
use std::fmt::{self, Display};

impl Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::FromClient { server, client, delivered } => {
                write!(f, "{server} reads from {client}: {delivered}")
            }
            Note::FromServer { client, server, delivered, answers } => {
                write!(f, "{client} reads")?;
                if let Some(server) = server {
                    write!(f, " from {server}")?;
                }
                write!(f, ": {delivered}")?;
                answers.iter().try_for_each(|request| write!(f, ", to {request}"))
            }
            Note::FromLearner { leader, learner, delivered } => {
                write!(f, "leader {} reads from {learner}: {delivered}", leader.0)
            }
            Note::FromLeader { learner, leader, delivered } => {
                write!(f, "{learner} reads from its leader {}: {delivered}", leader.0)
            }
            Note::Notified { server, from, notification } => {
                write!(f, "{server} reads the notification of {from}: {notification}")
            }
            Note::Refused { server } => write!(f, "{server} is down: connection refused"),
            Note::Ignored => f.write_str("ignored: the client no longer uses this connection"),
            Note::Outside(input) => input.fmt(f),
            Note::Received { client, input } => write!(f, "{client}'s program receives: {input}"),
            Note::Did(output) => write!(f, "it {output}"),
            Note::ServesReadOnly { server, zxid } => {
                write!(f, "{server} serves read-only, at {zxid}")
            }
            Note::LocalSessionExpired { server, session } => {
                write!(f, "{server} expires the local session {session}")
            }
            Note::SessionUpgraded { server, session } => {
                write!(f, "{server} upgrades the local session {session}")
            }
            Note::SnapshotNotWritten { server } => {
                write!(f, "{server} cannot write its snapshot, and exits")
            }
            Note::FsyncFailed { server, lost, rest } => {
                write!(f, "the fsync of {server} fails, and {lost} are lost{}", left(*lost, *rest))
            }
            Note::PacketTooLong => f.write_str("the packet is longer than jute.maxbuffer"),
            Note::ClientIsAhead { server, last_zxid_seen } => {
                write!(f, "{server} refuses: the client has seen {last_zxid_seen}")
            }
            Note::LearnerIsAhead { learner } => write!(f, "{learner} is ahead of its leader"),
            Note::Appended { server, txn } => write!(f, "{server} appends to its log: {txn}"),
            Note::AppliedRest { server, txn } => {
                write!(f, "{server}: a thread of an older role applies the rest of {txn}")
            }
            Note::Written { server, writing } => write!(f, "{server} has written {writing}"),
            Note::TruncUndone { server } => {
                write!(f, "the transactions that a TRUNC cut from the log of {server} are back")
            }
            Note::Takes { client, packet } => write!(f, "the server of {client} takes: {packet}"),
            Note::Applies { client, zxid } => write!(f, "the server of {client} applies {zxid}"),
            Note::ContainerDeleted { path } => {
                write!(f, "the leader deletes {path}, which is due")
            }
            Note::ArrivesLate { request } => write!(f, "{request} arrives at the leader after all"),
        }
    }
}

/// Says what a failed fsync left of the transactions.
fn left(lost: usize, rest: Unwritten) -> &'static str {
    match rest {
        _ if lost == 0 => "",
        Unwritten::Lost => "",
        Unwritten::Torn => "; half a record is left, and more may follow it",
        Unwritten::Buffered => "; they stay in the buffer of the file",
    }
}

impl<T: Display> Display for Delivered<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Delivered::Packet(packet) => packet.fmt(f),
            Delivered::End { accepted: true } => f.write_str("end of the connection"),
            Delivered::End { accepted: false } => f.write_str("connection refused"),
        }
    }
}

impl Display for Writing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Writing::LeadSnapshot => "a snapshot, before it leads",
            Writing::AcceptedEpoch => "acceptedEpoch",
            Writing::CurrentEpochTmp => "currentEpoch.tmp",
            Writing::CurrentEpoch => "currentEpoch (renamed from currentEpoch.tmp)",
            Writing::SyncSnapshot => "a snapshot of the synchronisation",
            Writing::SyncAppend => "a transaction of the synchronisation to its log",
            Writing::SyncFsync => "the synchronisation's transactions through to the disk (fsync)",
            Writing::NewLeaderAck => "nothing, and is about to acknowledge NEWLEADER",
        })
    }
}

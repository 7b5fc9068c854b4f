//! Parses packets between learners and leaders: their kind, their zxid, and their length. Other bytes pass as they are.
//!
//! A `QuorumPacket` consists of its type (4 bytes), its zxid (8), its data (a length and that many bytes) and
//! identities (a count, and two texts for each). The bytes of a snapshot follow the packet SNAP without such a frame,
//! up to a signature.

use std::fmt;
use vivarium_model::zxid::Zxid;

/// The end of a snapshot: a text preceded by its length.
const SIGNATURE: &[u8] = b"\0\0\0\x0aBenWasHere";

/// The kinds of packets, by the constants of `Leader`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as in ZooKeeper")]
pub(super) enum Kind {
    Request,
    Proposal,
    Ack,
    Commit,
    CommitAndActivate,
    Ping,
    Revalidate,
    Sync,
    NewLeader,
    FollowerInfo,
    UpToDate,
    Diff,
    Trunc,
    Snap,
    LeaderInfo,
    AckEpoch,
    InformAndActivate,
    Other(i32),
}

impl Kind {
    fn of(number: i32) -> Kind {
        match number {
            1 => Kind::Request,
            2 => Kind::Proposal,
            3 => Kind::Ack,
            4 => Kind::Commit,
            5 => Kind::Ping,
            6 => Kind::Revalidate,
            7 => Kind::Sync,
            9 => Kind::CommitAndActivate,
            10 => Kind::NewLeader,
            11 => Kind::FollowerInfo,
            12 => Kind::UpToDate,
            13 => Kind::Diff,
            14 => Kind::Trunc,
            15 => Kind::Snap,
            17 => Kind::LeaderInfo,
            18 => Kind::AckEpoch,
            19 => Kind::InformAndActivate,
            other => Kind::Other(other),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Other(number) => write!(f, "packet of type {number}"),
            kind => f.write_str(&format!("{kind:?}").to_uppercase()),
        }
    }
}

/// A packet, or bytes of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// A packet with all of its bytes.
    Packet {
        kind: Kind,
        zxid: Zxid,
        /// The original bytes.
        bytes: Vec<u8>,
    },
    /// A part of a snapshot, or bytes that are no packets.
    Bytes(Vec<u8>),
}

/// What a connection carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Packets between a learner and its leader.
    Packets,
    /// Notifications of elections, which pass unread.
    Notifications,
}

/// Cuts a stream of bytes into pieces.
#[derive(Debug)]
pub(super) struct Cutter {
    content: Content,
    buffer: Vec<u8>,
    in_snapshot: bool,
}

impl Cutter {
    /// Returns a cutter at the beginning of a connection.
    pub(super) fn new(content: Content) -> Cutter {
        Cutter { content, buffer: Vec::new(), in_snapshot: false }
    }

    /// Adds received bytes.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Returns the next piece if it is complete. `carries_snapshots` tells whether snapshots follow SNAP in this
    /// direction.
    pub(super) fn next(&mut self, carries_snapshots: bool) -> Option<Piece> {
        if self.content == Content::Notifications {
            let bytes = std::mem::take(&mut self.buffer);
            return (!bytes.is_empty()).then_some(Piece::Bytes(bytes));
        }
        if self.in_snapshot {
            return self.next_of_snapshot();
        }
        let (length, kind, zxid) = measure(&self.buffer)?;
        let bytes: Vec<u8> = self.buffer.drain(..length).collect();
        self.in_snapshot = carries_snapshots && kind == Kind::Snap;
        Some(Piece::Packet { kind, zxid, bytes })
    }

    fn next_of_snapshot(&mut self) -> Option<Piece> {
        let found = self.buffer.windows(SIGNATURE.len()).position(|bytes| bytes == SIGNATURE);
        let length = match found {
            Some(at) => {
                self.in_snapshot = false;
                at + SIGNATURE.len()
            }
            // The last bytes may be the beginning of the signature.
            None => (self.buffer.len() + 1).saturating_sub(SIGNATURE.len()),
        };
        (length > 0).then(|| Piece::Bytes(self.buffer.drain(..length).collect()))
    }
}

/// Returns the length, kind and zxid of the packet at the beginning of the bytes, if it is complete.
fn measure(bytes: &[u8]) -> Option<(usize, Kind, Zxid)> {
    let mut at = 0;
    let mut take = |length: usize| {
        let taken = bytes.get(at..at + length)?;
        at += length;
        Some(taken)
    };
    let kind = Kind::of(i32::from_be_bytes(take(4)?.try_into().ok()?));
    let zxid = Zxid(u64::from_be_bytes(take(8)?.try_into().ok()?));
    let mut number = |is_length: bool| {
        let number = i32::from_be_bytes(take(4)?.try_into().ok()?);
        // A length of -1 means no data.
        let number = usize::try_from(number).unwrap_or(0);
        if is_length {
            take(number)?;
        }
        Some(number)
    };
    number(true)?;
    let identities = number(false)?;
    for _ in 0..2 * identities {
        number(true)?;
    }
    Some((at, kind, zxid))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(kind: i32, zxid: u64, data: &[u8]) -> Vec<u8> {
        let mut bytes = kind.to_be_bytes().to_vec();
        bytes.extend(zxid.to_be_bytes());
        bytes.extend((data.len() as i32).to_be_bytes());
        bytes.extend(data);
        bytes.extend((-1_i32).to_be_bytes());
        bytes
    }

    #[test]
    fn packets_are_cut_wherever_the_bytes_break() {
        let stream = [packet(2, 7, b"data"), packet(4, 7, b"")].concat();
        let mut cutter = Cutter::new(Content::Packets);
        let mut kinds = Vec::new();
        for byte in stream {
            cutter.feed(&[byte]);
            while let Some(Piece::Packet { kind, zxid, .. }) = cutter.next(true) {
                kinds.push((kind, zxid));
            }
        }
        assert_eq!(kinds, [(Kind::Proposal, Zxid(7)), (Kind::Commit, Zxid(7))]);
    }

    #[test]
    fn a_snapshot_ends_with_its_signature() {
        let stream =
            [packet(15, 9, b""), b"znodes".to_vec(), SIGNATURE.to_vec(), packet(10, 9, b"")];
        let mut cutter = Cutter::new(Content::Packets);
        let (mut snapshot, mut kinds) = (Vec::new(), Vec::new());
        for byte in stream.concat() {
            cutter.feed(&[byte]);
            while let Some(piece) = cutter.next(true) {
                match piece {
                    Piece::Packet { kind, .. } => kinds.push(kind),
                    Piece::Bytes(bytes) => snapshot.extend(bytes),
                }
            }
        }
        assert_eq!(kinds, [Kind::Snap, Kind::NewLeader]);
        assert_eq!(snapshot, [b"znodes", SIGNATURE].concat());
    }
}

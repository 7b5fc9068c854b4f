//! Received packets in a form that is comparable between two servers.
//!
//! Zxids are counted from the beginning of the case, sessions are numbered in the order in which they began, and times
//! are dropped. Collections that ZooKeeper keeps in sets (children, ephemerals, identities) are sorted. Everything else
//! must be equal.

use super::action::in_order;
use super::members::Members;
use std::fmt;
use vivarium_model::error::Error;
use vivarium_model::id::SessionId;
use vivarium_model::op::{Data, EventType, OpResult, ReadResult, Response};
use vivarium_model::packet::ServerPacket;
use vivarium_model::stat::Stat;
use vivarium_model::wire::Opcodes;
use vivarium_model::wire::reply::NO_ZXID;
use vivarium_model::zxid::{Epoch, Zxid};

/// Something that a client received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Heard {
    /// A packet, without the parts that differ between two servers.
    Packet(ServerPacket),
    /// The server closed the connection.
    End,
    /// Nothing arrived although something had to.
    Silence,
    /// The packet could not be parsed.
    Garbled(String),
    /// Times that contradict the zxids.
    OddTimes(Stat),
}

/// The beginning of a case, in the numbers of one of the two servers.
#[derive(Clone, Debug, Default)]
pub(super) struct Base {
    /// The zxid of the transaction that created the case's root.
    pub zxid: Zxid,
    /// The sessions, in the order in which they began.
    pub sessions: Vec<SessionId>,
    /// The epochs, in the order in which they began.
    pub epochs: Vec<Epoch>,
    /// The servers in the texts of configurations.
    pub members: Members,
}

/// Normalised zxids from before the case are below this number, those of the case above.
const MIDDLE: u64 = 1 << 40;

impl Base {
    /// Normalises a packet.
    pub(super) fn heard(&self, packet: ServerPacket, opcodes: Opcodes) -> Heard {
        let mut odd = None;
        let packet = if opcodes == Opcodes::Plain { plainly(packet) } else { packet };
        let packet = match packet {
            ServerPacket::Connected { session, timeout, read_only } => {
                let session = self.session(session);
                ServerPacket::Connected { session, timeout, read_only }
            }
            ServerPacket::Reply { xid, zxid, result } => {
                let result = result.map(|response| self.response(response, &mut odd));
                ServerPacket::Reply { xid, zxid: self.zxid(zxid), result }
            }
            ServerPacket::Notification(mut event) => {
                // Older servers do not send it (ZOOKEEPER-4655).
                event.zxid = Zxid::ZERO;
                ServerPacket::Notification(event)
            }
            ServerPacket::WatchesSet { zxid } => ServerPacket::WatchesSet { zxid: self.zxid(zxid) },
            other => other,
        };
        odd.map_or(Heard::Packet(packet), Heard::OddTimes)
    }

    /// Normalises a zxid. The initial state has zxid 0; a real standalone server counts from there without epochs.
    /// Within the epoch of the case's root, zxids are counted from the root, else from the beginning of their epoch.
    fn zxid(&self, zxid: Zxid) -> Zxid {
        let rank = |epoch| self.epochs.iter().position(|known| *known == epoch).unwrap_or(0) as u64;
        let (its, root) = (rank(zxid.epoch()), rank(self.zxid.epoch()));
        // The model writes 0 for the zxid of packets that carry none.
        if zxid == NO_ZXID || zxid == Zxid::ZERO || (its == 0 && zxid.counter() == 0) {
            return Zxid::ZERO;
        }
        let counted = u64::from(zxid.counter()) + MIDDLE;
        match its == root {
            true => Zxid(counted - u64::from(self.zxid.counter())),
            false => Zxid(counted + (its + 1) * MIDDLE),
        }
    }

    /// Registers a leader's new epoch.
    pub(super) fn epoch(&mut self, epoch: Epoch) {
        if !self.epochs.contains(&epoch) {
            self.epochs.push(epoch);
        }
    }

    fn session(&self, session: SessionId) -> SessionId {
        let place = self.sessions.iter().position(|known| *known == session);
        place.map_or(session, |place| SessionId(place as u64 + 1))
    }

    fn stat(&self, stat: Stat, odd: &mut Option<Stat>) -> Stat {
        // A znode whose data never changed has the time of its creation.
        if stat.czxid == stat.mzxid && stat.ctime != stat.mtime {
            *odd = Some(stat);
        }
        Stat {
            czxid: self.zxid(stat.czxid),
            mzxid: self.zxid(stat.mzxid),
            pzxid: self.zxid(stat.pzxid),
            ctime: 0,
            mtime: 0,
            ephemeral_owner: stat.ephemeral_owner.map(|owner| self.session(owner)),
            ..stat
        }
    }

    fn response(&self, response: Response, odd: &mut Option<Stat>) -> Response {
        match response {
            Response::Written(result) => Response::Written(self.result(result, odd)),
            Response::Multi(results) => {
                Response::Multi(results.into_iter().map(|each| self.result(each, odd)).collect())
            }
            Response::Exists(stat) => Response::Exists(self.stat(stat, odd)),
            Response::Data(data, stat) => {
                let (data, stat) = self.configuration(data, self.stat(stat, odd));
                Response::Data(data, stat)
            }
            Response::Reconfigured(data, stat) => {
                let (data, stat) = self.configuration(data, self.stat(stat, odd));
                Response::Reconfigured(data, stat)
            }
            Response::Children(mut names, stat) => {
                names.sort();
                Response::Children(names, self.stat(stat, odd))
            }
            Response::Acl(acl, stat) => Response::Acl(in_order(&acl), self.stat(stat, odd)),
            Response::AclSet(stat) => Response::AclSet(self.stat(stat, odd)),
            Response::MultiRead(results) => {
                let read = |result| match result {
                    ReadResult::Data(data, stat) => ReadResult::Data(data, self.stat(stat, odd)),
                    ReadResult::Children(mut names) => {
                        names.sort();
                        ReadResult::Children(names)
                    }
                    failed => failed,
                };
                Response::MultiRead(results.into_iter().map(read).collect())
            }
            Response::Ephemerals(mut paths) => {
                paths.sort();
                Response::Ephemerals(paths)
            }
            Response::WhoAmI(mut infos) => {
                infos.sort();
                Response::WhoAmI(infos)
            }
            other => other,
        }
    }

    /// Normalises the data and the Stat of `/zookeeper/config`, and leaves all others.
    fn configuration(&self, data: Data, stat: Stat) -> (Data, Stat) {
        match self.members.in_words(&data, |version| self.zxid(version)) {
            Some(words) => {
                let grown = words.len() as u32;
                let is_right = stat.data_length == data.len() as u32;
                let data_length = if is_right { grown } else { stat.data_length };
                (words, Stat { data_length, ..stat })
            }
            None => (data, stat),
        }
    }

    fn result(&self, result: OpResult, odd: &mut Option<Stat>) -> OpResult {
        match result {
            OpResult::Created(path, stat) => OpResult::Created(path, self.stat(stat, odd)),
            OpResult::Set(stat) => OpResult::Set(self.stat(stat, odd)),
            other => other,
        }
    }
}

/// Removes from an answer the Stats that the older opcodes do not return.
fn plainly(packet: ServerPacket) -> ServerPacket {
    let ServerPacket::Reply { xid, zxid, result: Ok(response) } = packet else { return packet };
    let without = |result| match result {
        OpResult::Created(path, _) => OpResult::Created(path, Stat::default()),
        other => other,
    };
    let response = match response {
        Response::Written(result) => Response::Written(without(result)),
        Response::Multi(results) => Response::Multi(results.into_iter().map(without).collect()),
        Response::Children(names, _) => Response::Children(names, Stat::default()),
        other => other,
    };
    ServerPacket::Reply { xid, zxid, result: Ok(response) }
}

/// Returns the codes in an answer: of the whole, and of each operation of a multi.
pub(super) fn codes(heard: &Heard) -> Vec<Option<Error>> {
    let Heard::Packet(packet) = heard else { return Vec::new() };
    match packet {
        ServerPacket::Reply { result: Err(error), .. }
        | ServerPacket::Authenticated { result: Err(error) } => vec![Some(*error)],
        ServerPacket::Reply { result: Ok(response), .. } => match response {
            Response::Multi(results) if !results.is_empty() => results
                .iter()
                .map(|result| match result {
                    OpResult::Failed(error) => *error,
                    _ => None,
                })
                .collect(),
            Response::MultiRead(results) if !results.is_empty() => results
                .iter()
                .map(|result| match result {
                    ReadResult::Failed(error) => Some(*error),
                    _ => None,
                })
                .collect(),
            _ => vec![None],
        },
        ServerPacket::Authenticated { result: Ok(()) } => vec![None],
        ServerPacket::Expired => vec![Some(Error::SessionExpired)],
        _ => Vec::new(),
    }
}

/// Returns true if one client received the same from both servers. `in_any_order` allows any order of the events of a
/// closeSession, whose ephemerals a server keeps in a set.
pub(super) fn same(real: &[Heard], model: &[Heard], in_any_order: bool) -> bool {
    if !in_any_order {
        return real == model;
    }
    let is_event = |heard: &&Heard| matches!(heard, Heard::Packet(ServerPacket::Notification(_)));
    let sorted = |all: &[Heard]| {
        let mut events: Vec<String> =
            all.iter().filter(is_event).map(|it| format!("{it:?}")).collect();
        events.sort();
        events
    };
    let others = |all: &[Heard]| -> Vec<Heard> {
        all.iter().filter(|heard| !is_event(heard)).cloned().collect()
    };
    // The position of the events among the other packets must still be equal.
    let first_other = |all: &[Heard]| all.iter().position(|heard| !is_event(&heard));
    sorted(real) == sorted(model)
        && others(real) == others(model)
        && first_other(real) == first_other(model)
        && children_follow_at_once(real)
        && children_follow_at_once(model)
}

/// Returns true if each one-shot child watch fired with the first deleted child, as it must: at most one deletion of
/// its children may come before its event.
fn children_follow_at_once(all: &[Heard]) -> bool {
    let mut gone: Vec<&str> = Vec::new();
    let mut told: Vec<&str> = Vec::new();
    for heard in all {
        let Heard::Packet(ServerPacket::Notification(event)) = heard else { continue };
        match event.kind {
            EventType::NodeDeleted => gone.push(&event.path),
            EventType::NodeChildrenChanged if !told.contains(&&*event.path) => {
                told.push(&event.path);
                let below = |path: &&&str| vivarium_model::path::parent(path) == Some(&event.path);
                if gone.iter().filter(below).count() > 1 {
                    return false;
                }
            }
            _ => {}
        }
    }
    true
}

impl fmt::Display for Heard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Heard::Packet(ServerPacket::Reply { zxid, result, .. }) => match result {
                Ok(response) => write!(f, "{} at zxid {}", in_words(response), told(*zxid)),
                Err(error) => write!(f, "{error:?} at zxid {}", told(*zxid)),
            },
            Heard::Packet(ServerPacket::Notification(event)) => {
                write!(f, "event {:?} {}", event.kind, event.path)
            }
            Heard::Packet(packet) => packet.fmt(f),
            Heard::End => f.write_str("the connection is closed"),
            Heard::Silence => f.write_str("nothing"),
            Heard::Garbled(why) => write!(f, "a reply that cannot be decoded: {why}"),
            Heard::OddTimes(stat) => write!(f, "an impossible ctime or mtime: {stat:?}"),
        }
    }
}

/// Describes a complete answer, with zxids counted from the case's beginning.
fn in_words(response: &Response) -> String {
    let text = match response {
        Response::Reconfigured(data, stat) => {
            format!("Reconfigured({:?}, {stat:?})", String::from_utf8_lossy(data))
        }
        response => format!("{response:?}"),
    };
    let mut parts = text.split("Zxid(");
    let mut words = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (number, rest) = part.split_once(')').unwrap_or((part, ""));
        words += &number.parse().map_or(number.to_owned(), |number| told(Zxid(number)));
        words += rest;
    }
    words
}

/// Describes a zxid, counted from the case's beginning.
fn told(zxid: Zxid) -> String {
    match zxid.0 {
        0 => "0".to_owned(),
        counted if counted >= 2 * MIDDLE => {
            let epoch = counted / MIDDLE - 2;
            format!("{} of epoch {}", counted % MIDDLE, epoch + 1)
        }
        counted => format!("{:+}", counted as i64 - MIDDLE as i64),
    }
}

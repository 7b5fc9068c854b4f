//! What can be asked of a served ensemble: faults, and questions about it.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use vivarium_model::id::{ServerId, SessionId};
use vivarium_sim::served::LostReply;

/// A command, as a line of words: `crash 2`, `partition 1 | 2 3`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// `crash SERVER`: the process ends; its files keep what was written.
    Crash(ServerId),
    /// `power-loss SERVER`: the machine ends; a part of what was not yet fsynced is lost.
    PowerLoss(ServerId),
    /// `restart SERVER`: starts a server that is down.
    Restart(ServerId),
    /// `pause SERVER`: the process stops, and its connections stay open.
    Pause(ServerId),
    /// `resume SERVER`: a paused server goes on.
    Resume(ServerId),
    /// `partition SERVERS | SERVERS ...`: cuts the network between the groups.
    Partition(Vec<Vec<ServerId>>),
    /// `partition-one-way FROM TO`: cuts the network from one server to another.
    PartitionOneWay(ServerId, ServerId),
    /// `heal`: ends all partitions, pauses, slow and full disks.
    Heal,
    /// `recover`: ends all faults: heals, starts the servers that are down, and no more faults of a seed happen.
    Recover,
    /// `slow-disk SERVER SPAN`: each operation of its disk takes longer.
    SlowDisk(ServerId, Duration),
    /// `disk-full SERVER`: its next write fails.
    DiskFull(ServerId),
    /// `expire SESSION`: the leader ends the session.
    Expire(SessionId),
    /// `disconnect SESSION`: breaks its connection.
    Disconnect(SessionId),
    /// `move SESSION SERVER`: breaks its connection, and no other server lets it re-attach.
    Move(SessionId, ServerId),
    /// `next-reply SESSION [REQUEST [PATH]] lost-applied|lost-never|lost-pending`: loses the reply to its next request.
    NextReply {
        /// Whose reply.
        session: SessionId,
        /// The name of the request, such as `create`; any if there is none.
        request: Option<String>,
        /// The znode; any if there is none.
        path: Option<String>,
        /// What becomes of the request.
        lost: LostReply,
    },
    /// `leader`: says which server leads.
    Leader,
    /// `sessions`: lists the sessions that have a connection.
    Sessions,
    /// `status`: says what each server does, and whether a property is violated.
    Status,
}

/// The commands, for a list.
pub const COMMANDS: &str = "crash N, power-loss N, restart N, pause N, resume N, partition A.. | B.., \
    partition-one-way A B, heal, recover, slow-disk N SPAN, disk-full N, expire SESSION, disconnect SESSION, \
    move SESSION N, \
    next-reply SESSION [REQUEST [PATH]] lost-applied|lost-never|lost-pending, leader, sessions, status";

impl FromStr for Command {
    type Err = String;

    fn from_str(line: &str) -> Result<Command, String> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (name, rest) = words.split_first().ok_or("there is no command in this line")?;
        Ok(match (*name, rest) {
            ("crash", [id]) => Command::Crash(server(id)?),
            ("power-loss", [id]) => Command::PowerLoss(server(id)?),
            ("restart", [id]) => Command::Restart(server(id)?),
            ("pause", [id]) => Command::Pause(server(id)?),
            ("resume", [id]) => Command::Resume(server(id)?),
            ("partition", groups @ [_, ..]) => Command::Partition(partition(groups)?),
            ("partition-one-way", [from, to]) => {
                Command::PartitionOneWay(server(from)?, server(to)?)
            }
            ("heal", []) => Command::Heal,
            ("recover", []) => Command::Recover,
            ("slow-disk", [id, by]) => Command::SlowDisk(server(id)?, span(by)?),
            ("disk-full", [id]) => Command::DiskFull(server(id)?),
            ("expire", [of]) => Command::Expire(session(of)?),
            ("disconnect", [of]) => Command::Disconnect(session(of)?),
            ("move", [of, to]) => Command::Move(session(of)?, server(to)?),
            ("next-reply", [of, which @ .., lost]) if which.len() <= 2 => Command::NextReply {
                session: session(of)?,
                request: which.first().map(|name| (*name).to_owned()),
                path: which.get(1).map(|path| (*path).to_owned()),
                lost: outcome(lost)?,
            },
            ("leader", []) => Command::Leader,
            ("sessions", []) => Command::Sessions,
            ("status", []) => Command::Status,
            _ => return Err(format!("`{line}` is no command; the commands are {COMMANDS}")),
        })
    }
}

/// The line of the command.
impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Command::Crash(server) => write!(f, "crash {}", server.0),
            Command::PowerLoss(server) => write!(f, "power-loss {}", server.0),
            Command::Restart(server) => write!(f, "restart {}", server.0),
            Command::Pause(server) => write!(f, "pause {}", server.0),
            Command::Resume(server) => write!(f, "resume {}", server.0),
            Command::Partition(groups) => {
                let words = |group: &Vec<ServerId>| {
                    group.iter().map(|server| server.0.to_string()).collect::<Vec<_>>().join(" ")
                };
                let groups: Vec<String> = groups.iter().map(words).collect();
                write!(f, "partition {}", groups.join(" | "))
            }
            Command::PartitionOneWay(from, to) => {
                write!(f, "partition-one-way {} {}", from.0, to.0)
            }
            Command::Heal => f.write_str("heal"),
            Command::Recover => f.write_str("recover"),
            Command::Move(session, server) => write!(f, "move {session} {}", server.0),
            Command::SlowDisk(server, by) => match by.as_micros() {
                whole if whole % 1_000 == 0 => {
                    write!(f, "slow-disk {} {}ms", server.0, whole / 1_000)
                }
                micros => write!(f, "slow-disk {} {micros}us", server.0),
            },
            Command::DiskFull(server) => write!(f, "disk-full {}", server.0),
            Command::Expire(session) => write!(f, "expire {session}"),
            Command::Disconnect(session) => write!(f, "disconnect {session}"),
            Command::NextReply { session, request, path, lost } => {
                write!(f, "next-reply {session}")?;
                for word in [request, path].into_iter().flatten() {
                    write!(f, " {word}")?;
                }
                f.write_str(match lost {
                    LostReply::Applied => " lost-applied",
                    LostReply::Never => " lost-never",
                    LostReply::Pending => " lost-pending",
                })
            }
            Command::Leader => f.write_str("leader"),
            Command::Sessions => f.write_str("sessions"),
            Command::Status => f.write_str("status"),
        }
    }
}

fn server(word: &str) -> Result<ServerId, String> {
    let number = word.parse().ok().filter(|number| *number > 0);
    number.map(ServerId).ok_or_else(|| format!("`{word}` is no number of a server"))
}

pub(super) fn session(word: &str) -> Result<SessionId, String> {
    let digits = word.strip_prefix("0x").unwrap_or(word);
    let number = u64::from_str_radix(digits, 16);
    number.map(SessionId).map_err(|_| format!("`{word}` is no id of a session, such as 0x1000f"))
}

fn span(word: &str) -> Result<Duration, String> {
    let wrong = || format!("`{word}` is no span, such as 50ms or 2s");
    let at = word.find(|sign: char| !sign.is_ascii_digit()).ok_or_else(wrong)?;
    let (number, unit) = word.split_at(at);
    let number: u32 = number.parse().map_err(|_| wrong())?;
    match unit {
        "us" => Ok(Duration::from_micros(number.into())),
        "ms" => Ok(Duration::from_millis(number.into())),
        "s" => Ok(Duration::from_secs(number.into())),
        _ => Err(wrong()),
    }
}

fn outcome(word: &str) -> Result<LostReply, String> {
    match word {
        "lost-applied" => Ok(LostReply::Applied),
        "lost-never" => Ok(LostReply::Never),
        "lost-pending" => Ok(LostReply::Pending),
        _ => Err(format!("`{word}` is none of lost-applied, lost-never and lost-pending")),
    }
}

fn partition(words: &[&str]) -> Result<Vec<Vec<ServerId>>, String> {
    let groups = words.split(|word| *word == "|");
    groups.map(|group| group.iter().map(|word| server(word)).collect()).collect()
}

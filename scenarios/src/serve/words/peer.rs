//! A server as a member of an ensemble.

use super::role::Role;
use std::collections::BTreeMap;
use std::fmt;

/// A server as a member of an ensemble.
#[derive(Clone, Debug, Default)]
pub struct Peer {
    pub init_limit: i32,
    pub sync_limit: i32,
    /// 3 for the fast leader election, the only one.
    pub election_alg: i32,
    pub learner_type: LearnerType,
    /// The members of the last committed configuration by server id.
    pub members: BTreeMap<i64, Member>,
    /// The zxid of the last committed configuration.
    pub version: i64,
    pub zab_state: ZabState,
    pub sync_mode: SyncMode,
    pub leader_id: i64,
    /// The leader's host; `None` while no leader is known.
    pub leader_address: Option<String>,
}

/// A member of an ensemble.
#[derive(Clone, Debug, Default)]
pub struct Member {
    /// The addresses for followers. An ensemble without multiple addresses has one.
    pub quorum: Vec<Address>,
    /// The addresses for elections, as many as those for followers.
    pub election: Vec<Address>,
    /// The address for clients; `None` if the configuration of this server does not have it.
    pub client: Option<Address>,
    /// True if the address for clients comes from `clientPort`: then the member's line does not show it. A server with
    /// a static configuration knows its own address from there, with the host `0.0.0.0`, and of the others none.
    pub client_from_static: bool,
    /// The member's vote.
    pub learner_type: LearnerType,
}

/// A host and a port.
#[derive(Clone, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub struct Address {
    /// The name or the address, as the configuration has it.
    pub host: String,
    /// The port.
    pub port: u16,
}

/// Whether a server votes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum LearnerType {
    #[default]
    Participant,
    Observer,
}

impl LearnerType {
    /// Returns the name in a configuration.
    pub(super) fn name(self) -> &'static str {
        match self {
            LearnerType::Participant => "participant",
            LearnerType::Observer => "observer",
        }
    }
}

/// The phase of ZAB that a server is in.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum ZabState {
    #[default]
    Election,
    Discovery,
    Synchronization,
    Broadcast,
}

impl ZabState {
    /// Returns the name in lower case.
    pub(super) fn name(self) -> &'static str {
        match self {
            ZabState::Election => "election",
            ZabState::Discovery => "discovery",
            ZabState::Synchronization => "synchronization",
            ZabState::Broadcast => "broadcast",
        }
    }
}

/// How a learner was last synchronised with its leader.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum SyncMode {
    #[default]
    None,
    Diff,
    Snap,
    Trunc,
}

impl Peer {
    /// Returns the members that vote.
    pub(super) fn voting_members(&self) -> impl Iterator<Item = (i64, &Member)> {
        let voting = |member: &Member| member.learner_type == LearnerType::Participant;
        self.members
            .iter()
            .filter(move |(_, member)| voting(member))
            .map(|(id, member)| (*id, member))
    }

    /// Returns the state of the peer with its phase, such as `following - broadcast - diff`.
    pub(super) fn state(&self, role: &Role) -> String {
        let state = match role {
            Role::Leader(_) => "leading",
            Role::Follower { .. } => "following",
            Role::Observer { .. } => "observing",
            Role::Standalone | Role::ReadOnly => "looking",
        };
        let phase = match self.zab_state {
            ZabState::Election => String::new(),
            phase => format!(" - {}", phase.name()),
        };
        let mode = match self.sync_mode {
            SyncMode::None => "",
            SyncMode::Diff => " - diff",
            SyncMode::Snap => " - snap",
            SyncMode::Trunc => " - trunc",
        };
        format!("{state}{phase}{mode}")
    }
}

/// Prints the value of the member's line in a configuration: `host:2888:3888:participant;host:2181`.
impl fmt::Display for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut quorum, mut election) = (self.quorum.clone(), self.election.clone());
        quorum.sort_by(|one, other| one.host.cmp(&other.host));
        election.sort_by(|one, other| one.host.cmp(&other.host));
        for (index, (quorum, election)) in quorum.iter().zip(&election).enumerate() {
            f.write_str(if index == 0 { "" } else { "|" })?;
            write!(f, "{quorum}:{}", election.port)?;
        }
        write!(f, ":{}", self.learner_type.name())?;
        match &self.client {
            Some(client) if !self.client_from_static => write!(f, ";{client}"),
            _ => Ok(()),
        }
    }
}

/// Prints `host:port`, with an IPv6 address in brackets.
impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Address { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}

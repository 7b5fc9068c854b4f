//! Which sets of servers decide together (rules 5.4.1 and 5.8).

use super::hierarchy::Hierarchy;
use super::id::{ServerId, ServerSet};
use super::zxid::Zxid;
use serde::{Deserialize, Serialize};
use std::fmt::{self, Write as _};
use std::hash::{Hash, Hasher};

/// A configuration of the ensemble: its members, and which sets of them are quorums (ZooKeeper's `QuorumVerifier`): more
/// than half of the voters (`QuorumMaj`), or what groups and weights say (`QuorumHierarchical`).
///
/// Callers give the set of the servers that agree, never its size.
///
/// A set that contains a quorum is one, and two quorums of one configuration always have a server in common: ZAB rests on the
/// second, searches on the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuorumVerifier {
    version: Zxid,
    voters: ServerSet,
    observers: ServerSet,
    /// Its groups and weights; `None` if a majority of the voters is a quorum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hierarchy: Option<Hierarchy>,
}

/// A run without reconfigurations has only one configuration, of version 0: its number of voters stands for it.
impl Hash for QuorumVerifier {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if self.version == Zxid::ZERO {
            (self.voters.len() as u8).hash(state);
        } else {
            (self.version, self.voters, self.observers).hash(state);
        }
        if let Some(hierarchy) = self.hierarchy {
            hierarchy.hash(state);
        }
    }
}

impl QuorumVerifier {
    /// Returns the configuration of version 0 in which servers 1 to `voters` vote, without observers.
    pub fn majority(voters: u8) -> QuorumVerifier {
        QuorumVerifier::new(Zxid::ZERO, ServerSet::first(voters), ServerSet::default())
    }

    /// Returns a configuration in which a majority of the voters is a quorum. A server in both sets votes.
    pub fn new(version: Zxid, voters: ServerSet, observers: ServerSet) -> QuorumVerifier {
        let observers = observers.difference(voters);
        QuorumVerifier { version, voters, observers, hierarchy: None }
    }

    /// Returns the same members with these groups and weights; with `None`, a majority is a quorum.
    #[must_use]
    pub fn with_hierarchy(self, hierarchy: Option<Hierarchy>) -> QuorumVerifier {
        QuorumVerifier { hierarchy, ..self }
    }

    /// Returns the same configuration with one more observer, unless that server votes.
    #[must_use]
    pub fn with_observer(self, server: ServerId) -> QuorumVerifier {
        QuorumVerifier { observers: self.observers.with(server).difference(self.voters), ..self }
    }

    /// Whether the voters among these servers are a quorum (`containsQuorum`).
    pub fn contains_quorum(self, servers: ServerSet) -> bool {
        let voters = servers.intersection(self.voters);
        match self.hierarchy {
            Some(hierarchy) => hierarchy.contains_quorum(voters),
            None => voters.len() > self.voters.len() / 2,
        }
    }

    /// Returns the groups and weights, unless a majority is a quorum.
    pub fn hierarchy(self) -> Option<Hierarchy> {
        self.hierarchy
    }

    /// Returns true if the server votes and its vote has weight (`getWeight`). Where a majority is a quorum, each vote has.
    pub fn has_weight(self, server: ServerId) -> bool {
        self.voters.contains(server) && self.hierarchy.is_none_or(|it| it.weight_of(server) > 0)
    }

    /// Whether these servers are a quorum, and are none if any of them is missing.
    pub fn is_minimal_quorum(self, servers: ServerSet) -> bool {
        let is_needed = |server| !self.contains_quorum(servers.without(server));
        self.contains_quorum(servers) && servers.iter().all(is_needed)
    }

    /// The servers that vote (`getVotingMembers`).
    pub fn voters(self) -> ServerSet {
        self.voters
    }

    /// The servers that observe (`getObservingMembers`).
    pub fn observers(self) -> ServerSet {
        self.observers
    }

    /// Whether the server is a member (`getAllMembers`).
    pub fn has_member(self, server: ServerId) -> bool {
        self.voters.contains(server) || self.observers.contains(server)
    }

    /// The zxid of the reconfiguration that made it; 0 for the configuration of a first start, and the opening zxid of an
    /// epoch once a leader has established that one (ZOOKEEPER-1783).
    pub fn version(self) -> Zxid {
        self.version
    }

    /// The same members with another version.
    #[must_use]
    pub fn with_version(self, version: Zxid) -> QuorumVerifier {
        QuorumVerifier { version, ..self }
    }

    /// Whether two configurations are the same to a server (`equals`): they have one version, or the same members, groups and
    /// weights.
    pub fn is_same(self, other: QuorumVerifier) -> bool {
        self.version == other.version || self == other.with_version(self.version)
    }

    /// The members in words: `servers 1 and 2, observing servers 3`, and the groups if there are any.
    pub fn members(self) -> String {
        let mut members = self.voters.to_string();
        if !self.observers.is_empty() {
            let _ = write!(members, ", observing {}", self.observers);
        }
        if let Some(hierarchy) = self.hierarchy {
            let _ = write!(members, ", in {}", hierarchy.in_words());
        }
        members
    }

    /// Returns a modelled server as a configuration lists it.
    pub fn line(server: ServerId, observes: bool) -> String {
        line(server.0, if observes { "observer" } else { "participant" })
    }

    /// Reads the text of `/zookeeper/config`; `None` if it is not such a text.
    pub fn read(text: &str) -> Option<QuorumVerifier> {
        let mut read = QuorumVerifier::default();
        let mut groups = Vec::new();
        for line in text.lines() {
            match line.split_once('=')? {
                ("version", version) => read.version = Zxid(u64::from_str_radix(version, 16).ok()?),
                (key, _) if Hierarchy::has_line(key) => groups.push(line),
                (server, rest) => {
                    let id = ServerId(server.strip_prefix("server.")?.parse().ok()?);
                    if !(1..=64).contains(&id.0) {
                        return None;
                    }
                    match rest.split(';').next()?.ends_with(":observer") {
                        true => read.observers.insert(id),
                        false => read.voters.insert(id),
                    }
                }
            }
        }
        if !groups.is_empty() {
            read.hierarchy = Some(Hierarchy::read(groups, read.voters).ok()?);
        }
        Some(read)
    }
}

/// A server's line. The address is made up: a modelled server has none.
fn line(id: u8, role: &str) -> String {
    format!("server.{id}=server{id}:2888:3888:{role};server{id}:2181")
}

/// The text of `/zookeeper/config`.
impl fmt::Display for QuorumVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut members: Vec<_> = self.voters.iter().map(|id| (id.0, "participant")).collect();
        members.extend(self.observers.iter().map(|id| (id.0, "observer")));
        members.sort_unstable();
        for (id, role) in members {
            writeln!(f, "{}", line(id, role))?;
        }
        if let Some(hierarchy) = self.hierarchy {
            write!(f, "{hierarchy}")?;
        }
        write!(f, "version={:x}", self.version.0)
    }
}

/// The configurations whose quorums must all agree (`SyncedLearnerTracker`): the committed one, and a newer one that is
/// proposed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Quorums {
    /// The committed configuration.
    pub committed: QuorumVerifier,
    /// The last configuration seen, if it is newer.
    pub next: Option<QuorumVerifier>,
}

/// Without a second configuration, the first one stands for both.
impl Hash for Quorums {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.committed.hash(state);
        if let Some(next) = self.next {
            next.hash(state);
        }
    }
}

impl Quorums {
    /// Returns the quorums of one configuration.
    pub fn of(committed: QuorumVerifier) -> Quorums {
        Quorums { committed, next: None }
    }

    /// Whether these servers contain a quorum of every configuration (`hasAllQuorums`).
    pub fn contains_quorum(self, servers: ServerSet) -> bool {
        self.committed.contains_quorum(servers)
            && self.next.is_none_or(|next| next.contains_quorum(servers))
    }

    /// The newest of these configurations.
    pub fn newest(self) -> QuorumVerifier {
        self.next.unwrap_or(self.committed)
    }

    /// The servers that vote in any of them.
    pub fn voters(self) -> ServerSet {
        let next = self.next.map_or(ServerSet::default(), QuorumVerifier::voters);
        next.iter().fold(self.committed.voters(), ServerSet::with)
    }
}

/// What a packet or a state has only in runs with reconfigurations. Absent, it adds nothing to a hash, so the hashes of
/// other runs do not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attached<T>(pub Option<T>);

impl<T> Default for Attached<T> {
    fn default() -> Attached<T> {
        Attached(None)
    }
}

impl<T> Attached<T> {
    /// Whether there is nothing.
    pub fn is_none(&self) -> bool {
        self.0.is_none()
    }
}

impl<T: Hash> Hash for Attached<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if let Some(attached) = &self.0 {
            attached.hash(state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every set of servers 1 to `servers`.
    fn sets(servers: u8) -> impl Iterator<Item = ServerSet> {
        let in_set = |bits: u32| move |at: &usize| bits >> at & 1 == 1;
        let all = usize::from(servers);
        (0..1 << servers).map(move |bits| (0..all).filter(in_set(bits)).map(ServerId::at).collect())
    }

    #[test]
    fn more_than_half_of_the_voters_are_a_quorum() {
        for voters in 1..=5 {
            let verifier = QuorumVerifier::majority(voters);
            for set in sets(5) {
                let counted = set.iter().filter(|server| server.0 <= voters).count();
                assert_eq!(verifier.contains_quorum(set), 2 * counted > usize::from(voters));
            }
        }
        assert!(sets(3).all(|set| !QuorumVerifier::default().contains_quorum(set)));
    }

    #[test]
    fn two_quorums_have_a_server_in_common() {
        for voters in 1..=5 {
            let verifier = QuorumVerifier::majority(voters);
            let quorums = || sets(voters).filter(|set| verifier.contains_quorum(*set));
            for one in quorums() {
                assert!(quorums().all(|other| !one.intersection(other).is_empty()));
                let more = verifier.voters().iter().map(|server| one.with(server));
                assert!(more.into_iter().all(|set| verifier.contains_quorum(set)));
            }
        }
    }

    #[test]
    fn a_minimal_quorum_has_no_server_to_spare() {
        let four = QuorumVerifier::majority(4);
        let minimal = sets(4).filter(|set| four.is_minimal_quorum(*set));
        assert_eq!(minimal.map(ServerSet::len).collect::<Vec<_>>(), [3; 4]);
    }

    #[test]
    fn the_text_of_a_configuration_is_read_as_it_was() {
        for (voters, observers) in [(0b111, 0), (0b1110, 0b1), (0b1, 0b110_0000)] {
            let set = |bits: u64| -> ServerSet {
                (0..64).filter(|at| bits >> at & 1 == 1).map(ServerId::at).collect()
            };
            let verifier = QuorumVerifier::new(Zxid(0x1_0000_0003), set(voters), set(observers));
            assert_eq!(QuorumVerifier::read(&verifier.to_string()), Some(verifier));
        }
        let real = "server.1=127.0.0.1:2888:3888:participant;0.0.0.0:2181\nserver.2=[::1]:2889:3889:observer\nversion=0";
        let read = QuorumVerifier::read(real).expect("a server's own text");
        assert_eq!((read.voters().len(), read.observers().len()), (1, 1));
        for text in ["x", "server.0=a:1:2:participant;3", "server.65=a:1:2", "version=z"] {
            assert_eq!(QuorumVerifier::read(text), None, "{text}");
        }
    }

    /// While one configuration replaces another, no quorum of both misses a quorum of either.
    #[test]
    fn quorums_of_two_configurations_meet_the_quorums_of_each() {
        let one = QuorumVerifier::majority(3);
        let voters: ServerSet = [2, 3, 4].map(ServerId).into_iter().collect();
        let next = QuorumVerifier::new(Zxid(1), voters, ServerSet::default());
        let quorums = Quorums { committed: one, next: Some(next) };
        let both: Vec<ServerSet> = sets(4).filter(|set| quorums.contains_quorum(*set)).collect();
        assert!(!both.is_empty());
        for set in sets(4).filter(|set| one.contains_quorum(*set) || next.contains_quorum(*set)) {
            assert!(both.iter().all(|other| !set.intersection(*other).is_empty()));
        }
        assert!(
            Quorums::of(one).contains_quorum(ServerSet::first(2))
                && !quorums.contains_quorum(ServerSet::first(2))
        );
    }
}

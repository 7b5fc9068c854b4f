//! Which sets of servers decide together (rule 5.4.1).

use super::id::ServerSet;

/// Which sets of servers are quorums (ZooKeeper's `QuorumVerifier`).
///
/// Callers give the set of the servers that agree, never its size. Weights and groups (`QuorumHierarchical`), or two
/// configurations at once while one replaces the other, are further variants here, and change no caller.
///
/// A set that contains a quorum is one, and two quorums always have a server in common: ZAB rests on the second, searches on
/// the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QuorumVerifier {
    /// More than half of the servers 1 to `voters` (`QuorumMaj`).
    Majority {
        /// How many servers vote.
        voters: u8,
    },
}

impl Default for QuorumVerifier {
    /// Of no servers: no set is a quorum.
    fn default() -> QuorumVerifier {
        QuorumVerifier::Majority { voters: 0 }
    }
}

impl QuorumVerifier {
    /// Whether the voters among these servers are a quorum (`containsQuorum`).
    pub fn contains_quorum(self, servers: ServerSet) -> bool {
        match self {
            QuorumVerifier::Majority { voters } => {
                servers.intersection(self.voters()).len() > usize::from(voters) / 2
            }
        }
    }

    /// Whether these servers are a quorum, and are none if any of them is missing.
    pub fn is_minimal_quorum(self, servers: ServerSet) -> bool {
        let is_needed = |server| !self.contains_quorum(servers.without(server));
        self.contains_quorum(servers) && servers.iter().all(is_needed)
    }

    /// The servers that vote (`getVotingMembers`).
    pub fn voters(self) -> ServerSet {
        match self {
            QuorumVerifier::Majority { voters } => ServerSet::first(voters),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::id::ServerId;

    /// Every set of servers 1 to `servers`.
    fn sets(servers: u8) -> impl Iterator<Item = ServerSet> {
        let in_set = |bits: u32| move |at: &usize| bits >> at & 1 == 1;
        let all = usize::from(servers);
        (0..1 << servers).map(move |bits| (0..all).filter(in_set(bits)).map(ServerId::at).collect())
    }

    #[test]
    fn more_than_half_of_the_voters_are_a_quorum() {
        for voters in 1..=5 {
            let verifier = QuorumVerifier::Majority { voters };
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
            let verifier = QuorumVerifier::Majority { voters };
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
        let four = QuorumVerifier::Majority { voters: 4 };
        let minimal = sets(4).filter(|set| four.is_minimal_quorum(*set));
        assert_eq!(minimal.map(ServerSet::len).collect::<Vec<_>>(), [3; 4]);
    }
}

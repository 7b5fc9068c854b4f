//! What happens to a run: drawn from its seed, and repaired at its end.

use super::proxy::Write;
use std::fmt;
use std::time::Duration;
use vivarium_sim::random::{Random, Seeds};

/// The shortest and the longest time between two strikes.
const PAUSE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(900));

/// Something that happens to a client or a server of a real ensemble. Clients and servers are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum Strike {
    /// The client's connections break.
    Cut { client: usize },
    /// The reply to the client's next write of this kind is lost with its connection.
    LoseReply { client: usize, write: Write },
    /// Nothing passes between the client and its servers for a while.
    Hold { client: usize, lasting: Duration },
    /// Another client with the same session and password closes the session.
    Expire { client: usize },
    /// The program's cancellable work is cancelled.
    Cancel { client: usize },
    /// The server's process is killed, and started again after a while.
    Kill { server: usize, lasting: Duration },
    /// The server's process is stopped for a while (SIGSTOP).
    Pause { server: usize, lasting: Duration },
}

impl Strike {
    /// The names of all kinds, as in reports.
    pub const KINDS: [&str; 7] = [
        "connection cut",
        "reply lost",
        "connection held",
        "session expired",
        "cancellation",
        "server killed",
        "server paused",
    ];

    /// The index of the kind that is counted when it happens, and not when it is planned.
    pub(super) const LOST_REPLY: usize = 1;

    /// Returns the index of its kind.
    pub fn kind(self) -> usize {
        match self {
            Strike::Cut { .. } => 0,
            Strike::LoseReply { .. } => 1,
            Strike::Hold { .. } => 2,
            Strike::Expire { .. } => 3,
            Strike::Cancel { .. } => 4,
            Strike::Kill { .. } => 5,
            Strike::Pause { .. } => 6,
        }
    }
}

impl fmt::Display for Strike {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = Strike::KINDS[self.kind()];
        match self {
            Strike::Cut { client }
            | Strike::LoseReply { client, .. }
            | Strike::Hold { client, .. }
            | Strike::Expire { client }
            | Strike::Cancel { client } => write!(f, "client {}: {kind}", client + 1),
            Strike::Kill { server, .. } | Strike::Pause { server, .. } => {
                write!(f, "server {}: {kind}", server + 1)
            }
        }
    }
}

/// Draws what happens in a run, each with its time after the one before.
#[derive(Debug)]
pub(super) struct Plan {
    random: Random,
    clients: u64,
    servers: u64,
}

impl Plan {
    /// Draws for this many clients and servers. Without servers only clients are struck.
    pub(super) fn new(seed: u64, clients: usize, servers: usize) -> Plan {
        let random = Seeds::new(seed).stream("strikes on real servers", 0);
        Plan { random, clients: clients as u64, servers: servers as u64 }
    }

    /// Returns the next strike and the time until it.
    pub(super) fn next(&mut self) -> (Duration, Strike) {
        let random = &mut self.random;
        let pause = random.span(PAUSE.0, PAUSE.1);
        let client = random.below(self.clients) as usize;
        let server = random.below(self.servers.max(1)) as usize;
        let lasting = random.span(Duration::from_millis(200), Duration::from_secs(3));
        let write = match random.below(4) {
            0 => Write::Any,
            1 => Write::Delete,
            _ => Write::Create,
        };
        let kinds = if self.servers == 0 { 10 } else { 12 };
        let strike = match random.below(kinds) {
            0..=2 => Strike::Cut { client },
            3..=5 => Strike::LoseReply { client, write },
            6 | 7 => Strike::Hold { client, lasting },
            8 => Strike::Expire { client },
            9 => Strike::Cancel { client },
            10 => Strike::Kill { server, lasting },
            _ => Strike::Pause { server, lasting },
        };
        (pause, strike)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_names_its_plan_and_every_kind_is_drawn() {
        let draw = |seed| {
            let mut plan = Plan::new(seed, 3, 3);
            (0..200).map(|_| plan.next()).collect::<Vec<_>>()
        };
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        let mut kinds = [0; Strike::KINDS.len()];
        draw(1).iter().for_each(|(_, strike)| kinds[strike.kind()] += 1);
        assert!(kinds.iter().all(|count| *count > 5), "{kinds:?}");
    }

    #[test]
    fn servers_that_are_not_ours_are_not_struck() {
        let mut plan = Plan::new(1, 3, 0);
        let is_of_a_server = |strike| matches!(strike, Strike::Kill { .. } | Strike::Pause { .. });
        assert!((0..200).all(|_| !is_of_a_server(plan.next().1)));
    }
}

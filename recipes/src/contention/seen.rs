//! The observations of the lock.

use serde::Serialize;
use std::sync::Arc;
use vivarium_model::observation::Observation;
use vivarium_model::zxid::Zxid;

/// An observation of a program at a lock. Its properties
/// ([`contention::properties`](crate::contention::properties)) use no other observations.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum LockSeen {
    /// An attempt to acquire began.
    Attempt {
        /// The lock's directory.
        lock: Arc<str>,
        /// The attempt's unique id.
        attempt: Arc<str>,
    },
    /// The attempt's own znode is known.
    NodeKnown {
        lock: Arc<str>,
        attempt: Arc<str>,
        /// Full path of the znode.
        node: Arc<str>,
    },
    /// The attempt waits for this predecessor to be deleted.
    Waiting {
        lock: Arc<str>,
        attempt: Arc<str>,
        /// Full path of the predecessor.
        on: Arc<str>,
    },
    /// The program believes that it holds the lock from now on.
    Granted {
        lock: Arc<str>,
        attempt: Arc<str>,
        /// Full path of its znode.
        node: Arc<str>,
        /// The fencing token: the znode's czxid.
        token: Zxid,
    },
    /// The program was notified that the lock is lost.
    Lost {
        lock: Arc<str>,
        /// The token of the grant.
        token: Zxid,
    },
    /// Release was called: the belief ends here.
    Releasing {
        lock: Arc<str>,
        /// The token of the grant.
        token: Zxid,
    },
    /// Release succeeded.
    Released {
        lock: Arc<str>,
        /// The token of the grant.
        token: Zxid,
    },
    /// The attempt ended without a grant (failure, timeout or cancellation).
    GaveUp { lock: Arc<str>, attempt: Arc<str> },
}

impl Observation for LockSeen {
    fn words(&self) -> String {
        match self {
            LockSeen::Attempt { lock, attempt } => format!("begins attempt {attempt} at {lock}"),
            LockSeen::NodeKnown { attempt, node, .. } => {
                format!("knows that {node} is the znode of attempt {attempt}")
            }
            LockSeen::Waiting { on, attempt, .. } => {
                format!("waits for {on} to go (attempt {attempt})")
            }
            LockSeen::Granted { lock, node, token, .. } => {
                format!("believes that it HOLDS {lock} from now on, by {node}, token {token}")
            }
            LockSeen::Lost { lock, token } => {
                format!("learns that {lock} is LOST, token {token}")
            }
            LockSeen::Releasing { lock, token } => format!("releases {lock}, token {token}"),
            LockSeen::Released { lock, token } => format!("has released {lock}, token {token}"),
            LockSeen::GaveUp { lock, attempt } => format!("gave up attempt {attempt} at {lock}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vivarium_model::observation::Observed;

    #[test]
    fn each_has_a_name_and_a_sentence() {
        let lock = || -> Arc<str> { Arc::from("/locks/one") };
        let attempt = || -> Arc<str> { Arc::from("a7") };
        let node = || -> Arc<str> { Arc::from("/locks/one/x-0000000002") };
        let token = Zxid(3 << 32 | 7);
        let all = [
            LockSeen::Attempt { lock: lock(), attempt: attempt() },
            LockSeen::NodeKnown { lock: lock(), attempt: attempt(), node: node() },
            LockSeen::Waiting { lock: lock(), attempt: attempt(), on: node() },
            LockSeen::Granted { lock: lock(), attempt: attempt(), node: node(), token },
            LockSeen::Lost { lock: lock(), token },
            LockSeen::Releasing { lock: lock(), token },
            LockSeen::Released { lock: lock(), token },
            LockSeen::GaveUp { lock: lock(), attempt: attempt() },
        ];
        let line = |seen: LockSeen| {
            let seen = Observed::new(seen);
            format!("{}: client 1 {seen}", seen.name())
        };
        insta::assert_snapshot!(all.map(line).join("\n"), @r"
        attempt: client 1 begins attempt a7 at /locks/one
        node known: client 1 knows that /locks/one/x-0000000002 is the znode of attempt a7
        waiting: client 1 waits for /locks/one/x-0000000002 to go (attempt a7)
        granted: client 1 believes that it HOLDS /locks/one from now on, by /locks/one/x-0000000002, token 3:7
        lost: client 1 learns that /locks/one is LOST, token 3:7
        releasing: client 1 releases /locks/one, token 3:7
        released: client 1 has released /locks/one, token 3:7
        gave up: client 1 gave up attempt a7 at /locks/one
        ");
    }
}

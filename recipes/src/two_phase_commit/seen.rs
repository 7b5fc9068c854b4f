//! What two-phase commit tells the monitors.

use serde::Serialize;
use std::fmt;
use std::sync::Arc;
use vivarium_model::observation::Observation;

/// What a transaction comes to; also what a site votes for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Decision {
    /// All of it is done.
    Commit,
    /// Nothing of it is.
    Abort,
}

impl Decision {
    /// As a znode's content.
    pub fn bytes(self) -> &'static [u8] {
        match self {
            Decision::Commit => b"commit",
            Decision::Abort => b"abort",
        }
    }

    /// From a znode's content; `None` where nothing is decided, or not voted yet.
    pub fn read(content: &[u8]) -> Option<Decision> {
        [Decision::Commit, Decision::Abort].into_iter().find(|it| it.bytes() == content)
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Decision::Commit => "commit",
            Decision::Abort => "abort",
        })
    }
}

/// Why a transaction is aborted although no site has voted for that.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Why {
    /// This site's presence is gone, and it has not voted.
    SiteGone(Arc<str>),
    /// The coordinator's presence is gone, and nothing is decided.
    CoordinatorGone,
    /// The coordinator is another incarnation than the one that has begun it, and knows nothing of that one's
    /// sites.
    CameBack,
    /// A participant does not want to wait any longer.
    GaveUp,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::SiteGone(site) => write!(f, "site {site} is gone"),
            Why::CoordinatorGone => f.write_str("the coordinator is gone"),
            Why::CameBack => f.write_str("its coordinator has come back without memory"),
            Why::GaveUp => f.write_str("it gave up"),
        }
    }
}

/// What can be seen of a participant. Its properties ([`super::properties`]) read nothing else of
/// programs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum CommitSeen {
    /// A participant is about to begin a transaction, which may have begun already.
    Begins {
        /// The transaction's path.
        transaction: Arc<str>,
        /// All whose vote it takes to commit.
        sites: Vec<Arc<str>>,
    },
    /// A site is about to cast its vote.
    Votes { transaction: Arc<str>, site: Arc<str>, vote: Decision },
    /// A participant is about to propose an abort that no vote asks for.
    AbortsByRule { transaction: Arc<str>, why: Why },
    /// A participant takes the transaction for decided, and acts on it.
    Decided {
        transaction: Arc<str>,
        /// The participant: a site, or a coordinator.
        who: Arc<str>,
        decision: Decision,
    },
}

impl Observation for CommitSeen {
    fn words(&self) -> String {
        match self {
            CommitSeen::Begins { transaction, sites } => {
                format!("begins {transaction} with the sites {}", sites.join(", "))
            }
            CommitSeen::Votes { transaction, site, vote } => {
                format!("votes {vote} in {transaction} as {site}")
            }
            CommitSeen::AbortsByRule { transaction, why } => {
                format!("wants to abort {transaction}, since {why}")
            }
            CommitSeen::Decided { transaction, who, decision } => {
                format!("takes {transaction} for decided, as {who}: {decision}")
            }
        }
    }
}

//! The observations of two-phase commit.

use serde::Serialize;
use std::fmt;
use std::sync::Arc;
use vivarium_model::observation::Observation;

/// The outcome of a transaction, or a site's vote for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Decision {
    /// The whole transaction is performed.
    Commit,
    /// Nothing of the transaction is performed.
    Abort,
}

impl Decision {
    /// Encodes the decision as a znode's content.
    pub fn bytes(self) -> &'static [u8] {
        match self {
            Decision::Commit => b"commit",
            Decision::Abort => b"abort",
        }
    }

    /// Decodes a znode's content; returns `None` if nothing is decided or voted yet.
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

/// The reason for an abort that no site has voted for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Why {
    /// This site's presence is gone, and it has not voted.
    SiteGone(Arc<str>),
    /// The coordinator's presence is gone, and nothing is decided.
    CoordinatorGone,
    /// The coordinator is not the incarnation that has begun the transaction, and does not know the state of its sites.
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

/// An observation of a participant. Its properties ([`super::properties`]) use no other observations.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum CommitSeen {
    /// A participant is about to begin a transaction, which may have begun already.
    Begins {
        /// The transaction's path.
        transaction: Arc<str>,
        /// The sites whose votes a commit needs.
        sites: Vec<Arc<str>>,
    },
    /// A site is about to cast its vote.
    Votes { transaction: Arc<str>, site: Arc<str>, vote: Decision },
    /// A participant is about to propose an abort that no vote asks for.
    AbortsByRule { transaction: Arc<str>, why: Why },
    /// A participant considers the transaction decided, and acts on it.
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

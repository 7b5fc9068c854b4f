//! Commit with a coordinator: only the coordinator counts the votes, and all sites wait for its decision.

use super::{Decision, TwoPhaseCommit};
use std::sync::Arc;
use vivarium_model::error::Error;

impl TwoPhaseCommit {
    /// Begins the transaction of these sites if it has not begun, counts their votes and decides.
    ///
    /// A restarted coordinator continues a transaction that has begun.
    ///
    /// # Errors
    /// `SessionExpired`, or the server's refusal of a path.
    pub async fn coordinate(&self, sites: &[Arc<str>]) -> Result<Decision, Error> {
        self.begin(sites).await?;
        self.count(sites.to_vec()).await
    }

    /// Takes part as a site of a coordinator: waits until the transaction has begun, votes, and waits for the decision.
    ///
    /// A site that votes abort decides by itself, because no other vote can change the outcome.
    ///
    /// # Errors
    /// `SessionExpired`; `NoNode` if the transaction has no such site.
    pub async fn obey(&self, vote: Decision) -> Result<Decision, Error> {
        self.sites().await?;
        match self.vote(vote).await? {
            Decision::Abort => self.decide(Decision::Abort).await,
            Decision::Commit => self.decided().await,
        }
    }
}

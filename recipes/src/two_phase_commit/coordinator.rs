//! The coordinator's way: it alone counts, and everybody else waits for the decision.

use super::{Decision, TwoPhaseCommit};
use std::sync::Arc;
use vivarium_model::error::Error;

impl TwoPhaseCommit {
    /// Begins the transaction of these sites where it has not begun, counts their votes and decides.
    ///
    /// A coordinator that comes back finds what has begun, and counts on.
    ///
    /// # Errors
    /// `SessionExpired`, or the server's refusal of a path.
    pub async fn coordinate(&self, sites: &[Arc<str>]) -> Result<Decision, Error> {
        self.begin(sites).await?;
        self.count(sites.to_vec()).await
    }

    /// Takes part as a site of a coordinator: waits until the transaction has begun, votes, and waits for the
    /// decision.
    ///
    /// A site that votes abort decides by itself: it takes nobody else's vote for that.
    ///
    /// # Errors
    /// `SessionExpired`; `NoNode` where the transaction has no such site.
    pub async fn obey(&self, vote: Decision) -> Result<Decision, Error> {
        self.sites().await?;
        match self.vote(vote).await? {
            Decision::Abort => self.decide(Decision::Abort).await,
            Decision::Commit => self.decided().await,
        }
    }
}

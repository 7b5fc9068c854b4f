//! TP2, validity: commit only if every listed site has voted for it; abort only if a site has voted for that, or a
//! participant has reported a reason that is true.
//!
//! The sites report their votes before they write them. The reason that a participant is gone is true if its znode
//! was deleted in the committed history: its presence, or an ephemeral vote.

use super::{Change, changes, is_in};
use crate::two_phase_commit::{CommitSeen, Decision, Why};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use vivarium_model::minds;
use vivarium_model::property::{Declaration, Declared, LooksBack};
use vivarium_model::txn::Txn;

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct Validity {
    directory: Arc<str>,
    transactions: BTreeMap<Arc<str>, Account>,
}

/// The record of one transaction.
#[derive(Clone, Debug, Default, Hash)]
struct Account {
    /// The transaction's sites, once a program has reported them.
    sites: Vec<Arc<str>>,
    /// The sites that have voted for commit.
    commit: BTreeSet<Arc<str>>,
    /// True once a site has voted for abort or a participant has reported a reason.
    may_abort: bool,
    /// The deleted znodes, by their paths below the transaction.
    gone: BTreeSet<Arc<str>>,
}

impl Account {
    fn is_gone(&self, site: &str) -> bool {
        let is_its = |path: &Arc<str>| path.rsplit_once('/').is_some_and(|(_, name)| name == site);
        self.gone.iter().any(is_its)
    }

    /// Says why the transaction cannot be decided in this way.
    fn refuses(&self, decision: Decision) -> Option<String> {
        let silent = self.sites.iter().find(|site| !self.commit.contains(*site));
        match decision {
            Decision::Commit if self.sites.is_empty() => {
                Some("no participant has named its sites".into())
            }
            Decision::Commit => silent.map(|site| format!("{site} has not voted to commit")),
            Decision::Abort if self.may_abort => None,
            Decision::Abort => {
                Some("no site has voted to abort and no participant has given a reason".into())
            }
        }
    }
}

impl Validity {
    /// Watches the transactions below this directory.
    pub fn new(directory: &str) -> Validity {
        Validity { directory: directory.into(), transactions: BTreeMap::new() }
    }

    fn of(&mut self, transaction: &Arc<str>) -> Option<&mut Account> {
        let is_ours = is_in(&self.directory, transaction);
        is_ours.then(|| self.transactions.entry(Arc::clone(transaction)).or_default())
    }

    /// Applies an observation. The error says how it violates TP2.
    fn observed(&mut self, seen: &CommitSeen) -> Result<(), String> {
        match seen {
            CommitSeen::Begins { transaction, sites } => {
                if let Some(account) = self.of(transaction) {
                    account.sites.clone_from(sites);
                }
            }
            CommitSeen::Votes { transaction, site, vote } => {
                let Some(account) = self.of(transaction) else { return Ok(()) };
                match vote {
                    Decision::Commit => drop(account.commit.insert(Arc::clone(site))),
                    Decision::Abort => account.may_abort = true,
                }
            }
            CommitSeen::AbortsByRule { transaction, why } => {
                let Some(account) = self.of(transaction) else { return Ok(()) };
                let is_true = match why {
                    Why::SiteGone(site) => account.is_gone(site),
                    Why::CoordinatorGone => account.gone.contains("coordinator"),
                    Why::CameBack | Why::GaveUp => true,
                };
                account.may_abort = true;
                if !is_true {
                    return Err(format!(
                        "{transaction} is aborted because {why}, which is not true"
                    ));
                }
            }
            CommitSeen::Decided { transaction, who, decision } => {
                let Some(account) = self.of(transaction) else { return Ok(()) };
                if let Some(why) = account.refuses(*decision) {
                    let saw =
                        format!("{who} takes {transaction} for decided: {decision}; but {why}");
                    return Err(saw);
                }
            }
        }
        Ok(())
    }
}

impl Declared for Validity {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "two-phase commit TP2 validity",
        LooksBack::Tip,
        minds! { |this, view, event|
            Committed(txn) => this.committed(txn),
            #[needed("decided")]
            Observed(_, seen: CommitSeen) => this.observed(seen).map_err(|saw| this.objection(saw)),
        },
    );
}

impl Validity {
    fn committed(&mut self, txn: &Txn) {
        let directory = Arc::clone(&self.directory);
        changes(&directory, &txn.body, &mut |transaction, rest, change| {
            if let Change::Gone = change {
                let account = self.transactions.entry(Arc::from(transaction)).or_default();
                account.gone.insert(Arc::from(rest));
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contention::properties::scene::{S1, Scene};
    use vivarium_model::event::Event;
    use vivarium_model::id::{ClientId, Xid};
    use vivarium_model::observation::Observed;

    fn says(seen: CommitSeen) -> Event {
        let (client, observation) = (ClientId(1), Observed::new(seen));
        Event::Observed { client, session: Some(S1), next_xid: Xid(1), observation }
    }

    fn transaction() -> Arc<str> {
        "/lock/0".into()
    }

    fn decided(decision: Decision) -> Event {
        says(CommitSeen::Decided { transaction: transaction(), who: "a".into(), decision })
    }

    /// Returns a scene with a transaction of two sites.
    fn scene() -> Scene<Validity> {
        let mut scene = Scene::new(Validity::new("/lock"));
        let sites = vec!["a".into(), "b".into()];
        scene.event(says(CommitSeen::Begins { transaction: transaction(), sites }));
        scene
    }

    #[test]
    fn a_commit_without_a_vote_is_refused() {
        let vote = |site: &str| {
            let (site, vote) = (site.into(), Decision::Commit);
            says(CommitSeen::Votes { transaction: transaction(), site, vote })
        };
        let mut all = scene();
        all.event(vote("a"));
        all.event(vote("b"));
        all.event(decided(Decision::Commit));
        assert_eq!(all.end(), None);
        let mut one = scene();
        one.event(vote("a"));
        one.event(decided(Decision::Commit));
        assert!(one.end().is_some_and(|saw| saw.ends_with("b has not voted to commit")));
    }

    #[test]
    fn a_reason_that_is_not_true_is_refused() {
        let why = || Why::SiteGone("b".into());
        let abort = |scene: &mut Scene<Validity>| {
            scene.event(says(CommitSeen::AbortsByRule { transaction: transaction(), why: why() }));
            scene.event(decided(Decision::Abort));
        };
        let mut gone = scene();
        gone.create(S1, 2, "/lock/0/present/b");
        gone.delete(S1, 3, "/lock/0/present/b");
        abort(&mut gone);
        assert_eq!(gone.end(), None);
        let mut there = scene();
        there.create(S1, 2, "/lock/0/present/b");
        abort(&mut there);
        assert!(there.end().is_some_and(|saw| saw.ends_with("which is not true")));
        let mut silent = scene();
        silent.event(decided(Decision::Abort));
        assert!(silent.end().is_some_and(|saw| saw.ends_with("has given a reason")));
    }
}

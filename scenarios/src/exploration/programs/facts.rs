//! What a search of programs knows besides its outcome, in one process or in several.
//!
//! Each process has a tree of programs of its own, and checks it. What one of them finds holds for the whole search: a
//! program that depends on its session's id does so, whichever process noticed.

use super::{Checked, Question};
use serde::{Deserialize, Serialize};
use vivarium_model::property::Objection;
use vivarium_sim::every::programs::{Action, Apart, SYMMETRY};
use vivarium_sim::every::trie::{Activity, ToldAgain};
use vivarium_sim::every::{Bound, Ending, Outcome};

/// What is known after a search.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Facts {
    /// The nodes of the tree of programs; in several processes, those of all trees together.
    pub(super) programs: u64,
    pub(super) did: Activity,
    pub(super) told: ToldAgain,
    pub(super) checked: Checked,
    /// The objection to an assumption of the search.
    pub(super) objection: Option<Objection>,
    /// Clients that can be told apart although they were taken for each other.
    pub(super) apart: Option<Apart>,
}

impl Question {
    /// Returns what all processes know. If they cannot say it any more, the outcome says so instead of "held".
    pub(super) fn facts(
        &self,
        checked: Result<Checked, Objection>,
        outcome: &mut Outcome<Action>,
    ) -> Facts {
        let own = self.own_facts(checked);
        match self.of_all(&own, outcome) {
            Ok(None) => own,
            Ok(Some(all)) => all,
            Err(sentence) => {
                // What is violated stays so. But if clients can be told apart that were taken for each other, nothing is
                // known: the process that found it cannot say which.
                let stays = match &outcome.ending {
                    Ending::Violated(found) => found.objection.property != SYMMETRY,
                    _ => false,
                };
                if !stays {
                    let (by, states) = (Bound::Cluster(sentence), outcome.statistics.distinct);
                    outcome.ending = Ending::Bounded { by, states, frontier: 0 };
                }
                own
            }
        }
    }

    /// Returns what this process knows.
    pub(super) fn own_facts(&self, checked: Result<Checked, Objection>) -> Facts {
        let trie = self.model.trie();
        let (checked, objection) = match checked {
            Ok(checked) => (checked, None),
            Err(objection) => (Checked::default(), Some(objection)),
        };
        let (did, told) = (trie.activity(), trie.told_again());
        let apart = self.model.apart().cloned();
        Facts { programs: trie.statistics().nodes, did, told, checked, objection, apart }
    }

    /// Returns what all processes know; `None` for a search in one process.
    ///
    /// # Errors
    /// One sentence, if a process is missing.
    #[cfg(feature = "cluster")]
    fn of_all(&self, own: &Facts, outcome: &Outcome<Action>) -> Result<Option<Facts>, String> {
        let is_lost = matches!(&outcome.ending, Ending::Bounded { by: Bound::Cluster(_), .. });
        let Some(cluster) = self.exploration.options.cluster.as_ref().filter(|_| !is_lost) else {
            return Ok(None);
        };
        let said = serde_json::to_string(own).expect("facts are data");
        let all = cluster.gather("what programs did", said)?;
        let read = |said: &String| serde_json::from_str::<Facts>(said);
        let all = all.iter().map(read).collect::<Result<Vec<_>, _>>();
        let all = all.map_err(|error| format!("a process, whose facts cannot be read: {error}"))?;
        Ok(all.into_iter().reduce(Facts::and))
    }

    #[cfg(not(feature = "cluster"))]
    fn of_all(&self, _own: &Facts, _outcome: &Outcome<Action>) -> Result<Option<Facts>, String> {
        Ok(None)
    }
}

impl Facts {
    /// Returns what two processes know together. The first objection is kept.
    #[cfg(feature = "cluster")]
    fn and(mut self, other: Facts) -> Facts {
        self.programs += other.programs;
        self.did.requests |= other.did.requests;
        self.did.time |= other.did.time;
        self.did.draws |= other.did.draws;
        self.did.observed.extend(other.did.observed);
        self.told.histories += other.told.histories;
        self.told.of += other.told.of;
        for (kind, sentence) in other.told.goes_by {
            self.told.goes_by.entry(kind).or_insert(sentence);
        }
        let (monitors, theirs) = (&mut self.checked.monitors, other.checked.monitors);
        monitors.states += theirs.states;
        monitors.steps += theirs.steps;
        monitors.walks += theirs.walks;
        let (programs, theirs) = (&mut self.checked.programs, other.checked.programs);
        programs.ways += theirs.ways;
        programs.of += theirs.of;
        programs.walks += theirs.walks;
        self.objection = self.objection.or(other.objection);
        self.apart = self.apart.or(other.apart);
        self
    }
}

#[cfg(all(test, feature = "cluster"))]
mod tests {
    use super::*;
    use vivarium_model::id::ClientId;
    use vivarium_sim::every::trie::Valued;

    /// What only the second process has found is known to both, in either order.
    #[test]
    fn what_one_process_found_all_know() {
        let goes_by = [(Valued::SessionIds, "client 1 does".to_string())].into();
        let other = || Facts {
            programs: 5,
            did: Activity {
                requests: true,
                observed: ["held".into()].into(),
                ..Activity::default()
            },
            told: ToldAgain { histories: 3, of: 4, goes_by: Clone::clone(&goes_by) },
            objection: Some(Objection::new("a property", "it objects")),
            apart: Some(Apart {
                clients: (ClientId(1), ClientId(2)),
                how: "by their numbers".to_string(),
                objection: None,
            }),
            ..Facts::default()
        };
        for all in [Facts::default().and(other()), other().and(Facts::default())] {
            assert_eq!(all.programs, 5);
            assert_eq!(all.did, other().did);
            assert_eq!(all.told, other().told);
            assert_eq!(all.objection, other().objection);
            assert_eq!(all.apart, other().apart);
        }
    }
}

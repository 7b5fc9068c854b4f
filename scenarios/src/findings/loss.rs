//! Checks whether an answered write survives the failure of one of three servers.

use super::ensemble::{Ensemble, listed};
use super::error::FindingError;
use super::narration::{Narration, Outcome};
use vivarium_model::id::ServerId;

/// Kills and restarts the leader, and checks which servers have a znode whose create was answered.
pub(super) fn one_of_three_fails(
    ensemble: &mut Ensemble,
    leader: ServerId,
    path: &str,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    ensemble.crash(&[leader]);
    tale.say(format!("{leader} is killed: one of three"));
    comes_back_late(ensemble, leader, path, tale)
}

/// Lets two servers serve while the third is down, then starts the third, and checks which servers have a znode whose
/// create was answered.
pub(super) fn comes_back_late(
    ensemble: &mut Ensemble,
    late: ServerId,
    path: &str,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    let (all, others) = (ensemble.all(), ensemble.others(late));
    let next = ensemble.serving(&others)?;
    let have = ensemble.who_has(path, &others)?;
    tale.say(format!("{next} leads; {path} is at {}", listed(&have)));
    ensemble.start(&[late])?;
    ensemble.serving(&all)?;
    let have = ensemble.who_has(path, &all)?;
    tale.say(format!("{late} is back; {path} is at {}", listed(&have)));
    Ok(match have.len() {
        0 => Outcome::Shown(format!("{path}, which was answered, is gone on every server")),
        3 => Outcome::Kept(format!("{path} is at every server")),
        _ => Outcome::Inconclusive(format!("{path} is at {} only", listed(&have))),
    })
}

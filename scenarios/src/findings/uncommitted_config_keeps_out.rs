//! A server that has read a reconfiguration which is never committed looks for a leader for ever (rule 5.8.7).

use super::Variant;
use super::ensemble::listed;
use super::error::FindingError;
use super::narration::{Narration, Outcome};
use super::pending_reconfig::{JOINERS, Pending};
use crate::conform::Installation;
use std::time::Duration;
use vivarium_model::id::ServerId;

/// How long the server is watched where it does not serve.
const WATCHED: Duration = Duration::from_secs(60);

/// Kills the leader of an outstanding reconfiguration, and starts it again.
pub(super) fn reproduce(
    installation: &Installation,
    variant: Variant,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    let mut pending = Pending::start(installation, &JOINERS, tale)?;
    if variant == Variant::Defect {
        pending.ask(tale)?;
    }
    let next = pending.leader_fails(tale)?;
    let (all, old) = (&mut pending.ensemble, pending.leader);
    all.start(&[old])?;
    let all_serve = [&[old][..], &JOINERS].concat();
    if all.serves_within(old, WATCHED) {
        all.serving(&[&all_serve[..], &[next]].concat())?;
        tale.say(format!("{old} is started; {} serve", listed(&all_serve)));
        return Ok(Outcome::Kept(format!("{old} follows {next}")));
    }
    all.all_run(&all_serve)?;
    let out: Vec<ServerId> =
        all_serve.into_iter().filter(|server| all.mode(*server).is_none()).collect();
    let seconds = WATCHED.as_secs();
    tale.say(format!("{old} is started; {seconds} s later {} do not serve", listed(&out)));
    Ok(Outcome::Shown(format!(
        "{old} votes in the only configuration that was ever committed, and looks for a leader in vain"
    )))
}

//! A start deletes the file of the last configuration seen, so the old configuration decides again (rule 5.8.1).

use super::Variant;
use super::ensemble::listed;
use super::error::FindingError;
use super::narration::{Narration, Outcome};
use super::pending_reconfig::{JOINERS, Pending};
use crate::conform::Installation;
use std::time::Duration;

/// How long servers that know the reconfiguration are watched.
const WATCHED: Duration = Duration::from_secs(20);

/// How long a process needs to read its files, without an election.
const READS: Duration = Duration::from_secs(4);

/// Starts the servers of the old configuration twice while they are cut off from those of the new one.
pub(super) fn reproduce(
    installation: &Installation,
    variant: Variant,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    let mut pending = Pending::start(installation, &JOINERS, tale)?;
    pending.commits(tale)?;
    let next = pending.next();
    let Pending { ensemble, followers, .. } = &mut pending;
    ensemble.cut_off(followers);
    tale.say(format!("the network separates {} from {}", listed(followers), listed(&next)));
    let leader = ensemble.serving(&next)?;
    let zxid = ensemble.session(leader)?.create("/new")?;
    tale.say(format!("{leader} leads {}; create /new is answered with zxid {zxid}", listed(&next)));

    let starts = if variant == Variant::Defect { 2 } else { 1 };
    for start in 1..=starts {
        for follower in followers.iter() {
            ensemble.kill(*follower);
        }
        ensemble.start(followers)?;
        if start < starts {
            std::thread::sleep(READS);
        }
    }
    let times = if starts == 1 { "once" } else { "twice" };
    tale.say(format!("{} are started again {times}", listed(followers)));
    if !ensemble.serves_within(followers[0], WATCHED) {
        ensemble.all_run(followers)?;
        let seconds = WATCHED.as_secs();
        return Ok(Outcome::Kept(format!(
            "{} elect no leader within {seconds} s: they know the reconfiguration",
            listed(followers)
        )));
    }
    let old = ensemble.serving(followers)?;
    let zxid = ensemble.session(old)?.create("/old")?;
    tale.say(format!(
        "{old} leads {}; create /old is answered with zxid {zxid}",
        listed(followers)
    ));
    let both = [&next[..], followers].concat();
    let (of_new, of_old) = (ensemble.who_has("/new", &both)?, ensemble.who_has("/old", &both)?);
    tale.say(format!(
        "after a sync, /new is at {}, and /old at {}",
        listed(&of_new),
        listed(&of_old)
    ));
    match of_new == next && of_old == *followers {
        true => Ok(Outcome::Shown(format!(
            "{leader} leads the committed configuration, and {old} the one before; each answers writes that the other \
             side never has"
        ))),
        false => {
            Err(FindingError::Otherwise("the writes are not where they were answered".to_owned()))
        }
    }
}

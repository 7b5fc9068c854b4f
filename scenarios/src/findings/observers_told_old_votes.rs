//! An observer goes back to the leader that its voters have given up (rule 5.7.2).

use super::Variant;
use super::ensemble::{Ensemble, options};
use super::error::FindingError;
use super::narration::{Narration, Outcome};
use super::tracer::signal;
use crate::conform::{Installation, Options};
use std::time::{Duration, Instant};

/// `initLimit` in ticks of half a second: how long a learner waits for an answer of the server that it takes for the leader.
const INIT_LIMIT: u32 = 40;

/// The least time for which the observer stays out after the voters serve, for a conclusive run.
const LONG: Duration = Duration::from_secs(12);

/// The most time for which it stays out if it follows the voters' leader.
const SHORT: Duration = Duration::from_secs(5);

/// The longest wait for the observer.
const PATIENCE: Duration = Duration::from_secs(60);

/// How often the leader is stopped. An observer that looks for a leader later than the voters does not show it.
const ATTEMPTS: u32 = 3;

/// Stops the leader's process, or kills it, and measures how long the observer is out after the voters.
pub(super) fn reproduce(
    installation: &Installation,
    variant: Variant,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    let mut outcome = attempt(installation, variant, tale)?;
    for _ in 1..ATTEMPTS {
        match (variant, &outcome) {
            (Variant::Defect, Outcome::Kept(_)) => {
                tale.say("it has looked for a leader later than the voters; once more");
                outcome = attempt(installation, variant, tale)?;
            }
            _ => break,
        }
    }
    Ok(outcome)
}

fn attempt(
    installation: &Installation,
    variant: Variant,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    let limits = vec![format!("initLimit={INIT_LIMIT}"), "syncLimit=4".to_owned()];
    let options = Options { settings: limits, observers: 1, ..options() };
    let (mut ensemble, leader) = Ensemble::start_all(installation, 4, options)?;
    let all = ensemble.all();
    let observer = all[3];
    tale.say(format!("3 servers and an observer serve; {leader} leads, {observer} observes"));

    let begun = Instant::now();
    if variant == Variant::Defect {
        signal(ensemble.process(leader)?, "STOP");
        tale.say(format!("{leader} hangs: its process is stopped"));
    } else {
        ensemble.kill(leader);
        tale.say(format!("{leader} is killed"));
    }
    let out = |all: &Ensemble| all.mode(observer).is_none();
    ensemble.until("the observer losing its leader", PATIENCE, out)?;
    let voters: Vec<_> = all[..3].iter().copied().filter(|voter| *voter != leader).collect();
    let next = ensemble.serving(&voters)?;
    let elected = begun.elapsed();
    tale.say(format!("{:.1} s later {next} leads, and the voters serve", elected.as_secs_f64()));
    if !ensemble.serves_within(observer, PATIENCE) {
        return Err(FindingError::Otherwise(format!("{observer} does not come back")));
    }
    let longer = begun.elapsed().saturating_sub(elected);
    tale.say(format!("{observer} serves {:.1} s after them", longer.as_secs_f64()));
    if longer >= LONG {
        let limit = INIT_LIMIT / 2;
        Ok(Outcome::Shown(format!(
            "{observer} has waited for {leader}, which its voters had given up, for initLimit ticks ({limit} s)"
        )))
    } else if longer <= SHORT {
        Ok(Outcome::Kept(format!("{observer} observes {next} soon")))
    } else {
        let longer = longer.as_secs_f64();
        Err(FindingError::Otherwise(format!("{observer} serves {longer:.1} s after the voters")))
    }
}

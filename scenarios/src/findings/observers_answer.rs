//! An observer and a voter that looks for a leader answer each other's votes without end (rule 5.7.2).

use super::Variant;
use super::ensemble::{Ensemble, listed, options};
use super::error::FindingError;
use super::narration::{Narration, Outcome};
use crate::conform::{Installation, Options};
use std::thread;
use std::time::{Duration, Instant};
use vivarium_model::id::ServerId;

/// How long the voter and the observer are watched.
const WATCHED: Duration = Duration::from_secs(10);

/// The least number of votes in that time for a conclusive run. A server that reads nothing sends its vote at intervals that
/// double from 200 ms, so it sends six.
const MANY: usize = 1_000;

/// The most votes of a run without a storm.
const FEW: usize = 50;

/// The log line of each vote that a server reads.
const READ: &str = "Notification: ";

/// Restarts all voters, and lets only one of them come back, whose round is then older than the observer's.
pub(super) fn reproduce(
    installation: &Installation,
    variant: Variant,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    let options = Options { observers: 1, ..options() };
    let (mut ensemble, leader) = Ensemble::start_all(installation, 4, options)?;
    let all = ensemble.all();
    let (voters, observer) = (&all[..3], all[3]);
    tale.say(format!("3 servers and an observer serve; {leader} leads, {observer} observes"));

    for voter in voters {
        ensemble.kill(*voter);
    }
    tale.say(format!("{} are killed", listed(voters)));
    if variant == Variant::Control {
        ensemble.kill(observer);
        ensemble.start(&[observer])?;
        tale.say(format!("{observer} is started again: its first election is of round 1"));
    }
    let one = voters[0];
    ensemble.start(&[one])?;
    let votes = read_within(&ensemble, observer, WATCHED);
    tale.say(format!(
        "{one} starts alone, in round 1; in {} s {observer} reads {votes} votes",
        WATCHED.as_secs()
    ));
    match votes {
        0..FEW => Ok(Outcome::Kept(format!("{observer} reads a vote now and then"))),
        MANY.. => Ok(Outcome::Shown(format!(
            "{one} and {observer} send each other votes as fast as they can, and log each"
        ))),
        _ => Err(FindingError::Otherwise(format!("{observer} read {votes} votes"))),
    }
}

/// Returns how many votes a server reads in this time.
fn read_within(ensemble: &Ensemble, server: ServerId, time: Duration) -> usize {
    let read = || ensemble.log(server).matches(READ).count();
    let (before, begun) = (read(), Instant::now());
    while begun.elapsed() < time {
        thread::sleep(Duration::from_millis(100));
    }
    read() - before
}

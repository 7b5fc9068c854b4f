//! A file that is replaced by a rename may be lost until the directory is fsynced, which no server does. Three servers,
//! which lose power soon after an election: each one's acceptedEpoch is then below the epoch in its log.

use super::Variant;
use super::ensemble::{Ensemble, SOON, with_small_logs};
use super::error::FindingError;
use super::narration::{Narration, Outcome};
use super::power_loss::{DiskWatch, power_takes_renames};
use super::restart::{PAID, STARTS, found_at};
use crate::conform::Installation;

/// The log line of a server that does not start.
const REFUSES: &str = "is less than the current epoch";

/// Restarts the leader, waits for the answer to a write in the new epoch, and simulates a power loss of all servers.
pub(super) fn reproduce(
    installation: &Installation,
    variant: Variant,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    // The power loss copies the files, so they must be small.
    let (mut ensemble, leader) = Ensemble::start_all(installation, 3, with_small_logs())?;
    let all = ensemble.all();
    ensemble.session(leader)?.create("/before")?;
    tale.say(format!("3 servers serve; {leader} leads epoch 1"));

    let mut watches = Vec::new();
    for server in ensemble.others(leader) {
        watches.push((server, DiskWatch::begin(&ensemble, server, &[])?));
    }
    ensemble.crash(&[leader]);
    ensemble.start(&[leader])?;
    // The server writes nothing before its runtime has started, which takes some tenths of a second.
    watches.push((leader, DiskWatch::begin(&ensemble, leader, &[])?));
    let next = ensemble.serving(&all)?;
    let paid = ensemble.session(next)?.create(PAID)?;
    ensemble.until("/paid in every log", SOON, |it| {
        it.all().into_iter().all(|server| it.has_logged(server, PAID))
    })?;
    tale.say(format!(
        "{leader} is killed and comes back; {next} leads; create /paid is answered, zxid {paid}; every server has it in \
         its log"
    ));
    if variant == Variant::Control {
        watches.iter_mut().try_for_each(|(_, watch)| watch.writes_through())?;
        tale.say("the system writes everything through, as it does by itself sooner or later");
    }
    for (server, watch) in watches {
        let loss = power_takes_renames(&mut ensemble, server, watch)?;
        tale.say(format!("the power fails at {server}: {loss}"));
        loss.suits(variant)?;
    }
    ensemble.crash(&all);
    start_again(&mut ensemble, tale)
}

/// Starts all servers, and checks which of them serve and what they have.
fn start_again(ensemble: &mut Ensemble, tale: &mut Narration<'_>) -> Result<Outcome, FindingError> {
    let all = ensemble.all();
    ensemble.start(&all)?;
    let mut up = Vec::new();
    for server in &all {
        if ensemble.serves_within(*server, STARTS) {
            up.push(*server);
        } else if let Some(line) = ensemble.log(*server).lines().rfind(|it| it.contains(REFUSES)) {
            let line = line.rsplit_once("Exception: ").map_or(line, |(_, says)| says);
            tale.say(format!("{server} does not start: {line}"));
        }
    }
    found_at(ensemble, &up, tale)
}

//! The snapshot of a first start is not fsynced, and a server refuses a log without a snapshot (rule 6.9.4). Three new
//! servers, which lose power soon.

use super::Variant;
use super::ensemble::{Ensemble, SOON, with_small_logs};
use super::error::FindingError;
use super::narration::{Narration, Outcome};
use super::power_loss::{DiskWatch, power_fails};
use super::restart::{PAID, STARTS, found_at};
use crate::conform::Installation;
use std::fs;

/// The log line of a server that does not start.
const REFUSES: &str = "No snapshot found, but there are log entries";

/// Starts three servers for the first time, waits for the answer to a write, and simulates a power loss of all servers.
pub(super) fn reproduce(
    installation: &Installation,
    variant: Variant,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    // The power loss copies the files, so they must be small.
    let mut ensemble = Ensemble::prepare(installation, 3, with_small_logs())?;
    let all = ensemble.all();
    let mut watches = Vec::new();
    for server in &all {
        let failed = "a server's directory could not be made";
        fs::create_dir_all(ensemble.files(*server)).map_err(FindingError::machine(failed))?;
        ensemble.start(&[*server])?;
        // The server writes nothing before its runtime has started, which takes some tenths of a second.
        watches.push(DiskWatch::begin(&ensemble, *server, &[])?);
    }
    let leader = ensemble.serving(&all)?;
    let paid = ensemble.session(leader)?.create(PAID)?;
    ensemble.until("/paid in every log", SOON, |it| {
        it.all().into_iter().all(|server| it.has_logged(server, PAID))
    })?;
    tale.say(format!(
        "3 servers have started for the first time; {leader} leads; create /paid is answered, zxid {paid}"
    ));
    if variant == Variant::Control {
        watches.iter_mut().try_for_each(DiskWatch::writes_through)?;
        tale.say("the system writes everything through, as it does by itself sooner or later");
    }
    for (server, watch) in all.iter().zip(watches) {
        let loss = power_fails(&mut ensemble, *server, watch, "snapshot.")?;
        tale.say(format!("the power fails at {server}: of its snapshots, {loss}"));
    }
    ensemble.crash(&all);

    ensemble.start(&all)?;
    let mut up = Vec::new();
    for server in &all {
        if ensemble.serves_within(*server, STARTS) {
            up.push(*server);
        } else if ensemble.log(*server).contains(REFUSES) {
            tale.say(format!("{server} does not start: {REFUSES}"));
        }
    }
    found_at(&ensemble, &up, tale)
}

//! A leader sends a learner the log on its disk, although that log is not the history (rules 6.4.10 and 6.9.7). Five
//! servers; one of them has logged a write that was never committed, and later received its history by a SNAP.

use super::Variant;
use super::bulk;
use super::ensemble::{Ensemble, SOON, listed, with_small_logs};
use super::error::FindingError;
use super::link::{Direction, Hold};
use super::narration::{Narration, Outcome};
use super::phantom;
use super::quorum::Kind;
use crate::conform::Installation;
use vivarium_model::id::ServerId;

const BEHIND: ServerId = ServerId(1);
const TWO: ServerId = ServerId(2);
const THREE: ServerId = ServerId(3);
const FOUR: ServerId = ServerId(4);
const GIVEN: ServerId = ServerId(5);

/// Gives a server the history by SNAP although its log has a write that no other server has received, makes it lead,
/// and lets it synchronise a server that was down meanwhile.
pub(super) fn reproduce(
    installation: &Installation,
    variant: Variant,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    let mut options = with_small_logs();
    if variant == Variant::Control {
        options.java_arguments.push("-Dzookeeper.snapshotSizeFactor=-1".to_owned());
    }
    let mut ensemble = Ensemble::prepare(installation, 5, options)?;
    fill(&mut ensemble, tale)?;
    stays_behind(&mut ensemble, tale)?;
    is_given_the_history(&mut ensemble, tale)?;

    ensemble.crash(&[FOUR]);
    phantom::leads(GIVEN, ensemble.serving(&[TWO, THREE, GIVEN])?)?;
    tale.say("server 4 is killed; server 5 leads servers 2 and 3");
    let last = ensemble.brings_up_to_date(BEHIND, GIVEN)?;
    tale.say(format!("server 1 comes back, and is synchronised by {last}"));
    let up = [BEHIND, TWO, THREE, GIVEN];
    let paid = ensemble.who_has("/paid", &up)?;
    let phantom = ensemble.who_has(phantom::PATH, &up)?;
    tale.say(format!(
        "/paid is at {}; {} is at {}",
        listed(&paid),
        phantom::PATH,
        listed(&phantom)
    ));
    Ok(match (&paid[..], &phantom[..]) {
        (all, []) if all == up => Outcome::Kept(format!(
            "/paid is at every server that is up, and {} nowhere",
            phantom::PATH
        )),
        ([TWO, THREE, GIVEN], [BEHIND]) => Outcome::Shown(format!(
            "/paid, which was answered, is missing at server 1, which serves; and {}, which was never \
             committed, is there and nowhere else",
            phantom::PATH
        )),
        _ => Outcome::Inconclusive(format!("/paid is at {} only", listed(&paid))),
    })
}

/// Starts all servers, each with a snapshot that is longer than the log after it; server 5 leads.
fn fill(ensemble: &mut Ensemble, tale: &mut Narration<'_>) -> Result<(), FindingError> {
    let all = ensemble.all();
    ensemble.start(&all)?;
    let leader = ensemble.serving(&all)?;
    let mut client = ensemble.session(leader)?;
    bulk::create(&mut client)?;
    // A restarted server has these znodes in a snapshot, and begins a new log.
    ensemble.crash(&all);
    ensemble.start(&[TWO, THREE, GIVEN])?;
    phantom::leads(GIVEN, ensemble.serving(&[TWO, THREE, GIVEN])?)?;
    ensemble.start(&[BEHIND, FOUR])?;
    ensemble.serving(&all)?;
    tale.say(format!("5 servers serve, with {} kB each; server 5 leads", bulk::KILOBYTES));
    Ok(())
}

/// Kills server 1; lets server 5 log a write that no other server receives, and kills server 5. The others continue.
fn stays_behind(ensemble: &mut Ensemble, tale: &mut Narration<'_>) -> Result<(), FindingError> {
    let mut client = ensemble.session(GIVEN)?;
    client.create("/a")?;
    ensemble.until("/a in the log of every server", SOON, |all| {
        all.all().into_iter().all(|server| all.has_logged(server, "/a"))
    })?;
    ensemble.kill(BEHIND);
    tale.say("create /a: every server has logged it; then server 1 is killed");
    ensemble.hold_all(GIVEN, Direction::Down, Hold::From(Kind::Proposal));
    phantom::is_logged(ensemble, GIVEN, &mut client)?;
    tale.say(
        "create /phantom: server 5 has logged it; no other server receives it, and no client is answered",
    );
    ensemble.crash(&[GIVEN]);
    phantom::leads(FOUR, ensemble.serving(&[TWO, THREE, FOUR])?)?;
    ensemble.session(FOUR)?.create("/paid")?;
    tale.say("server 5 is killed; server 4 leads servers 2 and 3; create /paid is answered");
    Ok(())
}

/// Restarts server 5, which receives the history by a SNAP and logs later transactions.
fn is_given_the_history(
    ensemble: &mut Ensemble,
    tale: &mut Narration<'_>,
) -> Result<(), FindingError> {
    let by = ensemble.brings_up_to_date(GIVEN, FOUR)?;
    if !by.starts_with("SNAP") {
        return Err(FindingError::Otherwise(format!("server 5 was synchronised by {by}")));
    }
    tale.say(format!("server 5 comes back, and is synchronised by {by}"));
    ensemble.session(FOUR)?.create("/later")?;
    ensemble.until("/later in the log of server 5", SOON, |all| all.has_logged(GIVEN, "/later"))?;
    tale.say("create /later: server 5 has logged it");
    Ok(())
}

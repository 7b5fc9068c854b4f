//! TRUNC removes records from a log without an fsync (rule 6.9.10), and a power loss brings them back. Three servers.

use super::Variant;
use super::ensemble::{Ensemble, SOON, listed, with_small_logs};
use super::error::FindingError;
use super::link::{Awaited, Direction, Hold, down, up};
use super::narration::{Narration, Outcome};
use super::phantom::{self, PATH};
use super::power_loss::{DiskWatch, power_fails};
use super::quorum::Kind;
use crate::conform::Installation;
use vivarium_model::id::ServerId;

const ONE: ServerId = ServerId(1);
const TWO: ServerId = ServerId(2);
const CUT: ServerId = ServerId(3);

/// Makes a server remove a write that no other server has received, continue with its log, and lose power.
pub(super) fn reproduce(
    installation: &Installation,
    variant: Variant,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    // The power loss copies the files, so they must be small.
    let mut ensemble = Ensemble::prepare(installation, 3, with_small_logs())?;
    logs_a_phantom(&mut ensemble, tale)?;
    let (mut watch, leader) = is_truncated(&mut ensemble, tale)?;
    if variant == Variant::Control {
        watch.writes_through()?;
        tale.say("the system writes through what it has cached");
    }
    goes_on(&ensemble, leader, tale)?;
    let loss = power_fails(&mut ensemble, CUT, watch, "log.")?;
    ensemble.links_of(CUT).for_each(|link| link.cut());
    tale.say(format!("the power of server 3 fails: of its log, {loss}"));
    loss.suits(variant)?;

    ensemble.start(&[CUT])?;
    let all = ensemble.all();
    ensemble.serving(&all)?;
    let later = ensemble.who_has("/later", &all)?;
    let have = ensemble.who_has(PATH, &all)?;
    tale.say(format!(
        "server 3 comes back: /later is at {}, {PATH} is at {}",
        listed(&later),
        listed(&have)
    ));
    Ok(match have[..] {
        [] if later == all => {
            Outcome::Kept(format!("{PATH}, which was never committed, is nowhere"))
        }
        [CUT] if later == all => Outcome::Shown(format!(
            "{PATH}, which was never committed, is at server 3 and nowhere else"
        )),
        _ => Outcome::Inconclusive(format!("{PATH} is at {}", listed(&have))),
    })
}

/// Makes server 3 lead and log a write that no other server receives; kills all servers, and restarts the others.
fn logs_a_phantom(ensemble: &mut Ensemble, tale: &mut Narration<'_>) -> Result<(), FindingError> {
    // Of two servers without a history, the one with the larger id is elected.
    ensemble.start(&[ONE, CUT])?;
    phantom::leads(CUT, ensemble.serving(&[ONE, CUT])?)?;
    ensemble.start(&[TWO])?;
    ensemble.serving(&[ONE, TWO, CUT])?;
    tale.say("3 servers serve; server 3 leads");
    let mut client = ensemble.session(CUT)?;
    let marks = [ONE, TWO].map(|server| (server, ensemble.link(server, CUT).mark()));
    let zxid = client.create("/a")?;
    for (server, mark) in marks {
        let link = ensemble.link(server, CUT);
        link.wait(down(Kind::Commit, Some(zxid)), mark, SOON)?;
    }
    ensemble.hold_all(CUT, Direction::Down, Hold::From(Kind::Proposal));
    phantom::is_logged(ensemble, CUT, &mut client)?;
    ensemble.crash(&[ONE, TWO, CUT]);
    ensemble.start(&[ONE, TWO])?;
    ensemble.serving(&[ONE, TWO])?;
    tale.say(format!(
        "create {PATH}: server 3 has logged it; no other server receives it, and no client is answered; all are \
         killed, and servers 1 and 2 come back and serve"
    ));
    Ok(())
}

/// Restarts server 3, watches it, and lets it receive TRUNC. Returns the leader, too.
fn is_truncated(
    ensemble: &mut Ensemble,
    tale: &mut Narration<'_>,
) -> Result<(DiskWatch, ServerId), FindingError> {
    let leader = ensemble.serving(&[ONE, TWO])?;
    ensemble.link(CUT, leader).hold(Direction::Down, Hold::From(Kind::Trunc));
    let mark = ensemble.link(CUT, leader).mark();
    ensemble.start(&[CUT])?;
    let arrives = Awaited { passed: false, ..down(Kind::Trunc, None) };
    ensemble.link(CUT, leader).wait(arrives, mark, SOON)?;
    let watch = DiskWatch::begin(ensemble, CUT, &[])?;
    ensemble.link(CUT, leader).release();
    let all = ensemble.all();
    ensemble.serving(&all)?;
    let Some((Kind::Trunc, zxid)) = ensemble.link(CUT, leader).synchronised() else {
        return Err(FindingError::Otherwise("server 3 was synchronised by another way".to_owned()));
    };
    let have = ensemble.who_has(PATH, &all)?;
    tale.say(format!(
        "server 3 comes back, and receives TRUNC to {zxid}; {PATH} is at {}",
        listed(&have)
    ));
    match have.is_empty() {
        true => Ok((watch, leader)),
        false => Err(FindingError::Otherwise(format!("{PATH} is at {} already", listed(&have)))),
    }
}

/// Lets server 3 log a later transaction, with an fsync.
fn goes_on(
    ensemble: &Ensemble,
    leader: ServerId,
    tale: &mut Narration<'_>,
) -> Result<(), FindingError> {
    let link = ensemble.link(CUT, leader);
    let mark = link.mark();
    let later = ensemble.session(leader)?.create("/later")?;
    link.wait(up(Kind::Ack, Some(later)), mark, SOON)?;
    tale.say(format!("create /later, zxid {later}: server 3 has logged and acknowledged it"));
    Ok(())
}

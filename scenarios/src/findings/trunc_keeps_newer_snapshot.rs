//! TRUNC loads the newest snapshot although that contains what is to be removed (rules 6.9.6 and 6.3.1). An elected
//! server snapshots its tree before it is established, with transactions that may never be committed.

use super::Variant;
use super::ensemble::{Ensemble, SOON, options};
use super::error::FindingError;
use super::link::{Direction, Hold, down};
use super::narration::{Narration, Outcome};
use super::phantom;
use super::quorum::Kind;
use crate::conform::Installation;
use vivarium_model::id::ServerId;

const ONE: ServerId = ServerId(1);
const TWO: ServerId = ServerId(2);
const ELECTED: ServerId = ServerId(3);

/// Makes a server log a write that no other server has received, be elected for a moment, and come back to a leader
/// that sends it TRUNC.
pub(super) fn reproduce(
    installation: &Installation,
    variant: Variant,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    let mut ensemble = Ensemble::prepare(installation, 3, options())?;
    // Of two servers without a history, the one with the larger id is elected.
    ensemble.start(&[ONE, ELECTED])?;
    phantom::leads(ELECTED, ensemble.serving(&[ONE, ELECTED])?)?;
    ensemble.start(&[TWO])?;
    ensemble.serving(&[ONE, TWO, ELECTED])?;
    tale.say("3 servers serve; server 3 leads");

    let mut client = ensemble.session(ELECTED)?;
    let marks = [ONE, TWO].map(|server| (server, ensemble.link(server, ELECTED).mark()));
    let zxid = client.create("/a")?;
    for (server, mark) in marks {
        let link = ensemble.link(server, ELECTED);
        link.wait(down(Kind::Commit, Some(zxid)), mark, SOON)?;
    }
    ensemble.hold_all(ELECTED, Direction::Down, Hold::From(Kind::Proposal));
    phantom::is_logged(&ensemble, ELECTED, &mut client)?;
    tale.say(
        "create /phantom: server 3 has logged it; no other server receives it, and no client is answered",
    );

    ensemble.crash(&[ONE, TWO, ELECTED]);
    tale.say("all are killed");
    if variant == Variant::Defect {
        is_elected(&mut ensemble, tale)?;
    }
    ensemble.start(&[ONE, TWO])?;
    ensemble.serving(&[ONE, TWO])?;
    tale.say("servers 1 and 2 come back and serve");
    phantom::rejoins(&mut ensemble, ELECTED, tale)
}

/// Makes server 3 be elected and snapshot its tree; it receives nothing from a follower, and is killed.
fn is_elected(ensemble: &mut Ensemble, tale: &mut Narration<'_>) -> Result<(), FindingError> {
    ensemble.hold_all(ELECTED, Direction::Up, Hold::All);
    let before = ensemble.named(ELECTED, "snapshot.");
    ensemble.start(&[ONE, ELECTED])?;
    let mut newer = Vec::new();
    ensemble.until("a snapshot of server 3", SOON, |all| {
        newer = all.named(ELECTED, "snapshot.");
        newer.retain(|name| !before.contains(name));
        !newer.is_empty()
    })?;
    ensemble.until("the end of that snapshot", SOON, |all| {
        all.log(ELECTED).contains("Snapshot taken in")
    })?;
    tale.say(format!(
        "servers 1 and 3 come back; server 3 is elected, writes {}, and no follower connects",
        newer.join(", ")
    ));
    ensemble.crash(&[ONE, ELECTED]);
    tale.say("both are killed");
    Ok(())
}

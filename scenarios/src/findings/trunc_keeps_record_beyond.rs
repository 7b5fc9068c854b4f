//! TRUNC to a zxid that is not in the log keeps the first record beyond it (rule 6.9.6). Three servers; one of them
//! received its history by a SNAP.

use super::Variant;
use super::ensemble::{Ensemble, SOON, listed, options};
use super::error::FindingError;
use super::link::{Direction, Hold};
use super::narration::{Narration, Outcome};
use super::phantom;
use super::quorum::Kind;
use crate::conform::Installation;
use vivarium_model::id::ServerId;

const ONE: ServerId = ServerId(1);
const TWO: ServerId = ServerId(2);
const LATE: ServerId = ServerId(3);

/// Makes a server log a write that no other server has received, after a history that is not in its log, and come back
/// to a leader that sends it TRUNC.
pub(super) fn reproduce(
    installation: &Installation,
    variant: Variant,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    let mut ensemble = Ensemble::prepare(installation, 3, options())?;
    ensemble.start(&[ONE, TWO])?;
    ensemble.serving(&[ONE, TWO])?;
    let mut client = ensemble.session(ONE)?;
    match variant {
        Variant::Defect => {
            client.create("/a")?;
            join(&mut ensemble, tale)?;
        }
        Variant::Control => {
            join(&mut ensemble, tale)?;
            client.create("/a")?;
            ensemble.until("/a in the log of server 3", SOON, |all| all.has_logged(LATE, "/a"))?;
            tale.say("create /a: it is in the log of server 3 too");
        }
    }

    ensemble.crash(&[TWO]);
    phantom::leads(LATE, ensemble.serving(&[ONE, LATE])?)?;
    tale.say("server 2 is killed; server 3 leads server 1");
    // The session moves, because a new one would be a transaction in the log of server 3.
    let mut client = client.move_to(ensemble.address(LATE))?;
    ensemble.link(ONE, LATE).hold(Direction::Down, Hold::From(Kind::Proposal));
    phantom::is_logged(&ensemble, LATE, &mut client)?;
    tale.say("create /phantom: server 3 has logged it; server 1 does not receive it, and no client is answered");

    ensemble.crash(&[ONE, LATE]);
    ensemble.start(&[ONE, TWO])?;
    ensemble.serving(&[ONE, TWO])?;
    tale.say(format!("servers 1 and 3 are killed; {} come back and serve", listed(&[ONE, TWO])));
    phantom::rejoins(&mut ensemble, LATE, tale)
}

/// Lets server 3 join, which receives the history by a SNAP.
fn join(ensemble: &mut Ensemble, tale: &mut Narration<'_>) -> Result<(), FindingError> {
    let leader = ensemble.serving(&[ONE, TWO])?;
    ensemble.start(&[LATE])?;
    ensemble.serving(&[ONE, TWO, LATE])?;
    let by = ensemble.link(LATE, leader).synchronised();
    let by = by.map_or("nothing".to_owned(), |(kind, zxid)| format!("{kind} to {zxid}"));
    tale.say(format!("server 3 joins {leader}, synchronised by {by}"));
    Ok(())
}

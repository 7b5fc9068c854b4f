//! The end of every run in which a server's tree is ahead of its log: the server serves its tree, receives only what is
//! new, and is restarted.

use super::ensemble::{Ensemble, SOON, listed};
use super::error::FindingError;
use super::link::up;
use super::narration::{Narration, Outcome};
use super::quorum::Kind;
use super::session::Session;
use std::time::Duration;
use vivarium_model::id::ServerId;

/// How long a started server may take until it serves. Later releases refuse to start, and end immediately.
const STARTS: Duration = Duration::from_secs(25);

/// Lets the server serve /paid and log /later, and restarts it. `client` is a session at another server.
pub(super) fn restarts(
    ensemble: &mut Ensemble,
    server: ServerId,
    client: &mut Session,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    let all = ensemble.all();
    let leader = ensemble.serving(&all)?;
    let have = ensemble.who_has("/paid", &all)?;
    tale.say(format!("all serve; /paid is at {}", listed(&have)));
    if have != all {
        return Err(FindingError::Otherwise(format!("/paid is at {} already", listed(&have))));
    }
    let link = ensemble.link(server, leader);
    let mark = link.mark();
    let later = client.create("/later")?;
    link.wait(up(Kind::Ack, Some(later)), mark, SOON)?;
    ensemble.kill(server);
    ensemble.links_of(server).for_each(|link| link.cut());
    ensemble.start(&[server])?;
    if !ensemble.serves_within(server, STARTS) {
        return Ok(Outcome::Shown(format!("{server}, which is killed, does not start again")));
    }
    ensemble.serving(&all)?;
    let later = ensemble.who_has("/later", &all)?;
    let have = ensemble.who_has("/paid", &all)?;
    tale.say(format!(
        "{server} is killed and comes back: /paid is at {}, /later is at {}",
        listed(&have),
        listed(&later)
    ));
    Ok(match have {
        have if have == all => Outcome::Kept("/paid is at every server".to_owned()),
        have if have == ensemble.others(server) => Outcome::Shown(format!(
            "/paid, which was answered, is missing at {server}, which serves"
        )),
        have => Outcome::Inconclusive(format!("/paid is at {} only", listed(&have))),
    })
}

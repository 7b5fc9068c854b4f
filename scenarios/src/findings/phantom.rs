//! The end of every run about TRUNC: a server comes back with a record that was never committed, and receives a TRUNC
//! that should remove it.

use super::ensemble::{Ensemble, SOON, listed};
use super::error::FindingError;
use super::narration::{Narration, Outcome};
use super::quorum::Kind;
use super::session::{Session, create};
use vivarium_model::id::ServerId;

/// The path of a znode whose create is never answered.
pub(super) const PATH: &str = "/phantom";

/// Waits until the leader has logged a create. The caller holds its proposals, so no other server receives it and no
/// client is answered.
pub(super) fn is_logged(
    ensemble: &Ensemble,
    leader: ServerId,
    client: &mut Session,
) -> Result<(), FindingError> {
    client.send(create(PATH))?;
    let what = format!("the record in the log of {leader}");
    ensemble.until(&what, SOON, |all| all.has_logged(leader, PATH))
}

/// Restarts the server, which receives TRUNC from its leader, and reports whether it serves [`PATH`].
pub(super) fn rejoins(
    ensemble: &mut Ensemble,
    server: ServerId,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    rejoins_with(ensemble, server, &[PATH.to_owned()], tale)
}

/// Like [`rejoins`], for several paths; the report names the first that exists.
pub(super) fn rejoins_with(
    ensemble: &mut Ensemble,
    server: ServerId,
    paths: &[String],
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    let leader = ensemble.serving(&ensemble.others(server))?;
    ensemble.start(&[server])?;
    let all = ensemble.all();
    ensemble.serving(&all)?;
    match ensemble.link(server, leader).synchronised() {
        Some((Kind::Trunc, zxid)) => {
            tale.say(format!("{server} comes back, and receives TRUNC to {zxid}"));
        }
        other => {
            let by = other.map_or("nothing".to_owned(), |(kind, _)| kind.to_string());
            return Err(FindingError::Otherwise(format!("{server} was synchronised by {by}")));
        }
    }
    let (mut path, mut have) = (PATH, Vec::new());
    for named in paths {
        (path, have) = (named, ensemble.who_has(named, &all)?);
        if !have.is_empty() {
            break;
        }
    }
    tale.say(format!("{path} is at {}", listed(&have)));
    Ok(match have[..] {
        [] => Outcome::Kept(format!("{path}, which was never committed, is nowhere")),
        [only] if only == server => Outcome::Shown(format!(
            "{path}, which was never committed, is at {server} and nowhere else"
        )),
        _ => Outcome::Inconclusive(format!("{path} is at {}", listed(&have))),
    })
}

/// Fails unless `wanted` is the leader.
pub(super) fn leads(wanted: ServerId, leader: ServerId) -> Result<(), FindingError> {
    match leader == wanted {
        true => Ok(()),
        false => Err(FindingError::Otherwise(format!("{leader} was elected, and not {wanted}"))),
    }
}

//! The end of every tale about TRUNC: a server comes back with a record that was never committed, and is told to
//! cut it.

use super::ensemble::{Ensemble, SOON, listed};
use super::quorum::Kind;
use super::session::{Session, create};
use super::tale::{Outcome, Tale};
use super::trouble::Trouble;
use vivarium_model::id::ServerId;

/// What nobody was ever told to be there.
pub(super) const PATH: &str = "/phantom";

/// The leader logs what it is asked to create. Nobody else must hear of it, and so nobody is answered.
pub(super) fn is_logged(
    ensemble: &Ensemble,
    leader: ServerId,
    client: &mut Session,
) -> Result<(), Trouble> {
    client.send(create(PATH))?;
    let what = format!("the record in the log of {leader}");
    ensemble.until(&what, SOON, |all| all.has_logged(leader, PATH))
}

/// The server comes back, reads TRUNC from its leader, and serves: with [`PATH`], or without it.
pub(super) fn rejoins(
    ensemble: &mut Ensemble,
    server: ServerId,
    tale: &mut Tale<'_>,
) -> Result<Outcome, Trouble> {
    rejoins_with(ensemble, server, &[PATH.to_owned()], tale)
}

/// The same for several paths, any of which may be there; the tale names the first that is.
pub(super) fn rejoins_with(
    ensemble: &mut Ensemble,
    server: ServerId,
    paths: &[String],
    tale: &mut Tale<'_>,
) -> Result<Outcome, Trouble> {
    let leader = ensemble.serving(&ensemble.others(server))?;
    ensemble.start(&[server])?;
    let all = ensemble.all();
    ensemble.serving(&all)?;
    match ensemble.link(server, leader).synchronised() {
        Some((Kind::Trunc, zxid)) => {
            tale.say(format!("{server} comes back, and is told to TRUNC to {zxid}"));
        }
        other => {
            let by = other.map_or("nothing".to_owned(), |(kind, _)| kind.to_string());
            return Err(Trouble::Otherwise(format!("{server} was synchronised by {by}")));
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

/// The tale goes on only if this server leads.
pub(super) fn leads(wanted: ServerId, leader: ServerId) -> Result<(), Trouble> {
    match leader == wanted {
        true => Ok(()),
        false => Err(Trouble::Otherwise(format!("{leader} was elected, and not {wanted}"))),
    }
}

//! A server that joins acts on a reconfiguration that is not committed, so two leaders serve at the same time (rule 5.8.8).

use super::Variant;
use super::ensemble::{Ensemble, SOON, listed};
use super::error::FindingError;
use super::narration::{Narration, Outcome};
use super::pending_reconfig::{JOINERS, Pending};
use crate::conform::Installation;
use std::time::Duration;
use vivarium_model::id::ServerId;

/// How long the joiners are watched where they have not activated the reconfiguration.
const WATCHED: Duration = Duration::from_secs(20);

/// Lets a server join while a reconfiguration is outstanding, and kills the leader.
pub(super) fn reproduce(
    installation: &Installation,
    variant: Variant,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    let [late, early] = JOINERS;
    let joined: &[ServerId] = if variant == Variant::Defect { &[early] } else { &JOINERS };
    let mut pending = Pending::start(installation, joined, tale)?;
    pending.ask(tale)?;
    if variant == Variant::Defect {
        let (all, leader) = (&mut pending.ensemble, pending.leader);
        all.start(&[late])?;
        let file = activates(all, late)?;
        tale.say(format!("{late} starts, is synchronised, and activates it: its file is {file}"));
        all.serving(&[leader, late])?;
    }
    let first = pending.leader_fails(tale)?;
    let all = &mut pending.ensemble;
    if variant == Variant::Control {
        let serves = JOINERS.map(|joiner| all.serves_within(joiner, WATCHED)).contains(&true);
        let leads = JOINERS.iter().any(|joiner| all.mode(*joiner).as_deref() == Some("leader"));
        all.all_run(&JOINERS)?;
        return match serves && leads {
            true => Err(FindingError::Otherwise("servers 4 and 5 elected one of them".to_owned())),
            false => Ok(Outcome::Kept(format!("{first} is the only leader"))),
        };
    }
    let second = all.serving(&JOINERS)?;
    tale.say(format!("{} serve as well, and {second} leads them", listed(&JOINERS)));
    let mut have = Vec::new();
    for (leader, path) in [(first, "/one"), (second, "/other")] {
        let zxid = all.session(leader)?.create(path)?;
        let servers = [&pending.followers[..], &JOINERS].concat();
        let who = all.who_has(path, &servers)?;
        let who_has = listed(&who);
        tale.say(format!(
            "create {path} at {leader} is answered with zxid {zxid}; after a sync, it is at {who_has}"
        ));
        have.push(who);
    }
    match have == [pending.followers.clone(), JOINERS.to_vec()] {
        true => Ok(Outcome::Shown(format!(
            "{first} and {second} both lead, each of a majority of another configuration, and answer writes that the \
             other side never has"
        ))),
        false => {
            Err(FindingError::Otherwise("the writes are not where they were answered".to_owned()))
        }
    }
}

/// Waits until a server has a file of a later configuration than the first. Returns its name.
fn activates(all: &Ensemble, server: ServerId) -> Result<String, FindingError> {
    let later = |all: &Ensemble| all.configuration(server).filter(|name| is_later(name));
    all.until(&format!("an activation at {server}"), SOON, |all| later(all).is_some())?;
    Ok(later(all).unwrap_or_default())
}

/// Returns true if the version at the end of a file's name is that of a reconfiguration. A leader gives the first
/// configuration the opening zxid of its epoch.
fn is_later(file: &str) -> bool {
    let version = file.rsplit('.').next().unwrap_or_default();
    u64::from_str_radix(version, 16).is_ok_and(|version| version & 0xffff_ffff != 0)
}

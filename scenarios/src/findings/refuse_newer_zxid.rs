//! A server that is killed between the snapshot of a SNAP and its currentEpoch refuses to start for ever (rule 6.2.2).

use super::Variant;
use super::ensemble::{Ensemble, SOON, options};
use super::error::FindingError;
use super::link::{Awaited, Direction, Hold, down};
use super::narration::{Narration, Outcome};
use super::quorum::Kind;
use crate::conform::Installation;
use std::fs;
use std::time::Duration;
use vivarium_model::id::ServerId;

const NEW: ServerId = ServerId(1);
const OLD: [ServerId; 2] = [ServerId(2), ServerId(3)];

/// The log line of a server that refuses to start.
const REFUSAL: &str = "is older than the last zxid";

/// How long a started server may take until it serves.
const STARTS: Duration = Duration::from_secs(40);

/// Lets a new server write its snapshot, kills it before or after it has written its epoch, and restarts it.
pub(super) fn reproduce(
    installation: &Installation,
    variant: Variant,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    let mut ensemble = Ensemble::prepare(installation, 3, options())?;
    ensemble.start(&OLD)?;
    let leader = ensemble.serving(&OLD)?;
    let zxid = ensemble.session(leader)?.create("/a")?;
    tale.say(format!("servers 2 and 3 serve; create /a has zxid {zxid}"));

    let link = ensemble.link(NEW, leader);
    let mark = link.mark();
    link.hold(Direction::Down, Hold::From(Kind::Snap));
    ensemble.start(&[NEW])?;
    let link = ensemble.link(NEW, leader);
    link.wait(Awaited { passed: false, ..down(Kind::Snap, None) }, mark, SOON)?;
    // After the snapshot, the server writes the epoch into a new file and then renames the file.
    let file = ensemble.files(NEW).join("currentEpoch.tmp");
    let file = file.display().to_string();
    let slow = ["-P", &file, "-e", "trace=openat", "-e", "inject=openat:delay_enter=120000000"];
    let disk = ensemble.trace(NEW, &slow)?;
    ensemble.link(NEW, leader).release();
    ensemble.until("the end of the snapshot of server 1", SOON, |all| {
        has_snapshot(all) && all.log(NEW).contains("Snapshot taken in")
    })?;
    tale.say(format!(
        "server 1 is new, and is sent a SNAP; it has written {}; its currentEpoch is still {}",
        ensemble.named(NEW, "snapshot.").join(" and "),
        epoch(&ensemble)
    ));
    if variant == Variant::Control {
        disk.let_go();
        ensemble.serving(&ensemble.all())?;
        tale.say(format!("it writes its currentEpoch, {}, and serves", epoch(&ensemble)));
        ensemble.kill(NEW);
    } else {
        ensemble.kill_traced(NEW, disk);
    }
    tale.say("server 1 is killed");
    starts_again(&mut ensemble, tale)
}

/// Restarts the server twice, to show that the refusal is permanent.
fn starts_again(
    ensemble: &mut Ensemble,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    ensemble.link(NEW, OLD[0]).cut();
    ensemble.link(NEW, OLD[1]).cut();
    for attempt in ["started", "started again"] {
        ensemble.start(&[NEW])?;
        if ensemble.serves_within(NEW, STARTS) {
            tale.say(format!("server 1 is {attempt}, and serves"));
            return Ok(Outcome::Kept("server 1 starts by itself".to_owned()));
        }
        ensemble.kill(NEW);
        let log = ensemble.log(NEW);
        let Some(reason) = log.lines().rfind(|line| line.contains(REFUSAL)) else {
            let why = format!("server 1 does not serve within {} s", STARTS.as_secs());
            return Err(FindingError::Otherwise(why));
        };
        let reason = reason.rsplit("Exception: ").next().unwrap_or(reason);
        tale.say(format!("server 1 is {attempt}, and ends: {reason}"));
    }
    Ok(Outcome::Shown("server 1 never starts again by itself".to_owned()))
}

/// Returns true if there is a snapshot other than that of the first start.
fn has_snapshot(ensemble: &Ensemble) -> bool {
    ensemble.named(NEW, "snapshot.").iter().any(|name| name != "snapshot.0")
}

fn epoch(ensemble: &Ensemble) -> String {
    let file = ensemble.files(NEW).join("currentEpoch");
    fs::read_to_string(file).map_or("missing".to_owned(), |text| text.trim().to_owned())
}

//! A background snapshot contains what the server's log does not contain yet, and a power loss preserves the snapshot
//! (rules 6.9.2 and 4.5.3). The log then continues after a gap, and a leader sends its log as it is (rule 6.4.10). Five
//! servers.

use super::Variant;
use super::bulk;
use super::ensemble::{Ensemble, SOON, listed, with_small_logs};
use super::error::FindingError;
use super::link::up;
use super::narration::{Narration, Outcome};
use super::phantom;
use super::power_loss::{DiskWatch, power_fails};
use super::quorum::Kind;
use super::session::{Session, create};
use crate::conform::Installation;
use vivarium_model::id::ServerId;
use vivarium_model::zxid::Zxid;

const BEHIND: ServerId = ServerId(1);
const TWO: ServerId = ServerId(2);
const THREE: ServerId = ServerId(3);
const FOUR: ServerId = ServerId(4);
const SLOW: ServerId = ServerId(5);

/// The `snapCount`: a server begins a snapshot and a new log after at least half this number of transactions.
const SNAP_COUNT: usize = 20;

/// strace delays each fsync of a log by four seconds.
const SLOW_FSYNC: [&str; 2] = ["-e", "inject=fdatasync:delay_enter=4000000"];

/// Lets a server snapshot what its log does not contain, lose the rest of its log in a power loss, lead, and
/// synchronise a server that was down meanwhile.
pub(super) fn reproduce(
    installation: &Installation,
    variant: Variant,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    let mut options = with_small_logs();
    options.java_arguments.push(format!("-Dzookeeper.snapCount={SNAP_COUNT}"));
    let mut ensemble = Ensemble::prepare(installation, 5, options)?;
    let mut client = fill(&mut ensemble, tale)?;

    let watch = DiskWatch::begin(&ensemble, SLOW, &SLOW_FSYNC)?;
    let (watch, paid) = snapshots(&mut ensemble, watch, &mut client, tale)?;
    if variant == Variant::Control {
        let link = ensemble.link(SLOW, FOUR);
        let mark = link.beginning();
        link.wait(up(Kind::Ack, Some(paid)), mark, SOON)?;
        tale.say(format!("the fsync comes back: {SLOW} acknowledges /paid"));
    }
    let loss = power_fails(&mut ensemble, SLOW, watch, "log.")?;
    ensemble.links_of(SLOW).for_each(|link| link.cut());
    tale.say(format!("the power of {SLOW} fails: of its log, {loss}"));
    loss.suits(variant)?;
    leads(&mut ensemble, client, tale)?;
    is_brought_up_to_date(&mut ensemble, tale)
}

/// Starts all servers; server 4 leads.
fn fill(ensemble: &mut Ensemble, tale: &mut Narration<'_>) -> Result<Session, FindingError> {
    ensemble.start(&[TWO, THREE, FOUR])?;
    phantom::leads(FOUR, ensemble.serving(&[TWO, THREE, FOUR])?)?;
    ensemble.start(&[BEHIND, SLOW])?;
    ensemble.serving(&ensemble.all())?;
    let mut client = ensemble.session(FOUR)?;
    bulk::create(&mut client)?;
    // Every server begins a new log after these creates.
    for number in 0..=SNAP_COUNT {
        client.create(&format!("/small{number}"))?;
    }
    is_logged(ensemble, &format!("/small{SNAP_COUNT}"), &ensemble.all())?;
    tale.say(format!("5 servers serve, with {} kB each; server 4 leads", bulk::KILOBYTES));
    Ok(client)
}

/// While server 5 waits for an fsync, it applies what the others commit. Then it appends all of that, and begins a
/// snapshot before it has appended everything; the next fsync waits.
fn snapshots(
    ensemble: &mut Ensemble,
    mut watch: DiskWatch,
    client: &mut Session,
    tale: &mut Narration<'_>,
) -> Result<(DiskWatch, Zxid), FindingError> {
    let before = snapshots_told(ensemble);
    let first = client.create("/first")?;
    is_logged(ensemble, "/first", &[BEHIND, SLOW])?;
    ensemble.kill(BEHIND);
    let more: Result<Vec<_>, _> =
        (0..SNAP_COUNT).map(|number| client.send(create(&format!("/more{number}")))).collect();
    more?;
    let paid = client.create("/paid")?;
    ensemble.until("/paid at server 5", SOON, |all| all.applied(SLOW) == Some(paid))?;
    if ensemble.has_logged(SLOW, "/paid") {
        return Err(FindingError::Otherwise(
            "the fsync of server 5 came back too early".to_owned(),
        ));
    }
    // The fsync under way covers nothing after this point.
    watch.writes_through()?;
    tale.say(format!(
        "create /first, zxid {first}: servers 1 and 5 have logged it, and the disk of server 5 is slow; server 1 is \
         killed; more creates, up to /paid, zxid {paid}, are answered: server 5 has applied them, and not logged them"
    ));
    let name = format!("snapshot.{:x}", paid.0);
    ensemble.until("a snapshot of server 5", SOON, |all| {
        // The server writes to the file after it has appended everything.
        if !all.has_logged(SLOW, "/paid") {
            return false;
        }
        let now = snapshots_told(all);
        let (begun, ended) = (now.0 - before.0, now.1 - before.1);
        all.named(SLOW, "snapshot.").contains(&name) && begun > 0 && begun <= ended
    })?;
    tale.say(format!(
        "{SLOW} appends that to its log, and writes {name} meanwhile; its next fsync is slow"
    ));
    Ok((watch, paid))
}

/// Returns how many snapshots server 5 has begun and completed, by its log.
fn snapshots_told(ensemble: &Ensemble) -> (usize, usize) {
    let log = ensemble.log(SLOW);
    (log.matches("Snapshotting: ").count(), log.matches("Snapshot taken in").count())
}

fn is_logged(ensemble: &Ensemble, path: &str, servers: &[ServerId]) -> Result<(), FindingError> {
    let what = format!("{path} in the logs of {}", listed(servers));
    ensemble.until(&what, SOON, |all| servers.iter().all(|server| all.has_logged(*server, path)))
}

/// Restarts server 5, which logs later transactions, and makes it lead by killing server 4.
fn leads(
    ensemble: &mut Ensemble,
    mut client: Session,
    tale: &mut Narration<'_>,
) -> Result<(), FindingError> {
    let by = ensemble.brings_up_to_date(SLOW, FOUR)?;
    client.create("/later")?;
    is_logged(ensemble, "/later", &[TWO, THREE, SLOW])?;
    tale.say(format!(
        "{SLOW} comes back, and is synchronised by {by}; create /later: it has logged that"
    ));
    ensemble.crash(&[FOUR]);
    phantom::leads(SLOW, ensemble.serving(&[TWO, THREE, SLOW])?)?;
    tale.say("server 4 is killed; server 5 leads servers 2 and 3");
    Ok(())
}

/// Restarts server 1, and checks which servers have a znode whose create was answered.
fn is_brought_up_to_date(
    ensemble: &mut Ensemble,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    let by = ensemble.brings_up_to_date(BEHIND, SLOW)?;
    let up = [BEHIND, TWO, THREE, SLOW];
    let later = ensemble.who_has("/later", &up)?;
    let paid = ensemble.who_has("/paid", &up)?;
    tale.say(format!(
        "server 1 comes back, and is synchronised by {by}: /later is at {}, /paid is at {}",
        listed(&later),
        listed(&paid)
    ));
    Ok(match (&later[..], &paid[..]) {
        (later, paid) if later == up && paid == up => {
            Outcome::Kept("/paid is at every server that is up".to_owned())
        }
        (later, [TWO, THREE, SLOW]) if later == up => Outcome::Shown(
            "/paid, which was answered, is missing at server 1, which serves".to_owned(),
        ),
        _ => Outcome::Inconclusive(format!("/paid is at {} only", listed(&paid))),
    })
}

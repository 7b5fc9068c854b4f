//! A leader keeps a reconfiguration whose record its log has lost, and needs a server that has the record and agrees to no
//! vote (rules 5.8.4 and 5.8.7).

use super::Variant;
use super::addresses::Members;
use super::ensemble::{Ensemble, SOON, listed};
use super::error::FindingError;
use super::link::{Direction, Hold, up};
use super::narration::{Narration, Outcome};
use super::phantom;
use super::quorum::Kind;
use super::session::create;
use super::tracer::Tracer;
use crate::conform::Installation;
use std::fs;
use std::time::Duration;
use vivarium_model::id::ServerId;
use vivarium_model::op::Request;
use vivarium_model::reconfiguration::Reconfiguration;

const MEMBERS: Members = Members { voters: 2, observers: 0, joiners: 1 };

const LEAVES: ServerId = ServerId(1);
const LEADS: ServerId = ServerId(2);
const JOINS: ServerId = ServerId(3);
const ALL: [ServerId; 3] = [LEAVES, LEADS, JOINS];

/// The disk of the leader is slow for longer than this run takes.
const SLOW_FSYNC: [&str; 4] =
    ["-e", "trace=fdatasync", "-e", "inject=fdatasync:delay_enter=120000000"];

/// How long the servers are watched where none serves.
const WATCHED: Duration = Duration::from_secs(60);

/// Kills the leader of an outstanding reconfiguration before the leader's log has its record, and starts it again.
pub(super) fn reproduce(
    installation: &Installation,
    variant: Variant,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    let mut ensemble = Ensemble::reconfigurable(installation, MEMBERS)?;
    ensemble.start(&[LEAVES, LEADS])?;
    phantom::leads(LEADS, ensemble.serving(&[LEAVES, LEADS])?)?;
    ensemble.start(&[JOINS])?;
    ensemble.serving(&[JOINS, LEADS])?;
    tale.say(format!(
        "servers 1 and 2 are the configuration, and {LEADS} leads; {JOINS} joined them without a vote"
    ));
    let disk = asks(&ensemble, variant, tale)?;
    match disk {
        Some(disk) => ensemble.kill_traced(LEADS, disk),
        None => ensemble.until("the record in the leader's log", SOON, has_record)?,
    }
    ensemble.crash(&[LEADS]);
    let has = if has_record(&ensemble) { "has" } else { "does not have" };
    tale.say(format!("{LEADS} is killed; its log {has} the reconfiguration"));

    let before = elections(&ensemble);
    ensemble.start(&[LEADS])?;
    if ensemble.serves_within(LEADS, WATCHED) {
        let leader = ensemble.serving(&ALL)?;
        tale.say(format!("{LEADS} is started; {} serve", listed(&ALL)));
        return Ok(Outcome::Kept(format!("{leader} leads {}", listed(&ALL))));
    }
    ensemble.all_run(&ALL)?;
    let out: Vec<ServerId> =
        ALL.into_iter().filter(|server| ensemble.mode(*server).is_none()).collect();
    let elections = elections(&ensemble) - before;
    tale.say(format!(
        "{LEADS} is started; {} s later {} do not serve; {LEAVES} has followed {LEADS} {elections} times in vain; \
         acceptedEpoch is {}",
        WATCHED.as_secs(),
        listed(&out),
        epochs(&ensemble)
    ));
    ensemble.kill(LEADS);
    ensemble.start(&[LEADS])?;
    let leader = ensemble.serving(&[LEAVES, LEADS])?;
    tale.say(format!(
        "{LEADS} is killed and started once more; {} serve, and {leader} leads",
        listed(&[LEAVES, LEADS])
    ));
    match out == ALL {
        true => Ok(Outcome::Shown(format!(
            "{} ran and reached each other, and none of them served",
            listed(&ALL)
        ))),
        false => Err(FindingError::Otherwise(format!("only {} did not serve", listed(&out)))),
    }
}

/// Asks for the configuration of servers 2 and 3, whose proposal is late at server 1. Returns when server 3 has acknowledged
/// the proposal; in the run with the defect the log thread of server 2 still waits for an earlier fsync.
fn asks(
    ensemble: &Ensemble,
    variant: Variant,
    tale: &mut Narration<'_>,
) -> Result<Option<Tracer>, FindingError> {
    let mut operator = ensemble.session(LEADS)?;
    let before = operator.create("/before")?;
    ensemble.until("/before in every log", SOON, |all| {
        ALL.into_iter().all(|server| all.has_logged(server, "/before"))
    })?;
    ensemble.link(LEAVES, LEADS).hold(Direction::Down, Hold::From(Kind::Proposal));
    let (slow, disk) = match variant {
        Variant::Defect => ("slow", Some(ensemble.trace(LEADS, &SLOW_FSYNC)?)),
        Variant::Control => ("not slow", None),
    };
    operator.send(create("/slow"))?;
    ensemble.until("/slow in the leader's log", SOON, |all| all.has_logged(LEADS, "/slow"))?;
    tale.say(format!("a client asks for /slow; the disk of {LEADS}, which fsyncs it, is {slow}"));

    let next = [LEADS, JOINS];
    let (link, members) = (ensemble.link(JOINS, LEADS), next.map(|it| ensemble.member(it)));
    let mark = link.mark();
    operator.send(Request::Reconfig(Reconfiguration::whole(members)))?;
    let zxid = before.next().and_then(|slow| slow.next()).expect("the counter is at its beginning");
    link.wait(up(Kind::Ack, Some(zxid)), mark, SOON)?;
    tale.say(format!(
        "an operator asks for the configuration of {}, zxid {zxid}; {JOINS} has it on disk and acknowledges it; the \
         proposal is late at {LEAVES}, so it is not committed",
        listed(&next)
    ));
    Ok(disk)
}

/// Returns true if the log of server 2 has the record of the reconfiguration, whose text lists the server that joins.
fn has_record(ensemble: &Ensemble) -> bool {
    ensemble.has_logged(LEADS, "server.3=")
}

/// Returns how many elections of server 1 have ended with a leader to follow.
fn elections(ensemble: &Ensemble) -> usize {
    ensemble.log(LEAVES).matches("FOLLOWING - LEADER ELECTION TOOK").count()
}

/// Returns the accepted epochs of the servers.
fn epochs(ensemble: &Ensemble) -> String {
    let epoch = |server| fs::read_to_string(ensemble.files(server).join("acceptedEpoch"));
    let epochs =
        ALL.map(|server| epoch(server).map_or("missing".to_owned(), |it| it.trim().to_owned()));
    match epochs.iter().all(|epoch| *epoch == epochs[0]) {
        true => format!("{} at each", epochs[0]),
        false => epochs.join(", "),
    }
}

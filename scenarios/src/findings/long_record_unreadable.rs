//! A closeSession lists all ephemerals of its session, and no server can read a record longer than twice
//! `jute.maxbuffer`, neither from its leader nor from its own log. Three servers with default settings; no faults.

use super::Variant;
use super::ensemble::{Ensemble, SOON, listed, with_small_logs};
use super::error::FindingError;
use super::narration::{Narration, Outcome};
use super::restart::{PAID, STARTS, all_start_again, reason};
use super::session::{Session, create};
use crate::conform::Installation;
use std::thread;
use std::time::{Duration, Instant};
use vivarium_model::id::ServerId;
use vivarium_model::op::{CreateMode, Op, Request};

/// The number of the client's ephemerals.
const EPHEMERALS: usize = 2_200;

/// The length of each path, in bytes. Together they exceed 2,097,150 bytes, the most that a server reads.
const PATH: usize = 1_000;

/// The number of creates under way.
const WINDOW: usize = 100;

/// The number of sessions to which the control distributes the ephemerals.
const SPREAD: usize = 4;

/// The session timeout.
const EXPIRES: Duration = Duration::from_secs(4);

/// The log line of a server that cannot read a record.
const UNREADABLE: &str = "Unreasonable length = ";

/// The log line of a server that cannot read its own log.
const NOT_LOADED: &str = "Unable to load database on disk";

/// Longer than the elections and expiries of two leaders take.
const FALLS: Duration = Duration::from_secs(90);

/// Creates ephemerals, in one session or in several, and closes the sessions.
pub(super) fn reproduce(
    installation: &Installation,
    variant: Variant,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    let mut options = with_small_logs();
    options.session_timeouts = Duration::from_secs(1)..=EXPIRES;
    let (mut ensemble, leader) = Ensemble::start_all(installation, 3, options)?;
    let paid = ensemble.session(leader)?.create(PAID)?;
    ensemble.until("the znode in every log", SOON, |it| {
        it.all().into_iter().all(|server| it.has_logged(server, PAID))
    })?;
    tale.say(format!("3 servers serve; {leader} leads; create {PAID} is answered, zxid {paid}"));
    let sessions = match variant {
        Variant::Defect => 1,
        Variant::Control => SPREAD,
    };
    let mut clients = (0..sessions)
        .map(|_number| ensemble.session(leader))
        .collect::<Result<Vec<Session>, FindingError>>()?;
    for (number, client) in clients.iter_mut().enumerate() {
        create_ephemerals(client, number, EPHEMERALS / sessions)?;
    }
    tale.say(format!(
        "{EPHEMERALS} ephemerals with paths of {PATH} bytes are created, by {}",
        if sessions == 1 { "one session".to_owned() } else { format!("{sessions} sessions") }
    ));
    for client in &mut clients {
        let xid = client.send(Request::CloseSession)?;
        if variant == Variant::Control && client.answer(xid, SOON)?.is_none() {
            return Err(FindingError::Otherwise("a close was not answered".to_owned()));
        }
    }
    match variant {
        Variant::Defect => {
            tale.say("the client closes its session");
            falls(&mut ensemble, tale)?;
        }
        Variant::Control => {
            tale.say("the clients close their sessions, and each is answered");
            let all = ensemble.all();
            ensemble.serving(&all)?;
            ensemble.session(leader)?.ask(create("/later"))?;
            tale.say("3 servers serve, and create /later is answered");
        }
    }
    all_start_again(&mut ensemble, UNREADABLE, tale)
}

/// Creates ephemerals with long paths that contain the client's number.
fn create_ephemerals(
    client: &mut Session,
    number: usize,
    count: usize,
) -> Result<(), FindingError> {
    let paths: Vec<usize> = (0..count).collect();
    for window in paths.chunks(WINDOW) {
        let mut under_way = Vec::new();
        for index in window {
            let name = format!("/client-{number}-ephemeral-{index:04}-");
            let path = format!("{name:x<PATH$}");
            let create = Op::create(path, *b"", CreateMode::Ephemeral);
            under_way.push(client.send(Request::Write(create))?);
        }
        for xid in under_way {
            match client.answer(xid, SOON)? {
                Some(answer) if answer.result.is_ok() => {}
                _ => {
                    return Err(FindingError::Otherwise("an ephemeral was not created".to_owned()));
                }
            }
        }
    }
    Ok(())
}

/// Waits until two servers cannot read their own logs, and reports each.
fn falls(ensemble: &mut Ensemble, tale: &mut Narration<'_>) -> Result<(), FindingError> {
    let begun = Instant::now();
    let mut fallen: Vec<ServerId> = Vec::new();
    while fallen.len() < 2 {
        for server in ensemble.all() {
            if !fallen.contains(&server) && ensemble.log(server).contains(NOT_LOADED) {
                let why = reason(ensemble, server, UNREADABLE);
                tale.say(format!("{server} led, and cannot read its own log: {why}"));
                fallen.push(server);
            }
        }
        if begun.elapsed() > FALLS {
            let what = "two servers that cannot read their own logs".to_owned();
            return Err(FindingError::NotSeen { what, patience: FALLS });
        }
        thread::sleep(Duration::from_millis(100));
    }
    let all = ensemble.all();
    thread::sleep(STARTS);
    let serve: Vec<ServerId> =
        all.into_iter().filter(|server| ensemble.mode(*server).is_some()).collect();
    tale.say(format!("{} s later, {} serves", STARTS.as_secs(), listed(&serve)));
    Ok(())
}

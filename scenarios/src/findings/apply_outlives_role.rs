//! The thread that applies commits continues after its server has left its role, and applies the rest of an old
//! transaction to a tree with newer ones. Three servers; one connection breaks.

use super::Variant;
use super::ensemble::{Ensemble, SOON, options};
use super::error::FindingError;
use super::link::{down, up};
use super::narration::{Narration, Outcome};
use super::phantom;
use super::quorum::Kind;
use super::session::Session;
use super::tracer::Tracer;
use crate::conform::Installation;
use vivarium_model::error::Error;
use vivarium_model::id::ServerId;
use vivarium_model::op::{Op, Request, Response, Version};
use vivarium_model::zxid::Zxid;

const ONE: ServerId = ServerId(1);
const SLOW: ServerId = ServerId(2);
const LEADER: ServerId = ServerId(3);

/// The znode that a client of server 2 watches.
const WATCHED: &str = "/watched";

/// The znode that is written first by a multi and then alone.
const PATH: &str = "/x";

/// The version that the multi's write creates.
const BEFORE: i32 = 1;

/// Number of a server's threads that read client requests. The thread that sends the watch event waits for the held
/// thread, and so do all connections assigned to it. Connections are assigned to these threads in turn, so with many
/// threads the test's other connections are not affected.
const SELECTORS: usize = 32;

/// A server logs this line when a role's CommitProcessor has ended.
const THREAD_ENDS: &str = "CommitProcessor exited loop!";

/// Holds a server's CommitProcessor in the middle of a multi, makes the server leave its role and join again, and
/// releases the thread after the server has applied a newer write.
pub(super) fn reproduce(
    installation: &Installation,
    variant: Variant,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    let mut options = options();
    options.java_arguments.push(format!("-Dzookeeper.nio.numSelectorThreads={SELECTORS}"));
    let mut ensemble = Ensemble::prepare(installation, 3, options)?;
    // Of two servers without a history, the one with the larger id is elected.
    ensemble.start(&[SLOW, LEADER])?;
    phantom::leads(LEADER, ensemble.serving(&[SLOW, LEADER])?)?;
    ensemble.start(&[ONE])?;
    ensemble.serving(&[ONE, SLOW, LEADER])?;
    let mut client = ensemble.session(LEADER)?;
    client.create(WATCHED)?;
    client.create(PATH)?;
    let mut watcher = ensemble.session(SLOW)?;
    watches(&mut watcher)?;
    tale.say("3 servers serve; server 3 leads; a client of server 2 watches /watched");

    let thread = is_held(&ensemble, &mut client, tale)?;
    let held = match variant {
        Variant::Defect => Some(thread),
        Variant::Control => {
            thread.let_go();
            tale.say("the thread goes on");
            None
        }
    };
    rejoins(&ensemble, tale)?;
    let mut reader = watcher.move_to(ensemble.address(SLOW))?;
    let new = set(&mut client, "new")?;
    has_applied(&ensemble, new)?;
    tale.say(format!(
        "set {PATH} to new is answered, zxid {new}; after a sync, server 2 serves {}",
        data(&mut reader)?
    ));
    drop(held);
    ensemble.until("the end of the old thread", SOON, |all| all.log(SLOW).contains(THREAD_ENDS))?;
    tale.say(format!(
        "the thread of the role before has ended; after a sync, server 2 serves {}",
        data(&mut reader)?
    ));
    leads(&mut ensemble, tale)
}

/// Sets the watch that the first operation of the multi fires.
fn watches(watcher: &mut Session) -> Result<(), FindingError> {
    watcher.ask(Request::Sync { path: "/".into() })?;
    match watcher.ask(Request::GetData { path: WATCHED.into(), watch: true })?.result {
        Ok(_) => Ok(()),
        Err(error) => Err(FindingError::Otherwise(format!("no watch could be set: {error}"))),
    }
}

/// Holds server 2's CommitProcessor after the first of two operations, at the end of the system call that wakes the
/// thread that notifies the watcher.
fn is_held(
    ensemble: &Ensemble,
    client: &mut Session,
    tale: &mut Narration<'_>,
) -> Result<Tracer, FindingError> {
    let thread = ensemble.stop_commits_at(SLOW, "write")?;
    let link = ensemble.link(SLOW, LEADER);
    let mark = link.mark();
    let both = [WATCHED, PATH].map(|path| Op::set_data(path, *b"old", Version::Any));
    let answer = client.ask(Request::Multi(both.to_vec()))?;
    if answer.result.is_err() {
        return Err(FindingError::Otherwise(format!("the multi was {}", answer.words())));
    }
    link.wait(up(Kind::Ack, Some(answer.zxid)), mark, SOON)?;
    link.wait(down(Kind::Commit, Some(answer.zxid)), mark, SOON)?;
    ensemble
        .until("the thread held", SOON, |_| thread.trace().is_ok_and(|it| it.contains("write(")))?;
    if ensemble.applied(SLOW) >= Some(answer.zxid) {
        return Err(FindingError::Otherwise("server 2 has applied the multi already".to_owned()));
    }
    tale.say(format!(
        "a multi sets /watched and {PATH} to old and is answered, zxid {}: server 2 has logged it, has applied the first \
         operation, and its thread is held as it tells the watcher",
        answer.zxid
    ));
    Ok(thread)
}

/// Breaks the connection of server 2, which then joins the same leader again.
fn rejoins(ensemble: &Ensemble, tale: &mut Narration<'_>) -> Result<(), FindingError> {
    let link = ensemble.link(SLOW, LEADER);
    let mark = link.mark();
    link.cut();
    link.wait(down(Kind::UpToDate, None), mark, SOON)?;
    let Some((Kind::Diff, zxid)) = link.synchronised() else {
        return Err(FindingError::Otherwise("server 2 was synchronised by another way".to_owned()));
    };
    tale.say(format!(
        "the link of server 2 breaks; it leaves its role, joins again, and receives: DIFF to {zxid}"
    ));
    Ok(())
}

fn set(client: &mut Session, data: &str) -> Result<Zxid, FindingError> {
    let answer = client.ask(Request::Write(Op::set_data(PATH, data.as_bytes(), Version::Any)))?;
    match answer.result {
        Ok(_) => Ok(answer.zxid),
        Err(error) => Err(FindingError::Otherwise(format!("set {PATH} was refused: {error}"))),
    }
}

fn has_applied(ensemble: &Ensemble, zxid: Zxid) -> Result<(), FindingError> {
    ensemble.until("the write at every server", SOON, |it| {
        it.all().into_iter().all(|server| it.applied(server) >= Some(zxid))
    })
}

/// Returns the server's data after it has caught up with the leader.
fn data(client: &mut Session) -> Result<String, FindingError> {
    client.ask(Request::Sync { path: "/".into() })?;
    match client.ask(Request::GetData { path: PATH.into(), watch: false })?.result {
        Ok(Response::Data(data, stat)) => {
            Ok(format!("{} (version {})", String::from_utf8_lossy(&data), stat.version))
        }
        other => Err(FindingError::Otherwise(format!("get {PATH} gave {other:?}"))),
    }
}

/// Makes server 2 lead with its present tree, and sends it a write that it must refuse.
fn leads(ensemble: &mut Ensemble, tale: &mut Narration<'_>) -> Result<Outcome, FindingError> {
    ensemble.crash(&[LEADER]);
    phantom::leads(SLOW, ensemble.serving(&[ONE, SLOW])?)?;
    let by = ensemble.brings_up_to_date(LEADER, SLOW)?;
    tale.say(format!(
        "server 3 is killed, and server 2 leads; server 3 comes back, and is synchronised by {by}: {PATH} is {}",
        have(ensemble)?
    ));
    let write = Request::Write(Op::set_data(PATH, *b"other", Version::Is(BEFORE)));
    let answer = ensemble.session(ONE)?.ask(write)?;
    let have = have(ensemble)?;
    tale.say(format!(
        "a client of server 1 sets {PATH} to other if its version is {BEFORE}: {}; {PATH} is {have}",
        answer.words()
    ));
    Ok(match answer.result {
        Ok(_) if !have.contains("new") => Outcome::Shown(format!(
            "a conditional write that must be refused is done, and {PATH} is new, as was answered, at no server"
        )),
        Err(Error::BadVersion) if !have.contains("old") => Outcome::Kept(format!(
            "the conditional write is refused, and {PATH} is new at every server"
        )),
        _ => Outcome::Inconclusive(format!("{PATH} is {have}")),
    })
}

/// Describes each server's data.
fn have(ensemble: &Ensemble) -> Result<String, FindingError> {
    let of = |server| Ok(format!("{} at {server}", data(&mut ensemble.session(server)?)?));
    let have: Result<Vec<String>, FindingError> = ensemble.all().into_iter().map(of).collect();
    Ok(have?.join(", "))
}

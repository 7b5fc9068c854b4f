//! A background snapshot continues after its server has left its role (rule 6.9.12). It includes what the server
//! applies then: everything in its log, committed or not (rule 6.8.1).

use super::Variant;
use super::ensemble::{Ensemble, SOON, options};
use super::error::FindingError;
use super::link::{Direction, Hold, down};
use super::narration::{Narration, Outcome};
use super::phantom;
use super::quorum::Kind;
use super::session::{Session, create};
use super::tracer::Tracer;
use crate::conform::Installation;
use vivarium_model::id::ServerId;
use vivarium_model::op::{CreateMode, Op, Request};

const ONE: ServerId = ServerId(1);
const TWO: ServerId = ServerId(2);
const LEADER: ServerId = ServerId(3);

/// The `snapCount`: a server begins a snapshot after at least half this number of transactions.
const SNAP_COUNT: usize = 40;

/// The number of znodes with a child that is never committed: enough that some are written late to a snapshot, in any
/// order.
const PARENTS: usize = 30;

/// The data of each, in bytes: more than a stream's buffer, so that each takes a write.
const DATA: usize = 20_000;

/// How long strace delays each write to the snapshot, in microseconds.
const DELAY: &str = "inject=write:delay_enter=100000";

/// Makes a lone leader log what is never committed, begin a snapshot, and leave its role while the snapshot is being
/// written.
pub(super) fn reproduce(
    installation: &Installation,
    variant: Variant,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    let mut options = options();
    options.java_arguments.push(format!("-Dzookeeper.snapCount={SNAP_COUNT}"));
    let mut ensemble = Ensemble::prepare(installation, 3, options)?;
    // Of two servers without a history, the one with the larger id is elected.
    ensemble.start(&[ONE, LEADER])?;
    phantom::leads(LEADER, ensemble.serving(&[ONE, LEADER])?)?;
    ensemble.start(&[TWO])?;
    ensemble.serving(&[ONE, TWO, LEADER])?;
    let mut client = ensemble.session(LEADER)?;
    fill(&ensemble, &mut client)?;
    tale.say(format!("3 servers serve, with {PARENTS} znodes; server 3 leads"));

    let slow = begins(&ensemble, &mut client, variant, tale)?;
    ensemble.crash(&[ONE, TWO]);
    ensemble.until("the end of the leader's role", SOON, |all| all.mode(LEADER).is_none())?;
    let goes_on = under_way(&ensemble);
    tale.say(format!(
        "servers 1 and 2 are killed; server 3 goes back to LOOKING, its snapshot {}",
        if goes_on { "still being written" } else { "written" }
    ));
    if goes_on == (variant == Variant::Control) {
        return Err(FindingError::Otherwise("the snapshot took another time".to_owned()));
    }
    drop(slow);
    ensemble.until("the end of that snapshot", SOON, |all| !under_way(all))?;
    ensemble.crash(&[LEADER]);
    tale.say("its snapshot is written; server 3 is killed");
    ensemble.start(&[ONE, TWO])?;
    ensemble.serving(&[ONE, TWO])?;
    tale.say("servers 1 and 2 come back and serve");
    let phantoms: Vec<String> = children().take(PARENTS).collect();
    phantom::rejoins_with(&mut ensemble, LEADER, &phantoms, tale)
}

/// Creates what is committed: the parents.
fn fill(ensemble: &Ensemble, client: &mut Session) -> Result<(), FindingError> {
    let marks = [ONE, TWO].map(|server| (server, ensemble.link(server, LEADER).mark()));
    let mut last = None;
    for number in 0..PARENTS {
        let data = vec![b'x'; DATA];
        let create = Op::create(format!("/parent{number}"), data, CreateMode::Persistent);
        last = Some(client.ask(Request::Write(create))?.zxid);
    }
    for (server, mark) in marks {
        ensemble.link(server, LEADER).wait(down(Kind::Commit, last), mark, SOON)?;
    }
    Ok(())
}

/// Makes the leader log the children, which no other server receives, and begin a snapshot: slowly, except in the
/// control.
fn begins(
    ensemble: &Ensemble,
    client: &mut Session,
    variant: Variant,
    tale: &mut Narration<'_>,
) -> Result<Option<Tracer>, FindingError> {
    ensemble.hold_all(LEADER, Direction::Down, Hold::From(Kind::Proposal));
    let applied = ensemble.applied(LEADER);
    let applied =
        applied.ok_or_else(|| FindingError::Otherwise("server 3 is silent".to_owned()))?;
    let name = format!("snapshot.{:x}", applied.0);
    let path = ensemble.files(LEADER).join(&name).display().to_string();
    let slow = match variant {
        Variant::Defect => {
            let arguments = ["-P", &path, "-e", "trace=write", "-e", DELAY];
            Some(ensemble.trace(LEADER, &arguments)?)
        }
        Variant::Control => None,
    };
    for child in children() {
        client.send(create(&child))?;
    }
    let last = children().last().expect("there are some");
    ensemble
        .until("the children in the log of server 3", SOON, |all| all.has_logged(LEADER, &last))?;
    ensemble.until("a snapshot of server 3", SOON, |all| {
        all.named(LEADER, "snapshot.").contains(&name)
            && (variant == Variant::Defect || !under_way(all))
    })?;
    tale.say(format!(
        "each gets children: server 3 has logged them; no other server receives them, and no client is answered; it \
         writes {name}"
    ));
    Ok(slow)
}

/// Returns enough children that a snapshot begins, in whatever order it contains their parents.
fn children() -> impl Iterator<Item = String> {
    let names = ["phantom", "second", "third"];
    let of = |name| (0..PARENTS).map(move |number| format!("/parent{number}/{name}"));
    names.into_iter().flat_map(of)
}

/// Returns true if server 3 has begun a snapshot and not completed it. (A server does not log the completion of the
/// snapshot at its first start.)
fn under_way(ensemble: &Ensemble) -> bool {
    let log = ensemble.log(LEADER);
    log.matches("Snapshotting: ").count() > 1 + log.matches("Snapshot taken in").count()
}

//! Background snapshots that strace slows down, so that clients can write while they are under way.
//!
//! The order of a snapshot is known: the list of ACLs, the root with the names of its children, then a chain of large
//! znodes, each the only child of the previous one, and last the znodes below the chain.

use super::Variant;
use super::ensemble::{Ensemble, SOON, options};
use super::error::FindingError;
use super::session::Session;
use super::tracer::Tracer;
use crate::conform::Options;
use std::fs;
use vivarium_model::id::ServerId;
use vivarium_model::op::{CreateMode, Op, Request, Version};
use vivarium_model::zxid::Zxid;

/// The `snapCount`: a server begins a snapshot after half to all of this number of transactions.
const SNAP_COUNT: u64 = 60;

/// The number of znodes in the chain.
const CHAIN: u64 = 12;

/// The data of each znode, in bytes: more than a stream's buffer, so that each takes a write.
const DATA: u64 = 20_000;

/// How long strace delays each write to the snapshot, in microseconds.
const DELAY: &str = "inject=write:delay_enter=200000";

/// The znode that is written until a snapshot begins.
const COUNTER: &str = "/app/counter";

/// The log line about a completed snapshot.
const TAKEN: &str = "Snapshot taken in";

/// The next background snapshot of a server.
#[derive(Debug)]
pub(super) struct SlowSnapshot {
    server: ServerId,
    slow: Option<Tracer>,
    /// The names of earlier snapshots.
    before: Vec<String>,
    /// The number of earlier snapshots in the server's log.
    taken: usize,
}

/// Returns the options of servers that take a snapshot soon.
pub(super) fn snapshot_soon() -> Options {
    let mut options = options();
    options.java_arguments.push(format!("-Dzookeeper.snapCount={SNAP_COUNT}"));
    options
}

/// Creates the chain, and returns the path of its last znode.
pub(super) fn create_chain(client: &mut Session) -> Result<String, FindingError> {
    let mut path = "/app".to_owned();
    for number in 0..CHAIN {
        if number > 0 {
            path = format!("{path}/{number}");
        }
        let data = vec![b'x'; usize::try_from(DATA).unwrap_or_default()];
        write(client, Op::create(path.as_str(), data, CreateMode::Persistent))?;
    }
    write(client, Op::create(COUNTER, *b"", CreateMode::Persistent))?;
    Ok(path)
}

impl SlowSnapshot {
    /// Watches for the next snapshot of `server`, and slows it down except in the control.
    pub(super) fn watch(
        ensemble: &Ensemble,
        server: ServerId,
        variant: Variant,
    ) -> Result<SlowSnapshot, FindingError> {
        let slow = match variant {
            Variant::Defect => Some(slow_down(ensemble, server)?),
            Variant::Control => None,
        };
        let before = ensemble.named(server, "snapshot.");
        Ok(SlowSnapshot { server, slow, before, taken: taken(ensemble, server) })
    }

    /// Returns the name of its file, once the list of ACLs and the root are written.
    pub(super) fn name(&self, ensemble: &Ensemble) -> Option<String> {
        let names = ensemble.named(self.server, "snapshot.");
        let name = names.into_iter().find(|name| !self.before.contains(name));
        name.filter(|name| self.length(ensemble, name) > 0)
    }

    /// Fails unless all znodes below the chain are still to be written.
    pub(super) fn is_early(&self, ensemble: &Ensemble) -> Result<(), FindingError> {
        let name = self.name(ensemble);
        match name.is_some_and(|name| self.length(ensemble, &name) < (CHAIN - 1) * DATA) {
            true => Ok(()),
            false => Err(FindingError::Otherwise("the snapshot was written too soon".to_owned())),
        }
    }

    /// Waits until the snapshot is written.
    pub(super) fn wait(&self, ensemble: &Ensemble) -> Result<(), FindingError> {
        let is_written = |all: &Ensemble| taken(all, self.server) > self.taken;
        ensemble.until("the end of the snapshot", SOON, is_written)
    }

    /// Waits until the snapshot is written, and releases the server.
    pub(super) fn end(mut self, ensemble: &Ensemble) -> Result<(), FindingError> {
        self.wait(ensemble)?;
        if let Some(slow) = self.slow.take() {
            slow.let_go();
        }
        Ok(())
    }

    fn length(&self, ensemble: &Ensemble, name: &str) -> u64 {
        let file = ensemble.files(self.server).join(name);
        fs::metadata(file).map_or(0, |file| file.len())
    }
}

/// Writes until each of these snapshots has begun; in the control, until it is complete.
pub(super) fn begin(
    ensemble: &Ensemble,
    snapshots: &[SlowSnapshot],
    client: &mut Session,
    variant: Variant,
) -> Result<(), FindingError> {
    for _transaction in 0..=SNAP_COUNT {
        let zxid = write(client, Op::set_data(COUNTER, *b"", Version::Any))?;
        for snapshot in snapshots {
            applied(ensemble, snapshot.server, zxid)?;
        }
        let has_file = |snapshot: &SlowSnapshot| {
            ensemble.named(snapshot.server, "snapshot.").len() > snapshot.before.len()
        };
        if snapshots.iter().all(has_file) {
            ensemble.until("the beginning of a snapshot", SOON, |all| {
                snapshots.iter().all(|snapshot| snapshot.name(all).is_some())
            })?;
            return match variant {
                Variant::Defect => Ok(()),
                Variant::Control => snapshots.iter().try_for_each(|it| it.wait(ensemble)),
            };
        }
    }
    Err(FindingError::Otherwise("no snapshot was begun".to_owned()))
}

/// Waits until `server` has applied this zxid.
pub(super) fn applied(
    ensemble: &Ensemble,
    server: ServerId,
    zxid: Zxid,
) -> Result<(), FindingError> {
    let what = format!("{zxid} applied at {server}");
    ensemble.until(&what, SOON, |all| all.applied(server).is_some_and(|last| last >= zxid))
}

/// Sends a write, which must succeed. Returns its zxid.
pub(super) fn write(client: &mut Session, op: Op) -> Result<Zxid, FindingError> {
    succeeds(client, Request::Write(op))
}

/// Sends a request, which must succeed. Returns its zxid.
pub(super) fn succeeds(client: &mut Session, request: Request) -> Result<Zxid, FindingError> {
    let words = request.to_string();
    let answer = client.ask(request)?;
    match answer.result {
        Ok(_) => Ok(answer.zxid),
        Err(error) => Err(FindingError::Otherwise(format!("{words} was refused: {error}"))),
    }
}

/// Delays the writes to the next snapshot. Its name contains the last zxid applied when it begins, which is not known
/// yet, so all possible names are traced.
fn slow_down(ensemble: &Ensemble, server: ServerId) -> Result<Tracer, FindingError> {
    let silent = || FindingError::Otherwise(format!("{server} is silent"));
    let last = ensemble.applied(server).ok_or_else(silent)?;
    let paths: Vec<String> = (0..=SNAP_COUNT + 1)
        .map(|ahead| ensemble.files(server).join(format!("snapshot.{:x}", last.0 + ahead)))
        .map(|path| path.display().to_string())
        .collect();
    let mut arguments: Vec<&str> = paths.iter().flat_map(|path| ["-P", path]).collect();
    arguments.extend(["-e", "trace=write", "-e", DELAY]);
    ensemble.trace(server, &arguments)
}

fn taken(ensemble: &Ensemble, server: ServerId) -> usize {
    ensemble.log(server).matches(TAKEN).count()
}

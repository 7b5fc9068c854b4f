//! The commands of a story that inject faults.

use crate::console::{Console, value};
use vivarium_model::effect::Status;
use vivarium_model::id::Machine;
use vivarium_model::step::{OldEpochs, Step, Tail, Unwritten};

fn fault(console: &mut Console, step: Step) -> Result<(), String> {
    match console.step(step)? {
        Status::Done => Ok(()),
        _ => Err(format!("{step} is not possible now")),
    }
}

pub(crate) fn crash(console: &mut Console, words: &[&str]) -> Result<(), String> {
    let server = console.server(words.first())?;
    let tail = Tail {
        survive: value(words, "survive", 0)?,
        torn: words.contains(&"torn"),
        snapshots: words.contains(&"snapshots"),
        cuts: words.contains(&"cuts"),
        epochs: match (words.contains(&"accepted-epoch"), words.contains(&"current-epoch")) {
            (false, false) => OldEpochs::Neither,
            (true, false) => OldEpochs::Accepted,
            (false, true) => OldEpochs::Current,
            (true, true) => OldEpochs::Both,
        },
        packets: value(words, "packets", 0)?,
    };
    fault(console, Step::Crash { server, tail })
}

pub(crate) fn restart(console: &mut Console, words: &[&str]) -> Result<(), String> {
    let server = console.server(words.first())?;
    fault(console, Step::Restart(server))
}

pub(crate) fn rejoin(console: &mut Console, words: &[&str]) -> Result<(), String> {
    let server = console.server(words.first())?;
    fault(console, Step::Rejoin(server))
}

pub(crate) fn write_fails(console: &mut Console, words: &[&str]) -> Result<(), String> {
    let (server, rest) = (console.server(words.first())?, Unwritten::Lost);
    fault(console, Step::FsyncError { server, survive: 0, rest })
}

pub(crate) fn miss_wake_up(console: &mut Console, words: &[&str]) -> Result<(), String> {
    let server = console.server(words.first())?;
    fault(console, Step::MissWakeUp(server))
}

/// Returns both directions between two servers.
fn both(console: &mut Console, words: &[&str]) -> Result<[(Machine, Machine); 2], String> {
    let (one, other) = (console.server(words.first())?, console.server(words.get(1))?);
    let (one, other) = (Machine::Server(one), Machine::Server(other));
    Ok([(one, other), (other, one)])
}

pub(crate) fn cut(console: &mut Console, words: &[&str]) -> Result<(), String> {
    for (from, to) in both(console, words)? {
        fault(console, Step::Cut { from, to })?;
    }
    Ok(())
}

pub(crate) fn heal(console: &mut Console, words: &[&str]) -> Result<(), String> {
    for (from, to) in both(console, words)? {
        fault(console, Step::Heal { from, to })?;
    }
    Ok(())
}

pub(crate) fn break_connection(console: &mut Console, words: &[&str]) -> Result<(), String> {
    let (up, down) = (value(words, "up", 0)?, value(words, "down", 0)?);
    let step = match *words.first().ok_or("whose connection?")? {
        "client" => {
            let client = console.client_id(words.get(1))?;
            let connection = console.engine().world.ensemble().client_connection(client);
            let connection = connection.ok_or("it has no connection")?;
            Step::BreakClient { connection, to_server: up, to_client: down }
        }
        "learner" => {
            let server = console.server(words.get(1))?;
            let connection = console.engine().world.ensemble().learner_connection(server);
            let connection = connection.ok_or("it has no connection")?;
            Step::BreakLearner { connection, to_leader: up, to_learner: down }
        }
        other => return Err(format!("{other} has no connections")),
    };
    fault(console, step)
}

pub(crate) fn expire(console: &mut Console, words: &[&str]) -> Result<(), String> {
    let client = console.client_id(words.first())?;
    let session = console.engine().world.ensemble().session(client).ok_or("it has no session")?;
    fault(console, Step::Expire(session))
}

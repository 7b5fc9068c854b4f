//! A sequence counter at its end gives the same number again and again (rules 1.3.2 and 1.4.3), so a contender that
//! looks for smaller numbers to wait for finds none. One server, whose own log is changed to contain that many creates.

use super::Variant;
use super::error::FindingError;
use super::narration::{Narration, Outcome};
use super::programs::{number, predecessor};
use super::session::Session;
use super::transaction_log::set_counter;
use crate::conform::{Installation, Options, RealServer};
use vivarium_model::op::{CreateMode, Op, OpResult, Request, Response};

const LOCK: &str = "/lock";
const FIRST: &str = "/lock/first";

/// Lets two clients ask for a lock as clients in several languages do: the smallest number holds it.
pub(super) fn reproduce(
    installation: &Installation,
    variant: Variant,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    let creates = match variant {
        Variant::Defect => i32::MAX,
        Variant::Control => 7,
    };
    let options = Options::default();
    let mut server = RealServer::start_with(installation, &options)?;
    let mut client = Session::begin(server.address())?;
    client.create(LOCK)?;
    client.create(FIRST)?;
    server.kill();
    set_counter(&server.data().join("version-2"), FIRST, creates)?;
    server.restart(installation, &options)?;
    tale.say(format!("a server serves; below {LOCK} there were {creates} creates"));

    let mut clients = Vec::new();
    for name in ["a", "b"] {
        let mut session = Session::begin(server.address())?;
        let own = line_up(&mut session, name)?;
        let list = session.ask(Request::GetChildren { path: LOCK.into(), watch: false })?;
        let names = Session::names(&list).ok_or_else(|| {
            FindingError::Otherwise("the children could not be listed".to_owned())
        })?;
        let names: Vec<String> = names.into_iter().filter(|name| name.contains("-lock-")).collect();
        let before = predecessor(&names, number(&own)).map(str::to_owned);
        tale.say(match &before {
            None => format!(
                "client {name} creates {own}; no other znode has a smaller number: the client holds the lock"
            ),
            Some(before) => format!("client {name} creates {own}; it waits for {before}"),
        });
        clients.push((session, own, before));
    }
    let holders = clients.iter().filter(|(_, _, before)| before.is_none()).count();
    let all_there = clients
        .iter_mut()
        .try_fold(true, |all, (session, own, _)| session.has(own).map(|has| all && has))?;
    Ok(match (holders, all_there) {
        (2, true) => Outcome::Shown("two clients hold the lock at once".to_owned()),
        (1, true) => Outcome::Kept("one client holds the lock, and the other waits".to_owned()),
        _ => Outcome::Inconclusive(format!("{holders} of 2 clients hold the lock")),
    })
}

/// Creates the ephemeral sequential znode of a contender, and returns its path.
fn line_up(session: &mut Session, name: &str) -> Result<String, FindingError> {
    let prefix = format!("{LOCK}/{name}-lock-");
    let op = Op::create(prefix, *b"", CreateMode::EphemeralSequential);
    match session.ask(Request::Write(op))?.result {
        Ok(Response::Written(OpResult::Created(path, _))) => Ok(path.to_string()),
        Ok(_) => {
            Err(FindingError::Otherwise("a create was answered with something else".to_owned()))
        }
        Err(error) => Err(FindingError::Otherwise(format!("a create was refused: {error}"))),
    }
}

//! The end of a run about servers that cannot read their own files: all servers are killed and restarted.

use super::ensemble::{Ensemble, listed};
use super::error::FindingError;
use super::narration::{Narration, Outcome};
use std::thread;
use std::time::{Duration, Instant};
use vivarium_model::id::ServerId;

/// A znode whose create was answered.
pub(super) const PAID: &str = "/paid";

/// A server that can start serves within this time.
pub(super) const STARTS: Duration = Duration::from_secs(20);

/// Kills and restarts all servers and looks for [`PAID`]. `says` is the beginning of the log line of a server that does
/// not start.
pub(super) fn all_start_again(
    ensemble: &mut Ensemble,
    says: &str,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    let all = ensemble.all();
    ensemble.crash(&all);
    ensemble.start(&all)?;
    tale.say("all servers are killed and started again");
    let mut up = Vec::new();
    for server in all {
        match not_serving(ensemble, server, says) {
            None => up.push(server),
            Some(why) => tale.say(format!("{server} {why}")),
        }
    }
    found_at(ensemble, &up, tale)
}

/// Checks which of the servers that serve have [`PAID`]. If no server serves, the finding is shown.
pub(super) fn found_at(
    ensemble: &Ensemble,
    up: &[ServerId],
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    if up.is_empty() {
        let shown =
            format!("no server serves, and {PAID}, which was answered, can be read nowhere");
        return Ok(Outcome::Shown(shown));
    }
    let have = ensemble.who_has(PAID, up)?;
    tale.say(format!("{} serve; {PAID} is at {}", listed(up), listed(&have)));
    Ok(match have.len() {
        3 => Outcome::Kept(format!("{PAID} is at every server")),
        _ => Outcome::Inconclusive(format!("{PAID} is at {} only", listed(&have))),
    })
}

/// Returns the last log line of a server that contains `says`, from there on.
pub(super) fn reason(ensemble: &Ensemble, server: ServerId, says: &str) -> String {
    let log = ensemble.log(server);
    let line = log.rfind(says).and_then(|at| log[at..].lines().next());
    line.unwrap_or_default().to_owned()
}

/// Describes why a started server does not serve; `None` if it serves.
fn not_serving(ensemble: &mut Ensemble, server: ServerId, says: &str) -> Option<String> {
    let begun = Instant::now();
    loop {
        if ensemble.mode(server).is_some() {
            return None;
        }
        if let Some(status) = ensemble.has_ended(server) {
            return Some(format!("ends with {status}: {}", reason(ensemble, server, says)));
        }
        if begun.elapsed() > STARTS {
            return Some(format!("runs, and serves no client within {} s", STARTS.as_secs()));
        }
        thread::sleep(Duration::from_millis(100));
    }
}

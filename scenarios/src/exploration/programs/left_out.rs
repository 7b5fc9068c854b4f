//! What a search of programs does without, though the scenario may ask for it, and what some scenarios say of their
//! clients: rows of its report.

use vivarium_model::release::Bugs;
use vivarium_model::words::plural;
use vivarium_reports::exploration::Dimension;
use vivarium_sim::{Drawn, Scenario};

/// The rows.
pub(super) fn rows(scenario: &Scenario, drawn: &Drawn, expiries: u8) -> Vec<Dimension> {
    let out = |name: &str, why: String| Dimension::new(name, false, why);
    let containers =
        drawn.config.setup.znodes().iter().filter(|znode| znode.container.is_some()).count();
    let containers = match containers {
        0 => "no leader deletes a container that has become empty".to_string(),
        some => format!(
            "{} of the setup: no leader deletes one that has become empty",
            plural(some, "container")
        ),
    };
    let defects = match scenario.bugs {
        Bugs::NONE => "the service grain has no servers to have any".to_string(),
        bugs => {
            let many = plural(bugs.iter().count(), "defect");
            format!("the service grain has no servers to have the {many} of the scenario: sweep it")
        }
    };
    let mut rows = vec![
        out("deletion of containers", containers),
        out(
            "counters at their end",
            "sequence numbers begin low, and never reach 2147483647".to_string(),
        ),
        out("TTL znodes", "extendedTypesEnabled is off: creating one is refused".to_string()),
        out("servers' defects", defects),
        out("server options", "ZooKeeper's own defaults; session timeouts end nothing".to_string()),
        out("client options", "chroots are kept; session timeouts end nothing".to_string()),
    ];
    rows.extend(of_clients(drawn, expiries));
    rows
}

/// What is said of clients that not every search has.
fn of_clients(drawn: &Drawn, expiries: u8) -> Vec<Dimension> {
    let mut rows = Vec::new();
    let clients = &drawn.config.clients;
    if clients.iter().any(|client| client.disable_auto_watch_reset) {
        rows.push(Dimension::new("ends of watches", true, "with each lost connection"));
    }
    if clients.iter().any(|client| client.expires_locally) {
        let how = match expiries {
            0 => "--expiries brings it in",
            _ => {
                "by the client's own clock, as one of the expiries; its servers keep the session for a while"
            }
        };
        rows.push(Dimension::new("sessions given up", expiries > 0, how));
    }
    if drawn.config.has_services() {
        let services = (1..).zip(clients).filter(|(_, client)| client.serves);
        let numbers: Vec<String> = services.map(|(number, _)| number.to_string()).collect();
        let numbers = numbers.join(", ");
        let who = format!("those of clients {numbers} need not finish, whatever they wait for");
        rows.push(Dimension::new("programs", true, who));
    }
    rows
}

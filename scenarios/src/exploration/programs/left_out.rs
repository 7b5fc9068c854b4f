//! Rows of the report: the dimensions that a search of programs leaves out, although the scenario may ask for them,
//! and settings of clients that only some scenarios have.

use vivarium_model::release::Bugs;
use vivarium_model::words::plural;
use vivarium_reports::exploration::Dimension;
use vivarium_sim::budget::Account;
use vivarium_sim::budget::programs::Budget;
use vivarium_sim::{Run, Scenario};

/// Returns the rows.
pub(super) fn rows(scenario: &Scenario, run: &Run, budget: Budget) -> Vec<Dimension> {
    let out = |name: &str, why: String| Dimension::new(name, false, why);
    let defects = match scenario.bugs {
        Bugs::NONE => "the service grain has no servers".to_string(),
        bugs => {
            let many = plural(bugs.iter().count(), "defect");
            format!("the service grain has no servers to have the {many} of the scenario: sweep it")
        }
    };
    let mut rows = vec![
        containers(run, budget.deletions),
        out(
            "counters at their end",
            "sequence numbers begin low, and never reach 2147483647".to_string(),
        ),
        ttl_znodes(run, budget.deletions),
        out("servers' defects", defects),
        out("server options", "ZooKeeper's own defaults, but for containers and TTL znodes; session timeouts end nothing".to_string()),
        out("client options", "chroots are kept; session timeouts end nothing".to_string()),
    ];
    rows.extend(of_clients(run, budget.expiries));
    rows
}

/// Returns the row that tells whether the leader deletes containers, and how often.
fn containers(run: &Run, deletions: u8) -> Dimension {
    let setup = run.config.setup.znodes();
    let of_setup = match setup.iter().filter(|znode| znode.container.is_some()).count() {
        0 => String::new(),
        some => format!("{} of the setup: ", plural(some, "container")),
    };
    let deletes = run.config.deletes_containers;
    let how = match deletes {
        false => {
            let flag = Account::Deletions.flag();
            format!("no leader deletes one that has become empty; {flag} brings it in")
        }
        true => format!("one that has become empty {}", goes(deletions)),
    };
    Dimension::new(Account::Deletions.row(), deletes, format!("{of_setup}{how}"))
}

/// Returns the row that tells whether TTL znodes can exist.
fn ttl_znodes(run: &Run, deletions: u8) -> Dimension {
    let exist = run.config.options.extended_types;
    let how = match exist {
        false => "extendedTypesEnabled is off: creating one is refused".to_string(),
        true => {
            let goes = goes(deletions);
            format!("one without children, however long its time to live, {goes}")
        }
    };
    Dimension::new("TTL znodes", exist, how)
}

fn goes(deletions: u8) -> String {
    let (flag, how) = (Account::Deletions.flag(), Account::Deletions.how());
    match deletions {
        0 => format!("{how}; {flag} brings the others in"),
        1 => format!("{how}, and once elsewhere"),
        some => format!("{how}, and up to {some} times elsewhere"),
    }
}

/// Returns the rows for settings of clients that only some scenarios have.
fn of_clients(run: &Run, expiries: u8) -> Vec<Dimension> {
    let mut rows = Vec::new();
    let clients = &run.config.clients;
    if clients.iter().any(|client| client.disable_auto_watch_reset) {
        rows.push(Dimension::new("ends of watches", true, "with each lost connection"));
    }
    if clients.iter().any(|client| client.expires_locally) {
        let (name, how) = (
            "sessions given up",
            "by the client's own clock, as one of the expiries; its servers keep the session for a while",
        );
        rows.push(match expiries {
            0 => super::super::left_out(name, Account::Expiries),
            _ => Dimension::new(name, true, how),
        });
    }
    if run.config.has_services() {
        let services = (1..).zip(clients).filter(|(_, client)| client.serves);
        let numbers: Vec<String> = services.map(|(number, _)| number.to_string()).collect();
        let numbers = numbers.join(", ");
        let who = format!("those of clients {numbers} need not finish, whatever they wait for");
        rows.push(Dimension::new("programs", true, who));
    }
    rows
}

//! The numbers of clients and servers have one bound for each engine and grain: the same for the command line, a
//! test, and a case file.
#![cfg(feature = "cli")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use vivarium::prelude::*;
use vivarium_model::bounds::{SEARCHED_CLIENTS, SEARCHED_SERVERS, SWEPT_CLIENTS, SWEPT_SERVERS};
use vivarium_model::case::{Case, GrainKind};
use vivarium_model::config::Config;
use vivarium_reports::case_file;

/// Returns the exit code of a command, or its message if it is refused.
fn command(words: &[&str]) -> Result<i32, String> {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_vivarium"));
    let output = command.args(words).current_dir(directory).output().expect("the binary was built");
    match output.status.code().expect("it ends by itself") {
        3 => Err(String::from_utf8(output.stderr).expect("a sentence").trim_end().to_string()),
        code => Ok(code),
    }
}

/// Replays an empty case with this number of machines.
fn replayed(scenario: &str, grain: GrainKind, servers: u8, clients: u8) -> Result<i32, String> {
    let case = Case {
        version: Case::VERSION,
        scenario: scenario.to_string(),
        grain,
        parameters: BTreeMap::new(),
        seed: Some(0),
        bugs: Vec::new(),
        config: Config::new(servers, clients),
        outside: Vec::new(),
        steps: Vec::new(),
        hash: Fingerprint(1),
        violation: None,
    };
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bounds");
    let path = directory.join(format!("{scenario}-{grain}-{servers}-{clients}.json"));
    case_file::save(&path, &case).expect("cargo's directory is writable");
    let replayed = command(&["replay", path.to_str().expect("it is text")]);
    fs::remove_file(&path).expect("it was just written");
    replayed.map_err(|sentence| sentence.replace(&format!("`{}`", path.display()), "FILE"))
}

fn connects() -> Test {
    Test::new("connects", |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        Ok(())
    })
}

/// A search over very few states is stopped with this code; a refused one gives a sentence.
const STOPPED: Result<i32, String> = Ok(2);

#[test]
fn clients_of_a_search() {
    let (most, more) = (SEARCHED_CLIENTS, SEARCHED_CLIENTS + 1);
    let asked = |clients: u8| {
        command(&["explore", "lock", "--max-states", "10", "--clients", &clients.to_string()])
    };
    assert_eq!(asked(most), STOPPED);
    let too_many = format!("error: `--clients {more}` is too many: give at most {most}");
    assert_eq!(asked(more), Err(too_many));

    let searched = |clients| {
        let few = Exploration::new().clients(clients).max_states(10);
        connects().explored(&few).map(|report| report.figures.distinct)
    };
    assert!(searched(most).is_ok_and(|states| states >= 10));
    let too_many = format!("connects: `clients({more})` is too many: give at most {most}");
    assert_eq!(searched(more).expect_err("too many").to_string(), too_many);

    let read = |clients| replayed("lock", GrainKind::Service, 1, clients);
    assert_eq!(read(most), STOPPED);
    let too_many = format!(
        "error: the case file FILE is damaged: it has {more} clients, and a search over the service \
         grain takes at most {most}"
    );
    assert_eq!(read(more), Err(too_many));
}

#[test]
fn servers_of_a_search() {
    let (most, more) = (SEARCHED_SERVERS, SEARCHED_SERVERS + 1);
    let asked = |servers: u8| {
        command(&["explore", "broadcast", "--max-states", "10", "--servers", &servers.to_string()])
    };
    assert_eq!(asked(most), STOPPED);
    let too_many = format!("error: `--servers {more}` is too many: give at most {most}");
    assert_eq!(asked(more), Err(too_many));

    let entries = vivarium::catalogue::catalogue();
    let broadcast = entries.iter().find(|entry| entry.name == "broadcast").expect("it is there");
    let scenario = (broadcast.build)(&vivarium::catalogue::Switches::default());
    let searched = |servers| {
        let few = Exploration::new().servers(servers).max_states(10);
        vivarium::explore(&scenario, &few).map(|report| report.figures.distinct)
    };
    assert!(searched(most).is_ok_and(|states| states >= 10));
    let too_many = format!("`servers({more})` is too many: give at most {most}");
    assert_eq!(searched(more).expect_err("too many").to_string(), too_many);

    let read = |servers| replayed("broadcast", GrainKind::Ensemble, servers, 0);
    assert_eq!(read(most), STOPPED);
    let too_many = format!(
        "error: the case file FILE is damaged: it has {more} servers, and a search over the ensemble \
         grain takes at most {most}"
    );
    assert_eq!(read(more), Err(too_many));
}

/// A search whose snapCount is larger than the number of its transactions would make a false claim about snapshots.
#[test]
fn snap_counts_of_a_search() {
    let entries = vivarium::catalogue::catalogue();
    let broadcast = entries.iter().find(|entry| entry.name == "broadcast").expect("it is there");
    let scenario = (broadcast.build)(&vivarium::catalogue::Switches::default());
    let searched = |txns, count| {
        let few = Exploration::new().servers(1).txns(txns).snap_count(count);
        vivarium::explore(&scenario, &few)
    };
    for (count, words) in [
        (1, "`snap_count(1)`: give at least 2"),
        (511, "`snap_count(511)` is too many: give at most 510"),
        (u32::MAX, "`snap_count(4294967295)` is too many: give at most 510"),
    ] {
        assert_eq!(searched(2, count).expect_err("out of bounds").to_string(), words);
    }
    let told = |txns, count| {
        let report = searched(txns, count).expect("within bounds");
        let row = report.dimensions.into_iter().find(|row| row.name == "background snapshots");
        row.map(|row| (row.is_in, row.says)).expect("it is told")
    };
    let never = "snapCount 2 is never reached with 2 transactions".to_string();
    assert_eq!(told(2, 2), (false, never));
    assert!(told(3, 2).0);
}

/// The command line does not offer this kind of election, but a test can request it.
#[test]
fn elections_by_lot_are_for_sweeps() {
    let entries = vivarium::catalogue::catalogue();
    let broadcast = entries.iter().find(|entry| entry.name == "broadcast").expect("it is there");
    let scenario = (broadcast.build)(&vivarium::catalogue::Switches::default());
    let refused = vivarium::explore(&scenario, &Exploration::new().election(Election::ByLot));
    assert_eq!(
        refused.expect_err("a search tries every outcome").to_string(),
        "elections by lot are for sweeps; a search tries every outcome: use `--election any`"
    );
}

/// The catalogue has its own numbers of machines; a test and a case file can request others.
#[test]
fn machines_of_a_sweep() {
    let swept = |test: Test| test.chaos(Duration::from_secs(1)).run_seeds(&one_seed());
    assert!(swept(connects().clients(u32::from(SWEPT_CLIENTS))).is_ok());
    let too_many = "connects: `clients(256)` is too many: give at most 255";
    assert_eq!(swept(connects().clients(256)).expect_err("too many").to_string(), too_many);
    let many = connects().servers(u32::from(SWEPT_SERVERS));
    assert!(swept(many.finishes_within(Duration::from_secs(600))).is_ok());
    let too_many = "connects: `servers(64)` is too many: give at most 63";
    assert_eq!(swept(connects().servers(64)).expect_err("too many").to_string(), too_many);

    let read = |servers| replayed("lock", GrainKind::Ensemble, servers, 2);
    assert_eq!(read(SWEPT_SERVERS), STOPPED);
    let too_many =
        "error: the case file FILE is damaged: it has 64 servers, and a sweep takes at most 63";
    assert_eq!(read(SWEPT_SERVERS + 1), Err(too_many.to_string()));
}

fn one_seed() -> vivarium::seeds::SeedRange {
    vivarium::seeds::SeedRange::only(1)
}

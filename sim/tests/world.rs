//! Whole worlds: ensembles, programs and faults, under both hosts.

use std::ops::ControlFlow;
use std::sync::Arc;
use vivarium_model::case::{Case, GrainKind};
use vivarium_model::error::Error;
use vivarium_model::handle::{Program, ZooKeeper, program};
use vivarium_model::op::{CreateMode, Version};
use vivarium_model::property::AskedOfServers;
use vivarium_model::property::zookeeper;
use vivarium_model::release::Bugs;
use vivarium_model::setup::Setup;
use vivarium_model::time::Duration;
use vivarium_sim::{
    Choice, Explored, FaultSet, HostKind, Limits, RunOptions, Scenario, Settings, SweepOptions,
    SweepReport, check_determinism, replay, run, sweep,
};

/// Clients that create, change and delete znodes side by side, whatever the result of each request.
fn scenario(faults: FaultSet) -> Scenario {
    Scenario {
        name: "churn".into(),
        summary: "clients create, change and delete znodes".into(),
        servers: Choice::OneOf(vec![3, 3, 5]),
        observers: Choice::from(0),
        joiners: Choice::from(0),
        clients: Choice::from(2..=4),
        rounds: Choice::from(10..=40),
        limits: Limits::Varied,
        setup: Setup::NONE,
        settings: Settings::default(),
        programs: Arc::new(|run| {
            let rounds = run.rounds;
            let one = || program(move |zookeeper| churn(zookeeper, rounds));
            (0..run.clients()).map(|_| one()).collect::<Vec<Program>>()
        }),
        monitors: Arc::new(|_| zookeeper()),
        of_servers: AskedOfServers::ALL,
        awaits_expiry: true,
        marks: Vec::new(),
        faults,
        script: vivarium_sim::scenario::script::Script::default(),
        bugs: Bugs::NONE,
        chaos: Duration::from_secs(20),
        progress_bound: Duration::from_secs(60),
        explored: Explored::No("is not meant for it".to_string()),
    }
}

async fn churn(zookeeper: ZooKeeper, rounds: u32) -> Result<(), String> {
    for round in 0..rounds {
        zookeeper.connect().await;
        if let Err(error) = once(&zookeeper, round).await {
            let is_expected = matches!(
                error,
                Error::ConnectionLoss | Error::SessionExpired | Error::NoNode | Error::BadVersion
            );
            if !is_expected {
                return Err(format!("{error:?} in round {round}"));
            }
        }
        zookeeper.sleep(Duration::from_millis(zookeeper.random().await % 200)).await;
    }
    Ok(())
}

async fn once(zookeeper: &ZooKeeper, round: u32) -> Result<(), Error> {
    let mode = CreateMode::EphemeralSequential;
    let (path, stat) = zookeeper.create("/node-", &round.to_be_bytes(), mode).await?;
    assert_eq!(stat.version, 0);
    zookeeper.set_data(&path, b"changed", Version::Is(0)).await?;
    let children = zookeeper.get_children("/").await?;
    if children.len() > 5 {
        zookeeper.sync("/").await?;
    }
    zookeeper.delete(&path, Version::Any).await
}

fn direct() -> RunOptions {
    RunOptions { host: HostKind::Direct, ..RunOptions::default() }
}

fn sweep_all(faults: FaultSet, seeds: u64, jobs: usize) -> SweepReport {
    let options = SweepOptions { seeds: 0..seeds, jobs, keep_going: false };
    sweep(&scenario(faults), &options, &direct(), &mut |_| ControlFlow::Continue(()))
}

#[test]
fn quiet_worlds_hold() {
    let report = sweep_all(FaultSet::NONE, 10, 2);
    assert!(report.first_violation.is_none(), "{:#?}", report.first_violation);
}

#[test]
fn worlds_under_all_faults_hold() {
    let report = sweep_all(FaultSet::all(), 40, 2);
    if let Some(first) = report.first_violation {
        panic!("seed {}: {:#?}\n{}", first.seed, first.violation, first.options_text);
    }
    println!("{:#?}", report.totals);
    assert_eq!(sweep_all(FaultSet::all(), 40, 1).totals, report.totals);
}

#[test]
fn a_seed_is_one_run_under_every_host_and_from_its_recording() {
    let mut hosts = vec![HostKind::Direct];
    hosts.extend(Some(HostKind::Madsim).filter(|host| host.is_available()));
    for seed in 0..20 {
        if let Err(difference) = check_determinism(&scenario(FaultSet::all()), seed, &hosts) {
            panic!("{difference}");
        }
    }
}

#[test]
fn a_case_replays_to_the_same_hash() {
    let scenario = scenario(FaultSet::all());
    let report = run(&scenario, 1, &RunOptions { keep_steps: true, ..direct() });
    let case = Case {
        version: Case::VERSION,
        scenario: scenario.name.clone(),
        grain: GrainKind::Ensemble,
        parameters: report.parameters,
        seed: Some(report.seed),
        bugs: Vec::new(),
        config: report.config,
        outside: Vec::new(),
        steps: report.recorded,
        hash: report.hash,
        violation: None,
    };
    let again = replay(&scenario, &case, &direct()).expect("a sound case");
    assert!(again.same, "skipped: {:?}", again.skipped);

    let mut crowded = case.clone();
    let last = crowded.config.clients.last().expect("there are clients").clone();
    crowded.config.clients.resize(9, last);
    let sentence = replay(&scenario, &crowded, &RunOptions::default()).expect_err("too many");
    assert_eq!(sentence, "it has 9 clients, and `churn` has 2..=4");
    let seedless = Case { seed: None, ..case.clone() };
    let error = replay(&scenario, &seedless, &direct()).unwrap_err();
    assert_eq!(error, "it has no seed, and the programs of a run are made from one");
    let broken = Case { parameters: [("rounds".into(), "many".into())].into(), ..case };
    let error = replay(&scenario, &broken, &direct()).unwrap_err();
    assert_eq!(error, "its `rounds` is `many`, not a number");
}

//! One program, run over the client for production on real servers and over the simulated client on the model, reads the
//! same in the same order: replies, watches, states of its session, through lost connections, lost replies and moves.

mod model;
mod program;

use crate::server::installation;
use program::{CUT, LOSE, Log};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::timeout;
use vivarium::conform::{Options, RealEnsemble, RealServer};
use vivarium::live::{Loss, Proxy, Write};
use vivarium_client::Client;
use vivarium_model::event::Event;
use vivarium_model::handle;

const TIMEOUT: Duration = Duration::from_secs(30);

/// Far longer than a program takes.
const LONG: Duration = Duration::from_secs(600);

/// The release that is installed.
const RELEASE: &str = "3.8.0";

/// Runs the program on real servers, each connection through a proxy.
async fn on_real_servers(servers: &[SocketAddr], seed: u64, operations: usize) -> Vec<String> {
    let loss = Arc::new(Loss::default());
    let mut proxies = Vec::new();
    for server in servers {
        proxies.push(Proxy::new(*server, Arc::clone(&loss)).await.unwrap());
    }
    let addresses: Vec<String> = proxies.iter().map(|proxy| proxy.address().to_string()).collect();
    let disturb = move |event: Event| {
        let Event::Observed { observation, .. } = event else { return };
        match observation.name() {
            CUT => proxies.iter().for_each(Proxy::cut),
            LOSE => loss.lose(Write::Any),
            other => panic!("{other}"),
        }
    };
    let builder = Client::builder(&addresses.join(",")).session_timeout(TIMEOUT).events(disturb);
    let client = builder.start().unwrap();
    let log = Log::default();
    let running = program::run(client.zookeeper(), seed, operations, Arc::clone(&log));
    if timeout(LONG, running).await.is_err() {
        let lines = log.lock().unwrap();
        let last = &lines[lines.len().saturating_sub(10)..];
        panic!("seed {seed}: the program reads nothing more after\n  {}", last.join("\n  "));
    }
    drop(client);
    std::mem::take(&mut *log.lock().unwrap())
}

fn on_the_model(servers: u8, seed: u64, operations: usize) -> Vec<String> {
    let log: Log = Arc::new(Mutex::new(Vec::new()));
    let inside = Arc::clone(&log);
    let program = handle::program(move |zookeeper| {
        let log = Arc::clone(&inside);
        async move {
            program::run(zookeeper, seed, operations, log).await;
            Ok(())
        }
    });
    model::run(program, servers, RELEASE, TIMEOUT);
    std::mem::take(&mut *log.lock().unwrap())
}

fn compare(seed: u64, real: &[String], model: &[String]) {
    let differ = real.iter().zip(model).position(|(real, model)| real != model);
    if let Some(at) = differ {
        let from = at.saturating_sub(8);
        panic!(
            "seed {seed}: they differ at line {at}\nreal:\n  {}\nmodel:\n  {}",
            real[from..=at].join("\n  "),
            model[from..=at].join("\n  ")
        );
    }
    assert_eq!(real.len(), model.len(), "seed {seed}: one has read more than the other");
}

async fn both(servers: Vec<SocketAddr>, seed: u64, operations: usize) {
    let real = on_real_servers(&servers, seed, operations).await;
    let model = on_the_model(u8::try_from(servers.len()).unwrap(), seed, operations);
    compare(seed, &real, &model);
    let count = |text: &str| real.iter().filter(|line| line.contains(text)).count();
    println!(
        "{} server(s), seed {seed}: {} lines equal, {} events, {} lost replies, {} reconnects, \
         {} sessions",
        servers.len(),
        real.len(),
        count("event "),
        count("ConnectionLoss"),
        count("SyncConnected"),
        count("began"),
    );
    assert!(count("ConnectionLoss") > 0 && count("Disconnected") > 1 && count("event ") > 20);
}

/// Each seed has a server of its own: the program begins with an empty tree.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_reads_the_same_on_a_real_server_and_on_the_model() {
    if installation().is_none() {
        return;
    }
    let server = RealServer::start(&Options::default()).unwrap();
    both(vec![server.address()], 1, 3_000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_program_reads_the_same_on_a_real_ensemble_and_on_the_model() {
    if installation().is_none() {
        return;
    }
    let ensemble = RealEnsemble::start(3, &Options::default()).unwrap();
    let servers = (0..3).map(|server| ensemble.address(server)).collect();
    both(servers, 2, 1_000).await;
}

/// 100,000 operations, by far the most of them on one server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "eight minutes: the two tests above do the same with 4,000 operations; CONTRIBUTING.md says when this one runs"]
async fn a_program_reads_the_same_for_100_000_operations() {
    if installation().is_none() {
        return;
    }
    for seed in 10..18 {
        let server = RealServer::start(&Options::default()).unwrap();
        both(vec![server.address()], seed, 10_000).await;
    }
    for seed in 20..24 {
        let ensemble = RealEnsemble::start(3, &Options::default()).unwrap();
        let servers = (0..3).map(|server| ensemble.address(server)).collect();
        both(servers, seed, 5_000).await;
    }
}

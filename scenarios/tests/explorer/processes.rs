//! Searches of programs in several processes, compared with searches in one. Threads stand for the processes here, each
//! with programs of its own.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use vivarium::Cluster;
use vivarium::prelude::*;

/// Returns the report of each process.
fn together(
    test: &(dyn Fn() -> Test + Sync),
    asked: &Exploration,
    processes: usize,
) -> Vec<ExplorationReport> {
    let clusters = Cluster::on_this_machine(processes).expect("there are free ports");
    std::thread::scope(|scope| {
        let start = |cluster| {
            let asked = asked.clone().cluster(Arc::new(cluster));
            scope.spawn(move || test().explored(&asked).expect("it can be explored"))
        };
        let started: Vec<_> = clusters.into_iter().map(start).collect();
        started.into_iter().map(|process| process.join().expect("it ends")).collect()
    })
}

/// All processes come to the verdict of one, in as many states, and vary as much.
fn is_the_same(test: &(dyn Fn() -> Test + Sync), asked: &Exploration) {
    let alone = test().explored(asked).expect("it can be explored");
    let varied = |report: &ExplorationReport| -> Vec<(String, bool)> {
        report.dimensions.iter().map(|row| (row.name.clone(), row.is_in)).collect()
    };
    for processes in [2, 3] {
        for (process, report) in together(test, asked, processes).iter().enumerate() {
            let is_violated = alone.verdict.violation().is_some();
            assert_eq!(report.verdict.violation().is_some(), is_violated, "{}", report.verdict);
            if !is_violated || process == 0 {
                assert_eq!(report.verdict, alone.verdict, "process {process} of {processes}");
            }
            assert_eq!(report.figures.distinct, alone.figures.distinct);
            assert_eq!(report.figures.generated, alone.figures.generated);
            assert_eq!(varied(report), varied(&alone));
            assert_eq!(report.finding.is_some(), is_violated && process == 0);
        }
    }
}

/// What programs do decides which searches follow: with other random numbers, with other orders of session ids, and with
/// more early timers. All processes make the same ones, although the programs of one of them may never have come to
/// what decides it.
#[test]
fn searches_that_follow_are_the_same_in_all_processes() {
    let draws = || {
        Test::new("draws", |zk: ZooKeeper| async move {
            zk.connect().await;
            let number = zk.random().await;
            let _ = zk.exists("/here").await;
            if number % 3 == 1 {
                let _ = zk.create("/odd", b"", CreateMode::Persistent).await;
            }
            Ok(())
        })
    };
    is_the_same(&draws, &Exploration::new().clients(2));
    let compares = || {
        Test::new("compares", |zk: ZooKeeper| async move {
            let own = zk.connect().await;
            if zk.client() == ClientId(1) {
                let name = own.0.to_string();
                let _ = zk.create("/id", name.as_bytes(), CreateMode::Persistent).await;
                return Ok(());
            }
            let Ok((data, _)) = zk.get_data("/id").await else { return Ok(()) };
            let text = String::from_utf8_lossy(&data);
            if SessionId(text.parse().expect("an id is a number")).0 > own.0 {
                let _ = zk.create("/larger", b"", CreateMode::Persistent).await;
            }
            Ok(())
        })
        .clients(2)
    };
    is_the_same(&compares, &Exploration::new());
    let sleeps = || {
        Test::new("sleeps", |zk: ZooKeeper| async move {
            zk.connect().await;
            for _ in 0..3 {
                zk.sleep(Duration::from_secs(1)).await;
                let _ = zk.exists("/here").await;
            }
            Ok(())
        })
    };
    is_the_same(&sleeps, &Exploration::new().clients(2));
}

/// A violation has the same shortest way, whichever process found it.
#[test]
fn a_violation_is_told_in_full_by_the_first_process() {
    let test = || {
        Test::new("both", |zk: ZooKeeper| async move {
            zk.connect().await;
            let own = format!("/{}", zk.client());
            let _ = zk.create(&own, b"", CreateMode::Persistent).await;
            let other = if zk.client() == ClientId(1) { "/client 2" } else { "/client 1" };
            match zk.exists(other).await {
                Ok(Some(_)) => Err("both were there".to_string()),
                _ => Ok(()),
            }
        })
        .clients(2)
    };
    let asked = Exploration::new();
    is_the_same(&test, &asked);
    let alone = test().explored(&asked).expect("it can be explored").finding.expect("a finding");
    let there = together(&test, &asked, 3).swap_remove(0).finding.expect("a finding");
    assert_eq!(there.trace, alone.trace);
    assert_eq!(there.violation.hash, alone.violation.hash);
}

/// In one of the processes, programs are no function of their inputs: they go by how often they ran. Only that process
/// can notice, and none says "held".
#[test]
fn what_one_process_objects_to_all_do() {
    let made = AtomicUsize::new(0);
    let test = || {
        let is_fickle = made.fetch_add(1, Ordering::Relaxed) == 1;
        let runs = Arc::new(AtomicUsize::new(0));
        Test::new("counts", move |zk: ZooKeeper| {
            let runs = Arc::clone(&runs);
            async move {
                zk.connect().await;
                let _ = zk.exists("/here").await;
                if is_fickle && runs.fetch_add(1, Ordering::Relaxed) % 2 == 1 {
                    let _ = zk.create("/odd", b"", CreateMode::Persistent).await;
                }
                Ok(())
            }
        })
        .clients(2)
    };
    for report in together(&test, &Exploration::new(), 2) {
        // Either the process objects, or a way that it takes over leads elsewhere.
        let says = report.verdict.to_string();
        let is_elsewhere = says.contains("lead to other states in another process");
        assert!(report.verdict.violation().is_some() || is_elsewhere, "{says}");
    }
}

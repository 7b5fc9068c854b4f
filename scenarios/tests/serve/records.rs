//! A served run is recorded as it goes, and replays to its hash.

use super::*;
use std::path::Path;
use vivarium::recipes::lock::Lock;
use vivarium_client::CreateMode;
use vivarium_model::release::{Bug, Bugs};
use vivarium_reports::case_file::{from_text, load};
use vivarium_sim::replica::replay;

/// Clients that take turns at a lock, on an ensemble whose servers crash; then the record.
async fn story(record: &Path) {
    let options = ServeOptions { record: Some(record.to_owned()), ..ServeOptions::default() };
    let ensemble = ensemble(options).await;
    let workers: Vec<_> = (0..3)
        .map(|_| {
            let connecting = Client::builder(&ensemble.connect_string())
                .reconnect_within(Duration::ZERO)
                .connect();
            tokio::spawn(async move {
                let client = connecting.await.expect("it connects");
                for _ in 0..5 {
                    let lock = Lock::new(client.zookeeper(), "/lock");
                    let guard = lock.acquire().await.expect("the lock");
                    let _ = client.create("/work-", b"", CreateMode::PersistentSequential).await;
                    guard.release().await;
                }
                client.close().await;
            })
        })
        .collect();
    for server in 1..=3 {
        command(&ensemble, &format!("crash {server}")).await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        command(&ensemble, &format!("restart {server}")).await;
        tokio::time::sleep(Duration::from_millis(700)).await;
    }
    for worker in workers {
        soon(worker).await.unwrap();
    }
    let ended = soon(ensemble.stop()).await;
    assert_eq!(ended.violation, None);
    assert!(ended.steps > 500, "{} steps", ended.steps);
}

#[tokio::test]
async fn a_record_replays_to_its_hash_whole_and_cut_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.json");
    story(&path).await;
    for _ in 0..2 {
        let case = load(&path).unwrap();
        let replayed = replay(&case).unwrap();
        assert!(replayed.is_run_of(&case), "{} steps skipped", replayed.skipped.len());
        assert_eq!(replayed.objection, None);
    }
    // A process that was killed leaves a part of the file.
    let text = std::fs::read_to_string(&path).unwrap();
    let first = text.find('\n').unwrap() + 1;
    for part in 1..8 {
        let end = (first + (text.len() - first) * part / 8).min(text.len());
        let cut = from_text(&path, &text[..end]).unwrap();
        assert!(replay(&cut).unwrap().is_run_of(&cut), "{part} eighths");
    }
}

/// A server that writes its first snapshot in place loses what it has acknowledged: the monitors say so at once.
#[tokio::test]
async fn a_violation_is_told_while_the_service_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("violation.json");
    let bugs = Bugs::NONE.with(Bug::SnapshotWrittenInPlace);
    let options =
        ServeOptions { servers: 1, bugs, record: Some(record.clone()), ..Default::default() };
    let ensemble = ensemble(options).await;
    let client = connect(&ensemble).await;
    soon(client.create("/a", b"", CreateMode::Persistent)).await.unwrap();
    let objection = soon(ensemble.violation()).await.expect("it is committed and not durable");
    assert_eq!(objection.property, "S3 committed means durable");
    assert!(command(&ensemble, "status").await.contains("violated: S3"));
    soon(client.create("/b", b"", CreateMode::Persistent)).await.unwrap();
    assert_eq!(soon(ensemble.stop()).await.violation, Some(objection.clone()));
    let case = load(&record).unwrap();
    let replayed = replay(&case).unwrap();
    assert!(replayed.is_run_of(&case));
    assert_eq!(replayed.objection, Some(objection));
}

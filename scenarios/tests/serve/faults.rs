//! Faults happen when they are asked for.

use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tokio::net::TcpStream;
use vivarium::recipes::lock::Lock;
use vivarium::serve::{Command, Tell};
use vivarium_client::{CreateMode, SessionState, Version};

#[tokio::test]
async fn a_client_goes_on_when_the_leader_crashes() {
    let ensemble = ensemble(ServeOptions::default()).await;
    let client = connect(&ensemble).await;
    soon(client.create("/a", b"0", CreateMode::Persistent)).await.unwrap();
    let leader = command(&ensemble, "leader").await;
    let leader: usize = leader.strip_prefix("server ").unwrap().parse().unwrap();
    command(&ensemble, &format!("crash {leader}")).await;
    settled(|| client.set_data("/a", b"1", Version::Any)).await.unwrap();
    assert_ne!(command(&ensemble, "leader").await, format!("server {leader}"));
    let again = ensemble.command(format!("crash {leader}").parse().unwrap()).await;
    assert_eq!(again, Err(format!("server {leader} is down")));
    // The port of a server that is down is closed, and open again afterwards.
    let address = ensemble.addresses()[leader - 1];
    soon(async { while TcpStream::connect(address).await.is_ok() {} }).await;
    command(&ensemble, &format!("restart {leader}")).await;
    soon(async { while TcpStream::connect(address).await.is_err() {} }).await;
    soon(client.close()).await;
    assert_eq!(soon(ensemble.stop()).await.violation, None);
}

/// The reply of the next create is lost, and what becomes of the create is as it was asked for.
#[tokio::test]
async fn the_next_reply_is_lost_as_it_was_asked_for() {
    let ensemble = ensemble(ServeOptions::default()).await;
    let other = connect(&ensemble).await;
    let client = connect(&ensemble).await;
    let session = client.session().expect("it is connected");
    for (lost, at_once, later) in
        [("lost-applied", true, true), ("lost-never", false, false), ("lost-pending", false, true)]
    {
        let path = format!("/{lost}");
        command(&ensemble, &format!("next-reply {session} create {path} {lost}")).await;
        assert!(client.create("/other", b"", CreateMode::PersistentSequential).await.is_ok());
        let created = soon(client.create(&path, b"", CreateMode::Ephemeral)).await;
        assert_eq!(created.unwrap_err(), Error::ConnectionLoss, "{lost}");
        assert_eq!(soon(other.exists(&path)).await.unwrap().is_some(), at_once, "{lost}");
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(soon(other.exists(&path)).await.unwrap().is_some(), later, "{lost}");
        settled(|| client.exists("/")).await.unwrap();
    }
    assert_eq!(client.session(), Some(session), "a lost connection ends no session");
}

/// A session that is moved re-attaches at the server that was named, and keeps its znodes.
#[tokio::test]
async fn a_session_is_moved_to_a_server() {
    let ensemble = ensemble(ServeOptions::default()).await;
    let client = connect(&ensemble).await;
    soon(client.create("/own", b"", CreateMode::Ephemeral)).await.unwrap();
    let session = client.session().expect("it is connected");
    let wrong = format!("move {session} 4").parse().unwrap();
    assert_eq!(ensemble.command(wrong).await, Err("there is no server 4".to_owned()));
    for server in [3, 1, 2, 2] {
        assert_eq!(command(&ensemble, &format!("move {session} {server}")).await, "done");
        settled(|| client.exists("/own")).await.unwrap().expect("its session goes on");
        let sessions = command(&ensemble, "sessions").await;
        assert_eq!(sessions, format!("{session} at server {server}"));
    }
}

/// After `recover` no fault goes on, and those of a seed happen no more.
#[tokio::test]
async fn an_ensemble_recovers() {
    let struck: Arc<Mutex<Vec<Command>>> = Arc::default();
    let sink = Arc::clone(&struck);
    let options = ServeOptions {
        chaos: Some(5),
        faults: vec!["crash".parse().unwrap(), "next-reply".parse().unwrap()],
        tell: Tell::new(move |fault| sink.lock().unwrap().push(fault.clone())),
        speed: 10.0,
        ..ServeOptions::default()
    };
    let ensemble = ensemble(options).await;
    let client = connect(&ensemble).await;
    let session = client.session().expect("it is connected");
    let is_crash = |fault: &Command| matches!(fault, Command::Crash(_));
    soon(async {
        while !struck.lock().unwrap().iter().any(is_crash) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    // Whatever the seed has done.
    for line in ["crash 1", "crash 2", "crash 3"] {
        let _ = ensemble.command(line.parse().unwrap()).await;
    }
    let _ =
        ensemble.command(format!("next-reply {session} exists lost-never").parse().unwrap()).await;
    assert_eq!(command(&ensemble, "recover").await, "done");
    let count = struck.lock().unwrap().len();
    settled(|| client.sync("/")).await.unwrap();
    soon(client.exists("/")).await.expect("no reply is lost any more");
    assert!(!command(&ensemble, "status").await.contains("down"));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(struck.lock().unwrap().len(), count);
}

#[tokio::test]
async fn a_session_is_expired_or_disconnected() {
    let ensemble = ensemble(ServeOptions { servers: 1, ..ServeOptions::default() }).await;
    let client = connect(&ensemble).await;
    let mut changes = client.session_events();
    let session = client.session().expect("it is connected");
    assert!(command(&ensemble, "sessions").await.contains(&session.to_string()));
    command(&ensemble, &format!("disconnect {session}")).await;
    assert_eq!(soon(changes.next()).await, SessionState::Disconnected);
    assert_eq!(soon(changes.next()).await, SessionState::SyncConnected);
    command(&ensemble, &format!("expire {session}")).await;
    soon(async { while changes.next().await != SessionState::Expired {} }).await;
    let refused = ensemble.command(format!("expire {session}").parse().unwrap()).await;
    assert_eq!(refused, Err(format!("there is no session {session}")));
}

/// In a partition a minority answers no write.
#[tokio::test]
async fn a_minority_answers_no_write() {
    let ensemble = ensemble(ServeOptions { speed: 10.0, ..ServeOptions::default() }).await;
    let address = ensemble.addresses()[0].to_string();
    let client = soon(Client::builder(&address).connect()).await.unwrap();
    soon(client.create("/a", b"", CreateMode::Persistent)).await.unwrap();
    command(&ensemble, "partition 1 | 2 3").await;
    assert_eq!(
        soon(client.set_data("/a", b"", Version::Any)).await.unwrap_err(),
        Error::ConnectionLoss
    );
    command(&ensemble, "heal").await;
    settled(|| client.set_data("/a", b"", Version::Any)).await.unwrap();
    assert!(command(&ensemble, "status").await.contains("no property is violated"));
}

/// Time that goes ten times as fast: a session of a silent client ends in a tenth of its timeout.
/// With virtual time, the session of a client that is gone ends within moments, and those of idle clients live on.
#[tokio::test]
async fn virtual_time_passes_while_clients_are_idle() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("virtual.json");
    let options = ServeOptions {
        virtual_time: true,
        record: Some(record.clone()),
        ..ServeOptions::default()
    };
    let ensemble = ensemble(options).await;
    let (one, two) = (connect(&ensemble).await, connect(&ensemble).await);
    soon(one.create("/one", b"", CreateMode::Ephemeral)).await.unwrap();
    soon(two.create("/two", b"", CreateMode::Ephemeral)).await.unwrap();
    let begin = std::time::Instant::now();
    // Its connection is cut, and its machine hangs: it does not come back.
    drop(one);
    soon(async {
        while two.exists("/one").await.unwrap().is_some() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
    .await;
    assert!(begin.elapsed() < Duration::from_secs(4), "8 s took {:?}", begin.elapsed());
    // Minutes pass for the ensemble, and the idle client's session with its znode is there.
    let mut changes = two.session_events();
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(soon(two.exists("/two")).await.unwrap().is_some());
    assert_eq!(changes.try_next(), None, "its connection was never lost");
    let ended = soon(ensemble.stop()).await;
    assert_eq!(ended.violation, None);
    let case = vivarium_reports::case_file::load(&record).unwrap();
    let passed = case.steps.last().unwrap().0.since(case.steps[0].0);
    assert!(passed > Duration::from_secs(60), "{passed:?}");
    assert!(vivarium_sim::replica::replay(&case).unwrap().is_run_of(&case));
}

#[tokio::test]
async fn time_can_go_faster() {
    let ensemble = ensemble(ServeOptions { speed: 20.0, ..ServeOptions::default() }).await;
    let client = connect(&ensemble).await;
    assert_eq!(client.session_timeout(), Duration::from_millis(400));
    let watching = connect(&ensemble).await;
    soon(client.create("/a", b"", CreateMode::Ephemeral)).await.unwrap();
    let began = std::time::Instant::now();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(soon(watching.exists("/a")).await.unwrap().is_some(), "its pings are in time");
    command(&ensemble, "pause 1").await;
    command(&ensemble, "pause 2").await;
    command(&ensemble, "heal").await;
    drop(client);
    soon(async { while watching.exists("/a").await != Ok(None) {} }).await;
    assert!(began.elapsed() < Duration::from_secs(6));
}

#[test]
fn a_line_that_is_no_command_is_refused_in_a_sentence() {
    for (line, expected) in [
        ("", "there is no command in this line"),
        ("crash", "`crash` is no command; the commands are"),
        ("crash zero", "`zero` is no number of a server"),
        ("crash 0", "`0` is no number of a server"),
        ("slow-disk 1 fast", "`fast` is no span, such as 50ms or 2s"),
        ("slow-disk 1 5", "`5` is no span"),
        ("slow-disk 1 99999999999s", "is no span"),
        ("expire me", "`me` is no id of a session"),
        ("next-reply 0x1 create lost", "`lost` is none of lost-applied"),
        ("next-reply 0x1 a b c lost-never", "is no command"),
        ("partition", "is no command"),
        ("partition 1 | x", "`x` is no number of a server"),
    ] {
        let refused = line.parse::<vivarium::serve::Command>().expect_err(line);
        assert!(refused.contains(expected), "{line}: {refused}");
    }
}

#[tokio::test]
async fn settings_that_make_no_sense_are_refused_in_a_sentence() {
    let defaults = ServeOptions::default;
    for options in [
        ServeOptions { servers: 0, ..defaults() },
        ServeOptions { servers: 10, ..defaults() },
        ServeOptions { speed: 0.0, ..defaults() },
        ServeOptions { speed: f64::NAN, ..defaults() },
        ServeOptions { port: 65_535, ..defaults() },
        ServeOptions { tick: Duration::ZERO, ..defaults() },
        ServeOptions { record: Some("/no/such/folder/file".into()), ..defaults() },
    ] {
        let error = soon(Ensemble::with(options)).await.expect_err("it makes no sense");
        assert!(error.to_string().len() > 20, "{error}");
    }
    // A port that another ensemble uses.
    let first = ensemble(ServeOptions::default()).await;
    let port = first.addresses()[0].port();
    let options = ServeOptions { servers: 1, port, ..ServeOptions::default() };
    let error = soon(Ensemble::with(options)).await.expect_err("the port is not free");
    assert!(error.to_string().contains("cannot listen at 127.0.0.1"), "{error}");
}

/// Faults of a seed strike clients that take turns at a lock: the servers keep their promises, the clients go on, and the
/// record replays.
#[tokio::test]
async fn faults_of_a_seed_strike_by_themselves() {
    let folder = tempfile::tempdir().unwrap();
    let record = folder.path().join("chaos.json");
    let struck: Arc<Mutex<Vec<Command>>> = Arc::default();
    let sink = Arc::clone(&struck);
    let options = ServeOptions {
        chaos: Some(3),
        tell: Tell::new(move |fault| sink.lock().unwrap().push(fault.clone())),
        speed: 4.0,
        record: Some(record.clone()),
        ..ServeOptions::default()
    };
    let ensemble = ensemble(options).await;
    let hosts = ensemble.connect_string();
    let count: &'static AtomicUsize = Box::leak(Box::default());
    let workers: Vec<_> = (0..3)
        .map(|_| {
            let builder = Client::builder(&hosts).session_timeout(Duration::from_secs(10));
            let connecting = builder.reconnect_within(Duration::ZERO).connect();
            tokio::spawn(async move {
                let client = connecting.await.expect("it connects");
                let lock = Lock::new(client.zookeeper(), "/lock");
                while count.load(Ordering::Relaxed) < 100_000 {
                    let Ok(guard) = lock.acquire().await else { continue };
                    let _ = client.create("/job-", b"", CreateMode::PersistentSequential).await;
                    count.fetch_add(1, Ordering::Relaxed);
                    guard.release().await;
                }
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_secs(12)).await;
    let granted = count.swap(100_000, Ordering::Relaxed);
    workers.iter().for_each(tokio::task::JoinHandle::abort);
    let ended = soon(ensemble.stop()).await;
    assert_eq!(ended.violation, None);
    let struck = struck.lock().unwrap().len();
    assert!(struck > 10 && granted > 10, "{struck} faults, {granted} grants");
    let case = vivarium_reports::case_file::load(&record).unwrap();
    let replayed = vivarium_sim::replica::replay(&case).unwrap();
    assert!(replayed.is_run_of(&case) && case.steps.len() as u64 == ended.steps);
}

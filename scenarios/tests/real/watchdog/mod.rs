//! A service that watches itself, on a real server.

mod played;

use crate::server::installation;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::timeout;
use vivarium::conform::{Options, RealServer};
use vivarium::recipes::contention::Mutant;
use vivarium::recipes::lock::{self, Lock};
use vivarium_client::{Client, SessionState, Watchdog};

async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(60), future).await.expect("it takes too long")
}

/// Returns what the watchdog finds when the session of a lock's holder ends, and the holder connects again.
async fn found(server: &RealServer, mutants: lock::Mutants, name: &'static str) -> Vec<String> {
    let found: Arc<Mutex<Vec<String>>> = Arc::default();
    let sink = Arc::clone(&found);
    let watchdog = Watchdog::new(lock::monitors_of_a_service(name))
        .on_violation(move |violation| sink.lock().unwrap().push(violation.objection.to_string()));
    let address = server.address().to_string();
    let builder = Client::builder(&address).session_timeout(Duration::from_secs(20));
    let client = soon(watchdog.watch(builder).connect()).await.unwrap();
    let zookeeper = client.zookeeper();
    let holder = tokio::spawn(async move {
        let lock = Lock::new(zookeeper.clone(), name).with_mutants(mutants);
        for _ in 0..2 {
            let guard = lock.acquire().await.expect("the lock");
            let _ = guard.while_held(async { zookeeper.sleep(Duration::from_secs(3)).await }).await;
            guard.release().await;
        }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut changes = client.session_events();
    let thief = Client::builder(&address).resume(client.resumed().expect("a session"));
    soon(soon(thief.connect()).await.unwrap().close()).await;
    while soon(changes.next()).await != SessionState::Expired {}
    soon(client.connect()).await;
    soon(holder).await.unwrap();
    soon(client.close()).await;
    Arc::try_unwrap(found)
        .map_or_else(|found| found.lock().unwrap().clone(), |found| found.into_inner().unwrap())
}

/// The lock as it is ends its holder's belief with the session; a lock that does not is found.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_belief_that_outlives_its_session_is_found_while_the_service_runs() {
    if installation().is_none() {
        return;
    }
    let server = RealServer::start(&Options::default()).unwrap();
    let sound = found(&server, lock::Mutants::NONE, "/sound").await;
    assert_eq!(sound, [""; 0]);
    let planted = lock::Mutants::NONE.with(Mutant::BeliefSurvivesExpiry);
    let broken = found(&server, planted, "/broken").await;
    assert!(matches!(&broken[..], [one, ..] if one.starts_with("lock M2 belief")), "{broken:?}");
}

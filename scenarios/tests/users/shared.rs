//! Several tasks of one program share its sessions: each knows which session an event ends.

use std::sync::{Arc, Mutex, PoisonError};
use vivarium::prelude::*;

/// One task renews the session. Another one works in the current session, and reports the session that it knows to be
/// over.
async fn renews(zookeeper: ZooKeeper) -> Result<(), String> {
    let mut changes = zookeeper.session_changes();
    let first = zookeeper.connect().await;
    // Another session may have begun and ended before.
    let connected = SessionChange { state: SessionState::SyncConnected, session: Some(first) };
    while changes.next().await != connected {}
    let over: Arc<Mutex<Vec<SessionId>>> = Arc::default();
    let renewed = Arc::clone(&over);
    let handle = zookeeper.clone();
    zookeeper.spawn(async move {
        loop {
            let SessionChange { state, session } = changes.next().await;
            if state.is_final() {
                let session = session.expect("one that ends has been told of");
                renewed.lock().unwrap_or_else(PoisonError::into_inner).push(session);
                handle.custom("over", &[("session", session.into())]);
                handle.connect().await;
            }
        }
    });
    let mut session = first;
    for _ in 0..2 {
        match zookeeper.scope(session).exists("/").await {
            Err(Error::SessionExpired) => {
                session = next_session(&zookeeper, session).await;
                let over = over.lock().unwrap_or_else(PoisonError::into_inner);
                if !over.contains(&first) || over.contains(&session) {
                    return Err(format!("{session} is connected, and those over are {over:?}"));
                }
            }
            Ok(_) | Err(Error::ConnectionLoss) => drop(zookeeper.connect().await),
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(())
}

fn renewing() -> Test {
    let once = at_most_once("over", "session").per_process();
    Test::new("renews", renews).clients(1).monitor(once)
}

#[test]
fn changes_say_which_session_they_are_of() {
    let expires = Faults::ALL.with_rate(Fault::SessionExpiry, Rate::ALWAYS);
    renewing().faults(expires).must_see("over").seeds(200).run();
}

#[cfg(feature = "explore")]
#[test]
fn changes_say_which_session_they_are_of_in_every_order() {
    renewing().must_see("over").explore(&Exploration::new().expiries(1).lost(1));
}

//! The claim of a Chinese overview about sessions: when the connection is lost, the session is over, and its
//! ephemeral znodes are gone.
//!
//! *Wrong:* a session and its ephemeral znodes outlive the connection (recipe rule 1.2.4). A holder that starts again
//! when it is disconnected finds its own old znode ahead of it, and waits for it. *Breaks* progress at step 3, by one
//! lost connection. (`BeliefFollowsSocket`)
//!
//! The lock itself is correct, so that nothing else goes wrong.

use super::lock::Locker;
use crate::contention::{AcquireError, Guard, LockSeen};
use crate::lock::Lock;
use std::sync::Arc;
use vivarium_model::handle::{Either, Program, ZooKeeper, program, race};
use vivarium_model::op::SessionState;

/// A client that takes the end of its connection for the end of its session.
pub fn socket_believer(work: Locker) -> Program {
    program(move |zookeeper| {
        let work = work.clone();
        async move { believe(&zookeeper, &work).await.map_err(|error| error.to_string()) }
    })
}

async fn believe(zookeeper: &ZooKeeper, work: &Locker) -> Result<(), AcquireError> {
    let lock = Lock::new(zookeeper.clone(), Arc::clone(&work.directory));
    // The guards of locks that it believes to be lost, which it therefore does not release.
    let mut gone: Vec<Guard> = Vec::new();
    let mut round = 0;
    while round < work.rounds {
        // 1. Acquire the lock.
        let guard = match lock.acquire().await {
            Ok(guard) => guard,
            Err(AcquireError::SessionExpired) => continue,
            Err(refused) => return Err(refused),
        };
        // 2. Work, as long as it is connected.
        match race(disconnected(zookeeper), working(zookeeper, &guard, work)).await {
            // 3. The connection is lost, so it believes that the session and the lock are lost too: start again.
            Either::Left(()) => {
                let (lock, token) = (Arc::clone(&work.directory), guard.token().0);
                zookeeper.observe(LockSeen::Lost { lock, token });
                gone.push(guard);
            }
            // 4. Release the lock when the work is done.
            Either::Right(()) => {
                guard.release().await;
                round += 1;
            }
        }
    }
    Ok(())
}

async fn working(zookeeper: &ZooKeeper, guard: &Guard, work: &Locker) {
    // The result does not matter, as this only simulates work.
    let _ = zookeeper.write_resource("resource", Some(guard.token().0), 0).await;
    if !work.hold.is_zero() {
        zookeeper.sleep(work.hold).await;
    }
}

async fn disconnected(zookeeper: &ZooKeeper) {
    let mut events = zookeeper.session_events();
    while events.next().await == SessionState::SyncConnected {}
}

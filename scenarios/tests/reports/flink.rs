//! Flink, two reports: the effect of a brief loss of the connection on a job.
//!
//! * FLINK-10052: a leader whose connection is lost resigns immediately, and all of its jobs begin anew, although its
//!   session lives and no other leader exists. The repair (pull request 15675 and its successors) continues until the
//!   session is over, so the program learns later than others that it leads no more.
//! * FLINK-14091: a counter records that its connection is lost, and nothing clears the record, so there are no more
//!   checkpoints. The repair (pull request 10754) clears it when the client is connected.

use crate::judged::{Fails, found, held, test_in_each};
use vivarium::prelude::*;

const LEADER: &str = "/leader";
const COUNTER: &str = "/counter";

/// FLINK-10052: a leader for half a minute.
fn leading(tolerates: bool) -> Test {
    let work = move |zookeeper: ZooKeeper, session| async move {
        loop {
            let create = || zookeeper.create(LEADER, b"", CreateMode::Ephemeral);
            match until_known(&zookeeper, create).await {
                Ok(_) => break,
                Err(Error::NodeExists) => {}
                Err(error) => return Err(error.into()),
            }
            match until_known(&zookeeper, || zookeeper.exists_watch(LEADER)).await? {
                (Some(stat), _) if stat.ephemeral_owner == Some(session) => break,
                (Some(_), mut watch) => drop(watch.changed().await?),
                (None, _) => {}
            }
        }
        let mut events = zookeeper.session_events();
        zookeeper.custom("leads", &[]);
        let lost = async {
            loop {
                let state = events.next().await;
                if state.is_final() || (!tolerates && state == SessionState::Disconnected) {
                    return;
                }
            }
        };
        let resigned = zookeeper.timeout(Duration::from_secs(30), lost).await.is_ok();
        zookeeper.custom("resigns", &[]);
        // The answer tells whether its session is over.
        let stat = until_known(&zookeeper, || zookeeper.exists(LEADER)).await?;
        if resigned && stat.is_some_and(|stat| stat.ephemeral_owner == Some(session)) {
            return Err(Fails::Says("the leader has resigned, and its znode stands"));
        }
        zookeeper.close().await;
        Ok(())
    };
    test_in_each("flink-10052", work)
        .clients(2)
        .monitor(never_two_at_once("leads", "resigns"))
        .must_see("leads")
}

const RESIGNED: &str = "its znode stands";

#[test]
fn flink_10052_a_lost_connection_ends_leadership() {
    found(leading(false), "1000", RESIGNED);
}

#[test]
fn flink_10052_who_waits_for_the_sessions_end_goes_on() {
    held(leading(true), "300");
}

/// Two clients lead until the first one can know that its session is over: the price of the repair.
#[test]
fn flink_10052_two_lead_until_the_first_one_knows() {
    let strictly = never_two_at_once("leads", "resigns").strictly().named("strictly one");
    found(leading(true).monitor(strictly), "3000", "leads");
}

/// FLINK-14091: three checkpoints; each takes the counter's next value.
fn counting(takes_back: bool) -> Test {
    let work = move |zookeeper: ZooKeeper, _| async move {
        let mut suspended = false;
        let mut taken = 0;
        while taken < 3 {
            let mut events = zookeeper.session_events();
            if suspended {
                return Err(Fails::Says("the client is connected, and there is no checkpoint"));
            }
            let (_, stat) = until_known(&zookeeper, || zookeeper.get_data(COUNTER)).await?;
            match zookeeper.set_data(COUNTER, b"", Version::Is(stat.version)).await {
                Ok(_) => {
                    zookeeper.custom("checkpoint", &[]);
                    taken += 1;
                }
                Err(Error::BadVersion) => {}
                Err(Error::ConnectionLoss) => {
                    suspended = true;
                    loop {
                        let state = events.next().await;
                        if state.is_final() {
                            return Err(Error::SessionExpired.into());
                        }
                        if state == SessionState::SyncConnected {
                            break;
                        }
                    }
                    suspended &= !takes_back;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    };
    test_in_each("flink-14091", work).setup(COUNTER).clients(1).must_see("checkpoint")
}

const NONE: &str = "there is no checkpoint";

#[test]
fn flink_14091_a_lost_connection_ends_checkpoints() {
    found(counting(false), "1000", NONE);
}

#[test]
fn flink_14091_who_takes_the_note_back_goes_on() {
    held(counting(true), "300");
}

#[cfg(feature = "explore")]
mod explored {
    use super::*;
    use crate::judged::found_by_search;

    #[test]
    fn flink_10052_a_lost_connection() {
        let lost = Exploration::new().lost(1).timers(1);
        found_by_search(leading(false).clients(1), &lost, RESIGNED);
        leading(true).clients(1).explore(&lost);
    }

    #[test]
    fn flink_14091_a_lost_connection() {
        let lost = Exploration::new().lost(1);
        found_by_search(counting(false), &lost, NONE);
        counting(true).explore(&lost);
    }
}

//! Registrations and records, seven reports.
//!
//! * Storm 1941: a nimbus that is connected again writes to its znode, which belongs to an ended session and is
//!   deleted with it. The repair (pull request 1534) deletes the znode and creates it; a delete of an earlier process
//!   can come late.
//! * Storm 2674: two executors delete the oldest of the errors, and the second one fails with NoNode. The repair
//!   (pull request 2256) considers NoNode a success.
//! * DolphinScheduler, pull request 353: a delete of an absent znode fails, so a look precedes it. The look proves
//!   nothing.
//! * YARN-11626: a delete whose answer is lost is repeated, and fails with NoNode, as does the whole service. The
//!   repair (pull request 6616) checks whether the znode exists.
//! * Helix 641: the event of a session creates a participant's znode in the next one. The repair (pull request 642)
//!   creates it only in the session of the event.
//! * ClickHouse, pull request 81395: a worker marks its replica active once, and again when one of its own requests
//!   fails because the session is over. If another thread has begun the next session, no request fails. The repair
//!   compares the sessions.
//! * ClickHouse, pull request 118457: a restarted replica deletes its old mark, of the version that it has read; if
//!   the mark is gone, it reports that the replica is active elsewhere. The repair considers NoNode a success; the
//!   create of the earlier process can still come late.

use crate::judged::{Fails, found, held, in_line, test_in_each, there};
use vivarium::prelude::*;

const MARK: &str = "/mark";
const RECORDS: &str = "/records";

/// The reaction of a nimbus to its znode when it is connected.
#[derive(Clone, Copy)]
enum Enters {
    /// As reported: writes to the existing one.
    Writes,
    /// The repair: deletes it and creates it.
    Replaces,
    /// Waits for the end of a znode that another session owns.
    Awaits,
}

/// Storm 1941.
fn entering(enters: Enters) -> Test {
    let work = move |zookeeper: ZooKeeper, session| async move {
        if let Enters::Replaces = enters {
            ensure_deleted(&zookeeper, MARK).await?;
        }
        loop {
            let create = || zookeeper.create(MARK, b"", CreateMode::Ephemeral);
            match until_known(&zookeeper, create).await {
                Ok(_) => break,
                Err(Error::NodeExists) => {}
                Err(error) => return Err(error.into()),
            }
            match enters {
                Enters::Writes => {
                    let write = || zookeeper.set_data(MARK, b"", Version::Any);
                    if there(until_known(&zookeeper, write).await)?.is_some() {
                        break;
                    }
                }
                Enters::Replaces => break,
                Enters::Awaits => {
                    let look = || zookeeper.exists_watch(MARK);
                    match until_known(&zookeeper, look).await? {
                        (Some(stat), _) if stat.ephemeral_owner == Some(session) => break,
                        (Some(_), mut watch) => drop(watch.changed().await?),
                        (None, _) => {}
                    }
                }
            }
        }
        zookeeper.custom("registered", &[]);
        zookeeper.sleep(Duration::from_secs(60)).await;
        settle(&zookeeper).await?;
        match until_known(&zookeeper, || zookeeper.exists(MARK)).await? {
            Some(_) => Ok(()),
            None => Err(Fails::Says("the nimbus lives, and its entry is gone")),
        }
    };
    test_in_each("storm-1941", work)
        .clients(1)
        .client_options(ClientOptions::new().expires_locally())
        .must_see("registered")
}

const ENTRY: &str = "its entry is gone";

#[test]
fn storm_1941_the_old_session_takes_the_entry_away() {
    found(entering(Enters::Writes), "1000", ENTRY);
}

#[test]
fn storm_1941_who_waits_for_the_old_session_stays() {
    held(entering(Enters::Awaits), "300");
}

/// The way in which a record is deleted.
#[derive(Clone, Copy, PartialEq)]
enum Deletes {
    /// As reported by both: NoNode is a failure.
    Plainly,
    /// DolphinScheduler: checks first whether the record exists.
    AfterALook,
    /// YARN: after NoNode, checks whether the record exists.
    BeforeALook,
    /// Storm: NoNode is success.
    WhateverIsThere,
}

const NO_NODE: Fails = Fails::Says("the delete fails with NoNode");

async fn is_there(zookeeper: &ZooKeeper, path: &str) -> Result<bool, Error> {
    Ok(until_known(zookeeper, || zookeeper.exists(path)).await?.is_some())
}

async fn delete(zookeeper: &ZooKeeper, path: &str, how: Deletes) -> Result<(), Fails> {
    if how == Deletes::AfterALook && !is_there(zookeeper, path).await? {
        return Ok(());
    }
    match until_known(zookeeper, || zookeeper.delete(path, Version::Any)).await {
        Err(Error::NoNode) => match how {
            Deletes::WhateverIsThere => Ok(()),
            Deletes::BeforeALook if !is_there(zookeeper, path).await? => Ok(()),
            _ => Err(NO_NODE),
        },
        other => Ok(other?),
    }
}

/// Each executor writes a record, and deletes the oldest until one is left.
fn recording(how: Deletes) -> Test {
    let work = move |zookeeper: ZooKeeper, _| async move {
        let path = format!("{RECORDS}/record-");
        let create = || zookeeper.create(&path, b"", CreateMode::PersistentSequential);
        until_known(&zookeeper, create).await?;
        let names = in_line(&zookeeper, RECORDS).await?;
        for name in names.iter().rev().skip(1) {
            delete(&zookeeper, &format!("{RECORDS}/{name}"), how).await?;
        }
        zookeeper.custom("recorded", &[]);
        Ok(())
    };
    test_in_each("records", work).setup(RECORDS).clients(2).must_see("recorded")
}

/// One service, and a record of its own.
fn removing(how: Deletes) -> Test {
    let work = move |zookeeper: ZooKeeper, session: SessionId| async move {
        let path = format!("{RECORDS}/{:x}", session.0);
        match until_known(&zookeeper, || zookeeper.create(&path, b"", CreateMode::Persistent)).await
        {
            Ok(_) | Err(Error::NodeExists) => {}
            Err(error) => return Err(error.into()),
        }
        delete(&zookeeper, &path, how).await?;
        zookeeper.custom("recorded", &[]);
        Ok(())
    };
    test_in_each("yarn-11626", work).setup(RECORDS).clients(1).must_see("recorded")
}

const FAILS: &str = "fails with NoNode";

#[test]
fn storm_2674_two_delete_the_same_record() {
    found(recording(Deletes::Plainly), "1000", FAILS);
}

#[test]
fn storm_2674_who_takes_no_node_for_success_goes_on() {
    held(recording(Deletes::WhateverIsThere), "300");
}

#[test]
fn dolphinscheduler_353_the_look_before_the_delete_proves_nothing() {
    found(recording(Deletes::AfterALook), "1000", FAILS);
}

#[test]
fn yarn_11626_a_repeated_delete_fails() {
    found(removing(Deletes::Plainly), "1000", FAILS);
}

#[test]
fn yarn_11626_who_looks_after_it_goes_on() {
    held(removing(Deletes::BeforeALook), "300");
}

/// Helix 641: the events of sessions are handled one after the other, each by creating a znode in a session.
fn participating(in_the_session_of_the_event: bool) -> Test {
    let participant = move |zookeeper: ZooKeeper| async move {
        let mut session = zookeeper.connect().await;
        loop {
            // The handler runs some time after the event.
            zookeeper.sleep(Duration::from_secs(10)).await;
            let handle = match in_the_session_of_the_event {
                true => zookeeper.scope(session),
                // The session that the client has now.
                false => {
                    zookeeper.connect().await;
                    zookeeper.clone()
                }
            };
            let work = async {
                loop {
                    let create = || handle.create(MARK, b"", CreateMode::Ephemeral);
                    match until_known(&handle, create).await {
                        Ok((_, stat)) => return Ok(stat.ephemeral_owner),
                        Err(Error::NodeExists) => {}
                        Err(error) => return Err(error),
                    }
                    let look = || handle.exists_watch(MARK);
                    match until_known(&handle, look).await? {
                        (Some(stat), _) if stat.ephemeral_owner == Some(session) => {
                            return Ok(Some(session));
                        }
                        (Some(_), mut watch) => drop(watch.changed().await?),
                        (None, _) => {}
                    }
                }
            };
            match work.await {
                Ok(owner) if owner == Some(session) => break,
                Ok(_) => {
                    return Err("another session than the event's owns the instance".to_string());
                }
                Err(Error::SessionExpired) => session = next_session(&zookeeper, session).await,
                Err(error) => return Err(error.to_string()),
            }
        }
        zookeeper.custom("participates", &[]);
        Ok(())
    };
    Test::new("helix-641", participant)
        .clients(1)
        .client_options(ClientOptions::new().expires_locally())
        .faults(Faults::ALL.with_rate(Fault::SessionExpiry, Rate::ALWAYS.turns(3)))
        .finishes_within(Duration::from_secs(300))
        .must_see("participates")
}

const ANOTHER: &str = "another session than the event's";

#[test]
fn helix_641_the_event_of_an_ended_session_creates_in_the_next_one() {
    found(participating(false), "3000", ANOTHER);
}

#[test]
fn helix_641_who_creates_in_the_session_of_the_event() {
    held(participating(true), "300");
}

/// ClickHouse 81395: the worker's requests use the client's present session.
fn marking(compares: bool) -> Test {
    let worker = move |zookeeper: ZooKeeper| async move {
        let mut marked: Option<SessionId> = None;
        for _ in 0..3 {
            let session = zookeeper.connect().await;
            if marked.is_none() || (compares && marked != Some(session)) {
                mark(&zookeeper, session).await?;
                marked = Some(session);
                zookeeper.custom("marked", &[]);
            }
            zookeeper.sleep(Duration::from_secs(20)).await;
            match until_known(&zookeeper, || zookeeper.exists(RECORDS)).await {
                Ok(_) => {}
                Err(Error::SessionExpired) => marked = None,
                Err(error) => return Err(error.to_string()),
            }
        }
        let session = zookeeper.connect().await;
        if marked.is_none() || (compares && marked != Some(session)) {
            return Ok(());
        }
        let scope = zookeeper.scope(session);
        let look = async {
            settle(&scope).await?;
            until_known(&scope, || scope.exists(MARK)).await
        };
        match look.await {
            Ok(None) => Err("the worker works, and its replica is not active".to_string()),
            Ok(Some(_)) | Err(Error::SessionExpired) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    };
    Test::new("clickhouse-81395", worker)
        .setup(RECORDS)
        .clients(1)
        .client_options(ClientOptions::new().expires_locally())
        .faults(Faults::ALL.with_rate(Fault::SessionExpiry, Rate::ALWAYS.turns(3)))
        .finishes_within(Duration::from_secs(300))
        .must_see("marked")
}

/// Marks the replica active, and waits for the end of another session's mark first.
async fn mark(zookeeper: &ZooKeeper, session: SessionId) -> Result<(), String> {
    let scope = zookeeper.scope(session);
    let marks = async {
        loop {
            let create = || scope.create(MARK, b"", CreateMode::Ephemeral);
            match until_known(&scope, create).await {
                Ok(_) => return Ok(()),
                Err(Error::NodeExists) => {}
                Err(error) => return Err(error),
            }
            match until_known(&scope, || scope.exists_watch(MARK)).await? {
                (Some(stat), _) if stat.ephemeral_owner == Some(session) => return Ok(()),
                (Some(_), mut watch) => drop(watch.changed().await?),
                (None, _) => {}
            }
        }
    };
    match marks.await {
        Ok(()) | Err(Error::SessionExpired) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn clickhouse_81395_who_compares_the_sessions_marks_again() {
    held(marking(true), "300");
}

/// ClickHouse 118457: a replica that begins deletes the mark of its last process.
fn activating(takes_no_node_for_success: bool) -> Test {
    let work = move |zookeeper: ZooKeeper, session| async move {
        let look = || zookeeper.get_data(MARK);
        if let Some((_, stat)) = there(until_known(&zookeeper, look).await)?
            && stat.ephemeral_owner != Some(session)
        {
            let version = Version::Is(stat.version);
            match until_known(&zookeeper, || zookeeper.delete(MARK, version)).await {
                Ok(()) => {}
                Err(Error::NoNode) if takes_no_node_for_success => {}
                Err(Error::NoNode) => {
                    return Err(Fails::Says(
                        "the replica is already active, says a mark that is gone",
                    ));
                }
                Err(error) => return Err(error.into()),
            }
        }
        match until_known(&zookeeper, || zookeeper.create(MARK, b"", CreateMode::Ephemeral)).await {
            Ok(_) => {}
            Err(Error::NodeExists) => {
                let stat = until_known(&zookeeper, || zookeeper.exists(MARK)).await?;
                if stat.is_some_and(|stat| stat.ephemeral_owner != Some(session)) {
                    return Err(Fails::Says("the mark of an earlier process came late"));
                }
            }
            Err(error) => return Err(error.into()),
        }
        zookeeper.custom("active", &[]);
        Ok(())
    };
    test_in_each("clickhouse-118457", work).clients(1).must_see("active")
}

const ALREADY: &str = "already active";

#[test]
fn clickhouse_118457_a_mark_that_is_gone_says_active() {
    found(activating(false), "3000", ALREADY);
}

#[cfg(feature = "explore")]
mod explored {
    use super::*;
    use crate::judged::found_by_search;

    /// Lets clients give up no session by their own clocks, for searches.
    fn searched(test: Test) -> Test {
        test.client_options(ClientOptions::new())
    }

    #[test]
    fn storm_1941_the_old_session_takes_the_entry_away() {
        found_by_search(searched(entering(Enters::Writes)), &Exploration::new().kills(1), ENTRY);
        searched(entering(Enters::Awaits)).explore(&Exploration::new().kills(1));
    }

    #[test]
    fn storm_1941_the_repair_is_violated_by_a_late_delete() {
        let budget = Exploration::new().kills(1);
        found_by_search(searched(entering(Enters::Replaces)), &budget, ENTRY);
    }

    #[test]
    fn storm_2674_and_dolphinscheduler_353_two_delete_the_same_record() {
        found_by_search(recording(Deletes::Plainly), &Exploration::new(), FAILS);
        found_by_search(recording(Deletes::AfterALook), &Exploration::new(), FAILS);
        recording(Deletes::WhateverIsThere).explore(&Exploration::new().lost(1));
    }

    #[test]
    fn yarn_11626_a_repeated_delete() {
        found_by_search(removing(Deletes::Plainly), &Exploration::new().lost(1), FAILS);
        removing(Deletes::BeforeALook).explore(&Exploration::new().lost(1));
    }

    #[test]
    fn clickhouse_118457_a_restarted_replica() {
        let killed = Exploration::new().kills(1);
        found_by_search(activating(false), &killed, ALREADY);
    }

    /// The create of the killed process arrives between the delete and the create of the next one.
    #[test]
    fn clickhouse_118457_the_repair_is_violated_by_a_late_create() {
        found_by_search(activating(true), &Exploration::new().kills(1), "came late");
    }

    #[test]
    fn helix_641_an_event_of_an_ended_session() {
        let expired = Exploration::new().expiries(1);
        found_by_search(searched(participating(false)), &expired, ANOTHER);
        searched(participating(true)).explore(&expired);
    }

    #[test]
    fn clickhouse_81395_a_session_that_another_request_has_begun() {
        const INACTIVE: &str = "its replica is not active";
        let expired = Exploration::new().expiries(1);
        found_by_search(searched(marking(false)), &expired, INACTIVE);
        searched(marking(true)).explore(&expired);
    }
}

//! Curator's `LeaderLatch`, six reports: candidates have ephemeral sequential znodes, and the first of the list
//! leads. A *reset* deletes the candidate's own znode and creates the next one; it runs concurrently with the answers
//! to earlier requests.
//!
//! * CURATOR-18: a latch that is closed while its create is pending leaves its znode in the line. The repair deletes
//!   the znode when the answer arrives.
//! * CURATOR-498: a repeated create finds its own earlier znode by an id in its name, although that znode belongs to
//!   a session which is being closed. The repair compares the sessions.
//! * CURATOR-620 and CURATOR-653: a reset runs concurrently with another reset, or with a look at the list, and
//!   deletes the znode of a candidate that leads by now. Pull request 430 looks at the list after a reconnect, and
//!   resets nothing.
//! * CURATOR-645: a candidate whose predecessor is deleted between the list and the look resets itself, which makes
//!   its successor do the same. The repair (pull request 430) lists again.
//! * CURATOR-724: the latch's directory is gone, and a candidate that learns of it does nothing. The repair (pull
//!   request 515) resets the candidate, which creates the directory again.

use crate::judged::{Fails, found, held, in_each, in_line, text, there};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use vivarium::prelude::*;

const LATCH: &str = "/latch";

/// The differences between versions of the latch.
#[derive(Clone, Copy, Default)]
struct Version {
    /// A predecessor that is gone makes a candidate reset itself, instead of listing again.
    resets_if_predecessor_is_gone: bool,
    /// A missing directory makes a candidate reset itself, instead of leaving it where it is.
    resets_if_directory_is_gone: bool,
    /// The answer to a create deletes the znode if the latch has been closed meanwhile.
    deletes_if_closed: bool,
}

/// One candidate in one session.
struct Latch {
    zookeeper: ZooKeeper,
    version: Version,
    own: Mutex<Option<String>>,
    leads: AtomicBool,
    closed: AtomicBool,
    resets: AtomicU32,
}

impl Latch {
    fn new(zookeeper: ZooKeeper, version: Version) -> Latch {
        Latch {
            zookeeper,
            version,
            own: Mutex::new(None),
            leads: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            resets: AtomicU32::new(0),
        }
    }

    fn own(&self) -> Option<String> {
        self.own.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_leads(&self, leads: bool) {
        if self.leads.swap(leads, Ordering::Relaxed) != leads {
            self.zookeeper.custom(if leads { "leads" } else { "steps down" }, &[]);
        }
    }

    /// Uses this znode from now on, and deletes the previous one.
    async fn set_own(&self, own: Option<String>) -> Result<(), Error> {
        let old =
            std::mem::replace(&mut *self.own.lock().unwrap_or_else(PoisonError::into_inner), own);
        match old {
            Some(old) => ensure_deleted(&self.zookeeper, &format!("{LATCH}/{old}")).await,
            None => Ok(()),
        }
    }

    /// Creates a znode whose prefix no other create has, so that a lost create is found.
    async fn create(&self) -> Result<String, Error> {
        let number = self.resets.fetch_add(1, Ordering::Relaxed);
        let session = self.zookeeper.connect().await;
        let prefix = format!("{:x}.{number}-", session.0);
        let path = format!("{LATCH}/{prefix}");
        loop {
            match self.zookeeper.create(&path, b"", CreateMode::EphemeralSequential).await {
                Ok((path, _)) => return Ok(path.trim_start_matches("/latch/").to_string()),
                Err(Error::NoNode) => ensure_path(&self.zookeeper, LATCH).await?,
                Err(Error::ConnectionLoss) => {
                    settle(&self.zookeeper).await?;
                    let names = there(in_line(&self.zookeeper, LATCH).await)?.unwrap_or_default();
                    if let Some(own) = names.into_iter().find(|name| name.starts_with(&prefix)) {
                        return Ok(own);
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    async fn reset(&self) -> Result<(), Error> {
        self.set_leads(false);
        self.set_own(None).await?;
        let own = self.create().await?;
        self.set_own(Some(own)).await?;
        if self.version.deletes_if_closed && self.closed.load(Ordering::Relaxed) {
            self.set_own(None).await?;
        }
        Ok(())
    }

    /// Looks at the list until the candidate leads.
    async fn check(&self) -> Result<(), Fails> {
        loop {
            let names = match there(in_line(&self.zookeeper, LATCH).await)? {
                Some(names) => names,
                None if self.version.resets_if_directory_is_gone => {
                    self.reset().await?;
                    continue;
                }
                None => return Err(Fails::Says("the directory is gone, and the candidate waits")),
            };
            let own = self.own();
            match names.iter().position(|name| Some(name) == own.as_ref()) {
                None => self.reset().await?,
                Some(0) => {
                    self.set_leads(true);
                    return Ok(());
                }
                Some(place) => {
                    let before = format!("{LATCH}/{}", names[place - 1]);
                    let look = || self.zookeeper.get_data_watch(&before);
                    match there(until_known(&self.zookeeper, look).await)? {
                        Some((_, _, mut watch)) => drop(watch.changed().await?),
                        None if self.version.resets_if_predecessor_is_gone => {
                            if self.resets.load(Ordering::Relaxed) > 2 {
                                return Err(Fails::Says("the candidates reset each other"));
                            }
                            self.reset().await?;
                        }
                        None => {}
                    }
                }
            }
        }
    }

    async fn close(&self) -> Result<(), Error> {
        self.closed.store(true, Ordering::Relaxed);
        self.set_leads(false);
        self.set_own(None).await
    }
}

impl Drop for Latch {
    /// Drops what the end of its session has interrupted.
    fn drop(&mut self) {
        self.set_leads(false);
    }
}

/// The additional action of a candidate after a reconnect.
#[derive(Clone, Copy)]
enum Reconnected {
    /// CURATOR-620: two reconnects; each resets the candidate.
    ResetsTwice,
    /// CURATOR-653: one reconnect resets the candidate, concurrently with a look at the list that an event has
    /// caused.
    Resets,
    /// Pull request 430: both look at the list.
    Looks,
}

async fn reconnects(zookeeper: ZooKeeper, then: Reconnected) -> Result<(), Fails> {
    let latch = Latch::new(zookeeper, Version::default());
    latch.reset().await?;
    let resets = || async {
        latch.reset().await?;
        latch.check().await
    };
    let (first, second) = match then {
        Reconnected::ResetsTwice => join(resets(), resets()).await,
        Reconnected::Resets => join(latch.check(), resets()).await,
        Reconnected::Looks => join(latch.check(), latch.check()).await,
    };
    first.and(second)?;
    latch.zookeeper.sleep(Duration::from_secs(5)).await;
    Ok(latch.close().await?)
}

fn reconnecting(then: Reconnected) -> Test {
    let candidate = move |zookeeper: ZooKeeper| async move {
        in_each(&zookeeper, |zookeeper, _| reconnects(zookeeper, then)).await
    };
    Test::new("curator-620-653", candidate)
        .setup(LATCH)
        .clients(2)
        .faults(Faults::ALL)
        .finishes_within(Duration::from_secs(300))
        .monitor(never_two_at_once("leads", "steps down"))
        .must_see("leads")
}

const TWO: &str = "leads";

#[test]
fn curator_620_two_resets_delete_the_znode_of_a_leader() {
    found(reconnecting(Reconnected::ResetsTwice), "1000", TWO);
}

#[test]
fn curator_653_a_reset_deletes_the_znode_of_a_leader() {
    found(reconnecting(Reconnected::Resets), "1000", TWO);
}

#[test]
fn curator_620_and_653_a_look_at_the_list_deletes_nothing() {
    held(reconnecting(Reconnected::Looks), "300");
}

/// Candidates that lead twice each, by a new znode each time.
fn contending(resets_if_predecessor_is_gone: bool) -> Test {
    let version = Version { resets_if_predecessor_is_gone, ..Version::default() };
    let turns = move |zookeeper: ZooKeeper, _| async move {
        for _ in 0..2 {
            let latch = Latch::new(zookeeper.clone(), version);
            latch.reset().await?;
            latch.check().await?;
            latch.close().await?;
        }
        Ok(())
    };
    let candidate = move |zookeeper: ZooKeeper| async move { in_each(&zookeeper, turns).await };
    Test::new("curator-645", candidate)
        .setup(LATCH)
        .clients(2..=3)
        .faults(Faults::ALL)
        .finishes_within(Duration::from_secs(300))
        .must_see("leads")
}

#[test]
fn curator_645_who_lists_again_leads() {
    held(contending(false), "300");
}

/// One candidate, and a client that deletes the directory and its content.
fn scaled_to_nothing(resets_if_directory_is_gone: bool) -> Test {
    let version = Version { resets_if_directory_is_gone, ..Version::default() };
    let work = move |zookeeper: ZooKeeper, _| async move {
        let latch = Latch::new(zookeeper, version);
        latch.reset().await?;
        // The candidate is connected again.
        latch.check().await
    };
    let candidate = move |zookeeper: ZooKeeper| async move { in_each(&zookeeper, work).await };
    // It gives up if another client is faster.
    let scales = |zookeeper: ZooKeeper, _| async move {
        for name in there(in_line(&zookeeper, LATCH).await)?.into_iter().flatten() {
            ensure_deleted(&zookeeper, &format!("{LATCH}/{name}")).await?;
        }
        match ensure_deleted(&zookeeper, LATCH).await {
            Ok(()) | Err(Error::NotEmpty) => Ok(()),
            Err(error) => Err(error.into()),
        }
    };
    let scaler = move |zookeeper: ZooKeeper| async move { in_each(&zookeeper, scales).await };
    Test::of_roles("curator-724", [Role::new("candidate", candidate), Role::new("scaler", scaler)])
        .setup(LATCH)
        .faults(Faults::ALL)
        .finishes_within(Duration::from_secs(300))
        .must_see("leads")
}

const WAITS: &str = "the candidate waits";

#[test]
fn curator_724_a_missing_directory_leaves_the_candidate_waiting() {
    found(scaled_to_nothing(false), "1000", WAITS);
}

#[test]
fn curator_724_a_reset_makes_the_directory_again() {
    held(scaled_to_nothing(true), "300");
}

/// A latch that is started and closed at the same time.
fn closing(deletes_if_closed: bool) -> Test {
    let version = Version { deletes_if_closed, ..Version::default() };
    let work = move |zookeeper: ZooKeeper, _| async move {
        let latch = Latch::new(zookeeper, version);
        let closes = async {
            until_known(&latch.zookeeper, || latch.zookeeper.exists(LATCH)).await?;
            latch.close().await
        };
        let (started, closed) = join(latch.reset(), closes).await;
        started.and(closed)?;
        latch.zookeeper.custom("closed", &[]);
        settle(&latch.zookeeper).await?;
        match in_line(&latch.zookeeper, LATCH).await?.is_empty() {
            true => Ok(()),
            false => Err(Fails::Says("a closed latch has a znode in the line")),
        }
    };
    let candidate = move |zookeeper: ZooKeeper| async move { in_each(&zookeeper, work).await };
    // Killed programs leave znodes of their sessions, and so do sessions that clients have given up.
    Test::new("curator-18", candidate)
        .setup(LATCH)
        .clients(1)
        .faults(Faults::ALL.without(Fault::ProgramCrash))
        .finishes_within(Duration::from_secs(300))
        .must_see("closed")
}

const STAYS: &str = "closed latch has a znode";

#[test]
fn curator_18_a_closed_latch_stays_in_the_line() {
    found(closing(false), "1000", STAYS);
}

#[test]
fn curator_18_the_answer_to_the_create_deletes() {
    held(closing(true), "300");
}

/// Repeats a create from session to session, and finds a lost one by an id in the znode's name.
async fn protected(zookeeper: &ZooKeeper, compares: bool) -> Result<(String, SessionId), Error> {
    let id = format!("{:x}-", zookeeper.random().await);
    let path = format!("{LATCH}/{id}");
    let mut session = zookeeper.connect().await;
    loop {
        match zookeeper.create(&path, b"", CreateMode::EphemeralSequential).await {
            Ok((path, stat)) => return Ok((path, stat.ephemeral_owner.unwrap_or(session))),
            Err(Error::ConnectionLoss) => session = zookeeper.connect().await,
            Err(Error::SessionExpired) => session = next_session(zookeeper, session).await,
            Err(error) => return Err(error),
        }
        let Ok(names) = zookeeper.get_children(LATCH).await else { continue };
        let Some(name) = names.into_iter().find(|name| name.starts_with(&id)) else { continue };
        let found = format!("{LATCH}/{name}");
        if !compares {
            return Ok((found, session));
        }
        if let Ok(Some(stat)) = zookeeper.exists(&found).await
            && stat.ephemeral_owner == Some(session)
        {
            return Ok((found, session));
        }
    }
}

fn protecting(compares: bool) -> Test {
    let candidate = move |zookeeper: ZooKeeper| async move {
        let (own, session) = text(protected(&zookeeper, compares).await)?;
        zookeeper.custom("created", &[]);
        zookeeper.sleep(Duration::from_secs(60)).await;
        let scope = zookeeper.scope(session);
        let look = async {
            settle(&scope).await?;
            until_known(&scope, || scope.exists(&own)).await
        };
        match look.await {
            Ok(None) => Err("the protected znode is gone, and its session lives".to_string()),
            Ok(Some(_)) | Err(Error::SessionExpired) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    };
    Test::new("curator-498", candidate)
        .setup(LATCH)
        .clients(1)
        .client_options(ClientOptions::new().expires_locally())
        .faults(Faults::ALL)
        .finishes_within(Duration::from_secs(300))
        .must_see("created")
}

const GONE: &str = "protected znode is gone";

#[test]
fn curator_498_the_znode_of_a_session_that_ends_is_taken_for_the_new_one() {
    found(protecting(false), "3000", GONE);
}

#[test]
fn curator_498_who_compares_the_sessions_keeps_its_znode() {
    held(protecting(true), "300");
}

#[cfg(feature = "explore")]
mod explored {
    use super::*;
    use crate::judged::found_by_search;

    #[test]
    fn curator_620_and_653_resets_beside_others() {
        found_by_search(reconnecting(Reconnected::ResetsTwice), &Exploration::new(), TWO);
        found_by_search(reconnecting(Reconnected::Resets), &Exploration::new(), TWO);
        reconnecting(Reconnected::Looks).explore(&Exploration::new());
    }

    const RESET: &str = "reset each other";

    /// Sweeps do not find this in 1,000 seeds: both candidates must be fast in turns, repeatedly.
    #[test]
    fn curator_645_candidates_reset_each_other_without_a_fault() {
        found_by_search(contending(true), &Exploration::new().clients(2), RESET);
        contending(false).explore(&Exploration::new().clients(2));
    }

    #[test]
    fn curator_724_a_missing_directory() {
        found_by_search(scaled_to_nothing(false), &Exploration::new(), WAITS);
        scaled_to_nothing(true).explore(&Exploration::new());
    }

    #[test]
    fn curator_18_a_closed_latch() {
        found_by_search(closing(false), &Exploration::new(), STAYS);
        closing(true).explore(&Exploration::new().lost(1));
    }
}

//! CURATOR-444: of several candidates with sequential znodes the first one of the list leads. A candidate that led
//! once continues to lead when a later list no longer shows it first, concurrently with the next leader.
//!
//! The repair (pull request 243) gives leadership back if a list does not show the candidate's own znode first.
//! CURATOR-696 reports what this misses: a list that still shows the znode of a session which the client has given up
//! makes the candidate lead, and it is not notified when the end of that session deletes the znode.

use crate::judged::{found, held, text};
use vivarium::prelude::*;

const LATCH: &str = "/latch";

/// The time at which a candidate leads.
#[derive(Clone, Copy, PartialEq)]
enum Leads {
    /// As reported: from the first list on that shows it first.
    Once,
    /// The repair: as long as the last list shows it first.
    AsListed,
    /// As listed, by a znode of its present session, and until that session ends.
    InItsSession,
}

/// The znode that a candidate uses, which outlives its session here, and whether the candidate leads.
#[derive(Default)]
struct Candidate {
    own: Option<(String, SessionId, Zxid)>,
    leads: bool,
}

impl Candidate {
    fn set(&mut self, zookeeper: &ZooKeeper, leads: bool) {
        match (self.leads, leads, &self.own) {
            (false, true, Some((_, _, token))) => {
                zookeeper.custom("leads", &[("token", (*token).into())]);
            }
            (true, false, _) => zookeeper.custom("steps down", &[]),
            _ => return,
        }
        self.leads = leads;
    }
}

/// Takes part in each session, until one has lasted some time.
async fn candidate(zookeeper: ZooKeeper, when: Leads) -> Result<(), String> {
    let mut candidate = Candidate::default();
    let mut session = zookeeper.connect().await;
    loop {
        zookeeper.custom("connected", &[]);
        match takes_part(&zookeeper.scope(session), session, when, &mut candidate).await {
            Err(Error::SessionExpired) => {
                if when != Leads::Once {
                    candidate.set(&zookeeper, false);
                }
                session = next_session(&zookeeper, session).await;
            }
            other => return text(other),
        }
    }
}

async fn takes_part(
    zookeeper: &ZooKeeper,
    session: SessionId,
    when: Leads,
    candidate: &mut Candidate,
) -> Result<(), Error> {
    loop {
        let mut list = until_known(zookeeper, || zookeeper.get_children(LATCH)).await?;
        list.sort_by_key(|name| name.rsplit('-').next().map(str::to_string));
        let is_mine = |name: &String| match &candidate.own {
            Some((own, of, _)) if *of == session || when != Leads::InItsSession => own == name,
            _ => false,
        };
        let Some(place) = list.iter().position(is_mine) else {
            candidate.own = Some(register(zookeeper, session).await?);
            continue;
        };
        if place == 0 {
            candidate.set(zookeeper, true);
            zookeeper.sleep(Duration::from_secs(20)).await;
            until_known(zookeeper, || zookeeper.exists(LATCH)).await?;
            candidate.set(zookeeper, false);
            zookeeper.close().await;
            return Ok(());
        }
        if when != Leads::Once {
            candidate.set(zookeeper, false);
        }
        let before = format!("{LATCH}/{}", list[place - 1]);
        let (stat, mut watch) = until_known(zookeeper, || zookeeper.exists_watch(&before)).await?;
        if stat.is_some() {
            watch.changed().await?;
        }
    }
}

/// Creates a sequential znode whose name contains the session, so that a lost create is found.
async fn register(
    zookeeper: &ZooKeeper,
    session: SessionId,
) -> Result<(String, SessionId, Zxid), Error> {
    let prefix = format!("{:x}-", session.0);
    let path = format!("{LATCH}/{prefix}");
    loop {
        match zookeeper.create(&path, b"", CreateMode::EphemeralSequential).await {
            Ok(_) => {}
            Err(Error::ConnectionLoss) => settle(zookeeper).await?,
            Err(error) => return Err(error),
        }
        let list = until_known(zookeeper, || zookeeper.get_children(LATCH)).await?;
        let Some(own) = list.into_iter().find(|name| name.starts_with(&prefix)) else { continue };
        let path = format!("{LATCH}/{own}");
        let stat = until_known(zookeeper, || zookeeper.exists(&path)).await?;
        return stat.map(|stat| (own, session, stat.czxid)).ok_or(Error::SessionExpired);
    }
}

fn candidates(when: Leads) -> Test {
    Test::new("curator-444", move |zookeeper| candidate(zookeeper, when))
        .setup(LATCH)
        .clients(2)
        .client_options(ClientOptions::new().expires_locally())
        .faults(Faults::ALL)
        .finishes_within(Duration::from_secs(300))
        .monitor(never_two_at_once("leads", "steps down"))
        .must_see("leads")
}

#[test]
fn a_candidate_that_led_once_goes_on() {
    found(candidates(Leads::Once), "1000", "leads");
}

#[test]
fn the_repair_is_violated_by_the_znode_of_a_session_that_was_given_up() {
    found(candidates(Leads::AsListed), "6000", "leads");
}

#[test]
fn who_leads_by_its_present_session_leads_alone() {
    held(candidates(Leads::InItsSession), "300");
}

#[cfg(feature = "explore")]
mod explored {
    use super::*;
    use crate::judged::found_by_search;

    fn searched(when: Leads) -> Test {
        candidates(when).client_options(ClientOptions::new())
    }

    #[test]
    fn a_candidate_that_led_once_goes_on() {
        let expired = Exploration::new().expiries(1);
        found_by_search(searched(Leads::Once), &expired, "leads");
    }

    /// The client gives its session up, and its servers keep it.
    #[test]
    fn the_repair_is_violated_by_the_znode_of_a_session_that_was_given_up() {
        let given_up = Exploration::new().expiries(1);
        found_by_search(candidates(Leads::AsListed), &given_up, "leads");
    }

    #[test]
    fn who_leads_by_its_present_session_leads_alone_in_every_order() {
        searched(Leads::InItsSession).explore(&Exploration::new().expiries(1));
    }
}

//! An election: each client leads once, when its turn comes.

use vivarium::prelude::*;

const ELECTION: &str = "/election";

/// What can be wrong with it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mistake {
    None,
    /// A create whose reply was lost is made again, although it may have been applied.
    CreatesAgain,
    /// Who is woken leads, whoever else is ahead.
    TrustsItsWakeUp,
}

/// Leads once. Whatever the session has, ends with it: then it begins anew in the next one.
async fn campaign(zk: ZooKeeper, mistake: Mistake) -> Result<(), String> {
    let led = in_sessions(&zk, |zk, session| lead_once(zk, session, mistake)).await;
    led.map_err(|error| error.to_string())
}

async fn lead_once(zk: ZooKeeper, session: SessionId, mistake: Mistake) -> Result<(), Error> {
    let (own, term) = candidate(&zk, session, mistake).await?;
    while let Some(ahead) = next_ahead(&zk, &own).await? {
        let (there, mut watch) = until_known(&zk, || zk.exists_watch(&ahead)).await?;
        if there.is_some() {
            watch.changed().await?;
            if mistake == Mistake::TrustsItsWakeUp {
                break;
            }
        }
    }
    zk.custom("leads", &[("term", term.into())]);
    // The work of a leader.
    zk.sleep(Duration::from_millis(500)).await;
    zk.custom("resigns", &[]);
    ensure_deleted(&zk, &own).await
}

/// Its znode: path and czxid. The session in the name tells whose it is when the reply is lost.
async fn candidate(
    zk: &ZooKeeper,
    session: SessionId,
    mistake: Mistake,
) -> Result<(String, Zxid), Error> {
    let prefix = format!("{session}-");
    loop {
        let path = format!("{ELECTION}/{prefix}");
        match zk.create(&path, b"", CreateMode::EphemeralSequential).await {
            Ok((path, stat)) => return Ok((path, stat.czxid)),
            Err(Error::ConnectionLoss) => settle(zk).await?,
            Err(error) => return Err(error),
        }
        if mistake == Mistake::CreatesAgain {
            continue;
        }
        let all = until_known(zk, || zk.get_children(ELECTION)).await?;
        if let Some(name) = all.iter().find(|name| name.starts_with(&prefix)) {
            let path = format!("{ELECTION}/{name}");
            // Gone again only if the session is over, which the next request tells.
            if let Some(stat) = until_known(zk, || zk.exists(&path)).await? {
                return Ok((path, stat.czxid));
            }
        }
    }
}

/// The candidate right ahead of this one, if there is any.
async fn next_ahead(zk: &ZooKeeper, own: &str) -> Result<Option<String>, Error> {
    let number = |name: &str| name.rsplit('-').next().map(str::to_string);
    let all = until_known(zk, || zk.get_children(ELECTION)).await?;
    let ahead = all.into_iter().filter(|name| number(name) < number(own));
    let next = ahead.max_by_key(|name| number(name));
    Ok(next.map(|name| format!("{ELECTION}/{name}")))
}

fn election(mistake: Mistake) -> Test {
    Test::new("election", move |zk| campaign(zk, mistake))
        .setup(ELECTION)
        .clients(3)
        .monitor(never_two_at_once("leads", "resigns").token("term"))
        .monitor(eventually("leads").by_every_client())
        .monitor(no_ghosts_under(ELECTION))
}

#[test]
fn it_holds_through_every_fault() {
    election(Mistake::None).faults(Faults::ALL).seeds(300).run();
}

#[test]
fn it_holds_in_every_order_of_a_lost_connection() {
    election(Mistake::None).explore(&Exploration::new().clients(2).lost(1));
}

#[test]
fn it_holds_in_every_order_of_an_expiry() {
    election(Mistake::None).explore(&Exploration::new().clients(2).expiries(1));
}

#[test]
#[should_panic(expected = "VIOLATED: election")]
fn a_sweep_finds_that_it_creates_again() {
    election(Mistake::CreatesAgain).faults(Faults::ALL).seeds(300).run();
}

#[test]
#[should_panic(expected = "VIOLATED: election")]
fn a_search_finds_that_it_creates_again() {
    election(Mistake::CreatesAgain).explore(&Exploration::new().clients(2).lost(1));
}

#[test]
#[should_panic(expected = "never two at once")]
fn a_sweep_finds_that_it_trusts_its_wake_up() {
    election(Mistake::TrustsItsWakeUp).faults(Faults::ALL).seeds(2_000).run();
}

#[test]
#[should_panic(expected = "never two at once")]
fn a_search_finds_that_it_trusts_its_wake_up() {
    election(Mistake::TrustsItsWakeUp).explore(&Exploration::new().clients(3).expiries(1));
}

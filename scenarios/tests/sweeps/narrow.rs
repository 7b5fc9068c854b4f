//! Mistakes that show only in a narrow interleaving: between two calls of one program, other clients must act. This
//! needs no fault, only a client that is slow at the wrong moment ([`Fault::SlowReactions`], [`Fault::Priorities`]).

use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium::prelude::*;
use vivarium::seeds::SeedRange;

/// A sweep has to find the mistake within this number of seeds.
const SOON: u64 = 500;

// ---- a lost wake-up ----

/// The way in which a consumer waits for the next item.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waits {
    /// For changes since it looked.
    WithItsLook,
    /// It looks, and then sets a watch by another call whose answer it ignores. The mistake: an item that arrived in
    /// between wakes no consumer.
    ByAnotherCall,
}

/// Client 1 takes items until it has taken the last one; client 2 puts them, with pauses.
async fn queue(zookeeper: ZooKeeper, items: u32, waits: Waits) -> Result<(), String> {
    zookeeper.connect().await;
    if zookeeper.client() == ClientId(1) {
        take_all(&zookeeper, waits).await
    } else {
        put_all(&zookeeper, items).await
    }
}

async fn put_all(zookeeper: &ZooKeeper, items: u32) -> Result<(), String> {
    for left in (0..items).rev() {
        let pause = 500 + zookeeper.random().await % 4_000;
        zookeeper.sleep(Duration::from_millis(pause)).await;
        let data: &[u8] = if left == 0 { b"last" } else { b"" };
        let mode = CreateMode::PersistentSequential;
        // An additional item does no harm, so an unknown result is retried.
        while let Err(error) = zookeeper.create("/queue/item-", data, mode).await {
            again(zookeeper, error).await?;
        }
    }
    Ok(())
}

async fn take_all(zookeeper: &ZooKeeper, waits: Waits) -> Result<(), String> {
    loop {
        match take_what_is_there(zookeeper, waits).await {
            Ok(true) => return Ok(()),
            Ok(false) => {}
            Err(error) => again(zookeeper, error).await?,
        }
    }
}

/// Takes the existing items, or waits until there are some. Returns true after the last item.
async fn take_what_is_there(zookeeper: &ZooKeeper, waits: Waits) -> Result<bool, Error> {
    let (mut items, mut watch) = match waits {
        Waits::WithItsLook => {
            let (items, watch) = zookeeper.get_children_watch("/queue").await?;
            (items, Some(watch))
        }
        Waits::ByAnotherCall => (zookeeper.get_children("/queue").await?, None),
    };
    if items.is_empty() {
        if watch.is_none() {
            watch = Some(zookeeper.get_children_watch("/queue").await?.1);
        }
        watch.expect("it is set").changed().await?;
        return Ok(false);
    }
    items.sort();
    for item in items {
        let path = format!("/queue/{item}");
        let (data, _stat) = zookeeper.get_data(&path).await?;
        if &*data == b"last" {
            zookeeper.custom("taken", &[]);
            return Ok(true);
        }
        zookeeper.delete(&path, Version::Any).await?;
    }
    Ok(false)
}

/// Returns an error unless the call is worth another try.
async fn again(zookeeper: &ZooKeeper, error: Error) -> Result<(), String> {
    match error {
        Error::ConnectionLoss | Error::SessionExpired | Error::SessionMoved | Error::NoNode => {
            zookeeper.connect().await;
            Ok(())
        }
        error => Err(error.to_string()),
    }
}

fn lost_wake_up(waits: Waits) -> Test {
    Test::with_rounds("queue", 1..=2, move |zookeeper, items| queue(zookeeper, items, waits))
        .setup("/queue")
        .clients(2)
        .must_see("taken")
        .faults(Faults::ALL.without(Fault::ProgramCrash))
}

// ---- a decision that is written twice ----

/// The way in which a decision is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Decides {
    /// Once: a second decision fails.
    Once,
    /// If there was none at the last look. The mistake: it may exist by now.
    AfterALook,
}

const DECISION: &str = "/decision";
const VOTES: &str = "/votes";

/// Two-phase commit: client 1 coordinates, the others are sites. A site that has voted waits for the decision; a
/// client that runs out of patience aborts.
async fn commit(zookeeper: ZooKeeper, sites: usize, decides: Decides) -> Result<(), String> {
    zookeeper.connect().await;
    let work = zookeeper.random().await % 300;
    zookeeper.sleep(Duration::from_millis(work)).await;
    loop {
        let done = if zookeeper.client() == ClientId(1) {
            coordinate(&zookeeper, sites, decides).await
        } else {
            vote(&zookeeper, decides).await
        };
        match done {
            Ok(()) => return Ok(()),
            Err(error) => again(&zookeeper, error).await?,
        }
    }
}

async fn coordinate(zookeeper: &ZooKeeper, sites: usize, decides: Decides) -> Result<(), Error> {
    loop {
        let (votes, mut watch) = zookeeper.get_children_watch(VOTES).await?;
        if votes.len() == sites {
            break;
        }
        watch.changed().await?;
    }
    decide(zookeeper, b"commit", decides).await
}

async fn vote(zookeeper: &ZooKeeper, decides: Decides) -> Result<(), Error> {
    let own = format!("{VOTES}/{}", zookeeper.client().0);
    match zookeeper.create(&own, b"", CreateMode::Persistent).await {
        Ok(_) | Err(Error::NodeExists) => {}
        Err(error) => return Err(error),
    }
    let patience = 500 + zookeeper.random().await % 10_000;
    let patience = Duration::from_millis(patience);
    let decision = match zookeeper.timeout(patience, decision(zookeeper)).await {
        Ok(decision) => decision?,
        Err(TimedOut) => {
            decide(zookeeper, b"abort", decides).await?;
            // Another client may have been faster: the existing decision counts.
            decision(zookeeper).await?
        }
    };
    let decision = String::from_utf8_lossy(&decision).into_owned();
    zookeeper.custom("decided", &[("what", Value::Text(decision.into()))]);
    Ok(())
}

/// Waits for the decision.
async fn decision(zookeeper: &ZooKeeper) -> Result<Data, Error> {
    loop {
        let (data, _stat, mut watch) = zookeeper.get_data_watch(DECISION).await?;
        if !data.is_empty() {
            return Ok(data);
        }
        watch.changed().await?;
    }
}

/// Writes a decision if there is none.
async fn decide(zookeeper: &ZooKeeper, what: &[u8], decides: Decides) -> Result<(), Error> {
    let (data, stat) = zookeeper.get_data(DECISION).await?;
    if !data.is_empty() {
        return Ok(());
    }
    let version = match decides {
        Decides::Once => Version::Is(stat.version),
        Decides::AfterALook => Version::Any,
    };
    match zookeeper.set_data(DECISION, what, version).await {
        Ok(_) | Err(Error::BadVersion) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Violated if two sites decide differently.
#[derive(Clone, Default, Hash)]
struct Agree(BTreeMap<ClientId, Arc<str>>);

impl Declared for Agree {
    const DECLARATION: Declaration<Self> = Declaration::in_sweeps(
        "sites agree",
        LooksBack::Whole,
        minds! { |this, view, event|
            #[needed("decided")]
            Observed(client, Custom { name, fields }) if **name == *"decided" => this.decided(client, fields),
        },
    );
}

impl Agree {
    fn decided(&mut self, client: ClientId, fields: &[(Arc<str>, Value)]) -> Result<(), Objection> {
        let [(_, Value::Text(what))] = fields else { return Ok(()) };
        if let Some((other, otherwise)) = self.0.iter().find(|(_, decided)| *decided != what) {
            let saw = format!("{client} decides {what}, and {other} {otherwise}");
            return Err(self.objection(saw));
        }
        self.0.insert(client, what.clone());
        Ok(())
    }
}

fn two_phase_commit(decides: Decides) -> Test {
    const SITES: u32 = 2;
    let run = move |zookeeper| commit(zookeeper, SITES as usize, decides);
    Test::new("two-phase commit", run)
        .setup(DECISION)
        .setup(VOTES)
        .clients(1 + SITES)
        .monitor(Agree::default())
        .must_see("decided")
        .faults(Faults::ALL)
}

// ---- how soon they are found ----

/// A mistake, by its name.
type Mistake = (&'static str, fn() -> Test);

const MISTAKES: [Mistake; 2] = [
    ("lost wake-up", || lost_wake_up(Waits::ByAnotherCall)),
    ("rewritable decision", || two_phase_commit(Decides::AfterALook)),
];

/// Returns the first violating seed of a range of this length, and the objection.
fn first(test: Test, from: u64, seeds: u64) -> Option<(u64, String)> {
    let range = SeedRange::parse(&format!("{from}..{}", from + seeds)).expect("a range");
    let failure = test.run_seeds(&range).err()?;
    let violation = &failure.finding().unwrap_or_else(|| panic!("{failure}")).violation;
    Some((violation.seed.expect("a run's"), violation.objection.to_string()))
}

#[test]
fn a_lost_wake_up_is_found_soon() {
    let (_seed, saw) = first(lost_wake_up(Waits::ByAnotherCall), 0, SOON).expect("it is found");
    assert!(saw.starts_with("progress"), "{saw}");
    assert!(saw.contains("client 1: the watch on /queue to fire"), "{saw}");
}

#[test]
fn a_decision_that_is_written_twice_is_found_soon() {
    let found = first(two_phase_commit(Decides::AfterALook), 0, SOON).expect("it is found");
    assert!(found.1.starts_with("sites agree"), "{}", found.1);
}

/// The result does not depend on a lucky seed: this takes the median over ten ranges.
#[test]
#[ignore = "thousands of runs: .ci/run asks for it by itself"]
fn they_are_found_soon_wherever_one_begins() {
    const RANGE: u64 = 5_000;
    for (name, mistake) in MISTAKES {
        let in_range = |at: u64| {
            let found = first(mistake(), at * RANGE, RANGE);
            found.map_or(RANGE, |(seed, _saw)| seed - at * RANGE)
        };
        let mut firsts: Vec<u64> = (0..10).map(in_range).collect();
        firsts.sort_unstable();
        let median = u64::midpoint(firsts[4], firsts[5]);
        println!("{name}: median {median} of {firsts:?}");
        assert!(median <= SOON, "{name}: {firsts:?}");
    }
}

#[test]
fn who_does_it_right_is_right_however_slow() {
    let slow = Faults::ALL
        .with_rate(Fault::SlowReactions, Rate::in_seeds(3, 4))
        .with_rate(Fault::Priorities, Rate::in_seeds(3, 4));
    let queue = lost_wake_up(Waits::WithItsLook).faults(slow.without(Fault::ProgramCrash));
    for test in [queue, two_phase_commit(Decides::Once).faults(slow)] {
        if let Some((seed, saw)) = first(test, 0, 500) {
            panic!("seed {seed}: {saw}");
        }
    }
}

// ---- rates ----

/// In every run of this test a session expires, repeatedly.
#[test]
fn a_test_says_how_often_a_fault_strikes() {
    const EXPIRIES: Faults = Faults::NONE.with_rate(Fault::SessionExpiry, Rate::ALWAYS.turns(40));
    let seeds = SeedRange::count(20).expect("some");
    let report = lost_wake_up(Waits::WithItsLook).faults(EXPIRIES).run_seeds(&seeds);
    let report = report.unwrap_or_else(|failure| panic!("{failure}"));
    let struck = report.fault_total();
    assert!(struck >= 60, "{struck} expiries in 20 runs");
}

#[test]
fn a_rate_that_makes_no_sense_is_refused_with_a_sentence() {
    let faults = Faults::ALL.with_rate(Fault::LostReplyApplied, Rate::ALWAYS.turns(3));
    let seeds = SeedRange::count(1).expect("some");
    let refused = lost_wake_up(Waits::WithItsLook).faults(faults).run_seeds(&seeds);
    let sentence = refused.expect_err("it is refused").to_string();
    let expected = "queue: `turns(3)`: lost reply, applied strikes a share of all writes: use \
                    `one_in(..)`";
    assert_eq!(sentence, expected);
}

//! False declarations of programs and properties: the searches are so small that every state is checked.

use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use vivarium::ExplorationReport;
use vivarium::prelude::*;

/// Asserts that a search violates this property, and returns the objection.
fn falls(test: Test, exploration: &Exploration, property: &str) -> String {
    let verdict = test.explored(exploration).expect("it can be").verdict;
    let objection = &verdict.violation().unwrap_or_else(|| panic!("{verdict}")).objection;
    assert_eq!(objection.property, property, "{objection}");
    objection.saw.clone()
}

const CONDITION: &str = "a reduction's condition";
const FUNCTION: &str = "a function of its inputs";

fn held(test: Test, exploration: &Exploration) -> ExplorationReport {
    let report = test.explored(exploration).expect("it can be");
    assert!(report.verdict.violation().is_none(), "{}", report.verdict);
    report
}

/// Clients that report what they see in the tree.
fn lookers() -> Test {
    Test::new("lookers", |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        zookeeper.custom("begun", &[]);
        let seen = zookeeper.exists("/a").await.map_err(|error| error.to_string())?;
        zookeeper.custom("looked", &[("seen", i64::from(seen.is_some()).into())]);
        let _ = zookeeper.create("/a", b"", CreateMode::Persistent).await;
        Ok(())
    })
}

fn two() -> Exploration {
    Exploration::new().clients(2)
}

/// The false declaration of a property.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Untrue {
    Nothing,
    Concern,
    Order,
    Mark,
}

/// Violated by the second client that saw nothing.
#[derive(Clone, Hash)]
struct SawNothing {
    untrue: Untrue,
    hashed: u32,
    mark: Unhashed<u32>,
}

impl SawNothing {
    fn that_is(untrue: Untrue) -> SawNothing {
        SawNothing { untrue, hashed: 0, mark: Unhashed(0) }
    }
}

fn saw_nothing(event: &Event) -> bool {
    let fields = |custom: &Custom| matches!(custom.fields.as_slice(), [(_, Value::Number(0))]);
    event.observed::<Custom>().is_some_and(|(_, custom)| fields(custom))
}

impl Monitor for SawNothing {
    fn name(&self) -> &'static str {
        "saw nothing"
    }
    fn asked(&self) -> Asked {
        Asked::Everywhere
    }
    fn concerns(&self, event: &Event) -> bool {
        self.untrue != Untrue::Concern && event.observed::<Custom>().is_some()
    }
    fn minds_order(&self, event: &Event) -> bool {
        self.untrue != Untrue::Order && self.concerns(event)
    }
    fn event(&mut self, _view: View<'_>, event: &Event) -> Result<(), Objection> {
        let Some((client, custom)) = event.observed::<Custom>() else { return Ok(()) };
        match self.untrue {
            // Remembers which client was first.
            Untrue::Order if self.hashed == 0 => self.hashed = u32::from(client.0),
            Untrue::Mark if saw_nothing(event) => *self.mark += 1,
            Untrue::Concern if &*custom.name == "looked" => self.hashed += 1,
            _ => {}
        }
        match *self.mark {
            // More than any run of two clients has.
            4.. => Err(Objection::new(self.name(), "many saw nothing")),
            _ => Ok(()),
        }
    }
}

#[test]
fn a_property_that_says_what_is_so_holds() {
    let report = held(lookers().monitor(SawNothing::that_is(Untrue::Nothing)), &two());
    let text = report.claims.join("\n");
    assert!(text.contains("only as its `minds_order` declares (checked in all "), "{text}");
    assert!(text.contains("through them taken again in another order"), "{text}");
}

#[test]
fn a_property_that_an_event_concerns_and_says_no() {
    let test = lookers().monitor(SawNothing::that_is(Untrue::Concern));
    let saw = falls(test, &two(), CONDITION);
    assert!(
        saw.contains("`saw nothing` depends on an event that its `concerns` excludes"),
        "{saw}"
    );
}

#[test]
fn a_property_that_minds_the_order_and_says_no() {
    let saw = falls(lookers().monitor(SawNothing::that_is(Untrue::Order)), &two(), CONDITION);
    assert!(saw.contains("`minds_order`"), "{saw}");
}

#[test]
fn a_property_with_a_mark_outside_of_its_hash() {
    let saw = falls(lookers().monitor(SawNothing::that_is(Untrue::Mark)), &two(), CONDITION);
    assert!(saw.contains("two copies of `saw nothing` have equal hashes but differ"), "{saw}");
}

/// The state between rounds. Its `Eq` compares only a part.
#[derive(Clone, Copy, Debug)]
struct Tries {
    tries: u32,
    lost: bool,
}

impl PartialEq for Tries {
    fn eq(&self, other: &Tries) -> bool {
        self.tries == other.tries
    }
}

impl Eq for Tries {}

impl std::hash::Hash for Tries {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.tries.hash(state);
    }
}

/// The second round, or one `later`, fails if the first one has lost its connection, or the znode existed.
fn in_rounds(later: u32) -> Test {
    let first = Tries { tries: 0, lost: false };
    Test::rounds("in rounds", first, move |zookeeper: ZooKeeper, now: Tries| async move {
        zookeeper.connect().await;
        let Tries { tries, lost } = now;
        if tries == 0 {
            let lost = zookeeper.create("/a", b"", CreateMode::Persistent).await.is_err();
            return Ok(Round::Again(Tries { tries: 1, lost }));
        }
        let _ = zookeeper.exists("/b").await;
        match tries {
            _ if tries < later => Ok(Round::Again(Tries { tries: tries + 1, lost })),
            _ if lost => Err("it was lost".to_string()),
            _ => Ok(Round::Done),
        }
    })
}

#[test]
fn a_round_whose_state_is_more_than_its_eq() {
    for later in [1, 2, 3] {
        for exploration in [two(), two().depth_first(), two().lost(1), two().without_reductions()] {
            let verdict = in_rounds(later).explored(&exploration).expect("it can be").verdict;
            let objection = &verdict.violation().unwrap_or_else(|| panic!("{verdict}")).objection;
            assert!([FUNCTION, "program"].contains(&&*objection.property), "{objection}");
        }
    }
}

/// The ignored part shows one round later, in an observation; no program returns an error for it.
#[test]
fn a_round_whose_state_is_more_than_its_eq_and_that_only_says_so() {
    let first = Tries { tries: 0, lost: false };
    let test = Test::rounds("says", first, move |zookeeper: ZooKeeper, now: Tries| async move {
        zookeeper.connect().await;
        let Tries { tries, lost } = now;
        if tries == 0 {
            let lost = zookeeper.create("/a", b"", CreateMode::Persistent).await.is_err();
            return Ok(Round::Again(Tries { tries: 1, lost }));
        }
        let _ = zookeeper.exists("/b").await;
        zookeeper.custom("second", &[("lost", lost.into())]);
        Ok(Round::Done)
    });
    let saw = falls(test, &two().threads(std::num::NonZeroUsize::MIN), FUNCTION);
    assert!(saw.contains("so the state that rounds hand on is incomplete"), "{saw}");
}

/// One program sets a flag after its last await; the other one reads it after its own.
fn flagged(flag: &Arc<AtomicBool>, reader_first: bool) -> Test {
    let role = |name: &str, sets: bool| {
        let flag = Arc::clone(flag);
        Role::new(name, move |zookeeper: ZooKeeper| {
            let flag = Arc::clone(&flag);
            async move {
                zookeeper.connect().await;
                let _ = zookeeper.exists("/a").await;
                if sets {
                    let _ = zookeeper.exists("/b").await;
                    flag.store(true, Ordering::Relaxed);
                    return Ok(());
                }
                zookeeper.custom("looked", &[("flag", flag.load(Ordering::Relaxed).into())]);
                Ok(())
            }
        })
    };
    let (setter, reader) = (role("setter", true), role("reader", false));
    let roles = if reader_first { [reader, setter] } else { [setter, reader] };
    Test::of_roles("flagged", roles)
}

/// Breadth first the reader, which has less to do, reads the flag before it is set.
#[test]
fn a_flag_that_programs_share() {
    for reader_first in [false, true] {
        let saw = falls(flagged(&Arc::default(), reader_first), &Exploration::new(), FUNCTION);
        assert!(saw.contains("depends on something other than its handle"), "{saw}");
        assert!(saw.contains("programs share something"), "{saw}");
    }
}

/// A value that the first program ever run sets for all: no check detects it, and the verdict says so.
#[test]
fn what_was_set_once_and_for_all_is_a_claim() {
    static FIRST: OnceLock<u64> = OnceLock::new();
    let test = Test::new("first of all", |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        let first = *FIRST.get_or_init(|| 7);
        zookeeper.custom("first", &[("is", (first as i64).into())]);
        Ok(())
    });
    let claims = held(test, &two()).claims;
    let claim = "if programs share no memory, such as an `Arc` or a static (all ";
    assert!(claims.iter().any(|claimed| claimed.starts_with(claim)), "{claims:?}");
}

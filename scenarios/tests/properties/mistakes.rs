//! A property that gets no usable observations is violated, with one sentence.

#[cfg(not(feature = "explore"))]
use super::Exploration;
use super::{falls, two};
use vivarium::prelude::*;
use vivarium::recipes::lock::LockSeen;

fn says(name: &'static str, fields: &'static [(&'static str, i64)]) -> Test {
    Test::new("says", move |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        let fields: Vec<_> = fields.iter().map(|(name, value)| (*name, (*value).into())).collect();
        zookeeper.custom(name, &fields);
        Ok(())
    })
}

fn one() -> Exploration {
    two().clients(1)
}

#[test]
fn a_field_that_is_not_there() {
    let sentence = "client 1 said `granted` without the field `path`, which the property needs";
    let make =
        || says("granted", &[]).monitor(never_two_at_once("granted", "released").per("path"));
    falls(|| make().clients(1), 1, &one(), sentence);
    let make =
        || says("granted", &[]).monitor(never_two_at_once("granted", "freed").with("path", "a"));
    falls(|| make().clients(1), 1, &one(), sentence);
    let make = || says("granted", &[]).monitor(agree("granted", "path"));
    falls(|| make().clients(1), 1, &one(), sentence);
}

#[test]
fn a_field_that_is_there_twice() {
    let sentence =
        "client 1 said `at` (n = 1, n = 2) with two fields `n`, but the property needs exactly one";
    let make = || says("at", &[("n", 1), ("n", 2)]).clients(1).monitor(grows("at", "n"));
    falls(make, 1, &one(), sentence);
}

#[test]
fn a_field_of_another_type() {
    let sentence = "client 1 said `left` (worker = 1), but its field `worker` is a number, and the \
                    property needs text";
    let make = || {
        let left = always("left", 0, |_: &mut u8, said| said.text("worker").map(|_| true));
        says("left", &[("worker", 1)]).clients(1).monitor(left)
    };
    falls(make, 1, &one(), sentence);
}

#[test]
fn values_without_an_order() {
    let make = || {
        Test::new("mixed", |zookeeper: ZooKeeper| async move {
            zookeeper.connect().await;
            zookeeper.custom("at", &[("n", 1.into())]);
            zookeeper.custom("at", &[("n", "two".into())]);
            Ok(())
        })
        .clients(1)
        .monitor(grows("at", "n"))
    };
    falls(make, 1, &one(), "1 is a number and two is text, so they cannot be ordered");
    let flags = || {
        Test::new("flags", |zookeeper: ZooKeeper| async move {
            zookeeper.custom("at", &[("n", true.into())]);
            Ok(())
        })
        .clients(1)
        .monitor(grows("at", "n"))
    };
    falls(flags, 1, &one(), "true is a truth value");
}

#[test]
fn a_client_that_there_is_not() {
    let make = || says("led", &[]).clients(1).monitor(eventually("led").by([ClientId(7)]));
    falls(make, 1, &one(), "the property is `by` client 7, but the clients are 1 to 1");
}

/// A client that holds without ever having had a session has no excuse.
#[test]
fn who_has_no_session_is_not_excused() {
    let make = || {
        Test::new("no session", |zookeeper: ZooKeeper| async move {
            zookeeper.custom("granted", &[]);
            zookeeper.sleep(Duration::from_secs(1)).await;
            zookeeper.custom("released", &[]);
            Ok(())
        })
        .clients(2)
        .monitor(never_two_at_once("granted", "released"))
    };
    falls(make, 5, &two(), "and no session of theirs is over");
}

/// This also applies to two beliefs of one client.
#[test]
fn one_client_that_begins_twice_is_two() {
    let make = || {
        Test::new("twice", |zookeeper: ZooKeeper| async move {
            zookeeper.connect().await;
            zookeeper.custom("granted", &[("by", 1.into())]);
            zookeeper.custom("granted", &[("by", 2.into())]);
            Ok(())
        })
        .clients(1)
        .monitor(never_two_at_once("granted", "released"))
    };
    let sentence = "client 1 said `granted` (by = 2) although client 1 said `granted` (by = 1) and has \
                    not said `released` since";
    falls(make, 1, &one(), sentence);
}

/// The observations of recipes have fields.
#[test]
fn observations_of_recipes_are_observations() {
    let make = || {
        Test::new("recipe", |zookeeper: ZooKeeper| async move {
            zookeeper.connect().await;
            zookeeper.observe(LockSeen::Granted {
                lock: "/lock".into(),
                attempt: "a".into(),
                node: "/lock/a".into(),
                token: Zxid(7),
            });
            zookeeper.sleep(Duration::from_secs(1)).await;
            Ok(())
        })
        .clients(2)
        .monitor(never_two_at_once("granted", "releasing").per("lock").token("token"))
    };
    falls(
        make,
        1,
        &two(),
        "(lock = /lock, attempt = a, node = /lock/a, token = 0:7), and this token was",
    );
}

/// A closure that remembers other runs is a property whose copies share state: a search names the assumption of its
/// verdict, and a sweep reports that a repeated seed gave another run.
#[test]
fn a_closure_that_remembers_by_itself_is_told_of() {
    use std::sync::atomic::{AtomicU64, Ordering};
    let make = || {
        let times = AtomicU64::new(0);
        let odd = move |_: &mut u8, _: &Said<'_>| times.fetch_add(1, Ordering::Relaxed) != 20;
        says("led", &[]).clients(1).monitor(always("remembers", 0, odd))
    };
    let seeds = vivarium::seeds::SeedRange::count(50).expect("some");
    let text = make().run_seeds(&seeds).expect_err("once it objects").to_string();
    assert!(text.contains("The same seed, run again, gave a different run"), "{text}");
    #[cfg(feature = "explore")]
    {
        let claims = make().explored(&one()).expect("it can be").claims;
        let claim = "if copies of a property share no memory, and its hash includes all state that its judgement depends on (";
        assert!(claims.iter().any(|said| said.starts_with(claim)), "{claims:?}");
    }
}

/// Text is compared letter by letter, which is no order of tokens.
#[test]
fn a_token_that_is_text_is_refused() {
    let make = || {
        Test::new("text", |zookeeper: ZooKeeper| async move {
            zookeeper.connect().await;
            zookeeper.custom("granted", &[("token", "1:5".into())]);
            Ok(())
        })
        .clients(1)
        .monitor(never_two_at_once("granted", "released").token("token"))
    };
    let sentence = "the token `1:5` is text, but must be a zxid or a number";
    falls(make, 1, &one(), sentence);
}

/// A filter that no observation passes would hold vacuously.
#[test]
fn a_filter_of_another_type_is_refused() {
    let make = || leads().monitor(at_most_once("leads", "term").with("term", "1"));
    let sentence = "but its field `term` is a number, and the property needs text";
    falls(make, 1, &one(), sentence);
}

#[test]
fn a_property_about_no_client_is_refused() {
    let make = || leads().monitor(at_most_once("leads", "term").by([]));
    falls(
        make,
        1,
        &one(),
        "the property concerns no client, because `by` names none: name at least one",
    );
}

fn leads() -> Test {
    let leads = |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        zookeeper.custom("leads", &[("term", 1.into())]);
        Ok(())
    };
    Test::new("leads", leads).clients(1)
}

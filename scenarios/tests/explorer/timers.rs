//! Sleeps and timeouts in a search: it finds out how many must be able to end early if the user does not say.

use vivarium::prelude::*;
use vivarium_model::verdict::Verdict;

/// A client that gets the znode holds it for a second; this number of times.
fn holds(times: u32) -> Test {
    Test::new("holds", move |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        for _ in 0..times {
            match zookeeper.create("/held", b"", CreateMode::Ephemeral).await {
                Ok(_) => {}
                Err(Error::NodeExists) => continue,
                Err(error) => return Err(error.to_string()),
            }
            zookeeper.sleep(Duration::from_secs(1)).await;
            zookeeper.delete("/held", Version::Any).await.map_err(|error| error.to_string())?;
        }
        Ok(())
    })
}

/// Only sleeps, for this number of seconds.
fn dozes(times: u32) -> Test {
    Test::new("dozes", move |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        for _ in 0..times {
            zookeeper.sleep(Duration::from_secs(1)).await;
        }
        Ok(())
    })
}

/// Assumes that a write completes within a second.
fn hurries() -> Test {
    Test::new("hurries", |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        let write = zookeeper.create("/done", b"", CreateMode::Persistent);
        match zookeeper.timeout(Duration::from_secs(1), write).await {
            Ok(_) => Ok(()),
            Err(_late) => Err("a second is always enough".to_string()),
        }
    })
}

fn verdict(test: Test, exploration: &Exploration) -> Verdict {
    test.explored(exploration).expect("it can be").verdict
}

#[test]
fn a_recipe_that_holds_for_a_second_is_not_inconclusive() {
    let report = holds(1).explore(&Exploration::new().clients(2));
    let early = report.dimensions.iter().find(|dimension| dimension.name == "early timers");
    assert!(early.expect("it is told").says.starts_with("up to 2 on a path"));
}

#[test]
fn who_says_too_few_is_told_how_many_are_enough() {
    let says =
        |timers| verdict(holds(1), &Exploration::new().clients(2).timers(timers)).to_string();
    for timers in [0, 1] {
        let text = says(timers);
        assert!(
            text.starts_with("inconclusive: stopped by the budget of timers (2 would be enough)"),
            "{text}"
        );
    }
    assert!(says(2).starts_with("held in all"));
}

/// With any number, no timer is kept from ending.
#[test]
fn any_number_is_always_enough() {
    let says = |times| verdict(dozes(times), &Exploration::new().clients(2).timers(63)).to_string();
    assert!(says(8).starts_with("held in all"), "{}", says(8));
    let text = verdict(hurries(), &Exploration::new().clients(1).timers(63)).to_string();
    assert!(text.contains("a second is always enough"), "{text}");
}

#[test]
fn who_sleeps_too_often_is_told_that_none_is_enough() {
    for exploration in [Exploration::new(), Exploration::new().timers(1)] {
        let text = verdict(dozes(8), &exploration.clients(2)).to_string();
        assert!(text.contains("the budget of timers (12 are not enough)"), "{text}");
    }
}

/// If the user gives a larger number than a search would try, the report is about that number.
#[test]
fn who_says_many_is_told_whether_those_are_enough() {
    let says = |times, timers| {
        verdict(dozes(times), &Exploration::new().clients(2).timers(timers)).to_string()
    };
    let text = says(8, 13);
    assert!(text.contains("the budget of timers (13 are not enough)"), "{text}");
    let text = says(8, 16);
    assert!(text.starts_with("held in all"), "{text}");
}

/// The time limit covers all searches together.
#[test]
fn looking_for_the_number_takes_no_more_time() {
    let begun = std::time::Instant::now();
    let exploration = Exploration::new().clients(4).kills(2).max_time(Duration::from_secs(1));
    let text = verdict(holds(9), &exploration).to_string();
    assert!(text.starts_with("inconclusive: stopped by 1 second after "), "{text}");
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
}

#[test]
fn a_mistake_that_an_early_timeout_shows_is_found() {
    let exploration = || Exploration::new().clients(1);
    assert!(verdict(hurries(), &exploration()).violation().is_some());
    let text = verdict(hurries(), &exploration().timers(0)).to_string();
    assert!(text.contains("the budget of timers (with 1 a property is violated)"), "{text}");
}

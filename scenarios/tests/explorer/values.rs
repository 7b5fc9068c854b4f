//! Searches of programs that depend on values which a search does not vary at first: random numbers, session ids, and
//! the times of znodes. Each dependence is detected; then the search varies the values or declares its answer
//! inconclusive.

use vivarium::prelude::*;

/// Fails if a condition on a number that it draws is true.
fn draws(is_wrong: fn(u64) -> bool) -> Test {
    Test::new("draws", move |zk: ZooKeeper| async move {
        zk.connect().await;
        let number = zk.random().await;
        // The number matters only later.
        let _ = zk.exists("/here").await;
        match is_wrong(number) {
            true => Err(format!("{number} is wrong")),
            false => Ok(()),
        }
    })
}

/// One client sends its session id to the other.
fn compares(is_wrong: fn(SessionId, SessionId) -> bool) -> Test {
    Test::new("compares", move |zk: ZooKeeper| async move {
        let own = zk.connect().await;
        if zk.client() == ClientId(1) {
            let name = own.0.to_string();
            return match zk.create("/id", name.as_bytes(), CreateMode::Persistent).await {
                Ok(_) => Ok(()),
                Err(error) => Err(error.to_string()),
            };
        }
        let Ok((data, _)) = zk.get_data("/id").await else { return Ok(()) };
        let text = String::from_utf8_lossy(&data);
        let other = SessionId(text.parse().expect("an id is a number"));
        match is_wrong(own, other) {
            true => Err("the other way round".to_string()),
            false => Ok(()),
        }
    })
    .clients(2)
}

fn explored(test: Test, asked: &Exploration) -> ExplorationReport {
    test.explored(asked).expect("it can be explored")
}

#[track_caller]
fn falls(test: Test, asked: &Exploration) {
    let verdict = explored(test, asked).verdict;
    assert!(matches!(verdict, Verdict::Violated(_)), "{verdict}");
}

#[track_caller]
fn holds(test: Test, asked: &Exploration) -> ExplorationReport {
    let report = explored(test, asked);
    assert!(matches!(report.verdict, Verdict::Exhausted { .. }), "{}", report.verdict);
    report
}

fn row(report: &ExplorationReport, name: &str) -> (bool, String) {
    let row = report.dimensions.iter().find(|dimension| dimension.name == name);
    let row = row.expect("there is such a row");
    (row.is_in, row.says.clone())
}

#[test]
fn a_program_that_goes_by_a_random_number_meets_others() {
    let asked = Exploration::new();
    falls(draws(|number| number % 2 == 1), &asked);
    falls(draws(|number| number % 2 == 0), &asked);
    falls(draws(|number| number % 3 == 2), &asked);
    falls(draws(|number| number < u64::MAX / 2), &asked);
    falls(draws(|number| number > u64::MAX / 2), &asked);
    let report = holds(draws(|number| number % 3 == 3), &asked);
    let (is_in, says) = row(&report, "random numbers");
    assert!(!is_in && says.contains("with other values, programs did the same"), "{says}");
    // A condition that is true for one in 1,000 numbers is not detected, and is true for none of the numbers that are
    // tried: the report says so.
    let report = holds(draws(|number| number % 1_000 == 555), &asked);
    assert!(
        report
            .claims
            .iter()
            .any(|claim| claim.starts_with("if no property depends on the values of random"))
    );
}

/// The length of a program's sleep makes no difference to a search, unless the program reads its clock.
#[test]
fn a_random_pause_is_no_choice_without_a_clock() {
    let pauses = |looks: bool| {
        Test::new("pauses", move |zk: ZooKeeper| async move {
            zk.connect().await;
            let before = if looks { zk.now().await } else { Time::ZERO };
            zk.sleep(Duration::from_millis(zk.random().await % 8 * 1_000)).await;
            match looks && zk.now().await.since(before) == Duration::from_secs(3) {
                true => Err("it slept for three seconds".to_string()),
                false => Ok(()),
            }
        })
    };
    let report = holds(pauses(false), &Exploration::new());
    assert!(!row(&report, "random numbers").0);
    falls(pauses(true), &Exploration::new().delays(0));
}

/// A random number in a name does not matter, if it is only compared for equality.
#[test]
fn a_random_number_that_is_only_copied_is_no_choice() {
    let names = Test::new("names", |zk: ZooKeeper| async move {
        zk.connect().await;
        let path = format!("/n-{:016x}", zk.random().await);
        let _ = zk.create(&path, b"", CreateMode::Persistent).await;
        match zk.get_children("/").await {
            Ok(names) if names.iter().any(|name| path.ends_with(&**name)) => Ok(()),
            _ => Err("it is gone".to_string()),
        }
    });
    let report = holds(names, &Exploration::new().clients(2));
    assert!(!row(&report, "random numbers").0);
}

#[test]
fn either_of_two_session_ids_can_be_the_larger() {
    falls(compares(|own, other| own < other), &Exploration::new());
    falls(compares(|own, other| own > other), &Exploration::new());
    let report = holds(compares(|own, other| own == other), &Exploration::new());
    assert!(!row(&report, "session ids").0);
    let report = explored(compares(|own, other| own < other), &Exploration::new());
    let finding = report.finding.expect("it falls");
    assert!(finding.violation.objection.saw.contains("the other way round"));
}

/// A client's own later session can have the smaller id.
#[test]
fn a_later_session_can_have_the_smaller_id() {
    let sorts = || {
        Test::new("later", |zk: ZooKeeper| async move {
            let before = zk.connect().await;
            zk.close().await;
            match zk.connect().await > before {
                true => Ok(()),
                false => Err("it has come down".to_string()),
            }
        })
    };
    falls(sorts(), &Exploration::new());
}

#[test]
fn a_program_that_goes_by_the_times_of_znodes_gets_no_answer() {
    let ages = Test::new("ages", |zk: ZooKeeper| async move {
        zk.connect().await;
        let made = zk.create("/old", b"", CreateMode::Persistent).await;
        let (_, made) = made.map_err(|error| error.to_string())?;
        let set = zk.set_data("/old", b"new", Version::Any).await;
        let set = set.map_err(|error| error.to_string())?;
        match set.mtime > made.ctime {
            true => Err("it has aged".to_string()),
            false => Ok(()),
        }
    });
    let report = explored(ages, &Exploration::new().clients(1));
    let Verdict::Bounded { by, .. } = &report.verdict else { panic!("{}", report.verdict) };
    assert!(by.contains("depends on the times of znodes"), "{by}");
}

/// The same through rounds whose state contains the number.
#[test]
fn what_a_round_hands_on_is_told_again_too() {
    let rounds = Test::rounds("rounds", 0, |zk: ZooKeeper, before: u64| async move {
        zk.connect().await;
        match before {
            0 => Ok(Round::Again(zk.random().await)),
            number => {
                let _ = zk.exists("/here").await;
                if number % 2 == 1 { Err("odd".to_string()) } else { Ok(Round::Done) }
            }
        }
    });
    falls(rounds, &Exploration::new());
}

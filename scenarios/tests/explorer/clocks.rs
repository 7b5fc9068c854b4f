//! Searches of programs that depend on their own clocks.

use vivarium::prelude::*;

/// Sleeps for three seconds between two readings, and fails if the clock has advanced by more than `most` seconds.
fn sleeps(most: u64) -> Test {
    Test::new("sleeps", move |zk: ZooKeeper| async move {
        zk.connect().await;
        let before = zk.now().await;
        zk.sleep(Duration::from_secs(3)).await;
        match zk.now().await.since(before) > Duration::from_secs(most) {
            true => Err("the clock has gone on".to_string()),
            false => Ok(()),
        }
    })
}

/// Fails if one of its requests begins between these two ages of its lease, in seconds.
fn lease(from: u64, to: u64) -> Test {
    Test::new("lease", move |zk: ZooKeeper| async move {
        zk.connect().await;
        let begun = zk.now().await;
        for _ in 0..3 {
            let age = zk.now().await.since(begun);
            if (Duration::from_secs(from)..Duration::from_secs(to)).contains(&age) {
                return Err("too late to work and too early to leave".to_string());
            }
            let _ = zk.exists("/work").await;
        }
        Ok(())
    })
}

fn verdict(test: Test, asked: &Exploration) -> Verdict {
    test.explored(asked).expect("it can be explored").verdict
}

/// Returns the report's row about clocks.
fn told(test: Test, asked: &Exploration) -> (bool, String) {
    let report = test.explored(asked).expect("it can be explored");
    let clock = report.dimensions.into_iter().find(|dimension| dimension.name == "clock");
    let clock = clock.expect("there is a row for clocks");
    (clock.is_in, clock.says)
}

#[track_caller]
fn falls(test: Test, asked: &Exploration) {
    let verdict = verdict(test, asked);
    assert!(matches!(verdict, Verdict::Violated(_)), "{verdict}");
}

#[track_caller]
fn holds(test: Test, asked: &Exploration) {
    let verdict = verdict(test, asked);
    assert!(matches!(verdict, Verdict::Exhausted { .. }), "{verdict}");
}

#[test]
fn a_clock_goes_on_by_what_its_program_sleeps() {
    let no_delay = Exploration::new().delays(0);
    falls(sleeps(2), &no_delay);
    holds(sleeps(3), &no_delay);
}

#[test]
fn a_reading_can_be_late() {
    falls(sleeps(3), &Exploration::new());
    // A search does not try more than an hour unless it is requested.
    holds(sleeps(3_700), &Exploration::new());
    falls(sleeps(3_700), &Exploration::new().delay(Duration::from_secs(5_000)));
    // A reading that is late by an hour twice is two late readings.
    falls(lease(7_200, 7_201), &Exploration::new().delays(2));
    holds(lease(7_200, 7_201), &Exploration::new());
}

/// A limit between the spans that a search tries by default must be given explicitly.
#[test]
fn a_span_between_two_limits_is_said() {
    holds(lease(60, 61), &Exploration::new());
    falls(lease(60, 61), &Exploration::new().delay(Duration::from_secs(60)));
}

#[test]
fn the_report_says_what_clocks_do() {
    let asked = Exploration::new();
    assert!(!told(lease(1, 2), &asked.clone().delays(0)).0);
    let (is_in, says) = told(lease(1, 2), &asked);
    assert!(is_in && says.contains("once a reading is later"), "{says}");
    let quiet = Test::new("quiet", |zk: ZooKeeper| async move {
        zk.connect().await;
        Ok(())
    });
    assert_eq!(told(quiet, &asked).1, "no program reads it");
}

/// A case contains the readings, and its replay leads to the same objection.
#[test]
fn a_way_with_a_late_reading_is_taken_again() {
    let report = sleeps(3).explored(&Exploration::new()).expect("it can be explored");
    let finding = report.finding.expect("it falls");
    assert!(finding.trace.iter().any(|line| format!("{line:?}").contains("Clock")));
    assert!(finding.violation.objection.saw.contains("the clock has gone on"));
}

/// Invalid values are refused.
#[test]
fn a_span_of_nothing_and_more_than_a_search_counts_are_refused() {
    let refused = |asked: &Exploration| {
        sleeps(3).explored(asked).map(|_| ()).expect_err("it makes no sense").to_string()
    };
    let no_time = refused(&Exploration::new().delay(Duration::ZERO));
    assert!(no_time.contains("`delay(0ns)`"), "{no_time}");
    let many = refused(&Exploration::new().delays(64));
    assert!(many.contains("`delays(64)`"), "{many}");
}

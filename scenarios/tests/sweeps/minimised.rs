//! Minimised runs are runs: they replay exactly, violate the same property, are smaller, and show the mistake and not
//! something that leaving out has made: the same steps, with the mistake corrected, do not violate
//! that property.

use crate::{case, entry};
use std::sync::atomic::{AtomicU64, Ordering};
use vivarium::catalogue::Switches;
use vivarium_model::case::Case;
use vivarium_model::extent::Extent;
use vivarium_model::release::{Bug, Bugs};
use vivarium_sim::minimised::{How, Minimised, accepted, minimised};
use vivarium_sim::{HostKind, RunOptions, Scenario, replay};

const KEPT: RunOptions = RunOptions { host: HostKind::Direct, keep_steps: true, trace_last: 0 };

/// How often a minimisation may ask for the time. The result does not depend on the machine's speed.
const PATIENCE: u64 = 20_000;

/// Returns the scenario with this mistake, which is a mutant of it or a defect of the servers.
fn mistaken(name: &str, mistake: &'static str) -> Scenario {
    let switches = match Bug::ALL.into_iter().find(|bug| bug.name() == mistake) {
        Some(bug) => Switches { bugs: Bugs::NONE.with(bug), ..Switches::default() },
        None => Switches { mutants: vec![mistake], ..Switches::default() },
    };
    (entry(name).build)(&switches)
}

fn minimise(scenario: &Scenario, case: &Case) -> Option<Minimised> {
    let asked = AtomicU64::new(0);
    let has_time =
        |share: f64| (asked.fetch_add(1, Ordering::Relaxed) as f64) < share * PATIENCE as f64;
    let how = How { host: HostKind::Direct, jobs: 1, has_time_until: &has_time };
    minimised(scenario, case, how).expect("a sound case")
}

/// Minimises the first violating run from this seed on, and checks the result.
fn check(name: &str, mistake: &'static str, from: u64) -> Extent {
    let scenario = mistaken(name, mistake);
    let runs = (from..from + 3_000).map(|seed| vivarium_sim::run(&scenario, seed, &KEPT));
    let run = runs.into_iter().find(|run| run.violation.is_some());
    let whole = case(&run.expect("a seed shows the mistake"), name);
    let found = minimise(&scenario, &whole).expect("it violates its property");
    let (title, small) = (format!("{name} with {mistake}"), &found.case);
    let (recorded, kept) = (whole.violation.as_ref(), small.violation.as_ref());
    assert_eq!(kept.map(|it| &it.property), recorded.map(|it| &it.property), "{title}");
    assert!(found.after <= found.before, "{title}: {} after {}", found.after, found.before);

    let again = replay(&scenario, small, &KEPT).expect("a sound case");
    assert!(again.same, "{title}: {} steps are not possible", again.skipped.len());
    let violation = again.report.violation.expect("it violates the property again");
    assert_eq!(Some(&violation.objection.property), kept.map(|it| &it.property), "{title}");

    let sound = (entry(name).build)(&Switches::default());
    let config = vivarium_model::config::Config { bugs: Bugs::NONE, ..small.config.clone() };
    let corrected = Case { config, ..small.clone() };
    let objections = accepted(&sound, &corrected, &corrected.steps, HostKind::Direct);
    let properties: Vec<String> =
        objections.expect("a sound case").into_iter().map(|objection| objection.property).collect();
    let kept = kept.map(|it| it.property.clone()).unwrap_or_default();
    assert!(!properties.contains(&kept), "{title}, corrected: {properties:?}");
    println!("{title}: {}, found: {}, {} tries", found.after, found.before, found.tries);
    found.after
}

#[test]
fn recipes_mutants_are_minimised() {
    for (mutant, most) in
        [("NoGuid", 100), ("IntOrderAtWrap", 90), ("OrderByName", 120), ("BodyAfterRelease", 150)]
    {
        let after = check("lock", mutant, 0);
        assert!(after.steps <= most && after.faults <= 2, "{mutant}: {after}");
    }
    check("rwlock", "WriterIgnoresReaders", 0);
    check("semaphore", "CountThenCreate", 0);
}

#[test]
fn servers_defects_are_minimised() {
    for mistake in ["PlantedLeaderAckBeforeFsync", "PlantedTimeoutTold", "PlantedAckBeforeFsync"] {
        let scenario = if mistake == "PlantedTimeoutTold" { "calm" } else { "churn" };
        let after = check(scenario, mistake, 0);
        assert!(after.steps <= 100, "{mistake}: {after}");
    }
}

/// Of a run in which something is late no step can be left out. A session that ends early, or a read that misses what was
/// acknowledged, is no matter of time.
#[test]
fn what_is_late_keeps_its_steps() {
    for (name, mistake, most) in [
        ("churn", "PlantedDeafLeader", 100),
        ("churn", "PlantedSequence", 150),
        ("delay-queue", "WakeMeansDue", 250),
        ("access", "PlantedDeleteAcl", 150),
    ] {
        let after = check(name, mistake, 0);
        assert!(after.steps <= most, "{mistake}: {after}");
    }
    for (name, mistake) in [("lock", "LeakOnCancel"), ("lock", "ExistsNullSleeps")] {
        let after = check(name, mistake, 0);
        assert!(after.faults <= 2, "{mistake}: {after}");
    }
}

#[test]
fn a_run_that_violates_nothing_is_not_minimised() {
    let scenario = (entry("lock").build)(&Switches::default());
    let run = vivarium_sim::run(&scenario, 3, &KEPT);
    let held = case(&run, "lock");
    assert!(minimise(&scenario, &held).is_none());
    // Neither is one whose violation does not occur any more.
    let other = mistaken("lock", "NoGuid");
    let run = (0..50).map(|seed| vivarium_sim::run(&other, seed, &KEPT));
    let run = run.into_iter().find(|run| run.violation.is_some()).expect("a seed shows it");
    assert!(minimise(&scenario, &case(&run, "lock")).is_none());
}

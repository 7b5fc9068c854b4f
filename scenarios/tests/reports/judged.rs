//! What sweeps and searches say of a report's program.

use vivarium::TestFailure;
use vivarium::prelude::*;

pub(crate) fn text<T>(result: Result<T, Error>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}

/// The first of these seeds that violates a property, with what was seen.
pub(crate) fn swept(test: Test, seeds: &str) -> Option<(u64, Objection)> {
    match test.run_seeds(&SeedRange::parse(seeds).expect("some seeds")) {
        Ok(_) => None,
        Err(TestFailure::Violated(finding)) => {
            let violation = finding.violation;
            Some((violation.seed.expect("a sweep has one"), violation.objection))
        }
        Err(other) => panic!("{other}"),
    }
}

/// The seeds hold.
#[track_caller]
pub(crate) fn held(test: Test, seeds: &str) {
    if let Some((seed, objection)) = swept(test, seeds) {
        panic!("seed {seed}: {}: {}", objection.property, objection.saw);
    }
}

/// A sweep finds this within the seeds.
#[track_caller]
pub(crate) fn found(test: Test, seeds: &str, says: &str) {
    let (seed, objection) = swept(test, seeds).expect("it is found");
    println!("found by seed {seed}: {}", objection.saw);
    assert!(objection.saw.contains(says), "seed {seed}: {}", objection.saw);
}

/// A search finds this.
#[cfg(feature = "explore")]
#[track_caller]
pub(crate) fn found_by_search(test: Test, exploration: &Exploration, says: &str) {
    let report = test.explored(exploration).expect("it can be explored");
    let Verdict::Violated(violation) = &report.verdict else { panic!("{}", report.verdict) };
    let detail = &violation.objection.saw;
    println!("found among {} states: {detail}", report.figures.distinct);
    assert!(detail.contains(says), "{detail}");
}

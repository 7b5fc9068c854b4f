//! Runs sweeps and searches of a report's program.

use vivarium::TestFailure;
use vivarium::prelude::*;

pub(crate) fn text<T>(result: Result<T, Error>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}

/// How a report's program ends.
#[derive(Debug)]
pub(crate) enum Fails {
    /// With an error of ZooKeeper.
    With(Error),
    /// As reported.
    Says(&'static str),
}

impl From<Error> for Fails {
    fn from(error: Error) -> Fails {
        Fails::With(error)
    }
}

/// Works in one session after the other until the work ends for another reason than its session's end.
pub(crate) async fn in_each<F>(
    zookeeper: &ZooKeeper,
    work: impl Fn(ZooKeeper, SessionId) -> F,
) -> Result<(), String>
where
    F: Future<Output = Result<(), Fails>>,
{
    let mut session = zookeeper.connect().await;
    loop {
        match work(zookeeper.scope(session), session).await {
            Err(Fails::With(Error::SessionExpired)) => {
                session = next_session(zookeeper, session).await;
            }
            Err(Fails::With(error)) => return Err(error.to_string()),
            Err(Fails::Says(what)) => return Err(what.to_string()),
            Ok(()) => return Ok(()),
        }
    }
}

/// Returns a test of programs that work like this ([`in_each`]), under all faults.
pub(crate) fn test_in_each<F>(
    name: &str,
    work: impl Fn(ZooKeeper, SessionId) -> F + Clone + Send + Sync + 'static,
) -> Test
where
    F: Future<Output = Result<(), Fails>> + Send,
{
    let program = move |zookeeper: ZooKeeper| {
        let work = work.clone();
        async move { in_each(&zookeeper, work).await }
    };
    Test::new(name, program).faults(Faults::ALL).finishes_within(Duration::from_secs(300))
}

/// Returns `None` for NoNode.
pub(crate) fn there<T>(result: Result<T, Error>) -> Result<Option<T>, Error> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(Error::NoNode) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the children, sorted by their sequence numbers.
pub(crate) async fn in_line(zookeeper: &ZooKeeper, path: &str) -> Result<Vec<String>, Error> {
    let mut names = until_known(zookeeper, || zookeeper.get_children(path)).await?;
    names.sort_by_key(|name| name.rsplit('-').next().map(str::to_string));
    Ok(names)
}

/// Returns the first of these seeds that violates a property, and the objection.
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

/// Asserts that the seeds hold.
#[track_caller]
pub(crate) fn held(test: Test, seeds: &str) {
    if let Some((seed, objection)) = swept(test, seeds) {
        panic!("seed {seed}: {}: {}", objection.property, objection.saw);
    }
}

/// Asserts that a sweep finds this within the seeds.
#[track_caller]
pub(crate) fn found(test: Test, seeds: &str, says: &str) {
    let (seed, objection) = swept(test, seeds).expect("it is found");
    println!("found by seed {seed}: {}", objection.saw);
    assert!(objection.saw.contains(says), "seed {seed}: {}", objection.saw);
}

/// Asserts that a search finds this.
#[cfg(feature = "explore")]
#[track_caller]
pub(crate) fn found_by_search(test: Test, exploration: &Exploration, says: &str) {
    let report = test.explored(exploration).expect("it can be explored");
    let Verdict::Violated(violation) = &report.verdict else { panic!("{}", report.verdict) };
    let detail = &violation.objection.saw;
    println!("found among {} states: {detail}", report.figures.distinct);
    assert!(detail.contains(says), "{detail}");
}

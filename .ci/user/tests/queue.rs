//! A queue: each job that was put is done exactly once.

use vivarium::prelude::*;

const QUEUE: &str = "/queue";
/// Who has taken which job. A job is in one of both from when it was put.
const TAKEN: &str = "/taken";
const JOBS: usize = 2;

/// What can be wrong with it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mistake {
    None,
    /// A job is put again if the reply was lost, though somebody may have done it already.
    PutsAgain,
    /// A job whose taking was not answered is somebody else's.
    ForgetsWhatItTook,
}

fn text<T>(result: Result<T, Error>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}

/// Puts its jobs.
async fn produce(zk: ZooKeeper, mistake: Mistake) -> Result<(), String> {
    for job in 1..=JOBS {
        let job = format!("job-{job}");
        zk.custom("put", &[("job", job.as_str().into())]);
        text(in_sessions(&zk, |zk, _session| put(zk, &job, mistake)).await)?;
    }
    Ok(())
}

async fn put(zk: ZooKeeper, job: &str, mistake: Mistake) -> Result<(), Error> {
    let (name, mode) = match mistake {
        Mistake::PutsAgain => (format!("{QUEUE}/{job}_"), CreateMode::PersistentSequential),
        _ => (format!("{QUEUE}/{job}"), CreateMode::Persistent),
    };
    // It may have been put in an earlier session, whose writes are all settled.
    while mistake == Mistake::PutsAgain || !is_put(&zk, job).await? {
        match zk.create(&name, b"", mode).await {
            Ok(_) | Err(Error::NodeExists) => return Ok(()),
            Err(Error::ConnectionLoss) => settle(&zk).await?,
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// In this order: a job goes from the one to the other.
async fn is_put(zk: &ZooKeeper, job: &str) -> Result<bool, Error> {
    let at = |place: &str| format!("{place}/{job}");
    let (queued, taken) = (at(QUEUE), at(TAKEN));
    Ok(until_known(zk, || zk.exists(&queued)).await?.is_some()
        || until_known(zk, || zk.exists(&taken)).await?.is_some())
}

/// Does jobs until all are done.
async fn consume(zk: ZooKeeper, mistake: Mistake) -> Result<(), String> {
    loop {
        match in_sessions(&zk, |zk, session| next(zk, session)).await {
            Ok(None) => return Ok(()),
            Ok(Some((job, session))) => {
                if text(take(&zk, &job, session, mistake).await)? {
                    let job = job.split('_').next().unwrap_or(&job);
                    zk.custom("done", &[("job", job.into())]);
                }
            }
            Err(error) => return Err(error.to_string()),
        }
    }
}

/// The next job, with the session that saw it; none when all are taken.
async fn next(zk: ZooKeeper, session: SessionId) -> Result<Option<(String, SessionId)>, Error> {
    loop {
        let (jobs, mut watch) = until_known(&zk, || zk.get_children_watch(QUEUE)).await?;
        if let Some(job) = jobs.into_iter().min() {
            return Ok(Some((job, session)));
        }
        if until_known(&zk, || zk.get_children(TAKEN)).await?.len() >= JOBS {
            return Ok(None);
        }
        watch.changed().await?;
    }
}

/// Takes a job, and says whether it did.
async fn take(zk: &ZooKeeper, job: &str, session: SessionId, mistake: Mistake) -> Result<bool, Error> {
    let (queued, taken) = (format!("{QUEUE}/{job}"), format!("{TAKEN}/{job}"));
    let own = zk.client().0.to_string();
    let take = vec![
        Op::create(taken.as_str(), own.as_bytes(), CreateMode::Persistent),
        Op::delete(queued.as_str(), Version::Any),
    ];
    match zk.scope(session).multi(take).await {
        Ok(_) => return Ok(true),
        Err(MultiError { error: Error::NodeExists | Error::NoNode, .. }) => return Ok(false),
        Err(_) if mistake == Mistake::ForgetsWhatItTook => return Ok(false),
        Err(MultiError { error: Error::ConnectionLoss, .. }) => match settle(&zk.scope(session)).await {
            Err(Error::SessionExpired) => drop(next_session(zk, session).await),
            settled => settled?,
        },
        Err(MultiError { error: Error::SessionExpired, .. }) => drop(next_session(zk, session).await),
        Err(failed) => return Err(failed.error),
    }
    // By now it is known what became of it.
    let whose = in_sessions(zk, |zk, _session| {
        let taken = taken.clone();
        async move { until_known(&zk, || zk.get_data(&taken)).await }
    });
    match whose.await {
        Ok((data, _stat)) => Ok(*data == *own.as_bytes()),
        Err(Error::NoNode) => Ok(false),
        Err(error) => Err(error),
    }
}

fn queue(mistake: Mistake, consumers: u8) -> Test {
    let roles = [
        Role::new("producer", move |zk| produce(zk, mistake)),
        Role::new("consumer", move |zk| consume(zk, mistake)).clients(consumers),
    ];
    Test::of_roles("queue", roles)
        .setup(QUEUE)
        .setup(TAKEN)
        .monitor(exactly_once("done", "job").announced_by("put"))
        .monitor(no_ghosts_under(QUEUE))
}

/// A program that is killed between taking a job and saying so has done it or not: nobody knows.
fn faults() -> Faults {
    Faults::ALL.without(Fault::ProgramCrash)
}

#[test]
fn it_holds_through_every_fault() {
    queue(Mistake::None, 2).faults(faults()).seeds(300).run();
}

#[test]
fn it_holds_in_every_order_of_a_lost_connection() {
    queue(Mistake::None, 1).explore(&Exploration::new().lost(1));
}

#[test]
fn it_holds_in_every_order_of_an_expiry() {
    queue(Mistake::None, 1).explore(&Exploration::new().expiries(1));
}

#[test]
#[should_panic(expected = "VIOLATED: queue")]
fn a_sweep_finds_that_it_puts_again() {
    queue(Mistake::PutsAgain, 2).faults(faults()).seeds(2_000).run();
}

#[test]
#[should_panic(expected = "exactly once")]
fn a_search_finds_that_it_puts_again() {
    queue(Mistake::PutsAgain, 1).explore(&Exploration::new().lost(1));
}

#[test]
#[should_panic(expected = "exactly once")]
fn a_sweep_finds_that_it_forgets_what_it_took() {
    queue(Mistake::ForgetsWhatItTook, 2).faults(faults()).seeds(2_000).run();
}

#[test]
#[should_panic(expected = "exactly once")]
fn a_search_finds_that_it_forgets_what_it_took() {
    queue(Mistake::ForgetsWhatItTook, 1).explore(&Exploration::new().lost(1));
}

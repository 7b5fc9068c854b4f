//! A service of which one instance works at a time: the elected leader writes one report after the other.
//!
//! `main.rs` runs [`serve`] on real servers, `tests/model.rs` the same function in the simulator.

use vivarium_client::{CreateMode, Data, Duration, Error, Op, Stat, Value, Version, ZooKeeper};
use vivarium_recipes::contention::{AcquireError, FencedError};
use vivarium_recipes::election::{LeaderElection, Leadership};
use vivarium_recipes::helpers::{ensure_path, in_sessions, until_known};

/// The directory of the election.
pub const ELECTION: &str = "/reports/election";
/// The number of the last report.
pub const LAST: &str = "/reports/last";
/// The time between two reports.
const INTERVAL: Duration = Duration::from_secs(1);

/// Creates what the service needs, in as many sessions as that takes.
///
/// # Errors
/// What a server refuses.
pub async fn prepare(zookeeper: &ZooKeeper) -> Result<(), Error> {
    in_sessions(zookeeper, |zookeeper, _| async move {
        ensure_path(&zookeeper, ELECTION).await?;
        let create = || zookeeper.create(LAST, b"0", CreateMode::Persistent);
        match until_known(&zookeeper, create).await {
            Ok(_) | Err(Error::NodeExists) => Ok(()),
            Err(error) => Err(error),
        }
    })
    .await
}

/// Leads whenever it is this instance's turn, and writes reports. Returns after `reports` of them; `None` is for ever.
///
/// Dropping the future resigns in the background; so does the end of the session.
pub async fn serve(zookeeper: ZooKeeper, name: &str, reports: Option<u32>) -> Result<(), String> {
    let mut left = reports;
    let election = LeaderElection::new(zookeeper.clone(), ELECTION);
    while left != Some(0) {
        zookeeper.connect().await;
        let leadership = match election.campaign(name.as_bytes()).await {
            Ok(leadership) => leadership,
            // The session has ended: the next one campaigns.
            Err(AcquireError::SessionExpired) => continue,
            Err(error) => return Err(error.to_string()),
        };
        // Leadership that was lost while it worked is no error: it campaigns again.
        match leadership.while_leading(work(&zookeeper, &leadership, &mut left)).await {
            Ok(Ok(())) | Err(_) => {}
            Ok(Err(error)) => return Err(error),
        }
        leadership.resign().await;
    }
    Ok(())
}

/// Writes reports until enough are written or the leadership is lost.
async fn work(
    zookeeper: &ZooKeeper,
    leadership: &Leadership,
    left: &mut Option<u32>,
) -> Result<(), String> {
    while *left != Some(0) {
        let read = until_known(zookeeper, || zookeeper.get_data(LAST)).await;
        let (number, version) = match read {
            Ok(last) => next(last)?,
            Err(Error::SessionExpired) => return Ok(()),
            Err(error) => return Err(error.to_string()),
        };
        // The write is refused unless this instance still leads and nothing was written meanwhile.
        let data: Data = number.to_string().into_bytes().into();
        let write = Op::SetData { path: LAST.into(), data, version };
        match leadership.fenced(vec![write]).await {
            Ok(_) => {
                zookeeper.custom("reported", &[("number", Value::from(number))]);
                *left = left.map(|left| left - 1);
            }
            Err(FencedError::Lost(_)) => return Ok(()),
            // Whether it was applied shows in what is read next.
            Err(FencedError::Failed(Error::ConnectionLoss)) => {}
            Err(FencedError::Operation { error: Error::BadVersion, .. }) => {}
            Err(error) => return Err(error.to_string()),
        }
        zookeeper.sleep(INTERVAL).await;
    }
    Ok(())
}

/// Returns the number of the next report, and the version that its write replaces.
fn next((data, stat): (Data, Stat)) -> Result<(i64, Version), String> {
    let last = std::str::from_utf8(&data).ok().and_then(|text| text.parse::<i64>().ok());
    let last = last.ok_or_else(|| format!("{LAST} holds no number"))?;
    Ok((last + 1, Version::Is(stat.version)))
}

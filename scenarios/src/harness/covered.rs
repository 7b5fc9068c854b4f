//! What the runs of a test reach.

use super::{Test, refuse};
use crate::covering;
use crate::sweeping::all_cores;
use crate::sweeping::seeds::SeedRange;
use vivarium_reports::covered::Coverage;

impl Test {
    /// Runs the test's seeds and returns what they reached: each await of the programs and how often the connection was
    /// lost there, the session had ended, or the program was cancelled or killed; marks, faults and events. Violations
    /// are counted and end nothing but their own runs. The environment's variables are ignored.
    ///
    /// ```
    /// use vivarium::prelude::*;
    ///
    /// let coverage = vivarium::Test::new("register", |zookeeper: ZooKeeper| async move {
    ///     loop {
    ///         zookeeper.connect().await;
    ///         match zookeeper.create("/member-", b"", CreateMode::EphemeralSequential).await {
    ///             Ok(_) => return Ok(()),
    ///             Err(Error::ConnectionLoss | Error::SessionExpired) => continue,
    ///             Err(error) => return Err(error.to_string()),
    ///         }
    ///     }
    /// })
    /// .faults(Faults::ALL)
    /// .seeds(200)
    /// .coverage();
    /// println!("{}", vivarium::coverage_text(&coverage));
    /// assert!(coverage.awaits.iter().any(|counts| counts.lost > 0));
    /// ```
    ///
    /// # Panics
    /// Panics with one sentence if the test is invalid.
    pub fn coverage(self) -> Coverage {
        let (name, seeds) = (self.name.clone(), self.seeds);
        let ready = self.scenario().unwrap_or_else(|sentence| refuse(&name, &sentence));
        let covered =
            SeedRange::count(seeds).map_err(|error| error.to_string()).and_then(|seeds| {
                covering::coverage(&ready.scenario, &[], &seeds, all_cores(), ready.host, &|_| ())
            });
        covered.unwrap_or_else(|sentence| refuse(&name, &sentence))
    }
}

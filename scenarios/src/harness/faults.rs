//! What can go wrong in a test: faults by chance and by rules, the defects of a release, and for how long.

use super::Test;
use std::time::Duration;
use vivarium_model::release::Release;
use vivarium_sim::FaultSet;

impl Test {
    /// Sets the possible faults.
    #[must_use]
    pub fn faults(mut self, faults: FaultSet) -> Test {
        self.faults = faults;
        self
    }

    /// Adds faults by rules, each `WHEN: WHAT`, for tests in which a certain fault must happen at a certain point. They strike
    /// in every run, besides those of [`Test::faults`]. A rule that applies in no run fails the test, and a search refuses
    /// such a test: it tries every fault within its budget.
    ///
    /// ```
    /// use std::time::Duration;
    /// use vivarium::prelude::*;
    ///
    /// async fn register(zookeeper: ZooKeeper) -> Result<(), String> {
    ///     zookeeper.connect().await;
    ///     let _ = zookeeper.create("/me", b"", CreateMode::Ephemeral).await;
    ///     zookeeper.sleep(Duration::from_secs(5)).await;
    ///     Ok(())
    /// }
    ///
    /// Test::new("one create is lost", register)
    ///     .clients(2)
    ///     .script(
    ///         "
    ///         when client 1 sends create /me: lose-reply pending
    ///         at 3s: crash leader for 500ms
    ///         each time a leader is established: pause client 2 for 100ms
    ///         ",
    ///     )
    ///     .seeds(20)
    ///     .run();
    /// ```
    ///
    /// A rule says `at 2s`, `when EVENT` (the first one), `when the 2nd time EVENT` or `each time EVENT`, where EVENT is
    /// `client 1 sends create /path`, `any client observes granted` or `a leader is established`; then one of `crash S`,
    /// `power-loss S`, `rejoin S`, `disk-full S`, `stall-disk S`, `partition 1 | 2 3`, `partition-one-way S S`,
    /// `pause client 1`, `kill client 1`, `cancel client 1`, `expire client 1`, `disconnect client 1` and
    /// `lose-reply applied|never|pending`, where S is `leader` or the number of a server; and `for SPAN` if it ends before
    /// the faults do. `partition` cuts the network between servers, and clients reach all of them.
    #[must_use]
    pub fn script(mut self, rules: &str) -> Test {
        self.script.push('\n');
        self.script.push_str(rules);
        self
    }

    /// Sets the release whose defects the servers have. The default is [`Release::Repaired`]. They know the
    /// operations of that release ([`Release::knows`]), and refuse others with `Unimplemented`.
    #[must_use]
    pub fn release(mut self, release: Release) -> Test {
        self.release = release;
        self
    }

    /// Sets the duration of the faults, in virtual time.
    #[must_use]
    pub fn chaos(mut self, chaos: Duration) -> Test {
        self.chaos = chaos;
        self
    }

    /// Sets the duration after the faults within which every program must finish, in virtual time.
    #[must_use]
    pub fn finishes_within(mut self, bound: Duration) -> Test {
        self.progress_bound = bound;
        self
    }
}

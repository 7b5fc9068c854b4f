//! What a test demands of its runs: properties, and what must have happened.

use super::Test;
use vivarium_model::mark::Mark;
use vivarium_model::property::Monitor;

impl Test {
    /// Adds a property. Every run starts with a copy of the monitor in its present state.
    #[must_use]
    pub fn monitor(mut self, monitor: impl Monitor + 'static) -> Test {
        self.monitors.push(Box::new(monitor));
        self
    }

    /// Adds several properties, such as those of a recipe: [`lock::monitors`](vivarium_recipes::lock::monitors). They
    /// check any program that makes the same observations.
    pub fn monitors(mut self, monitors: impl IntoIterator<Item = Box<dyn Monitor>>) -> Test {
        self.monitors.extend(monitors);
        self
    }

    /// Requires that a program makes the observation of this name in some run. The name is the argument of
    /// [`ZooKeeper::custom`](crate::prelude::ZooKeeper::custom), or the one in [its
    /// type](vivarium_model::observation), such as `granted`. A property that holds although no run reaches this point was
    /// not tested.
    #[must_use]
    pub fn must_see(mut self, name: &str) -> Test {
        self.must_see.push(name.to_string());
        self
    }

    /// Requires that some run reaches this mark, such as a synchronisation by TRUNC or a create that was pending when its
    /// reply was lost. Otherwise, what the test was written for did not happen, and it fails. A search counts no marks and
    /// refuses such a test.
    ///
    /// ```
    /// use vivarium::prelude::*;
    ///
    /// Test::new("sessions move", |zookeeper: ZooKeeper| async move {
    ///     zookeeper.connect().await;
    ///     zookeeper.sleep(std::time::Duration::from_secs(10)).await;
    ///     Ok(())
    /// })
    /// .faults(Faults::NONE.with_rate(Fault::ClientReset, Rate::ALWAYS.turns(5)))
    /// .must_reach(Mark::SessionMoved)
    /// .seeds(20)
    /// .run();
    /// ```
    #[must_use]
    pub fn must_reach(mut self, mark: Mark) -> Test {
        self.must_reach.push(mark);
        self
    }
}

//! The service in the simulator: the same function, through every fault.

use leader::{ELECTION, prepare, serve};
use vivarium::prelude::*;
use vivarium::recipes::election;

async fn instance(zookeeper: ZooKeeper) -> Result<(), String> {
    prepare(&zookeeper).await.map_err(|error| error.to_string())?;
    serve(zookeeper, "instance", Some(2)).await
}

/// No report is written twice, and leaders follow each other as the recipe promises.
#[test]
fn each_report_is_written_once() {
    Test::new("leader", instance)
        .setup("/reports")
        .container(ELECTION)
        .monitors(election::monitors(ELECTION, Duration::from_secs(60)))
        .monitor(at_most_once("reported", "number"))
        .faults(Faults::ALL)
        .seeds(500)
        .run();
}

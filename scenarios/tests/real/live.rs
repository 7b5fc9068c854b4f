//! A scenario's programs on real servers, as `vivarium live` runs them.

use crate::server::installation;
use std::time::Duration;
use vivarium::catalogue::catalogue;
use vivarium::conform::{Options, RealServer};
use vivarium::live::{Ended, LivePlan, Place, run};
use vivarium_client::Client;

/// Runs one seed of the scenario `lock` with faults of a few seconds. It blocks, as a command does.
fn lock(place: Place) -> Ended {
    let entry = catalogue().into_iter().find(|entry| entry.name == "lock").expect("it is there");
    let scenario = (entry.build)(&entry.switches(&[]).expect("no switch is unknown"));
    let plan = LivePlan {
        place,
        faults_for: Duration::from_secs(3),
        finish_within: Duration::from_secs(60),
    };
    run(&scenario, 1, &plan).expect("it has a result")
}

#[test]
fn programs_on_servers_of_their_own_are_struck_and_judged() {
    if installation().is_none() {
        return;
    }
    let ended = lock(Place::Started { servers: 3, installation: None });
    assert_eq!(ended.violation, None);
    assert!(ended.judged > 20 && ended.txns > 5 && ended.events > 20, "{ended:?}");
    assert!(ended.strikes.iter().sum::<u64>() > 0, "{ended:?}");
}

/// Servers that exist keep what they hold, and get back nothing of the run's.
#[test]
fn programs_on_servers_of_others_leave_nothing_behind() {
    if installation().is_none() {
        return;
    }
    let server = RealServer::start(&Options::default()).unwrap();
    let place =
        Place::Existing { addresses: vec![server.address()], root: "/app/vivarium".to_owned() };
    let ended = lock(place);
    assert_eq!((ended.violation, ended.judged, ended.txns), (None, 0, 0));
    assert!(ended.events > 20);
    let left = async {
        let client = Client::connect(&server.address().to_string()).await.unwrap();
        let left = client.get_children("/app/vivarium").await;
        client.close().await;
        left
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    assert_eq!(runtime.block_on(left), Ok(Vec::new()));
}

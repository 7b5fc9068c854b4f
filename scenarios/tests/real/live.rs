//! A scenario's programs on real servers, as `vivarium live` runs them.

use crate::server::installation;
use std::io::{Read, Write};
use std::net::TcpStream;
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
    let settings = vec!["4lw.commands.whitelist=*".to_owned()];
    let server = RealServer::start(&Options { settings, ..Options::default() }).unwrap();
    let place =
        Place::Existing { addresses: vec![server.address()], root: "/app/vivarium".to_owned() };
    let ended = lock(place);
    assert_eq!((ended.violation, ended.judged, ended.txns), (None, 0, 0));
    assert!(ended.events > 20);
    // Sessions are closed, and not left to expire.
    let mut stream = TcpStream::connect(server.address()).unwrap();
    stream.write_all(b"dump").unwrap();
    let mut sessions = String::new();
    stream.read_to_string(&mut sessions).unwrap();
    assert!(sessions.starts_with("SessionTracker dump:\nSession Sets"), "{sessions}");
    assert!(!sessions.contains("\t0x"), "{sessions}");
    let left = async {
        let client = Client::connect(&server.address().to_string()).await.unwrap();
        let left = client.get_children("/app/vivarium").await;
        client.close().await;
        left
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    assert_eq!(runtime.block_on(left), Ok(Vec::new()));
}

//! A watchdog in a process whose server the tests play: it breaks its promises, and programs break a recipe's.

#[path = "../../../../sim/live/tests/support/mod.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod support;

use super::soon;
use std::sync::{Arc, Mutex};
use support::{Accepted, Server};
use tokio::time::Duration;
use vivarium::recipes::lock;
use vivarium::recipes::membership::MembershipSeen;
use vivarium::recipes::queue;
use vivarium_client::{Client, Error, Stat, Violation, Watchdog, Zxid};
use vivarium_model::event::Event;
use vivarium_model::id::Xid;
use vivarium_model::op::Data;
use vivarium_model::op::Response;
use vivarium_model::packet::ServerPacket;

/// A watchdog, and what it has found.
fn watchdog(
    monitors: Vec<Box<dyn vivarium_model::property::Monitor>>,
) -> (Watchdog, Arc<Mutex<Vec<Violation>>>) {
    let found: Arc<Mutex<Vec<Violation>>> = Arc::default();
    let sink = Arc::clone(&found);
    let watchdog = Watchdog::new(monitors)
        .on_violation(move |violation| sink.lock().unwrap().push(violation.clone()));
    (watchdog, found)
}

fn sentences(found: &Mutex<Vec<Violation>>) -> Vec<String> {
    found.lock().unwrap().iter().map(|violation| violation.objection.to_string()).collect()
}

/// Answers the next request with data, in a reply of this zxid and with an xid that is `off` the right one.
async fn answer(connection: &mut Accepted, zxid: u64, off: u32) {
    let (xid, request) = soon(connection.request()).await.expect("a request");
    let result = Ok(Response::Data(Data::from(*b"x"), Stat::default()));
    let reply = ServerPacket::Reply { xid: Xid(xid + off), zxid: Zxid(zxid), result };
    connection.send(&reply, Some(&request)).await;
}

async fn connected(watchdog: &Watchdog, server: &Server) -> (Client, Accepted) {
    let client = tokio::spawn(watchdog.watch(Client::builder(&server.address())).connect());
    let connection = server.accept_session().await;
    (soon(client).await.unwrap().unwrap(), connection)
}

#[tokio::test]
async fn a_server_that_goes_back_in_time_is_found_and_the_service_goes_on() {
    let (watchdog, found) = watchdog(Vec::new());
    let server = Server::new().await;
    let (client, mut connection) = connected(&watchdog, &server).await;
    for zxid in [5, 7, 6, 8] {
        let zookeeper = client.zookeeper();
        let read = tokio::spawn(async move { zookeeper.get_data("/a").await });
        answer(&mut connection, zxid, 0).await;
        soon(read).await.unwrap().unwrap();
    }
    assert_eq!(
        sentences(&found),
        [
            "H3 a session never goes back in time: the reply to request 3 of session 0xc0ffee (getData /a, client 1) \
             was built at 0:6, but the session had seen 0:7 before."
        ]
    );
    let text = found.lock().unwrap()[0].to_string();
    let last = text.lines().last().unwrap_or_default();
    assert!(text.lines().count() > 5 && last.contains("getData /a"), "{text}");
}

#[tokio::test]
async fn a_reply_to_nothing_is_found() {
    let (watchdog, found) = watchdog(Vec::new());
    let server = Server::new().await;
    let (client, mut connection) = connected(&watchdog, &server).await;
    let zookeeper = client.zookeeper();
    let read = tokio::spawn(async move { zookeeper.get_data("/a").await });
    answer(&mut connection, 5, 3).await;
    assert_eq!(soon(read).await.unwrap().unwrap_err(), Error::ConnectionLoss);
    let sentences = sentences(&found);
    assert!(matches!(&sentences[..], [one] if one.starts_with("H13")), "{sentences:?}");
}

/// Two clients of one process are two clients for the monitors, and a sink of the service's own gets the events too.
#[tokio::test]
async fn clients_of_a_process_have_numbers_of_their_own() {
    let (watchdog, found) = watchdog(Vec::new());
    let seen: Arc<Mutex<Vec<Event>>> = Arc::default();
    let sink = Arc::clone(&seen);
    let servers = [Server::new().await, Server::new().await];
    for server in &servers {
        let sink = Arc::clone(&sink);
        let builder = Client::builder(&server.address())
            .events(move |event| sink.lock().unwrap().push(event));
        let client = tokio::spawn(watchdog.watch(builder).connect());
        let mut connection = server.accept_session().await;
        let client = soon(client).await.unwrap().unwrap();
        let zookeeper = client.zookeeper();
        let read = tokio::spawn(async move { zookeeper.get_data("/a").await });
        // The second session has seen less, which is no step back of the first one: but both have the same id here.
        answer(&mut connection, 9, 0).await;
        soon(read).await.unwrap().unwrap();
    }
    assert_eq!(sentences(&found), [""; 0]);
    let clients: Vec<u16> =
        seen.lock().unwrap().iter().filter_map(|event| Some(event.client()?.0)).collect();
    assert!(clients.contains(&1) && clients.contains(&2), "{clients:?}");
}

#[tokio::test]
async fn what_a_service_cannot_judge_is_left_out_by_name() {
    let own = lock::monitors_of_a_service("/lock");
    let of_sweeps = lock::monitors("/lock", Duration::from_secs(1));
    let (watchdog, _) =
        watchdog(own.into_iter().chain(of_sweeps).chain(queue::monitors("/queue")).collect());
    let judging = watchdog.judging();
    assert!(judging.contains(&"lock M2 belief".to_owned()), "{judging:?}");
    assert!(judging.contains(&"queue Q2 taken once".to_owned()), "{judging:?}");
    let left_out = watchdog.left_out();
    for name in ["lock M1 exclusion", "lock M5 no leak at rest"] {
        assert!(left_out.iter().any(|left| left == name) && !judging.iter().any(|it| it == name));
    }
}

/// A violation is found although the belief is old, and forgotten beliefs raise no alarm.
#[tokio::test]
async fn a_monitor_remembers_as_much_as_it_is_asked_to() {
    for (between, is_found) in [(20, true), (400, false)] {
        let (watchdog, found) = watchdog(vec![Box::new(
            vivarium::recipes::membership::properties::Rejoined::new("/group"),
        )]);
        let watchdog = watchdog.remember(100);
        let server = Server::new().await;
        let (client, connection) = connected(&watchdog, &server).await;
        let session = vivarium_model::id::SessionId(1);
        client.observe(MembershipSeen::Joined {
            group: "/group".into(),
            member: "/group/a".into(),
            token: Zxid(1),
            session,
        });
        for _ in 0..between {
            client.custom("work", &[]);
        }
        drop(connection);
        // The client is connected by another session than the one that it believes in.
        drop(soon(server.accept_session()).await);
        soon(server.accept()).await;
        assert_eq!(!found.lock().unwrap().is_empty(), is_found, "after {between} events");
    }
}

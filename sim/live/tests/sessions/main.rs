//! A client and a server that the test plays: connecting, losing the connection, closing.

mod programs;
mod settings;
#[path = "../support/mod.rs"]
mod support;

use std::sync::{Arc, Mutex};
use support::{PASSWORD, SESSION, Server, TIMEOUT};
use tokio::time::{Duration, timeout};
use vivarium_client::{Client, ConnectError, Error, Resumed, Version};
use vivarium_model::event::Event;
use vivarium_model::handle::{Either, race};
use vivarium_model::id::{SessionId, Xid};
use vivarium_model::op::{Data, EventType, Request, Response, SessionState, WatchedEvent};
use vivarium_model::packet::{ClientPacket, ServerPacket};
use vivarium_model::stat::Stat;
use vivarium_model::wire::Password;
use vivarium_model::wire::handshake::encode_connected;
use vivarium_model::zxid::Zxid;

pub(crate) const SOON: Duration = Duration::from_secs(10);

pub(crate) fn data(xid: u32, zxid: u64) -> ServerPacket {
    let result = Ok(Response::Data(Data::from(*b"x"), Stat::default()));
    ServerPacket::Reply { xid: Xid(xid), zxid: Zxid(zxid), result }
}

pub(crate) async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(SOON, future).await.expect("it takes too long")
}

pub(crate) fn connecting(server: &Server) -> tokio::task::JoinHandle<Client> {
    let builder = Client::builder(&server.address()).session_timeout(TIMEOUT).seed(1);
    tokio::spawn(async move { builder.connect().await.unwrap() })
}

#[tokio::test]
async fn a_client_asks_for_a_session_and_closes_it() {
    let server = Server::new().await;
    let client = connecting(&server);
    let mut connection = server.accept_session().await;
    let client = soon(client).await.unwrap();
    let asked = ClientPacket::Connect {
        last_zxid_seen: Zxid::ZERO,
        timeout: TIMEOUT,
        session: None,
        read_only: false,
    };
    assert_eq!(connection.connect, (asked, Password::default()));
    assert_eq!(client.session(), Some(SESSION));
    assert_eq!(client.resumed(), Some(Resumed { session: SESSION, password: PASSWORD }));

    let closing = tokio::spawn(client.clone().close());
    let (xid, request) = soon(connection.request()).await.unwrap();
    assert_eq!(*request, Request::CloseSession);
    assert!(!client.is_closed());
    let closed = ServerPacket::Reply { xid: Xid(xid), zxid: Zxid(1), result: Ok(Response::Closed) };
    connection.send(&closed, Some(&request)).await;
    soon(closing).await.unwrap();
    assert!(client.is_closed());
    assert_eq!(client.exists("/a").await, Err(Error::SessionExpired));
    assert_eq!(soon(connection.frame()).await, None);
}

#[tokio::test]
async fn dropping_the_last_handle_closes_the_session_in_the_background() {
    let server = Server::new().await;
    let client = connecting(&server);
    let mut connection = server.accept_session().await;
    let handle = soon(client).await.unwrap().zookeeper();
    tokio::time::sleep(Duration::from_millis(20)).await;
    drop(handle);
    let (_, request) = soon(connection.request()).await.unwrap();
    assert_eq!(*request, Request::CloseSession);
}

#[tokio::test]
async fn a_lost_connection_fails_what_is_under_way_and_the_session_goes_on() {
    let server = Server::new().await;
    let client = connecting(&server);
    let mut first = server.accept_session().await;
    let client = soon(client).await.unwrap();
    let mut events = client.session_events();

    let reading = client.zookeeper();
    let reading = tokio::spawn(async move { reading.get_data("/a").await });
    let (xid, request) = soon(first.request()).await.unwrap();
    first.send(&data(xid, 42), Some(&request)).await;
    assert!(soon(reading).await.unwrap().is_ok());

    let losing = client.zookeeper();
    let losing = tokio::spawn(async move { losing.delete("/a", Version::Any).await });
    soon(first.request()).await.unwrap();
    drop(first);
    assert_eq!(soon(losing).await.unwrap(), Err(Error::ConnectionLoss));
    assert_eq!(soon(events.next()).await, SessionState::Disconnected);

    let mut second = soon(server.accept()).await;
    let asked = ClientPacket::Connect {
        last_zxid_seen: Zxid(42),
        timeout: TIMEOUT,
        session: Some(SESSION),
        read_only: false,
    };
    assert_eq!(second.connect, (asked, PASSWORD));
    second.accept_session().await;
    assert_eq!(soon(events.next()).await, SessionState::SyncConnected);
}

#[tokio::test]
async fn a_reply_out_of_order_ends_the_connection() {
    let server = Server::new().await;
    let client = connecting(&server);
    let mut connection = server.accept_session().await;
    let client = soon(client).await.unwrap();
    let reading = client.zookeeper();
    let reading = tokio::spawn(async move { reading.get_data("/a").await });
    let (xid, request) = soon(connection.request()).await.unwrap();
    connection.send(&data(xid + 1, 42), Some(&request)).await;
    assert_eq!(soon(reading).await.unwrap(), Err(Error::ConnectionLoss));
    assert_eq!(soon(connection.frame()).await, None);
}

#[tokio::test]
async fn a_silent_server_is_left_after_two_thirds_of_the_timeout_and_pinged_before() {
    let server = Server::new().await;
    let client = connecting(&server);
    let mut connection = server.accept_session().await;
    let client = soon(client).await.unwrap();
    let begin = tokio::time::Instant::now();
    assert_eq!(soon(connection.packet()).await, Some(ClientPacket::Ping));
    assert!(begin.elapsed() > TIMEOUT / 3 - Duration::from_millis(50));
    let mut events = client.session_events();
    assert_eq!(soon(events.next()).await, SessionState::Disconnected);
    let silent = begin.elapsed();
    assert!(silent > TIMEOUT * 2 / 3 - Duration::from_millis(50), "{silent:?}");
}

#[tokio::test]
async fn an_expired_session_ends_requests_and_connect_begins_another() {
    let server = Server::new().await;
    let client = connecting(&server);
    let connection = server.accept_session().await;
    let client = soon(client).await.unwrap();
    let (_, mut watch) = {
        let mut connection = connection;
        let watching = client.zookeeper();
        let watching = tokio::spawn(async move { watching.exists_watch("/a").await.unwrap() });
        let (xid, request) = soon(connection.request()).await.unwrap();
        let result = Ok(Response::Exists(Stat::default()));
        let reply = ServerPacket::Reply { xid: Xid(xid), zxid: Zxid(1), result };
        connection.send(&reply, Some(&request)).await;
        soon(watching).await.unwrap()
    };
    let mut second = soon(server.accept()).await;
    second.write(&encode_connected(&ServerPacket::Expired, &Password::default())).await;
    assert_eq!(soon(watch.changed()).await, Err(Error::SessionExpired));
    assert_eq!(client.exists("/a").await, Err(Error::SessionExpired));

    let again = client.zookeeper();
    let again = tokio::spawn(async move { again.connect().await });
    let third = soon(server.accept_session()).await;
    let ClientPacket::Connect { session, last_zxid_seen, .. } = third.connect.0 else {
        panic!("{:?}", third.connect);
    };
    assert_eq!((session, last_zxid_seen, third.connect.1), (None, Zxid::ZERO, Password::default()));
    assert_eq!(soon(again).await.unwrap(), SESSION);
}

#[tokio::test]
async fn a_session_can_be_resumed_and_one_that_has_expired_is_reported() {
    let server = Server::new().await;
    let builder =
        Client::builder(&server.address()).resume(Resumed { session: SESSION, password: PASSWORD });
    let client = tokio::spawn(builder.clone().connect());
    let mut accepted = soon(server.accept()).await;
    assert!(matches!(
        accepted.connect,
        (ClientPacket::Connect { session: Some(SESSION), .. }, PASSWORD)
    ));
    accepted.accept_session().await;
    let client = soon(client).await.unwrap().unwrap();
    assert_eq!(client.session(), Some(SESSION));

    let refused = tokio::spawn(builder.connect());
    let mut accepted = soon(server.accept()).await;
    accepted.write(&encode_connected(&ServerPacket::Expired, &Password::default())).await;
    let refused = soon(refused).await.unwrap();
    assert_eq!(refused.unwrap_err(), ConnectError::Expired(SessionId(0x00c0_ffee)));
}

#[tokio::test]
async fn a_client_that_no_server_accepts_is_reported_in_time() {
    let unused = Server::new().await.address();
    let limit = Duration::from_millis(300);
    let builder = Client::builder(&unused).connect_within(limit);
    let error = soon(builder.connect()).await.unwrap_err();
    assert_eq!(error, ConnectError::TimedOut { servers: unused, limit });
}

#[tokio::test]
async fn identities_are_proven_in_every_session_before_any_request() {
    let server = Server::new().await;
    let builder = Client::builder(&server.address()).identity("digest", b"ann:secret");
    let client = tokio::spawn(builder.connect());
    let mut first = server.accept_session().await;
    let proof =
        ClientPacket::Auth { scheme: Arc::from("digest"), auth: Data::from(*b"ann:secret") };
    assert_eq!(soon(first.packet()).await, Some(proof.clone()));
    // It is connected once the server has answered a request after the proof.
    let (xid, request) = soon(first.request()).await.unwrap();
    first.send(&ServerPacket::Authenticated { result: Ok(()) }, None).await;
    assert!(!client.is_finished());
    let result = Err(Error::NoNode);
    first.send(&ServerPacket::Reply { xid: Xid(xid), zxid: Zxid(1), result }, Some(&request)).await;
    let client = soon(client).await.unwrap().unwrap();
    drop(first);
    let mut second = soon(server.accept()).await;
    second.write(&encode_connected(&ServerPacket::Expired, &Password::default())).await;
    let again = client.zookeeper();
    let again = tokio::spawn(async move {
        while again.exists("/a").await != Err(Error::SessionExpired) {}
        again.connect().await;
        again.exists("/a").await
    });
    let mut third = soon(server.accept_session()).await;
    assert_eq!(soon(third.packet()).await, Some(proof));
    assert!(matches!(soon(third.packet()).await, Some(ClientPacket::Request { .. })));
    again.abort();
}

/// A client of a server without a quorum asks the next server beside its connection, and moves once that has one.
#[tokio::test]
async fn a_client_of_a_read_only_server_looks_for_a_better_one() {
    let servers = [Server::new().await, Server::new().await];
    let addresses = format!("{},{}", servers[0].address(), servers[1].address());
    let builder = Client::builder(&addresses).session_timeout(TIMEOUT).read_only(true).seed(1);
    let client = tokio::spawn(builder.connect());
    // Whichever of the two is tried first has no quorum.
    let (mut connection, better) = tokio::select! {
        accepted = servers[0].accept() => (accepted, &servers[1]),
        accepted = servers[1].accept() => (accepted, &servers[0]),
    };
    let answer = ServerPacket::Connected { session: SESSION, timeout: TIMEOUT, read_only: true };
    connection.write(&encode_connected(&answer, &PASSWORD)).await;
    let client = soon(client).await.unwrap().unwrap();
    let mut events = client.session_events();
    // The other server is asked; it has no quorum either, so the read-only connection stays.
    assert_eq!(soon(better.accept_word(b"ro")).await, "isro");
    assert_eq!(events.try_next(), None);
    assert!(matches!(client.state(), vivarium_client::ClientState::ConnectedReadOnly(_)));
    // Next comes the read-only server itself, then the other one again.
    let worse = if std::ptr::eq(better, &servers[0]) { &servers[1] } else { &servers[0] };
    assert_eq!(soon(worse.accept_word(b"ro")).await, "isro");
    assert_eq!(soon(better.accept_word(b"rw")).await, "isro");
    assert_eq!(soon(events.next()).await, SessionState::Disconnected);
    let moved = soon(better.accept_session()).await;
    // The session of a read-only server is made up, and is not asked for.
    assert!(matches!(moved.connect.0, ClientPacket::Connect { session: None, .. }));
    assert_eq!(soon(events.next()).await, SessionState::SyncConnected);
}

/// A client whose session has expired has nothing to close.
#[tokio::test]
async fn a_client_without_a_session_is_closed_at_once() {
    let server = Server::new().await;
    let client = connecting(&server);
    let first = server.accept_session().await;
    let client = soon(client).await.unwrap();
    let mut events = client.session_events();
    drop(first);
    let mut second = soon(server.accept()).await;
    second.write(&encode_connected(&ServerPacket::Expired, &Password::default())).await;
    while soon(events.next()).await != SessionState::Expired {}
    // The driver waits for a call by now.
    tokio::time::sleep(Duration::from_millis(50)).await;
    soon(client.close()).await;
}

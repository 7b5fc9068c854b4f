//! What programs get through their handles: answers in their order, events, sleeps, tasks.

use super::*;

/// A program that asks without waiting gets all changes that have arrived, one after the other.
#[tokio::test]
async fn changes_of_the_session_are_there_without_waiting() {
    let server = Server::new().await;
    let client = connecting(&server);
    let mut connection = server.accept_session().await;
    let client = soon(client).await.unwrap();
    let (mut events, mut last) = (client.session_events(), client.session_events());
    for _ in 0..3 {
        drop(connection);
        connection = soon(server.accept_session()).await;
        assert_eq!(soon(last.next()).await, SessionState::Disconnected);
        assert_eq!(soon(last.next()).await, SessionState::SyncConnected);
    }
    let mut seen = Vec::new();
    while let Some(state) = events.try_next() {
        seen.push(state);
    }
    let both = [SessionState::Disconnected, SessionState::SyncConnected];
    assert_eq!(seen, [both, both, both].concat());
}

/// What has arrived together is taken in the order of its arrival, whatever the order in which the task asks.
#[tokio::test]
async fn a_race_is_won_by_what_arrived_first() {
    let server = Server::new().await;
    let client = connecting(&server);
    let mut connection = server.accept_session().await;
    let client = soon(client).await.unwrap();
    let zookeeper = client.zookeeper();
    let racing = tokio::spawn(async move {
        let (_, mut watch) = zookeeper.exists_watch("/a").await.unwrap();
        match race(zookeeper.get_data("/a"), watch.changed()).await {
            Either::Left(_) => "the reply",
            Either::Right(_) => "the watch",
        }
    });
    let (xid, request) = soon(connection.request()).await.unwrap();
    let result = Ok(Response::Exists(Stat::default()));
    let reply = ServerPacket::Reply { xid: Xid(xid), zxid: Zxid(1), result };
    connection.send(&reply, Some(&request)).await;
    let (xid, request) = soon(connection.request()).await.unwrap();
    // Both in one write, so that the client reads them together.
    let event =
        WatchedEvent { kind: EventType::NodeDataChanged, path: Arc::from("/a"), zxid: Zxid(2) };
    let mut both = Vec::new();
    for (packet, request) in
        [(ServerPacket::Notification(event), None), (data(xid, 2), Some(&*request))]
    {
        let frame = vivarium_model::wire::reply::encode_server(
            &packet,
            vivarium_model::wire::Opcodes::Newest,
            request,
            Zxid::ZERO,
        );
        both.extend(i32::try_from(frame.len()).unwrap().to_be_bytes());
        both.extend(frame);
    }
    connection.write_raw(&both).await;
    assert_eq!(soon(racing).await.unwrap(), "the watch");
}

#[tokio::test]
async fn observations_and_packets_are_events_in_their_order() {
    let server = Server::new().await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let builder = Client::builder(&server.address())
        .events(move |event: Event| sink.lock().unwrap().push(event));
    let client = tokio::spawn(builder.connect());
    let mut connection = server.accept_session().await;
    let client = soon(client).await.unwrap().unwrap();
    client.custom("before", &[]);
    let zookeeper = client.zookeeper();
    let reading = tokio::spawn(async move {
        let _ = zookeeper.get_data("/a").await;
        zookeeper.custom("after", &[]);
    });
    let (xid, request) = soon(connection.request()).await.unwrap();
    connection.send(&data(xid, 1), Some(&request)).await;
    soon(reading).await.unwrap();
    let seen: Vec<String> = seen
        .lock()
        .unwrap()
        .iter()
        .map(|event| match event {
            Event::Session { state, .. } => state.to_string(),
            Event::Observed { observation, .. } => observation.name().to_string(),
            Event::Sent { .. } => "sent".into(),
            Event::Replied { .. } => "replied".into(),
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(seen, ["SyncConnected", "before", "sent", "replied", "after"]);
}

#[tokio::test]
async fn tasks_of_a_program_end_with_the_client() {
    let server = Server::new().await;
    let client = connecting(&server);
    let mut connection = server.accept_session().await;
    let client = soon(client).await.unwrap();
    let (sender, mut ended) = tokio::sync::oneshot::channel::<()>();
    let zookeeper = client.zookeeper();
    client.spawn(async move {
        let _held = sender;
        zookeeper.sleep(Duration::from_secs(1_000)).await;
    });
    let closing = tokio::spawn(client.close());
    assert!(ended.try_recv().is_err());
    let (xid, request) = soon(connection.request()).await.unwrap();
    let closed = ServerPacket::Reply { xid: Xid(xid), zxid: Zxid(1), result: Ok(Response::Closed) };
    connection.send(&closed, Some(&request)).await;
    soon(closing).await.unwrap();
    assert!(soon(ended).await.is_err());
}

/// A program may go on after its client is closed: it sleeps as long as it asks for, and its requests fail.
#[tokio::test]
async fn a_program_sleeps_after_the_end_of_its_client() {
    let server = Server::new().await;
    let client = connecting(&server);
    let mut connection = server.accept_session().await;
    let client = soon(client).await.unwrap();
    let zookeeper = client.zookeeper();
    let before = zookeeper.clone();
    let span = Duration::from_millis(300);
    let begin = tokio::time::Instant::now();
    let asleep = tokio::spawn(async move { before.sleep(span).await });
    let closing = tokio::spawn(client.close());
    let (xid, request) = soon(connection.request()).await.unwrap();
    let closed = ServerPacket::Reply { xid: Xid(xid), zxid: Zxid(1), result: Ok(Response::Closed) };
    connection.send(&closed, Some(&request)).await;
    soon(closing).await.unwrap();
    soon(asleep).await.unwrap();
    assert!(begin.elapsed() >= span);
    let begin = tokio::time::Instant::now();
    soon(zookeeper.sleep(span)).await;
    assert!(begin.elapsed() >= span && begin.elapsed() < SOON / 2);
    assert_eq!(zookeeper.sync("/a").await, Err(Error::SessionExpired));
    assert!(zookeeper.random().await != zookeeper.random().await);
    assert!(timeout(span, zookeeper.connect()).await.is_err());
}

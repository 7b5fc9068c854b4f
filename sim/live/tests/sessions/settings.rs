//! What settings promise: limits on requests, events, waits and packets, and secrets that stay secret.

use super::*;

/// The client waits for a random time before it connects again, up to a second or a limit.
#[tokio::test]
async fn a_client_connects_again_within_its_limit() {
    let server = Server::new().await;
    let builder = Client::builder(&server.address()).reconnect_within(Duration::ZERO);
    let client = tokio::spawn(builder.connect());
    let mut connection = server.accept_session().await;
    let client = soon(client).await.unwrap().unwrap();
    let begin = tokio::time::Instant::now();
    for _ in 0..20 {
        drop(connection);
        connection = soon(server.accept_session()).await;
    }
    // With random waits of up to a second this takes ten seconds.
    assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());
    drop(client);
}

#[tokio::test]
async fn requests_beyond_the_limit_wait_in_their_callers() {
    let server = Server::new().await;
    let builder = Client::builder(&server.address()).outstanding(2, 1_000_000);
    let client = tokio::spawn(builder.connect());
    let mut connection = server.accept_session().await;
    let client = soon(client).await.unwrap().unwrap();
    let calls: Vec<_> = (0..5)
        .map(|_| {
            let zookeeper = client.zookeeper();
            tokio::spawn(async move { zookeeper.get_data("/a").await.map(|_| ()) })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(client.outstanding(), 2);
    for answered in 0..5 {
        let (xid, request) = soon(connection.request()).await.unwrap();
        connection.send(&data(xid, 1 + answered), Some(&request)).await;
    }
    for call in calls {
        soon(call).await.unwrap().unwrap();
    }
    assert_eq!((client.outstanding(), client.pending_calls()), (0, 0));
}

/// A watch whose reader takes nothing holds no more events than allowed: the connection is given up.
#[tokio::test]
async fn a_slow_reader_loses_the_connection_and_no_memory() {
    let server = Server::new().await;
    let builder = Client::builder(&server.address()).unread_events(10);
    let client = tokio::spawn(builder.connect());
    let mut connection = server.accept_session().await;
    let client = soon(client).await.unwrap().unwrap();
    let mut events = client.session_events();
    let zookeeper = client.zookeeper();
    let adding = tokio::spawn(async move {
        zookeeper.add_watch("/a", vivarium_client::AddWatchMode::Persistent).await.unwrap()
    });
    let (xid, request) = soon(connection.request()).await.unwrap();
    let reply = ServerPacket::Reply { xid: Xid(xid), zxid: Zxid(1), result: Ok(Response::Watches) };
    connection.send(&reply, Some(&request)).await;
    let mut watch = soon(adding).await.unwrap();
    for zxid in 2..20 {
        let event = WatchedEvent {
            kind: EventType::NodeDataChanged,
            path: Arc::from("/a"),
            zxid: Zxid(zxid),
        };
        connection.send(&ServerPacket::Notification(event), None).await;
    }
    assert_eq!(soon(events.next()).await, SessionState::Disconnected);
    for zxid in 2..13 {
        assert_eq!(soon(watch.next()).await.unwrap().zxid, Zxid(zxid));
    }
    assert!(timeout(Duration::from_millis(50), watch.next()).await.is_err());
}

/// A span beyond the clock is a sleep without end, and a session timeout that no packet can hold is the longest or the
/// shortest that one can.
#[tokio::test]
async fn spans_beyond_what_clocks_and_packets_hold_are_the_longest() {
    for (asked, sent) in [(Duration::MAX, 0x7fff_ffff), (Duration::ZERO, 1)] {
        let server = Server::new().await;
        let builder = Client::builder(&server.address()).session_timeout(asked);
        let client = tokio::spawn(builder.connect());
        let connection = soon(server.accept_session()).await;
        let (ClientPacket::Connect { timeout: requested, .. }, _) = &connection.connect else {
            panic!("{:?}", connection.connect)
        };
        assert_eq!(*requested, Duration::from_millis(sent));
        let client = soon(client).await.unwrap().unwrap();
        let sleep = client.sleep(Duration::MAX);
        assert!(timeout(Duration::from_millis(20), sleep).await.is_err());
    }
}

/// A request that no frame can hold is refused, and occupies nothing.
#[tokio::test]
async fn a_request_of_more_than_two_gigabytes_is_refused() {
    let server = Server::new().await;
    let client = connecting(&server);
    let mut connection = server.accept_session().await;
    let client = soon(client).await.unwrap();
    let large: Arc<[u8]> = vec![0; 64 << 20].into();
    let set = |_| vivarium_client::Op::set_data("/a", Arc::clone(&large), Version::Any);
    let refused = soon(client.multi((0..40).map(set).collect())).await.unwrap_err();
    assert_eq!(refused.error, Error::BadArguments);
    assert_eq!((client.outstanding(), client.pending_calls()), (0, 0));
    let zookeeper = client.zookeeper();
    let reading = tokio::spawn(async move { zookeeper.get_data("/a").await });
    let (xid, request) = soon(connection.request()).await.unwrap();
    connection.send(&data(xid, 1), Some(&request)).await;
    assert!(soon(reading).await.unwrap().is_ok());
}

#[test]
fn a_secret_is_not_in_logs() {
    let resumed = Resumed { session: SESSION, password: Password([7; 16]) };
    assert_eq!(format!("{resumed:?}"), "Resumed { session: SessionId(12648430), .. }");
}

/// A server that sends a frame byte by byte, and then the beginning of a huge one, costs no more memory than what it has
/// sent, and a client that waits for it gives it up when its time is over.
#[tokio::test]
async fn slow_bytes_cost_no_memory_and_no_more_than_the_time_of_a_session() {
    let server = Server::new().await;
    let client = connecting(&server);
    let mut connection = server.accept_session().await;
    let client = soon(client).await.unwrap();
    let zookeeper = client.zookeeper();
    let reading = tokio::spawn(async move { zookeeper.get_data("/a").await.map(drop) });
    let (xid, request) = soon(connection.request()).await.unwrap();
    let reply = vivarium_model::wire::reply::encode_server(
        &data(xid, 1),
        vivarium_model::wire::Opcodes::Newest,
        Some(&request),
        Zxid::ZERO,
    );
    let mut frame = i32::try_from(reply.len()).unwrap().to_be_bytes().to_vec();
    frame.extend(reply);
    for byte in frame {
        connection.write_raw(&[byte]).await;
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    soon(reading).await.unwrap().unwrap();

    let zookeeper = client.zookeeper();
    let reading = tokio::spawn(async move { zookeeper.get_data("/a").await.map(drop) });
    soon(connection.request()).await.unwrap();
    let before = resident();
    let dripping = tokio::spawn(async move {
        // A frame as long as is allowed; one byte of it comes now and then.
        connection.write_raw(&1_000_000_i32.to_be_bytes()).await;
        while connection.write_raw(&[0]).await {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    });
    assert_eq!(soon(reading).await.unwrap(), Err(Error::ConnectionLoss));
    assert!(resident() < before + 1_000, "{} kB, and then {} kB", before, resident());
    soon(dripping).await.unwrap();
}

/// The memory of this process, in kB.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok()).unwrap_or(0)
}

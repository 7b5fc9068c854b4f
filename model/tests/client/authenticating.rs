//! Identities: which packets are sent, when, and what a refusal causes (rules 1.9 and 2.8.7).

use crate::scene::*;

/// Each server receives all identities right after it has accepted the session: before the watches and before queued
/// requests. An identity that is added twice is sent twice and kept once.
#[test]
fn every_server_is_told_of_every_identity() {
    let mut scene = Scene::new();
    scene.start();
    scene.request(0, sync());
    scene.add_auth(1, "ann:secret");
    scene.accept(SESSION);
    scene.reply(1, 4, Ok(Response::Synced));
    scene.watch(0, 2, get_data("/a"));
    scene.reply(2, 4, data());
    scene.add_auth(1, "bob:secret");
    scene.add_auth(1, "ann:secret");
    scene.read(ServerPacket::Authenticated { result: Ok(()) });
    scene.lost();
    scene.request(0, sync());
    scene.fires(ClientTimer::Reconnect);
    scene.accept(SESSION);
    insta::assert_snapshot!(scene.transcript, @r#"
    start
      open a connection to server 1
      send Connect: a new session, 6s, seen 0:0
      arm Connect: 2s
    call 0: sync /
    call 1: addAuth digest
      program: call 1 gets AuthAdded(Ok(()))
    read: Connected, session 0xa, 6s
      disarm Connect
      arm Read: 4s
      arm Ping: 2s
      monitors: session 0xa SyncConnected at server 1
      program: SyncConnected
      monitors: Authenticating by digest
      send Auth digest ann:secret
      send #1 sync /
    read: reply #1 at 1:4: Synced
      monitors: Replied #1 sync /
      program: call 0 gets Synced
      arm Read: 4s
    call 0: getData /a (watch)
      send #2 getData /a (watch)
      arm Ping: 2s
    read: reply #2 at 1:4: the data
      monitors: Replied #2 getData /a (watch)
      program: call 0 gets the data
      arm Read: 4s
    call 1: addAuth digest
      monitors: Authenticating by digest
      send Auth digest bob:secret
      arm Ping: 2s
      program: call 1 gets AuthAdded(Ok(()))
    call 1: addAuth digest
      monitors: Authenticating by digest
      send Auth digest ann:secret
      arm Ping: 2s
      program: call 1 gets AuthAdded(Ok(()))
    read: Authenticated { result: Ok(()) }
      monitors: Authenticated
      arm Read: 4s
    the connection ends
      disarm Read
      disarm Ping
      monitors: session 0xa Disconnected
      program: Disconnected
      arm Reconnect: 0ns and up to 1s
    call 0: sync /
    timer Reconnect fires
      open a connection to server 2
      send Connect: session 0xa, 6s, seen 1:4
      arm Connect: 2s
    read: Connected, session 0xa, 6s
      disarm Connect
      arm Read: 4s
      arm Ping: 2s
      monitors: session 0xa SyncConnected at server 2
      program: SyncConnected
      monitors: Authenticating by digest
      send Auth digest ann:secret
      monitors: Authenticating by digest
      send Auth digest bob:secret
      monitors: Rearming since 1:4
      send SetWatches since 1:4: data ["/a"], exist [], child []
      send #3 sync /
    "#);
}

/// A refusal is final: the state changes first, then every request fails, in flight or not, then the watches. The
/// monitors learn of the losses before the end of the session.
#[test]
fn a_refused_identity_ends_the_session() {
    let mut scene = Scene::connected();
    scene.watch(0, 1, get_data("/a"));
    scene.reply(1, 4, data());
    scene.add_watch(0, 2, "/b", AddWatchMode::PersistentRecursive);
    scene.add_auth(3, "ann:secret");
    scene.request(4, delete("/a"));
    scene.transcript.clear();
    scene.read(ServerPacket::Authenticated { result: Err(Error::AuthFailed) });
    scene.request(0, sync());
    scene.add_auth(0, "ann:secret");
    scene.call(0, Operation::Close);
    assert!(scene.machine.waits_for().contains("refused its identity"));
    scene.call(5, Operation::Connect);
    scene.accept(SessionId(0xb));
    insta::assert_snapshot!(scene.transcript, @r#"
    read: Authenticated { result: Err(AuthFailed) }
      close
      disarm Read
      disarm Ping
      monitors: Lost #3 delete /a
      monitors: session 0xa AuthFailed
      program: AuthFailed
      program: call 4 gets AuthFailed
      program: call 1 gets AuthFailed for its watch
      program: call 2 gets AuthFailed for its watch
    call 0: sync /
      program: call 0 gets AuthFailed
    call 0: addAuth digest
      program: call 0 gets AuthAdded(Err(AuthFailed))
    call 0: Close
      program: call 0 gets Closed
    call 5: Connect
      open a connection to server 1
      send Connect: a new session, 6s, seen 0:0
      arm Connect: 2s
    read: Connected, session 0xb, 6s
      disarm Connect
      arm Read: 4s
      arm Ping: 2s
      monitors: session 0xb SyncConnected at server 1
      program: SyncConnected
      program: call 5 gets session 0xb
    "#);
}

/// No identity is added after the end of the session, in a scope of another session, or while the session is being
/// closed.
#[test]
fn an_identity_needs_a_session() {
    let mut scene = Scene::connected();
    let auth = || Data::from(*b"ann:secret");
    let scope = Some(SessionId(0xf));
    scene.call(0, Operation::AddAuth { scheme: "digest".into(), auth: auth(), scope });
    scene.call(1, Operation::Close);
    scene.add_auth(0, "ann:secret");
    scene.reply(1, 4, Ok(Response::Closed));
    scene.add_auth(0, "ann:secret");
    scene.call(2, Operation::Connect);
    scene.accept(SessionId(0xb));
    insta::assert_snapshot!(scene.transcript, @r#"
    call 0: addAuth digest, only in session 0xf
      program: call 0 gets AuthAdded(Err(SessionExpired))
    call 1: Close
      send #1 closeSession
      arm Ping: 2s
    call 0: addAuth digest
      program: call 0 gets AuthAdded(Err(ConnectionLoss))
    read: reply #1 at 1:4: Closed
      monitors: Replied #1 closeSession
      close
      disarm Read
      disarm Ping
      monitors: session 0xa Closed
      program: Closed
      program: call 1 gets Closed
    call 0: addAuth digest
      program: call 0 gets AuthAdded(Err(SessionExpired))
    call 2: Connect
      open a connection to server 1
      send Connect: a new session, 6s, seen 0:0
      arm Connect: 2s
    read: Connected, session 0xb, 6s
      disarm Connect
      arm Read: 4s
      arm Ping: 2s
      monitors: session 0xb SyncConnected at server 1
      program: SyncConnected
      program: call 2 gets session 0xb
    "#);
}

//! Read-only servers, seen by a client (rule 2.7).

use crate::scene::*;

fn modest() -> Scene {
    let mut scene = Scene::of(|config| config.can_be_read_only = true);
    scene.start();
    scene
}

const FAKE: SessionId = SessionId(0xf);

/// A read-only server makes up a session id, which the client does not request from the next server. The client keeps
/// its own identities and watches.
#[test]
fn a_made_up_session_is_forgotten() {
    let mut scene = modest();
    scene.call(0, Operation::Connect);
    scene.accept_by(FAKE, true);
    scene.add_watch(0, 1, "/a", AddWatchMode::Persistent);
    scene.request(0, delete("/a"));
    scene.reply(2, 5, Err(Error::NotReadOnly));
    scene.fires(ClientTimer::Probe);
    scene.fires(ClientTimer::Reconnect);
    scene.accept(SESSION);
    insta::assert_snapshot!(scene.transcript, @r#"
    start
      open a connection to server 1
      send Connect: a new session, 6s, seen 0:0, read-only will do
      arm Connect: 2s
    call 0: Connect
    read: Connected, session 0xf, 6s, read-only
      disarm Connect
      arm Read: 4s
      arm Ping: 2s
      arm Probe: 100ms
      monitors: session 0xf ConnectedReadOnly at server 1
      program: ConnectedReadOnly
      program: call 0 gets session 0xf
    call 0: addWatch /a (Persistent)
      send #1 addWatch /a (Persistent)
      arm Ping: 2s
    read: reply #1 at 1:4: Watches
      monitors: Replied #1 addWatch /a (Persistent)
      program: call 0 gets Watches
      arm Read: 4s
    call 0: delete /a
      send #2 delete /a
      arm Ping: 2s
    read: reply #2 at 1:5: NotReadOnly
      monitors: Replied #2 delete /a
      program: call 0 gets NotReadOnly
      arm Read: 4s
    timer Probe fires
      close
      disarm Read
      disarm Ping
      monitors: session 0xf Disconnected
      program: Disconnected
      arm Reconnect: 0ns and up to 1s
    timer Reconnect fires
      open a connection to server 2
      send Connect: a new session, 6s, seen 1:5, read-only will do
      arm Connect: 2s
    read: Connected, session 0xa, 6s
      disarm Connect
      arm Read: 4s
      arm Ping: 2s
      monitors: session 0xa SyncConnected at server 2
      program: SyncConnected
      monitors: Rearming since 1:5
      send SetWatches since 1:5: data [], exist [], child [], persistent ["/a"], recursive []
    "#);
}

/// The client requests a session that a server with a quorum has begun from every server.
#[test]
fn a_real_session_is_kept() {
    let mut scene = modest();
    scene.accept(SESSION);
    scene.lost();
    scene.fires(ClientTimer::Reconnect);
    scene.accept_by(SESSION, true);
    scene.lost();
    scene.transcript.clear();
    scene.fires(ClientTimer::Reconnect);
    insta::assert_snapshot!(scene.transcript, @r#"
    timer Reconnect fires
      open a connection to server 3
      send Connect: session 0xa, 6s, seen 0:0, read-only will do
      arm Connect: 2s
    "#);
}

/// The client stays longer with each read-only server, up to a minute; a server with a quorum resets this time.
#[test]
fn it_looks_for_a_better_server_ever_more_seldom() {
    let mut scene = modest();
    let mut spans = Vec::new();
    for _ in 0..12 {
        scene.transcript.clear();
        scene.accept_by(FAKE, true);
        let armed = scene.transcript.lines().find_map(|line| line.strip_prefix("  arm Probe: "));
        spans.push(armed.expect("it is armed").to_owned());
        scene.fires(ClientTimer::Probe);
        scene.fires(ClientTimer::Reconnect);
    }
    assert_eq!(spans[..3], ["100ms", "200ms", "400ms"]);
    assert_eq!(spans[9..], ["51.2s", "60s", "60s"]);
    scene.accept(SESSION);
    scene.lost();
    scene.fires(ClientTimer::Reconnect);
    scene.transcript.clear();
    scene.accept_by(SESSION, true);
    assert!(scene.transcript.contains("arm Probe: 100ms"), "{}", scene.transcript);
}

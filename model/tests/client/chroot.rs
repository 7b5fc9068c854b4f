//! The chroot: which paths servers and monitors see, and which paths the program sees (rule 1.1.5).

use crate::scene::*;
use vivarium_model::acl::AclList;
use vivarium_model::op::{CreateMode, ReadOp};

fn rooted() -> Scene {
    Scene::connected_of(|config| config.chroot = "/app".into())
}

/// Returns the form in which a request is sent.
fn sent(request: Request) -> String {
    let mut scene = rooted();
    scene.request(0, request);
    let line = scene.transcript.lines().find_map(|line| line.strip_prefix("  send #1 "));
    line.unwrap_or_else(|| panic!("nothing was sent: {}", scene.transcript)).to_owned()
}

fn create(path: &str, mode: CreateMode) -> Op {
    Op::create(path, *b"", mode)
}

#[test]
fn every_path_is_put_behind_it() {
    let path = || Arc::from("/a");
    let kind = WatcherType::Any;
    let cases = [
        (Request::Write(create("/a", CreateMode::Persistent)), "create /app/a (Persistent)"),
        (
            Request::Write(create("/q/", CreateMode::PersistentSequential)),
            "create /app/q/ (PersistentSequential)",
        ),
        (delete("/a"), "delete /app/a"),
        // The root cannot be deleted, so this does not mean the chroot.
        (delete("/"), "delete /"),
        (
            Request::Multi(vec![
                create("/a", CreateMode::Container),
                Op::Delete { path: "/".into(), version: Version::Any },
                Op::SetData { path: path(), data: Data::from(*b""), version: Version::Any },
                Op::Check { path: path(), version: Version::Any },
            ]),
            "multi [create /app/a (Container), delete /app, setData /app/a, check /app/a]",
        ),
        (exists("/"), "exists /app (watch)"),
        (get_data("/a"), "getData /app/a (watch)"),
        (get_children("/a"), "getChildren /app/a (watch)"),
        (Request::GetAcl { path: path() }, "getACL /app/a"),
        (
            Request::SetAcl { path: path(), acl: AclList::OPEN, version: Version::Any },
            "setACL /app/a [world:anyone:cdrwa]",
        ),
        (
            Request::MultiRead(vec![
                ReadOp::GetData { path: path() },
                ReadOp::GetChildren { path: path() },
            ]),
            "multiRead [getData /app/a, getChildren /app/a]",
        ),
        (Request::GetAllChildrenNumber { path: path() }, "getAllChildrenNumber /app/a"),
        // Apache's client does not add the chroot to this prefix.
        (Request::GetEphemerals { prefix: path() }, "getEphemerals /a"),
        (Request::WhoAmI, "whoAmI"),
        (
            Request::AddWatch { path: path(), mode: AddWatchMode::Persistent },
            "addWatch /app/a (Persistent)",
        ),
        (Request::RemoveWatches { path: path(), kind }, "removeWatches /app/a (Any)"),
        (Request::CheckWatches { path: path(), kind }, "checkWatches /app/a (Any)"),
        (Request::DeleteContainer { path: path() }, "deleteContainer /app/a"),
        (sync(), "sync /app"),
    ];
    for (request, expected) in cases {
        assert_eq!(sent(request), expected);
    }
}

/// The path `le` added to the chroot would be valid, so the client has to refuse it.
#[test]
fn invalid_paths_are_refused_at_once() {
    let requests = [
        exists("le"),
        exists(""),
        delete("/a//b"),
        Request::Write(create("/q/", CreateMode::Persistent)),
        Request::Multi(vec![
            create("/a", CreateMode::Persistent),
            create("b", CreateMode::Persistent),
        ]),
    ];
    for request in requests {
        let mut scene = rooted();
        scene.request(0, request);
        let told = scene.transcript.lines().skip(1).collect::<Vec<_>>();
        assert_eq!(told, ["  program: call 0 gets BadArguments"]);
    }
}

/// The program sees its own paths; the monitors and the next server see the real ones.
#[test]
fn the_program_sees_what_is_below() {
    let mut scene = rooted();
    scene.request(0, Request::Write(create("/q/n-", CreateMode::EphemeralSequential)));
    let created = OpResult::Created("/app/q/n-0000000007".into(), Stat::default());
    scene.reply(1, 4, Ok(Response::Written(created)));
    scene.watch(0, 1, get_data("/"));
    scene.reply(2, 4, data());
    scene.add_watch(0, 2, "/q", AddWatchMode::PersistentRecursive);
    scene.transcript.clear();
    scene.notify(EventType::NodeDataChanged, "/app", 5);
    scene.notify(EventType::NodeDeleted, "/app/q/n-0000000007", 6);
    scene.lost();
    scene.fires(ClientTimer::Reconnect);
    scene.accept(SESSION);
    scene.remove(0, "/q", WatcherType::Any, false);
    scene.reply(4, 6, Ok(Response::Watches));
    insta::assert_snapshot!(scene.transcript, @r#"
    read: NodeDataChanged /app at 1:5
      monitors: Notified NodeDataChanged /app at 1:5
      program: call 1 gets NodeDataChanged / at 1:5
      arm Read: 4s
    read: NodeDeleted /app/q/n-0000000007 at 1:6
      monitors: Notified NodeDeleted /app/q/n-0000000007 at 1:6
      program: watch 2 gets NodeDeleted /q/n-0000000007 at 1:6
      arm Read: 4s
    the connection ends
      disarm Read
      disarm Ping
      monitors: session 0xa Disconnected
      program: Disconnected
      arm Reconnect: 0ns and up to 1s
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
      monitors: Rearming since 1:4
      send SetWatches since 1:4: data [], exist [], child [], persistent [], recursive ["/app/q"]
    call 0: removeWatches /q (Any)
      send #4 removeWatches /app/q (Any)
      arm Ping: 2s
    read: reply #4 at 1:6: Watches
      monitors: Replied #4 removeWatches /app/q (Any)
      program: call 2 gets PersistentWatchRemoved /q at 0:0
      program: call 0 gets Watches
      arm Read: 4s
    "#);
}

#[test]
fn created_paths_lose_it() {
    let mut scene = rooted();
    scene.request(0, Request::Write(create("/q/n-", CreateMode::EphemeralSequential)));
    let created = OpResult::Created("/app/q/n-0000000007".into(), Stat::default());
    scene.transcript.clear();
    scene.reply(1, 4, Ok(Response::Written(created)));
    let told = scene.transcript.lines().find(|line| line.contains("call 0 gets"));
    assert!(told.expect("an answer").contains("Created(\"/q/n-0000000007\""), "{told:?}");
}

/// An empty chroot and the chroot `/` change nothing: servers judge the paths.
#[test]
fn without_one_paths_are_left_alone() {
    for chroot in ["", "/"] {
        let mut scene = Scene::connected_of(|config| config.chroot = chroot.into());
        scene.request(0, exists("le"));
        assert!(scene.transcript.contains("send #1 exists le"), "{}", scene.transcript);
    }
}

//! Every row of rule 1.8: permissions, the order of errors, and the watches that are set.

use super::*;
use crate::tree::EphemeralType;
use crate::vocabulary::acl::Acl;
use crate::vocabulary::id::{ClientId, Xid};
use crate::vocabulary::op::{AddWatchMode, ClientInfo, Data, WatcherType};
use crate::vocabulary::path::ZnodePath;
use crate::vocabulary::release::Bugs;
use crate::vocabulary::txn::{Txn, TxnBody};
use crate::vocabulary::zxid::{Epoch, Zxid};

const ALICE: SessionId = SessionId(0xa);
const CONNECTION: ClientConnection = ClientConnection { client: ClientId(1), slot: 0 };

fn user() -> Id {
    Id::new("digest", "user:hash")
}

/// An ACL with all permissions for this identity, and these permissions for any client.
fn acl(id: Id, others: Permissions) -> AclList {
    AclList::new([Acl::new(Permissions::ALL, id), Acl::new(others, Id::ANYONE)])
}

/// `/open` with `/open/a` and `/open/a/b`; `/closed` with a child, which only the user may read; and two ephemerals
/// of Alice below `/closed`'s neighbour.
fn tree() -> DataTree {
    let none = Permissions(0);
    let (void, alice) = (EphemeralType::Void, EphemeralType::Normal(ALICE));
    let bob = EphemeralType::Normal(SessionId(0xb));
    let znodes = [
        ("/open", void, AclList::OPEN),
        ("/open/a", void, AclList::OPEN),
        ("/open/a/b", void, acl(user(), none)),
        ("/openly", alice, AclList::OPEN),
        ("/open/e", alice, acl(user(), none)),
        ("/open/of-bob", bob, AclList::OPEN),
        ("/closed", void, acl(user(), none)),
        ("/closed/c", void, AclList::OPEN),
        ("/admin", void, acl(user(), Permissions::ADMIN)),
        ("/read", void, acl(user(), Permissions::READ)),
    ];
    let mut tree = DataTree::new();
    for (at, (path, ephemeral_type, acl)) in znodes.into_iter().enumerate() {
        let (path, data) = (ZnodePath::new(path).expect("valid"), Data::from([7]));
        let zxid = Zxid::new(Epoch(1), at as u32 + 1);
        let body =
            TxnBody::Create { path, data, ephemeral_type, acl, parent_cversion: at as i32 + 1 };
        let applied = tree.apply(&Txn { zxid, session: ALICE, cxid: Xid(1), time: 0, body });
        assert!(applied.result.is_ok());
    }
    tree
}

struct Scene {
    tree: DataTree,
    watches: WatchTable,
    config: Config,
    auth: Vec<Id>,
}

impl Scene {
    fn new() -> Scene {
        let (watches, config) = (WatchTable::default(), Config::new(1, 1));
        Scene { tree: tree(), watches, config, auth: Vec::new() }
    }

    fn of_user() -> Scene {
        Scene { auth: vec![user()], ..Scene::new() }
    }

    fn read(&mut self, request: Request) -> Result<Response, Error> {
        let reader = Reader { session: ALICE, auth: &self.auth, config: &self.config };
        reader.read(&self.tree, &mut self.watches, CONNECTION, &request)
    }

    fn error(&mut self, request: Request) -> Option<Error> {
        self.read(request).err()
    }

    fn watches(&self, path: &str, kind: WatcherType) -> bool {
        self.watches.contains(path, CONNECTION, kind, Bugs::NONE)
    }
}

fn exists(path: &str, watch: bool) -> Request {
    Request::Exists { path: path.into(), watch }
}

fn get_data(path: &str, watch: bool) -> Request {
    Request::GetData { path: path.into(), watch }
}

fn get_children(path: &str, watch: bool) -> Request {
    Request::GetChildren { path: path.into(), watch }
}

fn get_acl(path: &str) -> Request {
    Request::GetAcl { path: path.into() }
}

fn count_all(path: &str) -> Request {
    Request::GetAllChildrenNumber { path: path.into() }
}

#[test]
fn no_node_and_no_auth_of_reads() {
    let reads = |path| {
        [exists(path, false), get_data(path, false), get_children(path, false), count_all(path)]
    };
    for request in reads("/closed").into_iter().chain([get_acl("/closed")]) {
        let text = request.to_string();
        assert_eq!(Scene::new().error(request.clone()), Some(Error::NoAuth), "{text}");
        assert_eq!(Scene::of_user().error(request.clone()), None, "{text}");
        let mut skipping = Scene::new();
        skipping.config.options.skip_acl = true;
        assert_eq!(skipping.error(request), None, "{text}");
    }
    for path in ["/none", "/closed/none", "none"] {
        for request in reads(path).into_iter().chain([get_acl(path)]) {
            let text = request.to_string();
            assert_eq!(Scene::new().error(request), Some(Error::NoNode), "{text}");
        }
    }
    // The empty path is the root.
    for request in reads("").into_iter().chain([get_acl("")]) {
        assert_eq!(Scene::new().error(request), None);
    }
    // Permissions are not inherited.
    for request in reads("/closed/c") {
        assert_eq!(Scene::new().error(request), None);
    }
    // Of all reads, only exists validates the text of a path.
    assert_eq!(Scene::new().error(exists("/a\0", true)), Some(Error::BadArguments));
    assert_eq!(Scene::new().error(get_data("/a\0", true)), Some(Error::NoNode));
}

/// ZOOKEEPER-2590.
#[test]
fn exists_needed_no_permission_in_old_releases() {
    let mut scene = Scene::new();
    scene.config.bugs = Bugs::NONE.with(Bug::ExistsAsksNoAcl);
    assert_eq!(scene.error(exists("/closed", true)), None);
    assert!(scene.watches("/closed", WatcherType::Data));
    assert_eq!(scene.error(get_data("/closed", false)), Some(Error::NoAuth));
}

#[test]
fn a_watch_is_set_where_the_answer_allows_it() {
    use WatcherType::{Any, Children, Data};
    let rows = [
        (exists("/open", true), Some(Data)),
        (exists("/none", true), Some(Data)),
        (exists("/closed", true), None),
        (exists("/a\0", true), None),
        (exists("/open", false), None),
        (get_data("/open", true), Some(Data)),
        (get_data("/none", true), None),
        (get_data("/closed", true), None),
        (get_data("/open", false), None),
        (get_children("/open", true), Some(Children)),
        (get_children("/none", true), None),
        (get_children("/closed", true), None),
        (get_children("/open", false), None),
    ];
    for (request, expected) in rows {
        let (Request::Exists { path, .. }
        | Request::GetData { path, .. }
        | Request::GetChildren { path, .. }) = request.clone()
        else {
            unreachable!("only these set watches");
        };
        let mut scene = Scene::new();
        let _ = scene.read(request.clone());
        assert_eq!(scene.watches.is_empty(), expected.is_none(), "{request}");
        assert_eq!(scene.watches(&path, Any), expected.is_some(), "{request}");
        assert!(expected.is_none_or(|kind| scene.watches(&path, kind)), "{request}");
    }
}

/// No ACL is checked, and the znode need not exist.
#[test]
fn watches_that_stay_are_added_and_taken_away_without_a_question() {
    let path = |path: &str| -> Arc<str> { path.into() };
    for at in ["/open", "/closed", "/none"] {
        let mut scene = Scene::new();
        let kind = WatcherType::Persistent;
        let check = || Request::CheckWatches { path: path(at), kind };
        let remove = || Request::RemoveWatches { path: path(at), kind };
        assert_eq!(scene.error(check()), Some(Error::NoWatcher));
        assert_eq!(scene.error(remove()), Some(Error::NoWatcher));
        let mode = AddWatchMode::Persistent;
        let added = scene.read(Request::AddWatch { path: path(at), mode });
        assert_eq!(added, Ok(Response::Watches));
        assert_eq!(scene.read(check()), Ok(Response::Watches));
        assert_eq!(scene.read(remove()), Ok(Response::Watches));
        assert_eq!(scene.error(remove()), Some(Error::NoWatcher));
        assert!(scene.watches.is_empty());
    }
}

/// READ or ADMIN suffices to see the ACL; without ADMIN the hashes are hidden.
#[test]
fn an_acl_is_shown_with_hashes_only_to_clients_with_admin() {
    let shown = |scene: &mut Scene, path: &str| match scene.read(get_acl(path)) {
        Ok(Response::Acl(acl, _)) => acl.to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!(shown(&mut Scene::new(), "/admin"), "[digest:user:hash:cdrwa, world:anyone:a]");
    assert_eq!(shown(&mut Scene::new(), "/read"), "[digest:user:x:cdrwa, world:anyone:r]");
    assert_eq!(shown(&mut Scene::of_user(), "/read"), "[digest:user:hash:cdrwa, world:anyone:r]");
    assert_eq!(Scene::new().error(get_data("/admin", false)), Some(Error::NoAuth));
}

#[test]
fn each_of_many_reads_has_its_own_result() {
    let data = |path: &str| ReadOp::GetData { path: path.into() };
    let children = |path: &str| ReadOp::GetChildren { path: path.into() };
    let mut scene = Scene::new();
    let ops = vec![
        data("/none"),
        data("/open"),
        children("/closed"),
        children("/open"),
        data("/closed/none"),
    ];
    let stat = scene.tree.stat("/open").expect("there");
    let names = ["a", "e", "of-bob"].map(Arc::from).to_vec();
    assert_eq!(
        scene.read(Request::MultiRead(ops)),
        Ok(Response::MultiRead(vec![
            ReadResult::Failed(Error::NoNode),
            ReadResult::Data(Data::from([7]), stat),
            ReadResult::Failed(Error::NoAuth),
            ReadResult::Children(names),
            ReadResult::Failed(Error::NoNode),
        ]))
    );
    assert_eq!(scene.read(Request::MultiRead(vec![])), Ok(Response::MultiRead(vec![])));
    assert!(scene.watches.is_empty());
}

/// A session sees only its own ephemerals, by a prefix of the path's text; no ACL is checked.
#[test]
fn ephemerals_are_found_by_text() {
    let rows: [(&str, &[&str]); 8] = [
        ("", &["/open/e", "/openly"]),
        ("/", &["/open/e", "/openly"]),
        (" / ", &["/open/e", "/openly"]),
        ("/open", &["/open/e", "/openly"]),
        ("/open/", &["/open/e"]),
        ("/openl", &["/openly"]),
        ("open", &[]),
        ("/closed", &[]),
    ];
    for (prefix, expected) in rows {
        let expected = expected.iter().map(|path| Arc::from(*path)).collect();
        let answer = Scene::new().read(Request::GetEphemerals { prefix: prefix.into() });
        assert_eq!(answer, Ok(Response::Ephemerals(expected)), "{prefix:?}");
    }
}

#[test]
fn all_descendants_are_counted_whatever_their_acls() {
    for (path, expected) in [("/open", 4), ("/open/a", 1), ("/openly", 0), ("/", 13)] {
        let answer = Scene::new().read(count_all(path));
        assert_eq!(answer, Ok(Response::AllChildrenNumber(expected)), "{path}");
    }
}

#[test]
fn who_am_i_lists_the_proven_identities() {
    let mut scene = Scene::of_user();
    scene.auth.push(access::of_address("10.0.0.1"));
    let told = |scheme: &str, user: &str| ClientInfo { scheme: scheme.into(), user: user.into() };
    let expected = vec![told("digest", "user"), told("ip", "10.0.0.1")];
    assert_eq!(scene.read(Request::WhoAmI), Ok(Response::WhoAmI(expected)));
    assert_eq!(Scene::new().read(Request::WhoAmI), Ok(Response::WhoAmI(vec![])));
}

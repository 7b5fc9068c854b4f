//! The less common calls: their operations, and what they return.

use super::*;
use crate::vocabulary::acl::AclList;
use crate::vocabulary::id::SessionId;
use crate::vocabulary::op::{
    ClientInfo, CreateMode, Data, Op, OpResult, ReadOp, ReadResult, Version, WatcherType,
};
use std::sync::Arc;

/// Runs one call and returns its operation and its result.
fn call<F>(
    make: impl Fn(ZooKeeper) -> F + Send + Sync + Copy + 'static,
    outcome: Outcome,
) -> (Operation, String)
where
    F: Future<Output = String> + Send + 'static,
{
    let (mut process, mut begun) = started(move |zookeeper| async move {
        let words = make(zookeeper.clone()).await;
        zookeeper.custom(&words, &[]);
        Ok(())
    });
    let Some(Output::Submit { call: CallId(0), operation }) = begun.pop() else {
        panic!("nothing was asked");
    };
    let told = reply(&mut process, 0, outcome);
    let [Output::Observe(observed), Output::Finished(Ok(()))] = &told[..] else {
        panic!("{told:?}");
    };
    (operation, observed.name().to_string())
}

/// Checks the operation and the result of one call, once answered with `response` and once with `NoAuth`.
#[track_caller]
fn check<F>(
    make: impl Fn(ZooKeeper) -> F + Send + Sync + Copy + 'static,
    request: Request,
    response: Response,
    words: &str,
) where
    F: Future<Output = String> + Send + 'static,
{
    let operation = Operation::Request { request: request.into(), watch: None, scope: None };
    assert_eq!(call(make, answer(Ok(response))), (operation.clone(), words.to_string()));
    let failed = call(make, answer(Err(Error::NoAuth)));
    assert_eq!(failed, (operation, "Err(NoAuth)".to_string()));
}

fn path() -> Arc<str> {
    "/a".into()
}

#[test]
fn creates() {
    let (ttl, acl) = (seconds_of(9), AclList::read_unsafe());
    for mode in [CreateMode::Container, CreateMode::PersistentWithTtl(ttl), CreateMode::Ephemeral] {
        let made = acl.clone();
        let op = Op::Create { path: path(), data: Data::from(*b"x"), mode, acl: acl.clone() };
        let created = Response::Written(OpResult::Created("/a".into(), stat(0)));
        let (mut process, begun) = started(move |zookeeper| {
            let acl = made.clone();
            async move {
                let created = zookeeper.create_with_acl("/a", b"x", mode, acl).await;
                zookeeper.custom(&format!("{:?}", created.map(|(path, _)| path)), &[]);
                Ok(())
            }
        });
        assert_eq!(begun, [request(0, Request::Write(op), None)]);
        assert_eq!(reply(&mut process, 0, answer(Ok(created)))[0], said("Ok(\"/a\")"));
    }
}

#[test]
fn acls() {
    check(
        |zookeeper| async move {
            let found = zookeeper.get_acl("/a").await;
            format!("{:?}", found.map(|(acl, stat)| (acl.to_string(), stat.version)))
        },
        Request::GetAcl { path: path() },
        Response::Acl(AclList::read_unsafe(), stat(3)),
        "Ok((\"[world:anyone:r]\", 3))",
    );
    check(
        |zookeeper| async move {
            let set = zookeeper.set_acl("/a", AclList::creator_all(), Version::Is(2)).await;
            format!("{:?}", set.map(|stat| stat.version))
        },
        Request::SetAcl { path: path(), acl: AclList::creator_all(), version: Version::Is(2) },
        Response::AclSet(stat(3)),
        "Ok(3)",
    );
    let who = ClientInfo { scheme: "digest".into(), user: "ann".into() };
    check(
        |zookeeper| async move {
            let found = zookeeper.who_am_i().await;
            format!(
                "{:?}",
                found.map(|all| all.iter().map(ToString::to_string).collect::<Vec<_>>())
            )
        },
        Request::WhoAmI,
        Response::WhoAmI(vec![who]),
        "Ok([\"digest:ann\"])",
    );
}

#[test]
fn reads() {
    check(
        |zookeeper| async move { format!("{:?}", zookeeper.get_all_children_number("/a").await) },
        Request::GetAllChildrenNumber { path: path() },
        Response::AllChildrenNumber(7),
        "Ok(7)",
    );
    check(
        |zookeeper| async move { format!("{:?}", zookeeper.get_ephemerals("/a").await) },
        Request::GetEphemerals { prefix: path() },
        Response::Ephemerals(vec!["/a/b".into()]),
        "Ok([\"/a/b\"])",
    );
    let results = vec![ReadResult::Failed(Error::NoNode), ReadResult::Children(vec!["b".into()])];
    check(
        |zookeeper| async move {
            let ops = vec![
                ReadOp::GetData { path: "/a".into() },
                ReadOp::GetChildren { path: "/".into() },
            ];
            format!("{:?}", zookeeper.multi_read(ops).await)
        },
        Request::MultiRead(vec![
            ReadOp::GetData { path: path() },
            ReadOp::GetChildren { path: "/".into() },
        ]),
        Response::MultiRead(results),
        "Ok([Failed(NoNode), Children([\"b\"])])",
    );
}

#[test]
fn watches_and_containers() {
    let kind = WatcherType::Persistent;
    check(
        move |zookeeper| async move { format!("{:?}", zookeeper.check_watches("/a", kind).await) },
        Request::CheckWatches { path: path(), kind },
        Response::Watches,
        "Ok(())",
    );
    check(
        |zookeeper| async move { format!("{:?}", zookeeper.delete_container("/a").await) },
        Request::DeleteContainer { path: path() },
        Response::ContainerDeleted,
        "Ok(())",
    );
}

/// In a scope, identities and removals of watches apply to that session only, as requests do.
#[test]
fn identities_and_their_scope() {
    let scope = Some(SessionId(5));
    let asked = call(
        |zookeeper| async move {
            let scoped = zookeeper.scope(SessionId(5));
            format!("{:?}", scoped.add_auth_info("digest", b"ann:secret").await)
        },
        Outcome::AuthAdded(Err(Error::SessionExpired)),
    );
    let auth = Data::from(*b"ann:secret");
    let operation = Operation::AddAuth { scheme: "digest".into(), auth, scope };
    assert_eq!(asked, (operation, "Err(SessionExpired)".to_string()));
    let (operation, _) = call(
        |zookeeper| async move {
            let scoped = zookeeper.scope(SessionId(5));
            format!("{:?}", scoped.remove_watches("/a", WatcherType::Data, false).await)
        },
        answer(Err(Error::SessionExpired)),
    );
    let kind = WatcherType::Data;
    assert_eq!(operation, Operation::RemoveWatches { path: path(), kind, local: false, scope });
}

/// An answer of a kind other than the call's is an error of the world.
#[test]
#[should_panic(expected = "was answered with")]
fn an_answer_that_does_not_fit() {
    let wrong = answer(Ok(Response::AllChildrenNumber(7)));
    call(|zookeeper| async move { format!("{:?}", zookeeper.who_am_i().await) }, wrong);
}

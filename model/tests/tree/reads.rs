//! Reads of a tree, by clients with different identities, compared with what they may see according to the reference
//! (rules 1.8 and 1.9).

use crate::random::Who;
use crate::reference::{Fields, Reference};
use proptest::prelude::*;
use std::sync::Arc;
use vivarium_model::acl::{Acl, AclList, Id, Permissions};
use vivarium_model::config::Config;
use vivarium_model::error::Error;
use vivarium_model::id::SessionId;
use vivarium_model::op::{Data, ReadOp, ReadResult, Request, Response};
use vivarium_model::server::read::Reader;
use vivarium_model::tree::DataTree;

type Answer = Result<Response, Error>;

/// Returns every request about a path, with the expected answer.
fn expected(reference: &Reference, path: &str, who: Who) -> Vec<(Request, Answer)> {
    let text = || -> Arc<str> { path.into() };
    let read = ask(reference, path, who, Permissions::READ);
    let stat = |_: &Fields| reference.stat(path);
    let names = || reference.children(path).iter().map(|it| Arc::from(it.as_str())).collect();
    let below = reference.znodes.keys().filter(|it| *it != path && is_below(it, path)).count();
    let acl = ask(reference, path, who, Permissions::READ | Permissions::ADMIN).map(|fields| {
        let sees_all = may(&fields.acl, who, Permissions::ADMIN);
        let acl = if sees_all { fields.acl.clone() } else { masked(&fields.acl) };
        Response::Acl(acl, stat(fields))
    });
    let data = |fields: &Fields| Data::from(fields.data.as_slice());
    let one_of_many = match &read {
        Ok(fields) => ReadResult::Data(data(fields), stat(fields)),
        Err(error) => ReadResult::Failed(*error),
    };
    vec![
        (
            Request::Exists { path: text(), watch: false },
            read.map(|fields| Response::Exists(stat(fields))),
        ),
        (
            Request::GetData { path: text(), watch: false },
            read.map(|fields| Response::Data(data(fields), stat(fields))),
        ),
        (
            Request::GetChildren { path: text(), watch: false },
            read.map(|fields| Response::Children(names(), stat(fields))),
        ),
        (Request::GetAcl { path: text() }, acl),
        (
            Request::GetAllChildrenNumber { path: text() },
            read.map(|_| Response::AllChildrenNumber(below as u32)),
        ),
        (
            Request::MultiRead(vec![ReadOp::GetData { path: text() }]),
            Ok(Response::MultiRead(vec![one_of_many])),
        ),
    ]
}

fn ask<'a>(
    reference: &'a Reference,
    path: &str,
    who: Who,
    wanted: Permissions,
) -> Result<&'a Fields, Error> {
    let fields = reference.znodes.get(path).ok_or(Error::NoNode)?;
    if may(&fields.acl, who, wanted) { Ok(fields) } else { Err(Error::NoAuth) }
}

/// The ACLs that are drawn name every client, a network that contains all clients, and the user.
fn may(acl: &AclList, who: Who, wanted: Permissions) -> bool {
    let is_meant = |entry: &&Acl| match &*entry.id.scheme {
        "world" | "ip" => true,
        "digest" => matches!(who, Who::User),
        other => panic!("{other} is not drawn"),
    };
    let granted = acl.entries().iter().filter(is_meant);
    matches!(who, Who::Super) || granted.map(|it| it.permissions.0).any(|it| it & wanted.0 != 0)
}

fn masked(acl: &AclList) -> AclList {
    let mask = |entry: &Acl| match &*entry.id.scheme {
        "digest" => Acl::new(entry.permissions, Id::new("digest", "user:x")),
        _ => entry.clone(),
    };
    AclList::new(acl.entries().iter().map(mask).collect::<Vec<_>>())
}

fn is_below(path: &str, above: &str) -> bool {
    above == "/" || path.starts_with(&format!("{above}/"))
}

/// Compares all answers with the reference's. Returns the number of refusals, or the first wrong answer.
pub(crate) fn compare(tree: &DataTree, reference: &Reference, who: Who) -> Result<usize, String> {
    let (auth, config) = (who.auth(), Config::new(1, 1));
    let reader = |session| Reader { session, auth: &auth, config: &config };
    let absent = ["/none", "/a/none"].map(str::to_owned);
    let mut refused = 0;
    for path in reference.znodes.keys().chain(&absent) {
        for (request, answer) in expected(reference, path, who) {
            refused += usize::from(answer == Err(Error::NoAuth));
            let told = reader(SessionId(0)).answer(tree, &request);
            if told != answer {
                return Err(format!("{who:?} asks {request}: {told:?}, not {answer:?}"));
            }
        }
    }
    for session in reference.sessions.keys() {
        for prefix in ["", "/a", "/zz/"] {
            let own = reference.owned_by(*session).into_iter();
            let own = own.filter(|path| path.starts_with(prefix)).map(Arc::from);
            let answer = Ok(Response::Ephemerals(own.collect()));
            let request = Request::GetEphemerals { prefix: prefix.into() };
            let told = reader(*session).answer(tree, &request);
            if told != answer {
                return Err(format!("{session} asks {request}: {told:?}, not {answer:?}"));
            }
        }
    }
    Ok(refused)
}

const EVERYBODY: [Who; 3] = [Who::Nobody, Who::User, Who::Super];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn everybody_reads_what_the_reference_shows(actions in crate::random::actions()) {
        let txns = crate::random::lead(&actions);
        let mut tree = DataTree::new();
        for txn in &txns {
            tree.apply(txn);
        }
        for who in EVERYBODY {
            let compared = compare(&tree, &Reference::of(&txns), who);
            prop_assert!(compared.is_ok(), "{:?}", compared);
        }
    }
}

/// The comparison detects a znode that is closed to more clients, or to fewer.
#[test]
fn another_acl_is_noticed_by_who_reads() {
    let mut reference = Reference::new();
    let tree = DataTree::new();
    assert_eq!(compare(&tree, &reference, Who::Nobody), Ok(0));
    let closed = AclList::new([Acl::new(Permissions::ALL, Id::new("digest", "user:hash"))]);
    reference.znodes.get_mut("/zookeeper/quota").expect("there from the start").acl = closed;
    let objection = compare(&tree, &reference, Who::Nobody).expect_err("it is open in the tree");
    assert!(objection.contains("not Err(NoAuth)"), "{objection}");
    for who in EVERYBODY {
        assert!(compare(&tree, &reference, who).is_err(), "getACL tells {who:?} apart");
    }
}

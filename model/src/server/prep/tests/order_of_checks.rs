//! Every row of rule 1.6: of two reasons to fail, the one that is checked first.

use super::*;
use Error::{BadArguments, BadVersion, NoChildrenForEphemerals, NoNode, NodeExists, NotEmpty};

/// Checks that each operation fails with the error that is checked first.
fn assert_fails(leader: &Leader, rows: &[(&str, Op, Error)]) {
    for (why, op, error) in rows {
        let alone = leader.outcome(ALICE, Owner::Leader, Request::Write(op.clone()));
        if !matches!(op, Op::Check { .. }) {
            assert_eq!(alone, TxnBody::Error(*error), "{op}: {why}");
        }
        let multi = leader.outcome(ALICE, Owner::Leader, Request::Multi(vec![op.clone()]));
        assert_eq!(multi, TxnBody::FailedMulti(vec![Some(*error)]), "multi [{op}]: {why}");
    }
}

#[test]
fn create() {
    let mut leader = Leader::with_znodes();
    assert_fails(
        &leader,
        &[
            ("no slash", persistent("a"), BadArguments),
            ("empty", persistent(""), BadArguments),
            ("NUL comes before the parent", persistent("/none/\0"), BadArguments),
            ("the parent is looked up as the text says", persistent("a/b"), NoNode),
            ("the parent comes before the rest of the path", persistent("/none/."), NoNode),
            ("also for a trailing slash", persistent("/none/"), NoNode),
            ("the parent would be `/p/`", persistent("/p//a"), NoNode),
            ("trailing slash", persistent("/p/"), BadArguments),
            ("below the root", persistent("//a"), BadArguments),
            ("a dot", persistent("/p/."), BadArguments),
            ("the path comes before the ephemeral parent", persistent("/p/e/.."), BadArguments),
            ("exists", persistent("/p/c"), NodeExists),
            ("the root exists", persistent("/"), NodeExists),
            ("ephemeral parent", persistent("/p/e/x"), NoChildrenForEphemerals),
            ("ephemeral parent, sequential", sequential("/p/e/x"), NoChildrenForEphemerals),
        ],
    );
    // Only a diverged tree can show that NodeExists precedes the last check.
    let node = Arc::clone(leader.tree.node("/p/c").expect("there"));
    leader.tree.load_node(ZnodePath::new("/p/e/x").expect("valid"), node);
    assert_fails(&leader, &[("exists first", persistent("/p/e/x"), NodeExists)]);
}

#[test]
fn delete() {
    let leader = Leader::with_znodes();
    assert_fails(
        &leader,
        &[
            ("no slash", remove("a"), BadArguments),
            ("NUL", remove("/a\0"), BadArguments),
            ("special", remove("/"), BadArguments),
            ("special", remove("/zookeeper"), BadArguments),
            ("special", remove("/zookeeper/quota"), BadArguments),
            ("special", remove("/zookeeper/config"), BadArguments),
            ("no parent", remove("/none/x"), NoNode),
            ("no znode", remove("/p/none"), NoNode),
            ("paths are hardly checked", remove("/p/"), NoNode),
            ("paths are hardly checked", remove("p"), BadArguments),
            (
                "the version comes before the children",
                super::delete("/p", Version::Is(7)),
                BadVersion,
            ),
            ("children", super::delete("/p", Version::Is(0)), NotEmpty),
            ("version", super::delete("/v", Version::Is(1)), BadVersion),
        ],
    );
}

#[test]
fn set_data_and_check() {
    let leader = Leader::with_znodes();
    for op in [set, check] {
        assert_fails(
            &leader,
            &[
                ("the path comes first", op("/none/", Version::Any), BadArguments),
                ("no slash", op("none", Version::Any), BadArguments),
                ("empty", op("", Version::Any), BadArguments),
                ("no znode", op("/none", Version::Is(7)), NoNode),
                ("version", op("/v", Version::Is(1)), BadVersion),
            ],
        );
    }
}

#[test]
fn the_session_comes_before_all_else() {
    let leader = Leader::with_znodes();
    let hopeless = [
        persistent("a"),
        ephemeral("a"),
        remove("a"),
        set("a", Version::Any),
        check("a", Version::Any),
    ];
    for op in hopeless {
        let ask = |session, owner| leader.outcome(session, owner, Request::Multi(vec![op.clone()]));
        let expired = TxnBody::FailedMulti(vec![Some(Error::SessionExpired)]);
        assert_eq!(ask(NOBODY, Owner::Leader), expired, "{op}");
        assert_eq!(ask(ALICE, OTHER_WAY), TxnBody::Error(Error::SessionMoved), "{op}");
        assert_eq!(ask(ALICE, Owner::Leader), TxnBody::FailedMulti(vec![Some(BadArguments)]));
    }
    let alone = Request::Write(persistent("a"));
    let expired = leader.outcome(NOBODY, Owner::Leader, alone.clone());
    assert_eq!(expired, TxnBody::Error(Error::SessionExpired));
    assert_eq!(leader.outcome(ALICE, OTHER_WAY, alone), TxnBody::Error(Error::SessionMoved));
}

#[test]
fn a_check_alone_is_no_request() {
    let leader = Leader::with_znodes();
    let body = leader.outcome(ALICE, Owner::Leader, Request::Write(check("/v", Version::Any)));
    assert_eq!(body, TxnBody::Error(Error::Unimplemented));
}

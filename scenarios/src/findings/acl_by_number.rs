//! Znodes refer to ACLs by numbers. A snapshot that is written while transactions are applied can contain numbers that
//! its list of ACLs lacks, and a restarted server assigns those numbers to other ACLs. Three servers; one is restarted
//! twice.
//!
//! The order matters. The snapshot lists Alice's ACL, and contains neither the draft, which is deleted by then, nor the
//! secret. It contains the third znode with the next number, N, which it does not list. A restart drops Alice's ACL,
//! because no znode has it, and assigns N to it when the create of the secret is replayed. The replay of the setACL
//! removes a reference from the ACL with number N, its last one, so the secret is left with a number without an ACL.
//! The next restart begins to count below N.

use super::Variant;
use super::ensemble::Ensemble;
use super::error::FindingError;
use super::narration::{Narration, Outcome};
use super::session::Session;
use super::slow_snapshot::{
    SlowSnapshot, applied, begin, create_chain, snapshot_soon, succeeds, write,
};
use crate::conform::Installation;
use std::slice;
use vivarium_model::acl::{Acl, AclList, Id, Permissions};
use vivarium_model::id::ServerId;
use vivarium_model::op::{CreateMode, Op, Request, Response, Version};
use vivarium_model::zxid::Zxid;

const SECRET: &str = "/secret";

/// Content that only Alice may read.
const CONTENT: &[u8] = b"the password";

/// Makes a server write a snapshot while ACLs change, restarts it twice, and reads what only one user may read.
pub(super) fn reproduce(
    installation: &Installation,
    variant: Variant,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    let (mut ensemble, leader) = Ensemble::start_all(installation, 3, snapshot_soon())?;
    let server = ensemble.others(leader)[0];
    let mut client = ensemble.session(leader)?;
    let last = create_chain(&mut client)?;
    let (draft, shared) = (format!("{last}/draft"), format!("{last}/shared"));
    create(&mut client, &draft, only("alice"))?;
    create(&mut client, &shared, AclList::OPEN)?;
    // Keeps the counter at the next number after Alice's ACL is gone.
    create(&mut client, "/bob", only("bob"))?;
    tale.say("3 servers serve; a draft may be read by Alice only");

    let snapshot = SlowSnapshot::watch(&ensemble, server, variant)?;
    begin(&ensemble, slice::from_ref(&snapshot), &mut client, variant)?;
    let does = if variant == Variant::Defect { "writes" } else { "has written" };
    let name = snapshot.name(&ensemble).unwrap_or_default();
    tale.say(format!("{server} {does} {name}"));
    let zxid = change(&mut client, &draft, &shared)?;
    applied(&ensemble, server, zxid)?;
    if variant == Variant::Defect {
        snapshot.is_early(&ensemble)?;
    }
    snapshot.end(&ensemble)?;
    tale.say(format!(
        "{SECRET} is created, for Alice only; the draft is deleted; a third znode gets a new ACL{}",
        if variant == Variant::Defect { "; then the snapshot is written" } else { "" }
    ));
    restart(&mut ensemble, server, &mut client, tale)?;

    write(&mut client, Op::delete(shared.as_str(), Version::Any))?;
    let another = SlowSnapshot::watch(&ensemble, server, Variant::Control)?;
    begin(&ensemble, slice::from_ref(&another), &mut client, Variant::Control)?;
    let name = another.name(&ensemble).unwrap_or_default();
    tale.say(format!("the third znode is deleted; {server} has written {name}"));
    restart(&mut ensemble, server, &mut client, tale)?;
    let zxid = create(&mut client, "/public", anyone(Permissions::READ | Permissions::WRITE))?;
    applied(&ensemble, server, zxid)?;
    tale.say("/public is created, which anyone may read and write");
    judge(&ensemble, server, tale)
}

/// Creates the secret with the draft's ACL, deletes the draft and gives a third znode a new ACL. Returns the zxid of
/// the last.
fn change(client: &mut Session, draft: &str, shared: &str) -> Result<Zxid, FindingError> {
    create(client, SECRET, only("alice"))?;
    write(client, Op::delete(draft, Version::Any))?;
    let acl = anyone(Permissions::READ | Permissions::ADMIN);
    succeeds(client, Request::SetAcl { path: shared.into(), acl, version: Version::Any })
}

/// Reads the secret at every server, as a client without an identity.
fn judge(
    ensemble: &Ensemble,
    server: ServerId,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    let mut readable = Vec::new();
    for at in ensemble.all() {
        let mut stranger = ensemble.session(at)?;
        let (reads, words) = read(&mut stranger)?;
        tale.say(format!("a client without an identity reads {SECRET} at {at}: {words}"));
        if reads {
            readable.push(at);
        }
    }
    Ok(match readable[..] {
        [] => Outcome::Kept(format!("no server shows {SECRET} to a client without an identity")),
        [only] if only == server => Outcome::Shown(format!(
            "{only} shows {SECRET}, which only Alice may read, to a client without an identity"
        )),
        _ => Outcome::Inconclusive(format!("{} servers show {SECRET}", readable.len())),
    })
}

/// Returns whether a client can read the secret, and the answers in words.
fn read(client: &mut Session) -> Result<(bool, String), FindingError> {
    let data = client.ask(Request::GetData { path: SECRET.into(), watch: false })?.result;
    let acl = client.ask(Request::GetAcl { path: SECRET.into() })?.result;
    let acl = match acl {
        Ok(Response::Acl(acl, _)) => format!("{acl:?}"),
        Ok(other) => format!("{other:?}"),
        Err(error) => format!("{error:?}"),
    };
    Ok(match data {
        Ok(_) => (true, format!("getData: the data; getACL: {acl}")),
        Err(error) => (false, format!("getData: {error:?}; getACL: {acl}")),
    })
}

/// Kills and restarts a server; reports the answers to a client that reads the secret.
fn restart(
    ensemble: &mut Ensemble,
    server: ServerId,
    client: &mut Session,
    tale: &mut Narration<'_>,
) -> Result<(), FindingError> {
    ensemble.kill(server);
    ensemble.start(&[server])?;
    let all = ensemble.all();
    ensemble.serving(&all)?;
    let zxid = write(client, Op::set_data("/app", *b"", Version::Any))?;
    applied(ensemble, server, zxid)?;
    let (_, words) = read(&mut ensemble.session(server)?)?;
    tale.say(format!("{server} is killed and started again; {SECRET} there: {words}"));
    Ok(())
}

fn create(client: &mut Session, path: &str, acl: AclList) -> Result<Zxid, FindingError> {
    let data = CONTENT.to_vec().into();
    write(client, Op::Create { path: path.into(), data, mode: CreateMode::Persistent, acl })
}

/// Returns an ACL for one user, who is identified by a password.
fn only(user: &str) -> AclList {
    let id = Id::new("digest", format!("{user}:x1nq8J5GOJVPY6zgzhtTtA9izLc="));
    AclList::new([Acl::new(Permissions::ALL, id)])
}

fn anyone(permissions: Permissions) -> AclList {
    AclList::new([Acl::new(permissions, Id::ANYONE)])
}

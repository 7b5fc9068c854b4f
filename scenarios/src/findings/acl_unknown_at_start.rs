//! A snapshot that is written while transactions are applied contains a znode with the number of an ACL that its list
//! of ACLs lacks. The replay of a setData looks that number up and fails: the server does not start. Three servers, no
//! faults.

use super::Variant;
use super::ensemble::Ensemble;
use super::error::FindingError;
use super::narration::{Narration, Outcome};
use super::restart::{PAID, all_start_again};
use super::session::Session;
use super::slow_snapshot::{SlowSnapshot, begin, create_chain, snapshot_soon, succeeds, write};
use crate::conform::Installation;
use vivarium_model::acl::{Acl, AclList, Id, Permissions};
use vivarium_model::op::{Op, Request, Version};

/// The log line of a server that does not start.
const REFUSES: &str = "Failed to fetch acls for ";

/// Makes three servers write snapshots while a client sets a znode's data and ACL, and restarts them.
pub(super) fn reproduce(
    installation: &Installation,
    variant: Variant,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    let (mut ensemble, leader) = Ensemble::start_all(installation, 3, snapshot_soon())?;
    let mut client = ensemble.session(leader)?;
    let last = create_chain(&mut client)?;
    let path = format!("{last}/account");
    client.create(&path)?;
    tale.say("3 servers serve; a client has created a znode");
    let snapshots = ensemble
        .all()
        .into_iter()
        .map(|server| SlowSnapshot::watch(&ensemble, server, variant))
        .collect::<Result<Vec<SlowSnapshot>, FindingError>>()?;
    begin(&ensemble, &snapshots, &mut client, variant)?;
    let does = if variant == Variant::Defect { "writes" } else { "has written" };
    tale.say(format!("each {does} a snapshot"));
    change(&mut client, &path)?;
    if variant == Variant::Defect {
        snapshots.iter().try_for_each(|snapshot| snapshot.is_early(&ensemble))?;
    }
    snapshots.into_iter().try_for_each(|snapshot| snapshot.end(&ensemble))?;
    let paid = client.create(PAID)?;
    tale.say(format!(
        "it sets the data of that znode, and then its ACL{}; create {PAID} is answered, zxid {paid}",
        if variant == Variant::Defect { "; then the snapshots are written" } else { "" }
    ));
    all_start_again(&mut ensemble, REFUSES, tale)
}

/// Sets the data of a znode, and then its ACL.
fn change(client: &mut Session, path: &str) -> Result<(), FindingError> {
    write(client, Op::set_data(path, *b"x", Version::Any))?;
    let user = Id::new("digest", "user:x1nq8J5GOJVPY6zgzhtTtA9izLc=");
    let acl = AclList::new([Acl::new(Permissions::ALL, user)]);
    succeeds(client, Request::SetAcl { path: path.into(), acl, version: Version::Any })?;
    Ok(())
}

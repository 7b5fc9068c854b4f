//! The lengths of transactions' records, in logs and in proposals (rule 1.11.2).

use crate::vocabulary::acl::AclList;
use crate::vocabulary::config::Config;
use crate::vocabulary::path::CONFIG;
use crate::vocabulary::release::Bug;
use crate::vocabulary::txn::{Txn, TxnBody};
use crate::vocabulary::znode::EphemeralType;

const INT: usize = 4;
const LONG: usize = 8;
const BOOL: usize = 1;

/// `TxnHeader`: session, cxid, zxid, time and type.
const HEADER: usize = LONG + INT + LONG + LONG + INT;

/// `TxnDigest`: its version, and the digest of the tree (since 3.6.0).
const DIGEST: usize = INT + LONG;

/// Returns the length in bytes of a transaction's record: of the buffer `txnEntry` in a log, and of the data of a
/// PROPOSAL. It includes the header and the digest of the tree. For a failed multi the result is too small, because
/// the real record contains the operations before the failing one, of which a [`TxnBody::FailedMulti`] knows only the
/// number.
pub fn record_length(body: &TxnBody) -> usize {
    let digest = if matches!(body, TxnBody::Error(_)) { 0 } else { DIGEST };
    HEADER + length(body) + digest
}

/// Returns true if servers can read the record of this transaction (see [`Bug::LongRecordUnreadable`]).
pub fn can_read(config: &Config, txn: &Txn) -> bool {
    !config.bugs.has(Bug::LongRecordUnreadable)
        || record_length(&txn.body) <= config.options.longest_record()
}

fn length(body: &TxnBody) -> usize {
    match body {
        TxnBody::Create { path, data, ephemeral_type, acl, .. } => {
            let kind = match ephemeral_type {
                EphemeralType::Void | EphemeralType::Normal(_) => BOOL,
                EphemeralType::Container => 0,
                EphemeralType::Ttl(_) => LONG,
            };
            text(path) + buffer(data) + of_acl(acl) + kind + INT
        }
        TxnBody::Delete { path } | TxnBody::DeleteContainer { path } => text(path),
        TxnBody::SetData { path, data, .. } => text(path) + buffer(data) + INT,
        TxnBody::SetAcl { path, acl, .. } => text(path) + of_acl(acl) + INT,
        TxnBody::Check { path } => text(path) + INT,
        TxnBody::Multi(parts) => vector(parts.iter().map(|part| INT + INT + length(part))),
        TxnBody::FailedMulti(codes) => vector(codes.iter().map(|_code| INT + INT + INT)),
        TxnBody::CreateSession { .. } | TxnBody::Error(_) => INT,
        TxnBody::Reconfig(next) => text(CONFIG) + text(&next.to_string()) + INT,
        TxnBody::CloseSession { ephemerals } => vector(ephemerals.iter().map(|path| text(path))),
    }
}

fn vector(lengths: impl Iterator<Item = usize>) -> usize {
    INT + lengths.sum::<usize>()
}

fn text(text: &str) -> usize {
    INT + text.len()
}

fn buffer(data: &[u8]) -> usize {
    INT + data.len()
}

fn of_acl(acl: &AclList) -> usize {
    vector(acl.entries().iter().map(|entry| INT + text(&entry.id.scheme) + text(&entry.id.id)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::id::{SessionId, Xid};
    use crate::vocabulary::path::ZnodePath;
    use crate::vocabulary::release::Bugs;
    use crate::vocabulary::zxid::Zxid;

    #[test]
    fn a_record_of_the_greatest_length_is_read_and_a_longer_one_is_not() {
        let mut config = Config::new(1, 0);
        config.options.max_buffer = 100;
        let of = |length: usize| {
            let path = ZnodePath::new(format!("/{}", "x".repeat(length - 1))).expect("a path");
            let (zxid, body) = (Zxid::ZERO, TxnBody::Delete { path });
            Txn { zxid, session: SessionId(1), cxid: Xid(1), time: 0, body }
        };
        // Header, digest and the path's length are 48 bytes.
        let (fits, long) = (of(1_124 - 48), of(1_124 - 47));
        assert!(
            can_read(&config, &fits) && can_read(&config, &long),
            "repaired, there is none that is too long"
        );
        config.bugs = Bugs::NONE.with(Bug::LongRecordUnreadable);
        assert!(can_read(&config, &fits) && !can_read(&config, &long));
    }
}

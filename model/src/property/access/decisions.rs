//! Judges the results of requests as far as ACLs decide them (rules 1.6.2, 1.8.1 and 1.9).

use super::account::{Account, Draft};
use super::who::{Who, sorted, without_hashes};
use crate::vocabulary::acl::{AclList, Permissions};
use crate::vocabulary::error::Error;
use crate::vocabulary::op::{Op, ReadOp, ReadResult, Request, Response};
use crate::vocabulary::path::ZnodePath;
use crate::vocabulary::txn::TxnBody;
use crate::vocabulary::zxid::Zxid;

/// Judges the transaction that was committed for a write.
pub(super) fn write(
    who: &Who,
    request: &Request,
    body: &TxnBody,
    account: &Account,
) -> Result<(), String> {
    let mut draft = account.draft();
    match (request, body) {
        (Request::Write(op), TxnBody::Error(error)) => failed(who, Asking::of(op), *error, &draft),
        (Request::Write(op), body) => done(who, Asking::of(op), body, &mut draft),
        (Request::SetAcl { path, acl, .. }, body) => {
            let asking =
                Asking { of: path, wanted: Permissions::ADMIN, acl: Some(acl), deleted: None };
            match body {
                TxnBody::Error(error) => failed(who, asking, *error, &draft),
                body => done(who, asking, body, &mut draft),
            }
        }
        (Request::Multi(ops), TxnBody::Multi(parts)) => ops
            .iter()
            .zip(parts)
            .try_for_each(|(op, part)| done(who, Asking::of(op), part, &mut draft)),
        (Request::Multi(ops), TxnBody::FailedMulti(codes)) => {
            let failing = codes.iter().position(Option::is_some).unwrap_or(codes.len());
            for op in ops.iter().take(failing) {
                granted(who, Asking::of(op), &draft)?;
                promise(op, who, &mut draft);
            }
            match (ops.get(failing), codes.get(failing)) {
                (Some(op), Some(Some(error))) => failed(who, Asking::of(op), *error, &draft),
                _ => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

/// The ACL checks that an operation is subject to.
#[derive(Clone, Copy)]
struct Asking<'a> {
    /// The znode whose ACL decides.
    of: &'a str,
    wanted: Permissions,
    /// The ACL that the operation stores, if it stores one.
    acl: Option<&'a AclList>,
    /// The znode that the operation deletes, if it is a delete.
    deleted: Option<&'a str>,
}

impl Asking<'_> {
    fn of(op: &Op) -> Asking<'_> {
        let (of, wanted, acl) = match op {
            Op::Create { path, acl, .. } => (parent(path), Permissions::CREATE, Some(acl)),
            Op::Delete { path, .. } => {
                let of = parent(path);
                return Asking { of, wanted: Permissions::DELETE, acl: None, deleted: Some(path) };
            }
            Op::SetData { path, .. } => (&**path, Permissions::WRITE, None),
            Op::Check { path, .. } => (&**path, Permissions::READ, None),
        };
        Asking { of, wanted, acl, deleted: None }
    }
}

fn parent(path: &str) -> &str {
    match path.rfind('/') {
        Some(at) if at > 0 => &path[..at],
        _ => "/",
    }
}

fn granted(who: &Who, asking: Asking<'_>, draft: &Draft<'_>) -> Result<(), String> {
    let Asking { of, wanted, .. } = asking;
    match draft.find(of) {
        Some(acl) if !who.may(acl, wanted) => {
            Err(format!("its connection lacks {wanted} on {of}, whose ACL is {acl}"))
        }
        _ => Ok(()),
    }
}

fn done(
    who: &Who,
    asking: Asking<'_>,
    body: &TxnBody,
    draft: &mut Draft<'_>,
) -> Result<(), String> {
    granted(who, asking, draft)?;
    if let (Some(asked), TxnBody::Create { acl, .. } | TxnBody::SetAcl { acl, .. }) =
        (asking.acl, body)
    {
        match who.stored(asked) {
            None => {
                return Err(format!(
                    "it succeeded with the ACL {asked}, which a server must \
                     refuse with InvalidACL"
                ));
            }
            Some(expected) if sorted(acl.entries()) != expected => {
                return Err(format!("the ACL {asked} is stored as {acl}"));
            }
            Some(_) => {}
        }
    }
    draft.change(body);
    Ok(())
}

fn failed(who: &Who, asking: Asking<'_>, error: Error, draft: &Draft<'_>) -> Result<(), String> {
    let Asking { of, wanted, acl, deleted } = asking;
    let is_invalid = acl.is_some_and(|acl| who.stored(acl).is_none());
    match error {
        Error::InvalidAcl if is_invalid => Ok(()),
        Error::InvalidAcl => {
            Err("it was refused with InvalidACL, though its ACL is valid".to_owned())
        }
        Error::NoAuth => match draft.find(of) {
            None => Err(format!("it was refused with NoAuth, although {of} does not exist")),
            Some(acl) if who.may(acl, wanted) => Err(format!(
                "it was refused with NoAuth, though its connection has {wanted} on {of}, whose ACL is {acl}"
            )),
            Some(_) => Ok(()),
        },
        Error::NoNode
            if who.finds_first && deleted.is_some_and(|path| draft.find(path).is_none()) =>
        {
            Ok(())
        }
        // A server checks these after the ACL (rule 1.6.2), so the ACL must have granted the operation.
        Error::NoNode
        | Error::BadVersion
        | Error::NodeExists
        | Error::NotEmpty
        | Error::NoChildrenForEphemerals
        | Error::QuotaExceeded => {
            if is_invalid {
                return Err(format!("it was refused with {error:?} in place of InvalidACL"));
            }
            granted(who, asking, draft)
                .map_err(|saw| format!("it was refused with {error:?} in place of NoAuth: {saw}"))
        }
        _ => Ok(()),
    }
}

/// Applies an operation of a multi that failed at a later operation, so that the operations between see its ACL.
fn promise(op: &Op, who: &Who, draft: &mut Draft<'_>) {
    match op {
        // The number of a sequential name is unknown, since the multi failed.
        Op::Create { path, acl, mode, .. } if !mode.is_sequential() => {
            if let (Ok(path), Some(stored)) = (ZnodePath::new(&**path), who.stored(acl)) {
                draft.set(path, Some(AclList::new(stored)));
            }
        }
        Op::Delete { path, .. } => {
            if let Ok(path) = ZnodePath::new(&**path) {
                draft.set(path, None);
            }
        }
        _ => {}
    }
}

/// Returns true if the ACL lets `who` read.
pub(super) fn may_read(who: &Who, acl: &AclList) -> bool {
    who.may(acl, Permissions::READ)
}

/// Judges the reply to a read by the ACLs after all transactions up to `zxid`.
pub(super) fn read(
    who: &Who,
    request: &Request,
    zxid: Zxid,
    result: &Result<Response, Error>,
    account: &Account,
) -> Result<(), String> {
    let readable = |path: &str, error: Option<Error>, wanted: Permissions| {
        let path = if path.is_empty() { "/" } else { path };
        match (account.at(path, zxid), error) {
            (Some(acl), Some(Error::NoAuth)) if who.may(acl, wanted) => Err(format!(
                "it was refused at {zxid} with NoAuth, though its connection may read {path}, whose ACL is {acl}"
            )),
            (None, Some(Error::NoAuth)) => {
                Err(format!("it was refused at {zxid} with NoAuth, although {path} does not exist"))
            }
            (Some(acl), None) if !who.may(acl, wanted) => Err(format!(
                "it was answered at {zxid}, though its connection may not read {path}, whose ACL is {acl}"
            )),
            _ => Ok(()),
        }
    };
    let error = result.as_ref().err().copied();
    match (request, result) {
        (
            Request::Exists { path, .. }
            | Request::GetData { path, .. }
            | Request::GetChildren { path, .. }
            | Request::GetAllChildrenNumber { path },
            _,
        ) => readable(path, error, Permissions::READ),
        (Request::GetAcl { path }, _) => {
            readable(path, error, Permissions::READ | Permissions::ADMIN)?;
            match (account.at(path, zxid), result) {
                (Some(acl), Ok(Response::Acl(told, _))) => {
                    let expected = match who.may(acl, Permissions::ADMIN) {
                        true => acl.entries().to_vec(),
                        false => without_hashes(acl),
                    };
                    match told.entries() == expected {
                        true => Ok(()),
                        false => Err(format!("getACL returned {told} at {zxid} for the ACL {acl}")),
                    }
                }
                _ => Ok(()),
            }
        }
        (Request::MultiRead(ops), Ok(Response::MultiRead(results))) => {
            ops.iter().zip(results).try_for_each(|(op, result)| {
                let (ReadOp::GetData { path } | ReadOp::GetChildren { path }) = op;
                let error = match result {
                    ReadResult::Failed(error) => Some(*error),
                    _ => None,
                };
                readable(path, error, Permissions::READ)
            })
        }
        (Request::WhoAmI, Ok(Response::WhoAmI(told))) => {
            let mut sorted = told.clone();
            sorted.sort();
            match sorted == who.told() {
                true => Ok(()),
                false => Err(format!("whoAmI returned {told:?} instead of {:?}", who.told())),
            }
        }
        _ => Ok(()),
    }
}

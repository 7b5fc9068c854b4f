//! The answers that an operation can have, and those that set a watch.

use crate::program::host::{Operation, Outcome};
use crate::vocabulary::error::Error;
use crate::vocabulary::op::{EventType, Op, OpResult, ReadOp, ReadResult, Request, Response};

/// Returns true if the reply sets the requested watch (rule 3.3.1). exists and addWatch set it also for an absent
/// znode.
pub(super) fn registers(request: &Request, outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Response(Ok(_)) => true,
        Outcome::Response(Err(Error::NoNode)) => {
            matches!(request, Request::Exists { .. } | Request::AddWatch { .. })
        }
        _ => false,
    }
}

/// Returns true if the requested watch stays after it fires.
pub(super) fn stays(request: &Request) -> bool {
    matches!(request, Request::AddWatch { .. })
}

/// Returns true if the outcome can be the last of a watch that is one-shot or, if `stays`, persistent.
pub(super) fn ends(stays: bool, outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Watch(Ok(event)) => (event.kind == EventType::PersistentWatchRemoved) == stays,
        Outcome::Watch(Err(_)) => true,
        _ => false,
    }
}

/// Returns true if the outcome can be an answer to the operation.
pub(super) fn fits(operation: &Operation, outcome: &Outcome) -> bool {
    match (operation, outcome) {
        (Operation::Request { .. }, Outcome::Response(Err(_))) => true,
        (Operation::Request { request, .. }, Outcome::Response(Ok(response))) => {
            response_fits(request, response)
        }
        (Operation::Connect, Outcome::Connected(_))
        | (Operation::Close, Outcome::Closed)
        | (Operation::Sleep(_), Outcome::Elapsed)
        | (Operation::Now, Outcome::Now(_))
        | (Operation::Random, Outcome::Random(_))
        | (Operation::Receive, Outcome::Message(_))
        | (Operation::Cancelled, Outcome::Cancelled)
        | (Operation::Resource(_), Outcome::Resource(_))
        | (Operation::AddAuth { .. }, Outcome::AuthAdded(_))
        | (Operation::RemoveWatches { .. }, Outcome::Response(Ok(Response::Watches) | Err(_))) => {
            true
        }
        _ => false,
    }
}

fn response_fits(request: &Request, response: &Response) -> bool {
    match (request, response) {
        (Request::Write(op), Response::Written(result)) => op_fits(op, result),
        (Request::Multi(ops), Response::Multi(results)) => {
            let failed = |result: &OpResult| matches!(result, OpResult::Failed(_));
            ops.len() == results.len()
                && (results.iter().all(failed)
                    || ops.iter().zip(results).all(|(op, result)| op_fits(op, result)))
        }
        (Request::MultiRead(ops), Response::MultiRead(results)) => {
            ops.len() == results.len()
                && ops.iter().zip(results).all(|(op, result)| read_fits(op, result))
        }
        (Request::Exists { .. }, Response::Exists(_))
        | (Request::GetData { .. }, Response::Data(..))
        | (Request::GetChildren { .. }, Response::Children(..))
        | (Request::GetAcl { .. }, Response::Acl(..))
        | (Request::SetAcl { .. }, Response::AclSet(_))
        | (Request::GetAllChildrenNumber { .. }, Response::AllChildrenNumber(_))
        | (Request::GetEphemerals { .. }, Response::Ephemerals(_))
        | (Request::WhoAmI, Response::WhoAmI(_))
        | (
            Request::AddWatch { .. } | Request::RemoveWatches { .. } | Request::CheckWatches { .. },
            Response::Watches,
        )
        | (Request::DeleteContainer { .. }, Response::ContainerDeleted)
        | (Request::Sync { .. }, Response::Synced)
        | (Request::CloseSession, Response::Closed)
        | (Request::Reconfig(_), Response::Reconfigured(..)) => true,
        _ => false,
    }
}

fn op_fits(op: &Op, result: &OpResult) -> bool {
    matches!(
        (op, result),
        (Op::Create { .. }, OpResult::Created(..))
            | (Op::Delete { .. }, OpResult::Deleted)
            | (Op::SetData { .. }, OpResult::Set(_))
            | (Op::Check { .. }, OpResult::Checked)
    )
}

fn read_fits(op: &ReadOp, result: &ReadResult) -> bool {
    matches!(
        (op, result),
        (_, ReadResult::Failed(_))
            | (ReadOp::GetData { .. }, ReadResult::Data(..))
            | (ReadOp::GetChildren { .. }, ReadResult::Children(_))
    )
}

//! Which answers an operation can have, and which of them set a watch.

use crate::error::Error;
use crate::host::{Operation, Outcome};
use crate::op::{Op, OpResult, Request, Response};

/// Whether the reply sets the watch that the request asked for (semantics 1.8): exists does so
/// where the znode is absent too.
pub(super) fn registers(request: &Request, outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Response(Ok(_)) => true,
        Outcome::Response(Err(Error::NoNode)) => matches!(request, Request::Exists { .. }),
        _ => false,
    }
}

/// Whether an outcome is one of this operation's.
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
        | (Operation::Resource(_), Outcome::Resource(_)) => true,
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
        (Request::Exists { .. }, Response::Exists(_))
        | (Request::GetData { .. }, Response::Data(..))
        | (Request::GetChildren { .. }, Response::Children(..))
        | (Request::Sync { .. }, Response::Synced)
        | (Request::CloseSession, Response::Closed) => true,
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

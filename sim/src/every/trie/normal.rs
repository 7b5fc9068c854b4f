//! Normalises inputs that a program cannot distinguish.
//!
//! A program can observe everything in its inputs except what the called method hides ([`Unseen`]): a list of children
//! hides the Stat that came with it, and a watch for a predecessor's deletion hides the znode's content. All inputs
//! that differ only in hidden parts are replaced by one input, which is fed to the program. A change of the session's
//! state is fed without the session, if no task of the program asks for the session. This is important: a Stat contains
//! absolute zxids, so without normalisation hardly any two histories of a program would be equal.

use super::node::Waits;
use std::borrow::Cow;
use std::sync::Arc;
use vivarium_model::acl::AclList;
use vivarium_model::handle::transport::Unseen;
use vivarium_model::host::{Input, Outcome};
use vivarium_model::op::{Data, OpResult, Response, WatchedEvent};
use vivarium_model::stat::Stat;
use vivarium_model::zxid::Zxid;

/// Returns the input that stands for all inputs that the program cannot distinguish from this one.
pub(super) fn normalised<'a>(input: &'a Input, waits: &Waits) -> Cow<'a, Input> {
    if let Input::Session(change) = input
        && !waits.listens_for_sessions
    {
        return Cow::Owned(Input::Session(change.state.into()));
    }
    let Input::Reply { call, outcome } = input else { return Cow::Borrowed(input) };
    let kept_back = waits.unseen.iter().find(|(slot, _)| slot == call).map(|(_, unseen)| *unseen);
    match (kept_back, outcome) {
        (Some(unseen), Outcome::Response(Ok(response))) => {
            let outcome = Outcome::Response(Ok(without(response, unseen)));
            Cow::Owned(Input::Reply { call: *call, outcome })
        }
        (Some(_), Outcome::Watch(Ok(event))) => {
            let event = WatchedEvent { zxid: Zxid::ZERO, ..event.clone() };
            Cow::Owned(Input::Reply { call: *call, outcome: Outcome::Watch(Ok(event)) })
        }
        _ => Cow::Borrowed(input),
    }
}

fn without(response: &Response, unseen: Unseen) -> Response {
    let (none, content) = (Stat::default(), unseen == Unseen::Content);
    match response {
        Response::Written(result) => Response::Written(result_without(result, content)),
        Response::Multi(results) => {
            let results = results.iter().map(|result| result_without(result, content));
            Response::Multi(results.collect())
        }
        Response::Exists(_) => Response::Exists(none),
        Response::Data(data, _) => {
            Response::Data(if content { Data::from([]) } else { data.clone() }, none)
        }
        Response::Children(names, _) => {
            Response::Children(if content { Vec::new() } else { names.clone() }, none)
        }
        Response::Acl(acl, _) => {
            Response::Acl(if content { AclList::OPEN } else { acl.clone() }, none)
        }
        Response::AclSet(_) => Response::AclSet(none),
        // No method that hides anything sends these requests.
        Response::MultiRead(_)
        | Response::AllChildrenNumber(_)
        | Response::Ephemerals(_)
        | Response::WhoAmI(_)
        | Response::Watches
        | Response::ContainerDeleted
        | Response::Synced
        | Response::Closed
        | Response::Reconfigured(..) => response.clone(),
    }
}

fn result_without(result: &OpResult, content: bool) -> OpResult {
    match result {
        OpResult::Created(_, _) if content => OpResult::Created("".into(), Stat::default()),
        OpResult::Created(path, _) => OpResult::Created(Arc::clone(path), Stat::default()),
        OpResult::Set(_) => OpResult::Set(Stat::default()),
        OpResult::Deleted | OpResult::Checked | OpResult::Failed(_) => result.clone(),
    }
}

//! Requests, responses and watch notifications.

use super::{data, list};
use crate::vocabulary::op::{
    ClientInfo, Op, OpResult, ReadOp, ReadResult, Request, Response, SessionState, Version,
    WatchedEvent,
};
use std::fmt::{self, Display};

impl Display for SessionState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// Formats as ` if version 3`, or as nothing.
struct If(Version);

impl Display for If {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Version::Any | Version::Is(-1) => Ok(()),
            Version::Is(version) => write!(f, " if version {version}"),
        }
    }
}

impl Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Op::Create { path, mode, acl, .. } if acl.is_open() => {
                write!(f, "create {path} ({mode:?})")
            }
            Op::Create { path, mode, acl, .. } => write!(f, "create {path} ({mode:?}, {acl})"),
            Op::Delete { path, version } => write!(f, "delete {path}{}", If(*version)),
            Op::SetData { path, version, .. } => write!(f, "setData {path}{}", If(*version)),
            Op::Check { path, version } => write!(f, "check {path}{}", If(*version)),
        }
    }
}

impl Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let watching = |watch: &bool| if *watch { " (watch)" } else { "" };
        match self {
            Request::Write(op) => op.fmt(f),
            Request::Multi(ops) => write!(f, "multi [{}]", list(ops.iter())),
            Request::Exists { path, watch } => write!(f, "exists {path}{}", watching(watch)),
            Request::GetData { path, watch } => write!(f, "getData {path}{}", watching(watch)),
            Request::GetChildren { path, watch } => {
                write!(f, "getChildren {path}{}", watching(watch))
            }
            Request::GetAcl { path } => write!(f, "getACL {path}"),
            Request::SetAcl { path, acl, version } => {
                write!(f, "setACL {path} {acl}{}", If(*version))
            }
            Request::MultiRead(ops) => write!(f, "multiRead [{}]", list(ops.iter())),
            Request::GetAllChildrenNumber { path } => write!(f, "getAllChildrenNumber {path}"),
            Request::GetEphemerals { prefix } => write!(f, "getEphemerals {prefix}"),
            Request::WhoAmI => f.write_str("whoAmI"),
            Request::AddWatch { path, mode } => write!(f, "addWatch {path} ({mode:?})"),
            Request::RemoveWatches { path, kind } => write!(f, "removeWatches {path} ({kind:?})"),
            Request::CheckWatches { path, kind } => write!(f, "checkWatches {path} ({kind:?})"),
            Request::DeleteContainer { path } => write!(f, "deleteContainer {path}"),
            Request::Sync { path } => write!(f, "sync {path}"),
            Request::CloseSession => f.write_str("closeSession"),
            Request::Reconfig(asked) => write!(f, "reconfig {asked}"),
        }
    }
}

impl Display for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Response::Written(result) => result.fmt(f),
            Response::Multi(results) => write!(f, "[{}]", list(results.iter())),
            Response::Exists(stat) => {
                write!(f, "exists, version {}, czxid {}", stat.version, stat.czxid)
            }
            Response::Data(content, stat) => {
                write!(f, "{}, version {}", data(content), stat.version)
            }
            Response::Children(names, stat) => {
                write!(f, "[{}], cversion {}", list(names.iter()), stat.cversion)
            }
            Response::Acl(acl, stat) => write!(f, "{acl}, aversion {}", stat.aversion),
            Response::AclSet(stat) => write!(f, "set, aversion {}", stat.aversion),
            Response::MultiRead(results) => write!(f, "[{}]", list(results.iter())),
            Response::AllChildrenNumber(number) => write!(f, "{number} below"),
            Response::Ephemerals(paths) => write!(f, "[{}]", list(paths.iter())),
            Response::WhoAmI(who) => write!(f, "[{}]", list(who.iter())),
            Response::Watches => f.write_str("done"),
            Response::ContainerDeleted => f.write_str("deleted"),
            Response::Synced => f.write_str("synced"),
            Response::Closed => f.write_str("closed"),
            Response::Reconfigured(_, stat) => write!(f, "reconfigured, version {}", stat.mzxid),
        }
    }
}

impl Display for OpResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpResult::Created(path, _) => write!(f, "created {path}"),
            OpResult::Deleted => f.write_str("deleted"),
            OpResult::Set(stat) => write!(f, "set, version {}", stat.version),
            OpResult::Checked => f.write_str("checked"),
            OpResult::Failed(None) => f.write_str("not done"),
            OpResult::Failed(Some(error)) => write!(f, "{error:?}"),
        }
    }
}

impl Display for ReadOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadOp::GetData { path } => write!(f, "getData {path}"),
            ReadOp::GetChildren { path } => write!(f, "getChildren {path}"),
        }
    }
}

impl Display for ReadResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadResult::Data(content, stat) => {
                write!(f, "{}, version {}", data(content), stat.version)
            }
            ReadResult::Children(names) => write!(f, "[{}]", list(names.iter())),
            ReadResult::Failed(error) => write!(f, "{error:?}"),
        }
    }
}

impl Display for ClientInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.scheme, self.user)
    }
}

impl Display for WatchedEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {} (zxid {})", self.kind, self.path, self.zxid)
    }
}

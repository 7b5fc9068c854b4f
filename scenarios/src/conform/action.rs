//! The actions of a comparison: actions of a few clients, drawn at random.
//!
//! An action names everything by its place (a seat, a path below the case's own root), so every selection of actions is
//! a script of its own. A seat without a connection connects first, with its session or with a new one. So a long
//! script that shows a divergence can be shortened by leaving out actions.

use std::fmt;
use std::sync::Arc;
use vivarium_model::acl::{Acl, AclList};
use vivarium_model::op::{AddWatchMode, Op, ReadOp, Request};
use vivarium_model::path::CONFIG;
use vivarium_model::release::Release;
use vivarium_model::wire::Opcodes;

/// The number of clients.
pub(super) const SEATS: u8 = 3;

/// One of the clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seat(pub u8);

impl fmt::Display for Seat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "client {}", self.0 + 1)
    }
}

/// One action.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum Action {
    /// A request, with paths as drawn.
    Ask {
        seat: Seat,
        request: Request,
        /// Which of two opcodes is used.
        opcodes: Opcodes,
    },
    /// A proof of identity.
    Prove { seat: Seat, scheme: &'static str, proof: &'static str },
    /// The connection is cut, and the session reattached by a new connection, with these watches.
    Return {
        seat: Seat,
        /// The watches that the client claims to have.
        watched: Watched,
    },
    /// A second connection takes the session over from the first.
    Take { seat: Seat },
    /// The connection is cut, and the session reattached at another server. This action and the next two occur only
    /// with ensembles.
    Move {
        seat: Seat,
        /// The index of the new server.
        server: u8,
    },
    /// A server is killed: the leader or a follower. No effect while another server is down.
    Kill {
        /// Whether the leader is killed.
        leader: bool,
    },
    /// The killed server restarts.
    Revive,
    /// The superuser changes the part of a server in the configuration. No effect on the leader.
    Reconfigure {
        /// The index of the server.
        server: u8,
        /// Its new part.
        part: Part,
    },
    /// The superuser puts the voters into groups, with weights, or makes a majority a quorum again.
    Regroup {
        /// The group and the weight of each server, by its index; without any, a majority is a quorum.
        places: Vec<(u8, u8)>,
    },
    /// A session that no client keeps alive owns an ephemeral here, and expires.
    Expire { path: Arc<str> },
}

/// The part of a server in the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// It votes.
    Participant,
    /// It observes.
    Observer,
    /// The configuration does not list it.
    None,
}

/// The lists of a SetWatches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Watched {
    /// By how much the claimed last zxid is below the client's last zxid.
    pub behind: u8,
    /// Data watches.
    pub data: Vec<Arc<str>>,
    /// Exist watches.
    pub exist: Vec<Arc<str>>,
    /// Child watches.
    pub child: Vec<Arc<str>>,
    /// Persistent watches.
    pub persistent: Vec<Arc<str>>,
    /// Persistent recursive watches.
    pub recursive: Vec<Arc<str>>,
}

impl Watched {
    /// Returns true if there are no watches.
    pub fn is_empty(&self) -> bool {
        let lists = [&self.data, &self.exist, &self.child, &self.persistent, &self.recursive];
        lists.into_iter().all(Vec::is_empty)
    }
}

impl Action {
    /// Returns the action as it can be asked of a release: without `create2` and `setWatches2` where servers do not know them.
    /// The model's requests do not tell these from `create` and `setWatches`.
    pub(crate) fn asked_of(self, release: Release) -> Action {
        let knows_persistent =
            release.knows(&Request::AddWatch { path: "/".into(), mode: AddWatchMode::Persistent });
        match self {
            Action::Ask {
                seat,
                request: request @ (Request::Write(Op::Create { .. }) | Request::Multi(_)),
                ..
            } if !release.knows_create2() => Action::Ask { seat, request, opcodes: Opcodes::Plain },
            Action::Return { seat, watched } if !knows_persistent => {
                let (persistent, recursive) = (Vec::new(), Vec::new());
                Action::Return { seat, watched: Watched { persistent, recursive, ..watched } }
            }
            other => other,
        }
    }

    /// Returns true if the action concerns znodes outside of the case: the root and `/zookeeper`.
    pub(crate) fn is_about_the_root(&self) -> bool {
        let text = self.to_string();
        text.contains("/!") || text.contains("/zookeeper")
    }

    /// Returns true if the action reads the text of the configuration, and sets no watch.
    pub(crate) fn gets_config(&self) -> bool {
        matches!(self, Action::Ask { request: Request::GetData { path, watch: false }, .. } if &**path == CONFIG)
    }

    /// Returns the name under which the action is counted.
    pub fn name(&self) -> &'static str {
        match self {
            Action::Ask { request, opcodes, .. } => name_of(request, *opcodes),
            Action::Prove { .. } => "auth",
            Action::Return { watched, .. } if watched.is_empty() => "reconnect",
            Action::Return { watched, .. }
                if watched.persistent.is_empty() && watched.recursive.is_empty() =>
            {
                "setWatches"
            }
            Action::Return { .. } => "setWatches2",
            Action::Take { .. } => "second connection",
            Action::Expire { .. } => "expiry",
            Action::Move { .. } => "move",
            Action::Kill { leader: true } => "kill of the leader",
            Action::Kill { leader: false } => "kill of a follower",
            Action::Revive => "restart",
            Action::Reconfigure { .. } => "reconfig",
            Action::Regroup { .. } => "reconfig of groups",
        }
    }
}

fn name_of(request: &Request, opcodes: Opcodes) -> &'static str {
    let plain = opcodes == Opcodes::Plain;
    match request {
        Request::Write(Op::Create { mode, .. }) => match mode.ttl() {
            Some(_) => "createTTL",
            None if *mode == vivarium_model::op::CreateMode::Container => "createContainer",
            None if plain => "create",
            None => "create2",
        },
        Request::GetChildren { .. } if !plain => "getChildren2",
        request => request.name(),
    }
}

/// All names of actions, in the order in which they are printed.
pub(super) const NAMES: [&str; 36] = [
    "create",
    "create2",
    "createContainer",
    "createTTL",
    "delete",
    "setData",
    "setACL",
    "multi",
    "exists",
    "getData",
    "getChildren",
    "getChildren2",
    "getACL",
    "multiRead",
    "getAllChildrenNumber",
    "getEphemerals",
    "whoAmI",
    "sync",
    "addWatch",
    "removeWatches",
    "checkWatches",
    "reconfig",
    "reconfig of groups",
    "auth",
    "closeSession",
    "new session",
    "reconnect",
    "setWatches",
    "setWatches2",
    "second connection",
    "expiry",
    "move",
    "kill of the leader",
    "kill of a follower",
    "restart",
    "ping",
];

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::Ask { seat, request, opcodes } => {
                write!(f, "{seat}: {request}")?;
                if let Request::Write(Op::Create { data, .. } | Op::SetData { data, .. }) = request
                    && !data.is_empty()
                {
                    write!(f, ", {} bytes", data.len())?;
                }
                if *opcodes == Opcodes::Plain {
                    write!(f, " (by {})", self.name())?;
                }
                Ok(())
            }
            Action::Prove { seat, scheme, proof } => write!(f, "{seat}: addAuth {scheme} {proof}"),
            Action::Return { seat, watched } if watched.is_empty() => {
                write!(f, "{seat}: loses its connection and comes back")
            }
            Action::Return { seat, watched } => {
                write!(f, "{seat}: loses its connection and comes back, SetWatches")?;
                write!(f, " {} zxids behind its last", watched.behind)?;
                let lists = [
                    ("data", &watched.data),
                    ("exist", &watched.exist),
                    ("child", &watched.child),
                    ("persistent", &watched.persistent),
                    ("recursive", &watched.recursive),
                ];
                for (name, list) in lists.into_iter().filter(|(_, list)| !list.is_empty()) {
                    write!(f, ", {name} [{}]", list.join(", "))?;
                }
                Ok(())
            }
            Action::Take { seat } => write!(f, "{seat}: a second connection takes the session"),
            Action::Move { seat, server } => {
                write!(f, "{seat}: moves its session to server {}", server + 1)
            }
            Action::Kill { leader: true } => f.write_str("the leader is killed"),
            Action::Kill { leader: false } => f.write_str("a follower is killed"),
            Action::Revive => f.write_str("the killed server starts again"),
            Action::Reconfigure { server, part } => {
                let part = match part {
                    Part::Participant => "votes from now on",
                    Part::Observer => "observes from now on",
                    Part::None => "leaves the configuration",
                };
                write!(f, "server {} {part}", server + 1)
            }
            Action::Regroup { places } if places.is_empty() => {
                f.write_str("a majority of the voters is a quorum from now on")
            }
            Action::Regroup { places } => {
                write!(f, "servers get groups and weights:")?;
                for (index, (group, weight)) in places.iter().enumerate() {
                    write!(f, " {}: {group} and {weight}", index + 1)?;
                }
                Ok(())
            }
            Action::Expire { path } => {
                write!(f, "a session creates {path} (Ephemeral), is left alone and expires")
            }
        }
    }
}

/// Translates a drawn path into a path of the case, below the case's root, with these exceptions:
///
/// * `/!` is the root of the tree, and paths that begin with `/zookeeper` are unchanged;
/// * `/zookeeper/quota/@...` is the quota of the case's root or of a znode below it;
/// * a text without a leading slash is an invalid path and unchanged.
pub(super) fn placed(path: &Arc<str>, root: &str) -> Arc<str> {
    if &**path == "/!" {
        Arc::from("/")
    } else if let Some(rest) = path.strip_prefix("/zookeeper/quota/@") {
        Arc::from(format!("/zookeeper/quota{root}{rest}"))
    } else if path.starts_with("/zookeeper") || !path.starts_with('/') {
        Arc::clone(path)
    } else if &**path == "/" {
        Arc::from(root)
    } else {
        Arc::from(format!("{root}{path}"))
    }
}

/// Translates the paths of a request.
pub(super) fn request_placed(request: &Request, root: &str) -> Request {
    let at = |path: &Arc<str>| placed(path, root);
    match request.clone() {
        Request::Write(op) => Request::Write(op_placed(op, root)),
        Request::Multi(ops) => {
            Request::Multi(ops.into_iter().map(|op| op_placed(op, root)).collect())
        }
        Request::Exists { path, watch } => Request::Exists { path: at(&path), watch },
        Request::GetData { path, watch } => Request::GetData { path: at(&path), watch },
        Request::GetChildren { path, watch } => Request::GetChildren { path: at(&path), watch },
        Request::GetAcl { path } => Request::GetAcl { path: at(&path) },
        Request::SetAcl { path, acl, version } => Request::SetAcl { path: at(&path), acl, version },
        Request::MultiRead(ops) => {
            let place = |op| match op {
                ReadOp::GetData { path } => ReadOp::GetData { path: at(&path) },
                ReadOp::GetChildren { path } => ReadOp::GetChildren { path: at(&path) },
            };
            Request::MultiRead(ops.into_iter().map(place).collect())
        }
        Request::GetAllChildrenNumber { path } => Request::GetAllChildrenNumber { path: at(&path) },
        Request::GetEphemerals { prefix } => Request::GetEphemerals { prefix: at(&prefix) },
        Request::AddWatch { path, mode } => Request::AddWatch { path: at(&path), mode },
        Request::RemoveWatches { path, kind } => Request::RemoveWatches { path: at(&path), kind },
        Request::CheckWatches { path, kind } => Request::CheckWatches { path: at(&path), kind },
        Request::DeleteContainer { path } => Request::DeleteContainer { path: at(&path) },
        Request::Sync { path } => Request::Sync { path: at(&path) },
        request @ (Request::WhoAmI | Request::CloseSession | Request::Reconfig(_)) => request,
    }
}

fn op_placed(op: Op, root: &str) -> Op {
    match op {
        Op::Create { path, data, mode, acl } => {
            Op::Create { path: placed(&path, root), data, mode, acl }
        }
        Op::Delete { path, version } => Op::Delete { path: placed(&path, root), version },
        Op::SetData { path, data, version } => {
            Op::SetData { path: placed(&path, root), data, version }
        }
        Op::Check { path, version } => Op::Check { path: placed(&path, root), version },
    }
}

/// Sorts an ACL whose order does not matter, because ZooKeeper keeps the identities of a connection in a set.
pub(super) fn in_order(acl: &AclList) -> AclList {
    let mut entries: Vec<Acl> = acl.entries().to_vec();
    entries.sort();
    AclList::new(entries)
}

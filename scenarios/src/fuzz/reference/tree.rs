//! The reference's log: the effect of each write on the tree, and the watches that it fires.

use super::super::case::{Call, PATHS, Watching};
use std::collections::{BTreeMap, BTreeSet};
use vivarium_model::error::Error;

/// A session: its client, from 0, and its number, from 1.
pub(super) type Session = (usize, u32);

/// A position in the log. The setup is position 0, and each transaction has the next position.
pub(super) type Place = usize;

/// An event of a watch.
pub(super) type Change = (&'static str, String);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Znode {
    pub data: Vec<u8>,
    pub version: u32,
    /// The number of children created and deleted.
    pub cversion: u32,
    /// The number of children created, which numbers the next sequential child.
    created: u32,
    pub owner: Option<Session>,
    pub goes: Goes,
    changed: Place,
    children_changed: Place,
}

/// Whether the leader deletes a znode when it has no children.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Goes {
    Never,
    /// A container, which is deleted only if it had children.
    OnceUsed,
    /// A TTL znode.
    InTime,
}

/// The znodes by path.
pub(super) type Tree = BTreeMap<String, Znode>;

/// A transaction: the tree after it, its changes, and the session that it ends.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(super) struct Entry {
    pub tree: Tree,
    pub changes: Vec<Change>,
    pub ends: Option<Session>,
}

/// The watches of one connection at its server, by path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Watches {
    pub data: BTreeSet<String>,
    pub child: BTreeSet<String>,
}

fn parent(path: &str) -> &str {
    match path.rfind('/') {
        Some(0) | None => "/",
        Some(at) => &path[..at],
    }
}

fn has_children(tree: &Tree, path: &str) -> bool {
    tree.keys().any(|other| other != "/" && other != path && parent(other) == path)
}

/// A tree while one transaction changes it.
struct Writer {
    tree: Tree,
    changes: Vec<Change>,
    place: Place,
}

impl Writer {
    fn create(
        &mut self,
        path: &str,
        owner: Option<Session>,
        counts: bool,
    ) -> Result<String, Error> {
        let above = self.tree.get(parent(path)).ok_or(Error::NoNode)?;
        let number = if counts { format!("{:010}", above.created) } else { String::new() };
        let path = format!("{path}{number}");
        if self.tree.contains_key(&path) {
            return Err(Error::NodeExists);
        }
        if above.owner.is_some() {
            return Err(Error::NoChildrenForEphemerals);
        }
        let (changed, children_changed) = (self.place, self.place);
        let znode = Znode { owner, changed, children_changed, ..empty() };
        self.tree.insert(path.clone(), znode);
        self.children_changed(&path).created += 1;
        self.changes.push(("NodeCreated", path.clone()));
        Ok(path)
    }

    fn create_going(&mut self, path: &str, goes: Goes) -> Result<String, String> {
        let path = self.create(path, None, false).map_err(|error| error.to_string())?;
        self.tree.get_mut(&path).expect("it was just created").goes = goes;
        Ok(format!("created {path}"))
    }

    fn delete(&mut self, path: &str) -> Result<(), Error> {
        self.tree.get(path).ok_or(Error::NoNode)?;
        if has_children(&self.tree, path) {
            return Err(Error::NotEmpty);
        }
        self.tree.remove(path);
        self.children_changed(path);
        self.changes.push(("NodeDeleted", path.to_string()));
        Ok(())
    }

    fn children_changed(&mut self, path: &str) -> &mut Znode {
        let above = self.tree.get_mut(parent(path)).expect("a znode has a parent");
        above.cversion += 1;
        above.children_changed = self.place;
        above
    }

    fn set(&mut self, path: &str, byte: u8, only_first: bool) -> Result<u32, Error> {
        let znode = self.tree.get_mut(path).ok_or(Error::NoNode)?;
        if only_first && znode.version > 0 {
            return Err(Error::BadVersion);
        }
        znode.version += 1;
        (znode.data, znode.changed) = (vec![byte], self.place);
        let version = znode.version;
        self.changes.push(("NodeDataChanged", path.to_string()));
        Ok(version)
    }
}

fn empty() -> Znode {
    Znode {
        data: Vec::new(),
        version: 0,
        cversion: 0,
        created: 0,
        owner: None,
        goes: Goes::Never,
        changed: 0,
        children_changed: 0,
    }
}

/// Returns the beginning of a log.
pub(super) fn beginning(setup: &[usize]) -> Entry {
    let mut writer =
        Writer { tree: Tree::from([("/".into(), empty())]), changes: Vec::new(), place: 0 };
    for at in setup {
        writer.create(PATHS[*at], None, false).expect("its parent is there");
    }
    Entry { tree: writer.tree, changes: Vec::new(), ends: None }
}

/// Applies a write of a live session at the log's end. Returns the new entry and the answer.
pub(super) fn write(
    tree: &Tree,
    place: Place,
    session: Session,
    call: Call,
) -> Result<(Entry, String), String> {
    let mut writer = Writer { tree: tree.clone(), changes: Vec::new(), place };
    let answer = writing(&mut writer, session, call)?;
    Ok((Entry { tree: writer.tree, changes: writer.changes, ends: None }, answer))
}

fn writing(writer: &mut Writer, session: Session, call: Call) -> Result<String, String> {
    let text = |error: Error| error.to_string();
    let created = |path: String| format!("created {path}");
    let failed = |index: usize| move |error: Error| in_multi(index, error);
    match call {
        Call::Create(at) => writer.create(PATHS[at], None, false).map(created).map_err(text),
        Call::CreateEphemeral(at) => {
            writer.create(PATHS[at], Some(session), false).map(created).map_err(text)
        }
        Call::CreateSequential(at) => {
            writer.create(PATHS[at], None, true).map(created).map_err(text)
        }
        Call::CreateContainer(at) => writer.create_going(PATHS[at], Goes::OnceUsed),
        Call::CreateTtl(at) => writer.create_going(PATHS[at], Goes::InTime),
        Call::Delete(at) => writer.delete(PATHS[at]).map(|()| "done".into()).map_err(text),
        Call::SetData(at, byte) => {
            let set = writer.set(PATHS[at], byte, false).map_err(text);
            set.map(|version| format!("version {version}"))
        }
        Call::SetFirst(at, byte) => {
            writer.set(PATHS[at], byte, true).map(|_| "done".into()).map_err(text)
        }
        Call::CreateAndDelete(at) => {
            writer.create(PATHS[at], None, false).map_err(failed(0))?;
            writer.delete(PATHS[at]).map_err(failed(1))?;
            Ok("all done".into())
        }
        Call::CheckAndCreate(first, second) => {
            writer.tree.get(PATHS[first]).ok_or(Error::NoNode).map_err(failed(0))?;
            writer.create(PATHS[second], None, false).map_err(failed(1))?;
            Ok("all done".into())
        }
        other => unreachable!("{other:?} is no write"),
    }
}

/// Returns the error of a refused write. A multi reports the error of its first operation.
pub(super) fn refused(call: Call, error: Error) -> String {
    match call {
        Call::CreateAndDelete(_) | Call::CheckAndCreate(..) => in_multi(0, error),
        _ => error.to_string(),
    }
}

fn in_multi(index: usize, error: Error) -> String {
    format!("operation {index} of the multi: {error}")
}

/// Ends a session and deletes its ephemerals.
pub(super) fn close(tree: &Tree, place: Place, session: Session) -> Entry {
    let mut writer = Writer { tree: tree.clone(), changes: Vec::new(), place };
    let is_own = |(_, znode): &(&String, &Znode)| znode.owner == Some(session);
    let owned: Vec<String> = tree.iter().filter(is_own).map(|(path, _)| path.clone()).collect();
    for path in owned {
        writer.delete(&path).expect("an ephemeral znode is there and has no children");
    }
    Entry { tree: writer.tree, changes: writer.changes, ends: Some(session) }
}

/// Returns the paths of znodes that the leader can delete.
pub(super) fn going(tree: &Tree) -> impl Iterator<Item = &String> {
    let is_due = |(path, znode): &(&String, &Znode)| match znode.goes {
        Goes::Never => false,
        Goes::OnceUsed => znode.cversion > 0 && !has_children(tree, path),
        Goes::InTime => !has_children(tree, path),
    };
    tree.iter().filter(is_due).map(|(path, _)| path)
}

/// Deletes such a znode.
pub(super) fn go(tree: &Tree, place: Place, path: &str) -> Entry {
    let mut writer = Writer { tree: tree.clone(), changes: Vec::new(), place };
    writer.delete(path).expect("it is due");
    Entry { tree: writer.tree, changes: writer.changes, ends: None }
}

/// Returns the answer to a read.
pub(super) fn read(tree: &Tree, session: Session, call: Call) -> Result<String, String> {
    let no_node = || Error::NoNode.to_string();
    match call {
        Call::Exists(at) => {
            Ok(if tree.contains_key(PATHS[at]) { "there" } else { "absent" }.to_string())
        }
        Call::GetData(at) => {
            let znode = tree.get(PATHS[at]).ok_or_else(no_node)?;
            Ok(format!("{:?} {} {}", znode.data, znode.version, znode.cversion))
        }
        Call::GetChildren(at) => children(tree, PATHS[at]).ok_or_else(no_node),
        Call::Ephemerals => {
            let is_own = |(_, znode): &(&String, &Znode)| znode.owner == Some(session);
            let paths: Vec<&String> = tree.iter().filter(is_own).map(|(path, _)| path).collect();
            Ok(format!("{paths:?}"))
        }
        Call::Sync => Ok("done".into()),
        other => unreachable!("{other:?} is no read"),
    }
}

fn children(tree: &Tree, path: &str) -> Option<String> {
    tree.get(path)?;
    let is_child = |other: &&String| **other != "/" && parent(other) == path;
    let name = |other: &String| other[other.rfind('/').map_or(0, |at| at + 1)..].to_string();
    Some(format!("{:?}", tree.keys().filter(is_child).map(name).collect::<Vec<_>>()))
}

/// Executes a read that sets a watch. Returns the answer, and the kind of watch that the client keeps, if any.
pub(super) fn watch(
    tree: &Tree,
    watches: &mut Watches,
    how: Watching,
    path: &str,
) -> (String, Kind) {
    let znode = tree.get(path);
    match (how, znode) {
        (Watching::Exists, Some(_)) => {
            watches.data.insert(path.into());
            ("there".into(), Some("data"))
        }
        (Watching::Exists, None) => {
            watches.data.insert(path.into());
            ("absent".into(), Some("exist"))
        }
        (Watching::Data, Some(znode)) => {
            watches.data.insert(path.into());
            (format!("{:?} {}", znode.data, znode.version), Some("data"))
        }
        (Watching::Children, Some(_)) => {
            watches.child.insert(path.into());
            (children(tree, path).expect("it is there"), Some("child"))
        }
        (_, None) => (Error::NoNode.to_string(), None),
        (other, _) => unreachable!("{other:?} is not in the reference"),
    }
}

/// The kind of a client's watch: "data", "exist" or "child".
pub(super) type Kind = Option<&'static str>;

impl Watches {
    /// Returns the events that changes fire.
    pub(super) fn fire(&mut self, changes: &[Change]) -> Vec<Change> {
        let mut fired = Vec::new();
        for (kind, path) in changes {
            let mut hears = self.data.remove(path);
            if *kind == "NodeDeleted" {
                hears |= self.child.remove(path);
            }
            if hears {
                fired.push((*kind, path.clone()));
            }
            if *kind != "NodeDataChanged" && self.child.remove(parent(path)) {
                fired.push(("NodeChildrenChanged", parent(path).to_string()));
            }
        }
        fired
    }

    /// Sets a returning client's watches again, from its last seen position. Returns the events that it has missed.
    pub(super) fn set_again(
        &mut self,
        tree: &Tree,
        seen: Place,
        lists: &BTreeSet<(&'static str, String)>,
    ) -> Vec<Change> {
        let mut missed = Vec::new();
        for list in ["data", "exist", "child"] {
            for (_, path) in lists.iter().filter(|(kind, _)| *kind == list) {
                let event = match (list, tree.get(path)) {
                    ("exist", Some(_)) => Some("NodeCreated"),
                    ("exist", None) => None,
                    (_, None) => Some("NodeDeleted"),
                    ("data", Some(znode)) if znode.changed > seen => Some("NodeDataChanged"),
                    ("child", Some(znode)) if znode.children_changed > seen => {
                        Some("NodeChildrenChanged")
                    }
                    _ => None,
                };
                match event {
                    Some(event) => missed.push((event, path.clone())),
                    None if list == "child" => _ = self.child.insert(path.clone()),
                    None => _ = self.data.insert(path.clone()),
                }
            }
        }
        missed
    }
}

//! Znodes that are there from the start.

use crate::vocabulary::path::{RESERVED, ZnodePath};
use serde::{Deserialize, Serialize};
use std::fmt;
use thiserror::Error;

/// Persistent znodes without data that are in every server's database before anything happens, like the
/// root: no view of ZooKeeper, however stale, is without them. Parents come first.
///
/// ```
/// use vivarium_model::setup::Setup;
///
/// let setup = Setup::of(["/tasks", "/tasks/open"])?;
/// assert!(setup.tree().node("/tasks/open").is_some());
/// assert!(Setup::of(["tasks"]).is_err());
/// # Ok::<(), vivarium_model::setup::SetupError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Vec<String>", into = "Vec<String>")]
pub struct Setup(Vec<ZnodePath>);

/// Why a znode cannot be there from the start: a clause behind its path.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum SetupError {
    /// ZooKeeper has no such paths.
    #[error(
        "`{0}` is no path of a znode: it begins with `/`, has no empty, `.` or `..` part, and does not end with `/`"
    )]
    NoPath(String),
    /// It is ZooKeeper's own, or below something that is.
    #[error("`{0}` is ZooKeeper's own")]
    Reserved(String),
    /// It is named twice.
    #[error("`{0}` is there already: name each znode once")]
    Twice(String),
    /// Its parent is not there.
    #[error("`{path}` has no parent: put `{parent}` before it")]
    Orphan { path: String, parent: String },
}

impl Setup {
    /// Nothing but what ZooKeeper itself begins with.
    pub const NONE: Setup = Setup(Vec::new());

    /// These znodes.
    ///
    /// # Errors
    /// One of them cannot be there.
    pub fn of<P: AsRef<str>>(paths: impl IntoIterator<Item = P>) -> Result<Setup, SetupError> {
        let mut setup = Setup::NONE;
        for path in paths {
            setup.add(path.as_ref())?;
        }
        Ok(setup)
    }

    /// One znode more.
    ///
    /// # Errors
    /// It cannot be there.
    pub fn add(&mut self, path: &str) -> Result<(), SetupError> {
        let own = || path.to_string();
        let znode = ZnodePath::new(path).map_err(|_refused| SetupError::NoPath(own()))?;
        if RESERVED.contains(&path) || path.starts_with("/zookeeper/") {
            return Err(SetupError::Reserved(own()));
        }
        if self.has(path) {
            return Err(SetupError::Twice(own()));
        }
        let parent = znode.parent().unwrap_or("/");
        if parent != "/" && !self.has(parent) {
            return Err(SetupError::Orphan { path: own(), parent: parent.to_string() });
        }
        self.0.push(znode);
        Ok(())
    }

    fn has(&self, path: &str) -> bool {
        self.0.iter().any(|znode| znode.as_str() == path)
    }

    /// These znodes and those of another setup that are not among them.
    #[must_use]
    pub fn and(mut self, other: &Setup) -> Setup {
        let new = other.0.iter().filter(|znode| !self.0.contains(znode));
        let new: Vec<ZnodePath> = new.cloned().collect();
        self.0.extend(new);
        self
    }

    /// The znodes, parents first.
    pub fn paths(&self) -> &[ZnodePath] {
        &self.0
    }
}

impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let paths: Vec<&str> = self.0.iter().map(ZnodePath::as_str).collect();
        f.write_str(&paths.join(", "))
    }
}

impl TryFrom<Vec<String>> for Setup {
    type Error = SetupError;

    fn try_from(paths: Vec<String>) -> Result<Setup, SetupError> {
        Setup::of(paths)
    }
}

impl From<Setup> for Vec<String> {
    fn from(setup: Setup) -> Vec<String> {
        setup.0.iter().map(ZnodePath::to_string).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::DataTree;

    #[test]
    fn what_cannot_be_there_is_refused() {
        let refused = |paths: &[&str]| Setup::of(paths).expect_err("refused").to_string();
        for path in ["", "a", "/a/", "//", "/a//b", "/.", "/a/../b", "/\0"] {
            assert!(refused(&[path]).starts_with(&format!("`{path}` is no path")), "{path}");
        }
        for path in ["/", "/zookeeper", "/zookeeper/config", "/zookeeper/quota/a"] {
            assert_eq!(refused(&[path]), format!("`{path}` is ZooKeeper's own"));
        }
        assert_eq!(refused(&["/a", "/a"]), "`/a` is there already: name each znode once");
        assert_eq!(refused(&["/a/b", "/a"]), "`/a/b` has no parent: put `/a` before it");
    }

    #[test]
    fn a_database_begins_with_it() {
        let setup = Setup::of(["/a", "/a/b", "/zookeepers"]).expect("it is sound");
        let tree = setup.tree();
        assert_eq!(tree.digest(), tree.recomputed_digest());
        assert_eq!(tree.last_processed(), crate::vocabulary::zxid::Zxid::ZERO);
        assert_eq!(Setup::NONE.tree().digest(), DataTree::new().digest());
        assert_ne!(tree.digest(), DataTree::new().digest());
        // As if somebody had created them.
        let created = |path: &str| tree.node(path).map(|znode| znode.cversion);
        let before = DataTree::new().node("/").map(|root| root.cversion + 2);
        assert_eq!((created("/"), created("/a"), created("/a/b")), (before, Some(1), Some(0)));
    }

    #[test]
    fn it_is_written_as_paths_and_checked_when_read() {
        let setup = Setup::of(["/a", "/a/b"]).expect("it is sound");
        let text = serde_json::to_string(&setup).expect("it is text");
        assert_eq!(text, r#"["/a","/a/b"]"#);
        assert_eq!(serde_json::from_str::<Setup>(&text).expect("it is sound"), setup);
        let error = serde_json::from_str::<Setup>(r#"["/a/b"]"#).expect_err("an orphan");
        assert!(error.to_string().contains("has no parent"), "{error}");
    }
}

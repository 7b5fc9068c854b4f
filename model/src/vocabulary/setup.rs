//! Znodes that exist at the start of a run.

use crate::vocabulary::path::{RESERVED, ZnodePath};
use serde::{Deserialize, Serialize};
use std::fmt;
use thiserror::Error;

/// Znodes without data that every server's database contains before the run starts, like the root. Even the most
/// stale view of ZooKeeper contains them. Parents precede their children.
///
/// They are persistent, or [containers](Setup::containers), which the leader deletes after their last child was
/// deleted (rule 1.5.3).
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
#[serde(try_from = "Vec<Written>", into = "Vec<Written>")]
pub struct Setup(Vec<Prepared>);

/// One znode of a setup.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Prepared {
    /// The znode's path.
    pub path: ZnodePath,
    /// The counter of a container: the number of znodes created below it before the run, besides those of the setup.
    /// Its next sequential child gets that number (rule 1.4.1). `None` for a znode that is not a container.
    pub container: Option<i32>,
}

/// A znode in the form of a case file.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Path(String),
    Container { container: String, creates: i32 },
}

/// Why a setup cannot contain a znode. The message completes a sentence about the setup.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum SetupError {
    /// The path is not valid in ZooKeeper.
    #[error(
        "`{0}` is not the path of a znode: it begins with `/`, has no empty, `.` or `..` part, and does not end with `/`"
    )]
    NoPath(String),
    /// The path is one of ZooKeeper's own znodes, or below one.
    #[error("`{0}` is ZooKeeper's own")]
    Reserved(String),
    /// The setup names the znode twice.
    #[error("`{0}` is named twice: name each znode once")]
    Twice(String),
    /// The setup does not contain the parent, or names it later.
    #[error("`{path}` has no parent: name `{parent}` before it")]
    Orphan { path: String, parent: String },
}

impl Setup {
    /// No znodes besides ZooKeeper's own.
    pub const NONE: Setup = Setup(Vec::new());

    /// Returns a setup of these znodes, parents first.
    ///
    /// # Errors
    /// One of the paths is refused; see [`SetupError`].
    pub fn of<P: AsRef<str>>(paths: impl IntoIterator<Item = P>) -> Result<Setup, SetupError> {
        let mut setup = Setup::NONE;
        for path in paths {
            setup.add(path.as_ref())?;
        }
        Ok(setup)
    }

    /// Adds one znode, after its parent.
    ///
    /// # Errors
    /// The path is refused; see [`SetupError`].
    pub fn add(&mut self, path: &str) -> Result<(), SetupError> {
        self.prepare(path, None)
    }

    /// Adds containers below which no client has created a znode yet. A znode of the setup that is named here becomes
    /// a container.
    ///
    /// # Errors
    /// One of the paths is refused; see [`SetupError`].
    pub fn containers<P: AsRef<str>>(
        mut self,
        paths: impl IntoIterator<Item = P>,
    ) -> Result<Setup, SetupError> {
        for path in paths {
            let path = path.as_ref();
            match self.0.iter_mut().find(|znode| znode.path.as_str() == path) {
                Some(znode) => znode.container = Some(0),
                None => self.prepare(path, Some(0))?,
            }
        }
        Ok(self)
    }

    /// Sets the number of znodes created below each of the containers before the run.
    #[must_use]
    pub fn with_creates(mut self, creates: i32) -> Setup {
        for counter in self.0.iter_mut().filter_map(|znode| znode.container.as_mut()) {
            *counter = creates;
        }
        self
    }

    fn prepare(&mut self, path: &str, container: Option<i32>) -> Result<(), SetupError> {
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
        self.0.push(Prepared { path: znode, container });
        Ok(())
    }

    fn has(&self, path: &str) -> bool {
        self.0.iter().any(|znode| znode.path.as_str() == path)
    }

    /// Adds the znodes of another setup that this one does not contain.
    #[must_use]
    pub fn and(mut self, other: &Setup) -> Setup {
        let new = other.0.iter().filter(|znode| !self.has(znode.path.as_str()));
        let new: Vec<Prepared> = new.cloned().collect();
        self.0.extend(new);
        self
    }

    /// The znodes, parents first.
    pub fn znodes(&self) -> &[Prepared] {
        &self.0
    }
}

impl fmt::Display for Setup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let paths: Vec<&str> = self.0.iter().map(|znode| znode.path.as_str()).collect();
        f.write_str(&paths.join(", "))
    }
}

impl TryFrom<Vec<Written>> for Setup {
    type Error = SetupError;

    fn try_from(znodes: Vec<Written>) -> Result<Setup, SetupError> {
        let mut setup = Setup::NONE;
        for znode in znodes {
            match znode {
                Written::Path(path) => setup.prepare(&path, None)?,
                Written::Container { container, creates } => {
                    setup.prepare(&container, Some(creates))?;
                }
            }
        }
        Ok(setup)
    }
}

impl From<Setup> for Vec<Written> {
    fn from(setup: Setup) -> Vec<Written> {
        let written = |znode: Prepared| match znode.container {
            None => Written::Path(znode.path.to_string()),
            Some(creates) => Written::Container { container: znode.path.to_string(), creates },
        };
        setup.0.into_iter().map(written).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::DataTree;

    #[test]
    fn invalid_znodes_of_a_setup_are_refused() {
        let refused = |paths: &[&str]| Setup::of(paths).expect_err("refused").to_string();
        for path in ["", "a", "/a/", "//", "/a//b", "/.", "/a/../b", "/\0"] {
            assert!(refused(&[path]).starts_with(&format!("`{path}` is not the path")), "{path}");
        }
        for path in ["/", "/zookeeper", "/zookeeper/config", "/zookeeper/quota/a"] {
            assert_eq!(refused(&[path]), format!("`{path}` is ZooKeeper's own"));
        }
        assert_eq!(refused(&["/a", "/a"]), "`/a` is named twice: name each znode once");
        assert_eq!(refused(&["/a/b", "/a"]), "`/a/b` has no parent: name `/a` before it");
    }

    #[test]
    fn a_database_begins_with_it() {
        let setup = Setup::of(["/a", "/a/b", "/zookeepers"]).expect("it is sound");
        let tree = setup.tree();
        assert_eq!(tree.digest(), tree.recomputed_digest());
        assert_eq!(tree.last_processed(), crate::vocabulary::zxid::Zxid::ZERO);
        assert_eq!(Setup::NONE.tree().digest(), DataTree::new().digest());
        assert_ne!(tree.digest(), DataTree::new().digest());
        // Their parents count them as created children.
        let created = |path: &str| tree.node(path).map(|znode| znode.cversion);
        let before = DataTree::new().node("/").map(|root| root.cversion + 2);
        assert_eq!((created("/"), created("/a"), created("/a/b")), (before, Some(1), Some(0)));
    }

    #[test]
    fn a_setup_is_written_as_paths_and_checked_when_read() {
        let setup = Setup::of(["/a", "/a/b"]).expect("it is sound");
        let text = serde_json::to_string(&setup).expect("it is text");
        assert_eq!(text, r#"["/a","/a/b"]"#);
        assert_eq!(serde_json::from_str::<Setup>(&text).expect("it is sound"), setup);
        let error = serde_json::from_str::<Setup>(r#"["/a/b"]"#).expect_err("an orphan");
        assert!(error.to_string().contains("has no parent"), "{error}");

        let setup = setup.containers(["/a/b"]).expect("it is sound").with_creates(7);
        let text = serde_json::to_string(&setup).expect("it is text");
        assert_eq!(text, r#"["/a",{"container":"/a/b","creates":7}]"#);
        assert_eq!(serde_json::from_str::<Setup>(&text).expect("it is sound"), setup);
    }

    #[test]
    fn containers_have_their_counters_and_are_looked_after() {
        let setup = Setup::of(["/a"]).and_then(|setup| setup.containers(["/a/b", "/c"]));
        let tree = setup.expect("it is sound").with_creates(i32::MAX).tree();
        let created = |path: &str| tree.node(path).map(|znode| znode.cversion);
        assert_eq!((created("/a"), created("/a/b")), (Some(1), Some(i32::MAX)));
        let reaped: Vec<&str> = tree.reaped().map(ZnodePath::as_str).collect();
        assert_eq!(reaped, ["/a/b", "/c"]);
        assert_eq!(tree.digest(), tree.recomputed_digest());
        // A container below another: the znodes of the setup count as well.
        let nested = Setup::NONE.containers(["/a", "/a/b"]).expect("it is sound").with_creates(5);
        assert_eq!(nested.tree().node("/a").map(|znode| znode.cversion), Some(6));
    }
}

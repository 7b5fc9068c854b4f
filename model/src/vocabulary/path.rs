//! Znode paths and their validation (rule 1.1).

use crate::vocabulary::error::Error;
use crate::vocabulary::release::Release;
use serde::{Deserialize, Serialize};
use std::borrow::Borrow;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// The znodes that exist in every database and cannot be deleted (rules 1.1 and 1.2).
pub const RESERVED: [&str; 4] = ["/", "/zookeeper", CONFIG, QUOTA];

/// The znode that holds the dynamic configuration.
pub const CONFIG: &str = "/zookeeper/config";
/// The data version of that znode once a server has written its configuration there.
pub(crate) const RECONFIGURED: i32 = -1;

/// The parent of quotas and their statistics.
pub const QUOTA: &str = "/zookeeper/quota";

/// A valid absolute path of a znode.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "Arc<str>", into = "Arc<str>")]
pub struct ZnodePath(Arc<str>);

impl ZnodePath {
    /// The root, `/`.
    pub fn root() -> ZnodePath {
        ZnodePath(Arc::from("/"))
    }

    /// Checks a path by the server's rules.
    ///
    /// # Errors
    /// `BadArguments` if `PathUtils.validatePath` refuses the path.
    pub fn new(path: impl Into<Arc<str>>) -> Result<ZnodePath, Error> {
        ZnodePath::of_release(path, Release::Repaired)
    }

    /// Checks a path by the rules of a release's servers (rule 1.1.6).
    ///
    /// # Errors
    /// `BadArguments` if they refuse the path.
    pub(crate) fn of_release(
        path: impl Into<Arc<str>>,
        release: Release,
    ) -> Result<ZnodePath, Error> {
        let path = path.into();
        validate(&path, release)?;
        Ok(ZnodePath(path))
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path as a shared string.
    pub fn shared(&self) -> Arc<str> {
        Arc::clone(&self.0)
    }

    /// The parent's path; `None` for the root.
    pub fn parent(&self) -> Option<&str> {
        parent(&self.0)
    }

    /// The last component; empty for the root.
    pub fn name(&self) -> &str {
        name(&self.0)
    }
}

/// Returns the parent of an absolute path: `/` for a path with one component, `None` for the root.
pub fn parent(path: &str) -> Option<&str> {
    match path.rfind('/') {
        Some(0) if path.len() > 1 => Some("/"),
        Some(0) | None => None,
        Some(at) => Some(&path[..at]),
    }
}

/// The last component of an absolute path.
pub fn name(path: &str) -> &str {
    &path[path.rfind('/').map_or(0, |at| at + 1)..]
}

/// Checks a path by rules 1.1.1 and 1.1.2, in their order; every refusal is `BadArguments`.
fn validate(path: &str, release: Release) -> Result<(), Error> {
    if !path.starts_with('/') {
        return Err(Error::BadArguments);
    }
    if path == "/" {
        return Ok(());
    }
    let bad_component = |part: &str| part.is_empty() || part == "." || part == "..";
    if path[1..].split('/').any(bad_component)
        || path.chars().any(|it| forbidden(it) && !release.accepts(it))
    {
        return Err(Error::BadArguments);
    }
    Ok(())
}

/// Returns true for a character that no path may contain: controls, surrogates (and so every supplementary
/// character), private use, and specials.
fn forbidden(character: char) -> bool {
    matches!(u32::from(character),
        0x0000..=0x001f | 0x007f..=0x009f | 0xd800..=0xf8ff | 0xfff0..)
}

impl Deref for ZnodePath {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for ZnodePath {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl From<ZnodePath> for Arc<str> {
    fn from(path: ZnodePath) -> Arc<str> {
        path.0
    }
}

impl TryFrom<Arc<str>> for ZnodePath {
    type Error = Error;
    fn try_from(path: Arc<str>) -> Result<ZnodePath, Error> {
        ZnodePath::new(path)
    }
}

impl fmt::Display for ZnodePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ZnodePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refused_class_of_path() {
        let refused = [
            "",
            "a",
            "a/b",
            "/a/",
            "//",
            "/a//b",
            "/.",
            "/a/..",
            "/a/./b",
            "/a\0",
            "/a\u{1}",
            "/a\u{7f}",
            "/a\u{e000}",
            "/a\u{fff0}",
            "/a\u{1f600}",
        ];
        for path in refused {
            assert_eq!(ZnodePath::new(path), Err(Error::BadArguments), "{path:?}");
        }
        for path in ["/", "/a", "/a./.b/...", "/\u{20}", "/a\u{ffef}"] {
            assert!(ZnodePath::new(path).is_ok(), "{path:?}");
        }
    }

    #[test]
    fn parents_and_names() {
        assert_eq!(parent("/"), None);
        assert_eq!(parent("/a"), Some("/"));
        assert_eq!(parent("/a/b"), Some("/a"));
        assert_eq!(name("/a/b"), "b");
        assert_eq!(name("/"), "");
    }
}

//! The observations of a program with a cache.

use super::{CacheEvent, Cached, Extent};
use serde::Serialize;
use std::sync::Arc;
use vivarium_model::observation::Observation;

/// An observation of a program with a cache. Its properties ([`super::properties`]) use no other observations.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum CacheSeen {
    /// The cache begins to synchronise: when it is created, and in each later session.
    Begun {
        /// The root of the cache.
        root: Arc<str>,
        extent: Extent,
    },
    /// An event was returned, and applied to the copy.
    Delivered { root: Arc<str>, event: CacheEvent },
    /// The program reads the whole copy, and relies on it.
    Content {
        root: Arc<str>,
        /// In the order of their paths.
        znodes: Vec<(Arc<str>, Cached)>,
    },
    /// The cache has ended.
    Closed { root: Arc<str> },
}

impl CacheSeen {
    /// Returns the root of the cache.
    pub fn root(&self) -> &Arc<str> {
        match self {
            CacheSeen::Begun { root, .. }
            | CacheSeen::Delivered { root, .. }
            | CacheSeen::Content { root, .. }
            | CacheSeen::Closed { root } => root,
        }
    }
}

impl Observation for CacheSeen {
    fn words(&self) -> String {
        match self {
            CacheSeen::Begun { root, extent } => {
                let what = match extent {
                    Extent::Node => "",
                    Extent::Children => "the children of ",
                    Extent::Tree => "all from ",
                };
                format!("begins to copy {what}{root}")
            }
            CacheSeen::Delivered { root, event } => match event {
                CacheEvent::Initialized => format!("takes its copy of {root} for complete"),
                CacheEvent::Added { path, znode } => {
                    let (czxid, mzxid) = (znode.czxid, znode.mzxid);
                    format!("learns of {path}: `{}`, czxid {czxid}, mzxid {mzxid}", text(znode))
                }
                CacheEvent::Changed { path, znode } => {
                    format!("learns that {path} is `{}`, mzxid {}", text(znode), znode.mzxid)
                }
                CacheEvent::Removed { path, znode } => {
                    format!("learns that {path} is gone, czxid {}", znode.czxid)
                }
            },
            CacheSeen::Content { root, znodes } => {
                let each = znodes.iter().map(|(path, znode)| format!("{path} of {}", znode.mzxid));
                let all: Vec<String> = each.collect();
                format!("uses its copy of {root}: [{}]", all.join(", "))
            }
            CacheSeen::Closed { root } => format!("has no copy of {root} any more"),
        }
    }
}

fn text(znode: &Cached) -> String {
    String::from_utf8_lossy(&znode.data).into_owned()
}

//! Caches (recipe rule 2.16): a local copy of a znode, of the children of one with their data, or of a
//! whole subtree, which follows what is there and tells each change.
//!
//! # Contract
//!
//! *Events.* [`NodeCache::next`], [`ChildrenCache::next`] and [`TreeCache::next`] give one event after the
//! other. The copy changes with an event and at no other time: who replays the events has the content (CA2).
//! A parent is added before its children and removed after them. A znode that was made anew is told as
//! a removal and an addition.
//!
//! *Order.* What is told of a znode never goes back: its mzxid grows, and what is added behind a removal has
//! a greater czxid, whatever servers and sessions come in between (CA3). What is told was there, data
//! and Stat together (CA6). Not every state is told: what is replaced before it is read is never seen.
//! Different znodes are read at different times, so the copy is no snapshot: each znode in it is as it
//! was at some moment.
//!
//! *Initialized.* Each session begins with a synchronisation. It ends with one
//! [`CacheEvent::Initialized`], and no moment that the copy shows then is older than the beginning
//! of the synchronisation (CA4): a write that is always refused comes first, so that no server that lags is
//! believed, and no leader that has been deposed. A znode that vanishes while the copy is
//! loaded delays nothing. What went, came and changed between two sessions is told by the second one's
//! synchronisation. A lost connection alone asks for none: the client sets its watches again, and
//! what was missed fires them; only lists of children are read again (recipe rule 1.2.7).
//!
//! *Convergence.* When nothing changes any more and the client stays connected, the copy comes to be what
//! is there (CA1).
//!
//! *Cancelling is safe.* `next` may be dropped at any await point, and asked again. Nothing happens while
//! nobody awaits it: who does other work beside gives the cache a task of its own. Behind the end of a
//! cache, dropped or closed, it tells nothing (CA5).
//!
//! # Watches
//!
//! Each change wakes every cache that holds the znode, and of a creation or deletion those that hold its
//! siblings: that is inherent. A cache has one watch per znode for its data and, where it
//! follows children, one for them. They are one-shot on purpose. After a reconnect a one-shot watch fires
//! for what was missed (rule 3.4.1), and one that stays (`addWatch`) tells nothing of it (rule 3.2.5): a cache
//! over a single recursive watch has to read its whole subtree again at each reconnect. A recursive
//! watch costs a server less where a tree is large and connections are good; [`TreeCache`] is for
//! the other case, in which it reads what has changed.
//!
//! # Use
//!
//! ```
//! use vivarium_model::error::Error;
//! use vivarium_model::handle::ZooKeeper;
//! use vivarium_recipes::cache::{CacheEvent, ChildrenCache};
//!
//! /// Goes by the workers that are registered, across sessions.
//! async fn dispatch(zookeeper: ZooKeeper) -> Result<(), Error> {
//!     let mut workers = ChildrenCache::new(zookeeper, "/workers");
//!     loop {
//!         match workers.next().await? {
//!             // From here on the copy is complete.
//!             CacheEvent::Initialized => {}
//!             CacheEvent::Added { path, znode } => drop((path, znode.data)),
//!             CacheEvent::Changed { .. } | CacheEvent::Removed { .. } => {}
//!         }
//!         let addresses = workers.children().map(|(_name, znode)| &znode.data);
//!         let _ = addresses.count();
//!     }
//! }
//! # let _ = dispatch;
//! ```
//!
//! # How far it has been tried
//!
#![doc = include_str!("../../explored/node-cache.md")]
#![doc = include_str!("../../explored/children-cache.md")]
#![doc = include_str!("../../explored/tree-cache.md")]

mod children;
mod engine;
mod event;
mod look;
mod mutant;
mod node;
mod places;
#[cfg(feature = "checking")]
pub mod properties;
mod seen;
mod tree;
#[cfg(feature = "checking")]
pub mod worker;

pub use children::ChildrenCache;
pub use event::{CacheEvent, Cached, Extent};
#[cfg(feature = "checking")]
pub use mutant::{Mutant, Mutants};
#[cfg(not(feature = "checking"))]
pub(crate) use mutant::{Mutant, Mutants};
pub use node::NodeCache;
#[cfg(feature = "checking")]
pub use properties::monitors;
pub use seen::CacheSeen;
pub use tree::TreeCache;
#[cfg(feature = "checking")]
pub use worker::{CacheWork, Step, cache_worker};

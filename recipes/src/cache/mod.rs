//! Caches (recipe rule 2.16): a local copy of a znode, of a znode's children with their data, or of a whole subtree,
//! which follows the changes and reports each.
//!
//! # Contract
//!
//! *Events.* [`NodeCache::next`], [`ChildrenCache::next`] and [`TreeCache::next`] return one event after the other. The
//! copy changes with an event and at no other time, so replaying the events yields the content (CA2). A parent is added
//! before its children and removed after them. A recreated znode is reported as a removal and an addition.
//!
//! *Order.* Reports about a znode never go back: its mzxid grows, and an addition after a removal has a greater czxid,
//! whatever servers and sessions come in between (CA3). Everything reported existed, with data and Stat together (CA6).
//! Not every state is reported: a state that is replaced before it is read is never seen. Different znodes are read at
//! different times, so the copy is no snapshot: each znode in it is as it was at some moment.
//!
//! *Initialized.* Each session begins with a synchronisation, which ends with one [`CacheEvent::Initialized`]. No state
//! in the copy is then older than the beginning of the synchronisation (CA4): it starts with a write that is always
//! refused, so that neither a lagging server nor a deposed leader is believed. A znode that vanishes while the copy is
//! loaded does not delay it. Changes between two sessions are reported by the second one's synchronisation. A lost
//! connection alone needs none: the client sets its watches again, and missed changes fire them; only lists of children
//! are read again (recipe rule 1.2.7).
//!
//! *Convergence.* When nothing changes any more and the client stays connected, the copy becomes equal to the znodes
//! (CA1).
//!
//! *Cancelling is safe.* `next` may be dropped at any await point and called again. Nothing happens while no task
//! awaits it, so a program with other work gives the cache a task of its own. A dropped or closed cache reports nothing
//! more (CA5).
//!
//! # Watches
//!
//! Each change wakes every cache that holds the znode, and a creation or deletion also wakes caches that hold its
//! siblings: that is inherent. A cache has one watch per znode for its data and, if it follows children, one for them.
//! They are one-shot on purpose. After a reconnect, a one-shot watch fires for missed changes (rule 3.4.1), and a
//! persistent one (`addWatch`) does not (rule 3.2.5): a cache with a single recursive watch has to read its whole
//! subtree again at each reconnect. A recursive watch costs a server less if the tree is large and connections are
//! stable. [`TreeCache`] is for the other case, and reads only what has changed.
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

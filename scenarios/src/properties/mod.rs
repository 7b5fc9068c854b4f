//! Properties in a few lines, over what a user's own programs say.
//!
//! A program says something by [`ZooKeeper::custom`](crate::prelude::ZooKeeper::custom), or by
//! [`ZooKeeper::observe`](crate::prelude::ZooKeeper::observe) with a type of its own, and a test gets its
//! properties by [`Test::monitor`](crate::Test::monitor):
//!
//! ```
//! use vivarium::prelude::*;
//!
//! Test::new("leaders", |zookeeper: ZooKeeper| async move {
//!     zookeeper.connect().await;
//!     if zookeeper.create("/leader", b"", CreateMode::Ephemeral).await.is_ok() {
//!         zookeeper.custom("leads", &[("term", 1.into())]);
//!     }
//!     Ok(())
//! })
//! .monitor(never_two_at_once("leads", "resigned"))
//! .monitor(eventually("leads"))
//! .clients(2)
//! .seeds(5)
//! .run();
//! ```
//!
//! | property | what always holds | judged |
//! |---|---|---|
//! | [`always`] | a condition on what was said so far, folded into a state (and on the tree) | at each observation (each commit) |
//! | [`never_two_at_once`] | nobody is between "begins" and "ends" while another one is | at each "begins" |
//! | [`at_most_once`] | no value is said twice | at each observation |
//! | [`exactly_once`] | and each that is due is said | at the end |
//! | [`eventually`] | somebody has said it, or every client | at the end |
//! | [`grows`] | values grow | at each observation |
//! | [`same_order`] | what comes by one observation comes by another in the same order | at each of both |
//! | [`agree`] | everybody says the same value | at each observation |
//! | [`tree_always`] | a condition on the tree | at each commit |
//! | [`tree_at_end`], [`no_ghosts_under`] | the same of the tree that is left, nothing is left over | at the end |
//!
//! All of them are of [`Asked::Everywhere`](crate::prelude::Asked): for sweeps and for searches alike. The end
//! of a sweep is when faults are over, everything is mended and every program has finished; a search has an
//! end wherever nothing can happen any more, be it after a fault that strikes at the last moment.
//!
//! Which observations a property takes, and which of them it judges together:
//!
//! | | |
//! |---|---|
//! | [`per`](Property::per) | each value of a field by itself |
//! | [`per_client`](Property::per_client) | each client by itself (and searches are smaller) |
//! | [`per_process`](Property::per_process) | each process by itself: forgotten when it is killed or returns |
//! | [`by`](Property::by) | what these clients say |
//! | [`with`](Property::with) | what is said with this value in this field |
//! | [`named`](Property::named) | what the report calls it, where there are two of a kind |
//!
//! A field that a property needs and an observation of the right name does not have, or has as something
//! else, is an objection: nothing is left out without a word. What is said by a value of a type has the
//! name and the fields of that type ([`Observation`](crate::prelude::Observation)): those of the lock are
//! [`LockSeen`](vivarium_recipes::lock::LockSeen)'s.
//!
//! Every property hears when a program is killed or returns, if it names [`PROGRAM_KILLED`] or
//! [`PROGRAM_FINISHED`] as it would name an observation without fields: `always(…).on(PROGRAM_KILLED)`,
//! `eventually(PROGRAM_FINISHED)`. [`never_two_at_once`] ends beliefs by them unasked.
//!
//! What programs say is what they believe, at the time when they say it. The order in which clients say
//! things is not that in which their writes were committed; where that matters, let them say zxids.

mod agree;
mod always;
mod closure;
mod eventually;
mod exclusive;
mod once;
mod order;
mod property;
mod said;
mod tree;

pub use agree::{Agree, agree};
pub use always::{Always, always};
pub use closure::Judgement;
pub use eventually::{Eventually, eventually};
pub use exclusive::{Exclusive, never_two_at_once};
pub use once::{Once, at_most_once, exactly_once};
pub use order::{Grows, SameOrder, grows, same_order};
pub use property::Property;
pub use said::{PROGRAM_FINISHED, PROGRAM_KILLED, Said};
pub use tree::{NoGhosts, Tree, TreeAlways, TreeAtEnd, no_ghosts_under, tree_always, tree_at_end};

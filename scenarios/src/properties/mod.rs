//! Short properties over the observations of a user's own programs.
//!
//! A program makes an observation with [`ZooKeeper::custom`](crate::prelude::ZooKeeper::custom), or with
//! [`ZooKeeper::observe`](crate::prelude::ZooKeeper::observe) and a type of its own. A test gets its properties with
//! [`Test::monitor`](crate::Test::monitor):
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
//! | [`always`] | a condition on all observations so far, folded into a state (and on the tree) | at each observation (each commit) |
//! | [`never_two_at_once`] | no two clients are between "begins" and "ends" at once | at each "begins" |
//! | [`at_most_once`] | no value is observed twice | at each observation |
//! | [`exactly_once`] | and each due value is observed | at the end |
//! | [`eventually`] | at least one client has made the observation, or every client | at the end |
//! | [`grows`] | values grow | at each observation |
//! | [`same_order`] | the values of two observations come in the same order | at each of both |
//! | [`agree`] | all clients observe the same value | at each observation |
//! | [`tree_always`] | a condition on the tree | at each commit |
//! | [`tree_at_end`], [`no_ghosts_under`] | a condition on the final tree; no znode is left over | at the end |
//!
//! All of them are of [`Asked::Everywhere`](crate::prelude::Asked): for sweeps and for searches. A sweep ends when
//! faults are over and healed and every program has finished. A search has an end in every state without a further
//! step, even directly after a fault.
//!
//! A property's methods select the observations that it takes, and which of them it judges together:
//!
//! | | |
//! |---|---|
//! | [`per`](Property::per) | each value of a field alone |
//! | [`per_client`](Property::per_client) | each client alone (which makes searches smaller) |
//! | [`per_process`](Property::per_process) | each process alone: its observations are forgotten when it is killed or returns |
//! | [`by`](Property::by) | only observations of these clients |
//! | [`with`](Property::with) | only observations with this value in this field |
//! | [`named`](Property::named) | the name in reports, if there are two properties of a kind |
//!
//! A property objects if an observation of the right name lacks a field that the property needs, or has another type
//! in it: no observation is skipped silently. An observation of a user's type has the name and the fields of that
//! type ([`Observation`](crate::prelude::Observation)): those of the lock are
//! [`LockSeen`](vivarium_recipes::lock::LockSeen)'s.
//!
//! The ends of programs are observations without fields, which a property takes if it names [`PROGRAM_KILLED`] or
//! [`PROGRAM_FINISHED`]: `always(…).on(PROGRAM_KILLED)`, `eventually(PROGRAM_FINISHED)`. [`never_two_at_once`] ends
//! beliefs at them in any case.
//!
//! An observation is what a program believes when it makes it. The order of observations of different clients is not
//! that of their commits; if the order of commits matters, let the observations contain zxids.

mod agree;
mod always;
mod closure;
mod eventually;
mod exclusive;
mod once;
mod order;
mod property;
mod said;
mod stated;
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
pub use stated::{STATED, Stated, stated_parameters, stated_properties};
pub use tree::{NoGhosts, Tree, TreeAlways, TreeAtEnd, no_ghosts_under, tree_always, tree_at_end};

//! What most programs on ZooKeeper need: to continue in the next session, to repeat what a lost connection left undone,
//! and to find out the result of a write.
//!
//! ```
//! use vivarium_model::error::Error;
//! use vivarium_model::handle::ZooKeeper;
//! use vivarium_model::op::CreateMode;
//! use vivarium_recipes::helpers::{ensure_path, in_sessions, until_known};
//!
//! /// Registers this client, and stays registered.
//! async fn member(zookeeper: ZooKeeper) -> Result<(), Error> {
//!     in_sessions(&zookeeper, |zookeeper, session| async move {
//!         ensure_path(&zookeeper, "/app/members").await?;
//!         let own = format!("/app/members/{session}");
//!         let create = || zookeeper.create(&own, b"", CreateMode::Ephemeral);
//!         match until_known(&zookeeper, create).await {
//!             // A create whose reply was lost made it, because no other session uses the name.
//!             Ok(_) | Err(Error::NodeExists) => {}
//!             Err(error) => return Err(error),
//!         }
//!         // Waits for the end of the session, and begins again.
//!         let (_, _, mut watch) = zookeeper.get_data_watch(&own).await?;
//!         watch.changed().await.map(drop)
//!     })
//!     .await
//! }
//! # let _ = member;
//! ```

mod retry;
mod sequence;
mod sessions;
mod writes;

pub use retry::{ended, next_session, reconnected, until_known};
pub use sequence::is_exhausted;
pub use sessions::in_sessions;
pub use writes::{ensure_deleted, ensure_path, settle};

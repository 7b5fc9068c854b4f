//! A ZooKeeper client for production. Its client machine is the one that Vivarium's simulator and explorer run, driven
//! by sockets and the clock, so a program over [`ZooKeeper`] behaves on a real ensemble as it does in its tests.
//!
//! ```no_run
//! use vivarium_client::{Client, CreateMode};
//!
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::connect("zk1:2181,zk2:2181,zk3:2181/app").await?;
//! client.create("/config", b"42", CreateMode::Persistent).await?;
//! let (data, stat) = client.get_data("/config").await?;
//! assert_eq!((&*data, stat.version), (&b"42"[..], 0));
//! client.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! * [`Client::builder`] has the settings, [`Client`] says how a client ends.
//! * A lost connection is an [`Error::ConnectionLoss`] of every request
//!   under way, and nothing is sent again: the outcome is unknown, and the program must find it out. Sessions and
//!   watches survive the loss.
//! * A task takes replies, watch events and changes of its session in the order in which they arrived.
//! * The client is one task of the runtime in which it was started. It can be used from other threads and runtimes.
//! * [`Metrics`], [`EventSink`] and the events of the crate `tracing` report what it does. With the feature `watchdog`, a
//!   `Watchdog` judges it by the monitors of its tests.

#![forbid(unsafe_code)]

mod address;
mod builder;
mod client;
mod connector;
mod driver;
mod frames;
mod hooks;
#[cfg(test)]
mod hostile;
mod limits;
mod order;
mod settings;
mod state;
mod timers;
mod transport;
#[cfg(feature = "watchdog")]
mod watchdog;

pub use address::{Address, AddressError};
pub use builder::Builder;
pub use client::Client;
pub use hooks::{EventSink, Metrics, Recorder, Surroundings};
pub use settings::{ConnectError, Resumed};
pub use vivarium_model::acl::{Acl, AclList, Id, Permissions};
pub use vivarium_model::client::ClientState;
pub use vivarium_model::error::Error;
pub use vivarium_model::handle::{
    Either, MultiError, PersistentWatch, SessionChanges, SessionEvents, TimedOut, Watch, ZooKeeper,
    join, join_all, race,
};
pub use vivarium_model::id::SessionId;
pub use vivarium_model::observation::{Observation, Value};
pub use vivarium_model::op::{
    AddWatchMode, CreateMode, Data, EventType, Op, OpResult, ReadOp, ReadResult, SessionChange,
    SessionState, Version, WatchedEvent, WatcherType,
};
pub use vivarium_model::stat::Stat;
pub use vivarium_model::time::{Duration, Time};
pub use vivarium_model::zxid::Zxid;
#[cfg(feature = "watchdog")]
pub use watchdog::{Violation, Watchdog};

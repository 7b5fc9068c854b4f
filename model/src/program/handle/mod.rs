//! The async handle that programs use, and the code that runs programs.
//!
//! A program is an ordinary `async fn` over one [`ZooKeeper`]. It awaits only that handle, so it is a function of its
//! inputs: the simulator runs it under a seed, the explorer replays it along every path, and with another
//! [`Transport`] it runs against a real ensemble.
//!
//! Three rules hold for every call. It suspends at least once, even if the answer is known immediately, so that no
//! error loop can spin inside one poll. Dropping its future abandons the call but does not undo it: a write that was
//! sent may still be applied. And an unknown outcome is never hidden: the program must handle
//! [`ConnectionLoss`](crate::vocabulary::error::Error::ConnectionLoss).
//!
//! ```
//! use vivarium_model::error::Error;
//! use vivarium_model::handle::{Program, ZooKeeper, program};
//! use vivarium_model::op::CreateMode;
//!
//! async fn register(zookeeper: ZooKeeper) -> Result<(), String> {
//!     zookeeper.connect().await;
//!     match zookeeper.create("/members/me", b"", CreateMode::Ephemeral).await {
//!         Ok(_) | Err(Error::NodeExists) => Ok(()),
//!         Err(error) => Err(error.to_string()),
//!     }
//! }
//!
//! let program: Program = program(register);
//! # let _ = program;
//! ```
//!
//! A program that is a loop can be written as one round ([`rounds`]), which passes its state to the next round.
//!
//! One simulated process consists of a [`port::Port`] (its calls and outputs) and an [`executor::Executor`] (its
//! tasks), owned by a [`process::Process`].

mod access;
mod answer;
pub mod calls;
pub mod combinators;
mod context;
pub mod executor;
pub mod port;
pub mod process;
mod program;
mod read;
mod reconfig;
mod request;
mod run_queue;
#[cfg(feature = "world")]
mod simulated;
pub mod transport;
mod watch;
mod watching;

pub use combinators::{Cancelled, Either, TimedOut, join, join_all, race};
pub use process::Process;

pub use program::{Carried, Program, Round, program, rounds};
pub use request::MultiError;
pub use transport::{BoxFuture, Transport};
pub use watch::{PersistentWatch, SessionChanges, SessionEvents, Watch};

use crate::vocabulary::id::{ClientId, SessionId};
use std::fmt;
use std::sync::Arc;

/// A program's only interface: its ZooKeeper client, and its environment (time, random numbers, other programs, the
/// monitors).
///
/// Clones share the session of their client machine.
#[derive(Clone)]
pub struct ZooKeeper {
    transport: Arc<dyn Transport>,
    scope: Option<SessionId>,
}

impl ZooKeeper {
    /// Returns a handle over a transport.
    pub fn new(transport: Arc<dyn Transport>) -> ZooKeeper {
        ZooKeeper { transport, scope: None }
    }

    /// Returns the transport below this handle, for another transport that passes everything on to it.
    pub fn transport(&self) -> &Arc<dyn Transport> {
        &self.transport
    }

    /// Returns the client machine that the program runs on.
    pub fn client(&self) -> ClientId {
        self.transport.client()
    }

    /// Returns this handle pinned to one session: its requests fail with `SessionExpired` after another session has
    /// replaced that one. [`ZooKeeper::connect`] and [`ZooKeeper::close`] are not requests and always use the current
    /// session.
    pub fn scope(&self, session: SessionId) -> ZooKeeper {
        ZooKeeper { transport: Arc::clone(&self.transport), scope: Some(session) }
    }
}

impl fmt::Debug for ZooKeeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ZooKeeper")
            .field("client", &self.client())
            .field("scope", &self.scope)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;

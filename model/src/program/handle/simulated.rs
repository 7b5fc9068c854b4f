//! The methods of [`ZooKeeper`] that have a meaning only where an engine runs the program: messages between programs,
//! outside resources and cancellation by the engine. A client of a real ensemble has none of them.

use super::ZooKeeper;
use super::combinators::{Cancelled, Either, race};
use crate::program::host::{Message, Operation, Outcome, ResourceRequest};
use crate::vocabulary::id::ClientId;
use crate::vocabulary::zxid::Zxid;
use std::future::Future;
use std::sync::Arc;

/// The methods that have a meaning only where an engine runs the program: messages between programs, outside resources
/// and cancellation by the engine.
impl ZooKeeper {
    /// Sends a message to another program, without ZooKeeper. It is lost if it arrives while that program does not
    /// run.
    pub fn send(&self, to: ClientId, body: &[u8]) {
        self.transport.send(to, Arc::from(body));
    }

    /// Waits for the next message from another program.
    pub async fn receive(&self) -> Message {
        match self.call(Operation::Receive).await {
            Outcome::Message(message) => message,
            other => unreachable!("receive was answered with {other:?}"),
        }
    }

    /// Writes to a resource outside ZooKeeper, which refuses a fencing token smaller than one it has seen. Without a
    /// token it does not check.
    ///
    /// # Errors
    /// The largest token that the resource has seen, if that is larger than `token`.
    pub async fn write_resource(
        &self,
        resource: &str,
        token: Option<Zxid>,
        value: u64,
    ) -> Result<(), Zxid> {
        let request = ResourceRequest { resource: Arc::from(resource), token, value };
        match self.call(Operation::Resource(request)).await {
            Outcome::Resource(result) => result,
            other => unreachable!("a write to a resource was answered with {other:?}"),
        }
    }

    /// Awaits `future` unless the engine cancels it; then it is dropped at its present await point, as by a caller's
    /// `select!` or timeout.
    ///
    /// # Errors
    /// [`Cancelled`] if the engine cancelled it.
    pub async fn cancellable<F: Future>(&self, future: F) -> Result<F::Output, Cancelled> {
        match race(self.call(Operation::Cancelled), future).await {
            Either::Left(_) => Err(Cancelled),
            Either::Right(output) => Ok(output),
        }
    }
}

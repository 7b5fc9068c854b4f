//! The interface between a world and the programs that run in it.
//!
//! A program is an async fn over a [`crate::program::handle::ZooKeeper`]. Whatever runs it, the world only delivers
//! one [`Input`] at a time and receives the [`Output`]s up to the point where the program blocks. A deterministic
//! program is therefore a function of its inputs, and every correct host yields the same run.

use crate::vocabulary::error::Error;
use crate::vocabulary::id::{CallId, ClientId, SessionId};
use crate::vocabulary::observation::Observed;
use crate::vocabulary::op::{Data, Request, Response, SessionChange, WatchedEvent, WatcherType};
use crate::vocabulary::time::{Duration, Time};
use crate::vocabulary::zxid::Zxid;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The operations that a program can await. Each suspends at least once, even if the answer is known immediately, so
/// that no loop can spin inside one poll.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum Operation {
    /// A request on the session.
    Request {
        request: Arc<Request>,
        /// The call slot for the watch event, if a watch is requested. It becomes pending if the reply registers the
        /// watch (rule 3.3.1), and free otherwise. For addWatch, the slot gets any number of [`Input::Event`]s.
        watch: Option<CallId>,
        /// The session to which the calling handle is pinned. The request fails with SessionExpired in any other
        /// session.
        scope: Option<SessionId>,
    },
    /// Waits until the session is connected. After Expired, Closed or AuthFailed, begins a new session first.
    Connect,
    /// Closes the session.
    Close,
    /// Waits, in virtual time.
    Sleep(Duration),
    /// Reads the program's clock.
    Now,
    /// Requests a random number from the engine.
    Random,
    /// Waits for the next message from another program.
    Receive,
    /// Waits until the engine cancels.
    Cancelled,
    /// Sends a request to a resource outside ZooKeeper.
    Resource(ResourceRequest),
    /// Proves an identity to the present server and to every later one of the session (`addAuthInfo`; rule 2.8.7).
    /// Answered immediately: the program does not learn the server's answer, unless the server refuses
    /// ([`SessionState::AuthFailed`](crate::vocabulary::op::SessionState::AuthFailed)).
    AddAuth {
        /// The scheme that verifies the proof.
        scheme: Arc<str>,
        auth: Data,
        /// As for a request.
        scope: Option<SessionId>,
    },
    /// Removes watches at the server, then in the client (rule 3.3.3).
    RemoveWatches {
        path: Arc<str>,
        kind: WatcherType,
        /// Whether the client removes them even if the server fails.
        local: bool,
        /// As for a request.
        scope: Option<SessionId>,
    },
}

impl Operation {
    /// Returns the session to which the calling handle is pinned.
    pub(crate) fn scope(&self) -> Option<SessionId> {
        match self {
            Operation::Request { scope, .. }
            | Operation::AddAuth { scope, .. }
            | Operation::RemoveWatches { scope, .. } => *scope,
            _ => None,
        }
    }
}

/// A write to a resource outside ZooKeeper. The resource checks fencing tokens: it refuses a token smaller than one
/// it has seen. The write is awaited like any call, so a pause can occur before it is executed.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ResourceRequest {
    /// The resource's name.
    pub resource: Arc<str>,
    /// The fencing token; `None` writes without a check.
    pub token: Option<Zxid>,
    /// The value to write.
    pub value: u64,
}

/// The answer to an [`Operation`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Outcome {
    /// To a request.
    Response(Result<Response, Error>),
    /// A one-shot watch fired, or `Err` if its session ended first. For a persistent watch its end:
    /// PersistentWatchRemoved or `Err`.
    Watch(Result<WatchedEvent, Error>),
    /// To connect: the session.
    Connected(SessionId),
    /// To close.
    Closed,
    /// To sleep.
    Elapsed,
    /// To now.
    Now(Time),
    /// To random.
    Random(u64),
    /// To receive.
    Message(Message),
    /// To cancelled.
    Cancelled,
    /// To a resource request; `Err` has the largest token seen, which is larger than the request's.
    Resource(Result<(), Zxid>),
    /// To addAuth: an error if there was no session to add the identity to.
    AuthAdded(Result<(), Error>),
}

/// A message between programs, not sent through ZooKeeper.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Message {
    /// Sender.
    pub from: ClientId,
    /// Content.
    pub body: Arc<[u8]>,
}

/// What a program receives, one at a time.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum Input {
    /// Start running.
    Start,
    /// A call's answer; the call's slot is free afterwards.
    Reply { call: CallId, outcome: Outcome },
    /// The session changed state.
    Session(SessionChange),
    /// A persistent watch fired. Its slot stays occupied until it is abandoned or answered with [`Outcome::Watch`].
    Event { call: CallId, event: WatchedEvent },
}

impl Input {
    /// Returns the slot that the input is for.
    pub fn call(&self) -> Option<CallId> {
        match self {
            Input::Reply { call, .. } | Input::Event { call, .. } => Some(*call),
            Input::Start | Input::Session(_) => None,
        }
    }
}

/// What a program does after an input.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum Output {
    /// Begins a call.
    Submit {
        /// The lowest free slot.
        call: CallId,
        /// The operation to carry out.
        operation: Operation,
    },
    /// Reports that a call's future was dropped. A request stays in flight, but its reply is not an input; the slot
    /// is free.
    Abandon { call: CallId },
    /// Makes an observation for the monitors.
    Observe(Observed),
    /// Sends a message to another program.
    Send { to: ClientId, body: Arc<[u8]> },
    /// The program's main future returned.
    Finished(Result<(), String>),
    /// The program panicked.
    Panicked(String),
}

/// Runs programs: one process per client machine at a time.
pub trait Host {
    /// Makes a new process for the program of `client`, which has not run yet: its first input is [`Input::Start`].
    fn start(&mut self, client: ClientId);

    /// Delivers exactly one input, runs the program until it blocks, and appends its outputs to `outputs`.
    fn feed(&mut self, client: ClientId, input: Input, outputs: &mut Vec<Output>);

    /// Kills the program's process: closes its handle, *then* drops its futures, so that no destructor can act for a
    /// dead process.
    fn kill(&mut self, client: ClientId);

    /// Returns true if a running program awaits a call of its handle. Otherwise it never continues, because nothing
    /// else completes a future here. (A host without futures need not implement this.)
    fn awaits_its_handle(&self, client: ClientId) -> bool {
        let _ = client;
        true
    }

    /// Returns true if a running program awaits only changes of its session's state. (A host without futures need not
    /// implement this.)
    fn listens_only(&self, client: ClientId) -> bool {
        let _ = client;
        false
    }

    /// Returns a client whose program was woken by something other than its handle. (A host without futures need not
    /// implement this.)
    fn woken_from_outside(&self) -> Option<ClientId> {
        None
    }
}

/// The name of every thread that runs programs and monitors. A panic on such a thread is caught and shown in the
/// report on its run.
pub const THREAD: &str = "vivarium";

/// The property that a program's behaviour depends only on the inputs from its handle.
pub const FUNCTION_OF_ITS_INPUTS: &str = "a function of its inputs";

/// Returns the violation of a program that was woken by something other than its handle.
pub fn woken_from_outside(client: ClientId) -> String {
    format!(
        "{client}'s program was woken by something other than its handle, so what it does is not \
         decided by its inputs"
    )
}

/// Describes what a program waits for that awaits no call of its handle; `words` describe the state of its client.
pub fn awaits_another_future(words: &str) -> String {
    format!(
        "a future that is not its handle's, such as a channel, a lock or a timer of another runtime, \
         which nothing here completes ({words})"
    )
}

//! Between a world and the programs that run in it.
//!
//! A program is an async fn over a [`crate::program::handle::ZooKeeper`]. Whatever drives it, the world sees
//! only this: it delivers one [`Input`] at a time and gets back the [`Output`]s of the program's run
//! until it blocks. A deterministic program is therefore a function of its inputs, and every host
//! that keeps that promise yields the same run.

use crate::vocabulary::error::Error;
use crate::vocabulary::id::{CallId, ClientId, SessionId};
use crate::vocabulary::observation::Observed;
use crate::vocabulary::op::{Data, Request, Response, SessionChange, WatchedEvent, WatcherType};
use crate::vocabulary::time::{Duration, Time};
use crate::vocabulary::zxid::Zxid;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What a program can wait for. Each suspends at least once, even where the answer is known at
/// once, so that no loop can spin inside one poll.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum Operation {
    /// A request on the session.
    Request {
        request: Arc<Request>,
        /// The call slot that gets the watch event, if a watch is asked for. It becomes pending
        /// when the reply registers the watch (rule 3.3.1) and is forgotten when it does not.
        /// That of addWatch gets [`Input::Event`]s, as many as there are.
        watch: Option<CallId>,
        /// Fails with SessionExpired unless this is the session: for a scope pinned to one session.
        scope: Option<SessionId>,
    },
    /// Waits until the session is connected; after Expired or Closed, begins a new session first.
    Connect,
    /// Ends the session.
    Close,
    /// Waits; virtual time.
    Sleep(Duration),
    /// The program's clock.
    Now,
    /// A random number from the engine.
    Random,
    /// The next message from another program.
    Receive,
    /// Answers only when the engine cancels.
    Cancelled,
    /// A request to a resource outside ZooKeeper.
    Resource(ResourceRequest),
    /// Proves an identity to the server, and to every later one of the session (`addAuthInfo`;
    /// rule 2.8.7). Answered at once: what a server makes of it, nobody is told, unless it
    /// refuses it ([`SessionState::AuthFailed`](crate::vocabulary::op::SessionState::AuthFailed)).
    AddAuth {
        /// The scheme that is to judge.
        scheme: Arc<str>,
        auth: Data,
        /// As that of a request.
        scope: Option<SessionId>,
    },
    /// A request that takes watches away: at the server, then at the client (rule 3.3.3).
    RemoveWatches {
        path: Arc<str>,
        kind: WatcherType,
        /// At the client also when the server did not do it.
        local: bool,
        /// As that of a request.
        scope: Option<SessionId>,
    },
}

impl Operation {
    /// The session to which the handle that asks is pinned.
    pub(crate) fn scope(&self) -> Option<SessionId> {
        match self {
            Operation::Request { scope, .. }
            | Operation::AddAuth { scope, .. }
            | Operation::RemoveWatches { scope, .. } => *scope,
            _ => None,
        }
    }
}

/// A write to a resource outside ZooKeeper, which checks fencing tokens: it refuses a token smaller
/// than one it has seen. Awaited like everything else, so a pause can fall between check and write.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ResourceRequest {
    /// Which resource.
    pub resource: Arc<str>,
    /// The fencing token; `None` writes without a check.
    pub token: Option<Zxid>,
    /// What to write.
    pub value: u64,
}

/// The answer to an [`Operation`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Outcome {
    /// To a request.
    Response(Result<Response, Error>),
    /// A one-shot watch fired, or `Err` when its session ended first; of a watch that stays, its end,
    /// with PersistentWatchRemoved or `Err`.
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
    /// To a resource request: `Err` holds the largest token seen, which is larger.
    Resource(Result<(), Zxid>),
    /// To addAuth: whether there was a session to add it to.
    AuthAdded(Result<(), Error>),
}

/// A message between programs, outside ZooKeeper (a side channel).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Message {
    /// Sender.
    pub from: ClientId,
    /// Content.
    pub body: Arc<[u8]>,
}

/// What a program is told, one at a time.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum Input {
    /// Run for the first time.
    Start,
    /// A call's answer; the call's slot is free afterwards.
    Reply { call: CallId, outcome: Outcome },
    /// The session changed state.
    Session(SessionChange),
    /// A watch that stays has fired; its slot stays too, until it is abandoned or answered with
    /// [`Outcome::Watch`].
    Event { call: CallId, event: WatchedEvent },
}

impl Input {
    /// The slot that this is for.
    pub fn call(&self) -> Option<CallId> {
        match self {
            Input::Reply { call, .. } | Input::Event { call, .. } => Some(*call),
            Input::Start | Input::Session(_) => None,
        }
    }
}

/// What a program does in reaction.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum Output {
    /// Begins a call.
    Submit {
        /// Its slot: the lowest free one.
        call: CallId,
        /// What is asked.
        operation: Operation,
    },
    /// The call's future was dropped. A request stays in flight, its reply is no input; the slot is
    /// free.
    Abandon { call: CallId },
    /// Tells the monitors something.
    Observe(Observed),
    /// Sends a message to another program.
    Send { to: ClientId, body: Arc<[u8]> },
    /// The program's main future returned.
    Finished(Result<(), String>),
    /// The program panicked.
    Panicked(String),
}

/// Runs programs: one incarnation per client machine at a time.
pub trait Host {
    /// Makes a new incarnation of the program of `client`, not yet run: its first input is
    /// [`Input::Start`].
    fn start(&mut self, client: ClientId);

    /// Delivers exactly one input and runs the program until it blocks, appending what it did to
    /// `outputs`.
    fn feed(&mut self, client: ClientId, input: Input, outputs: &mut Vec<Output>);

    /// The program's process dies: its handle is closed first, *then* its futures are dropped, so
    /// that no destructor can speak for a dead process.
    fn kill(&mut self, client: ClientId);

    /// Whether a program that runs waits for anything of its handle. One that does not never goes on:
    /// nothing else completes a future here. (A host without futures need not tell.)
    fn awaits_its_handle(&self, client: ClientId) -> bool {
        let _ = client;
        true
    }

    /// Whether a program that runs waits for its session's states and for nothing else of its handle. (A host without
    /// futures need not tell.)
    fn listens_only(&self, client: ClientId) -> bool {
        let _ = client;
        false
    }

    /// A client whose program was woken by something other than its handle. (A host without futures
    /// need not tell.)
    fn woken_from_outside(&self) -> Option<ClientId> {
        None
    }
}

/// The name of every thread that runs programs and monitors: a panic there is caught, and told in the
/// report on its run.
pub const THREAD: &str = "vivarium";

/// The property that what a program does is decided by what its handle tells it.
pub const FUNCTION_OF_ITS_INPUTS: &str = "a function of its inputs";

/// What is wrong with a program that was woken by something other than its handle.
pub fn woken_from_outside(client: ClientId) -> String {
    format!(
        "{client}'s program was woken by something other than its handle, so what it does is not \
         decided by its inputs"
    )
}

/// What a program waits for that awaits nothing of its handle; `words` tell how its client is.
pub fn awaits_another_future(words: &str) -> String {
    format!(
        "a future that is not its handle's, such as a channel, a lock or a timer of another runtime, \
         which nothing here completes ({words})"
    )
}

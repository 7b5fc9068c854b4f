//! What a client reports while it runs.

use std::sync::Arc;
use std::time::Duration;
use vivarium_model::client::{ClientEffect, ClientInput, ClientMachine};
use vivarium_model::error::Error;
use vivarium_model::event::Event;
use vivarium_model::host::ResourceRequest;
use vivarium_model::id::{ClientId, SessionId};
use vivarium_model::op::{Request, SessionState};
use vivarium_model::zxid::Zxid;

/// Counts what a client does, for a service's metrics. Each method does nothing unless it is implemented.
///
/// The methods are called while the client is locked: they must neither block, nor panic, nor call the client.
pub trait Metrics: Send + Sync {
    /// A request ended: after this time, and with this error if it failed. `ConnectionLoss` leaves its outcome unknown.
    fn request(&self, request: &Request, latency: Duration, error: Option<Error>) {
        let _ = (request, latency, error);
    }

    /// The number of requests that wait for a connection or for their replies has changed.
    fn outstanding(&self, requests: usize) {
        let _ = requests;
    }

    /// The session has changed its state.
    fn session(&self, session: Option<SessionId>, state: SessionState) {
        let _ = (session, state);
    }

    /// An attempt to connect begins, to this server.
    fn attempt(&self, server: &str) {
        let _ = server;
    }
}

/// Takes the events of a client, in their order: what it sent and read, its session's states, and its program's
/// observations. The monitors of a simulated run judge the same events.
///
/// It is called while the client is locked: it must neither block, nor panic, nor call the client.
pub trait EventSink: Send + Sync {
    /// Takes the next event.
    fn event(&self, event: Event);
}

impl<F: Fn(Event) + Send + Sync> EventSink for F {
    fn event(&self, event: Event) {
        self(event);
    }
}

/// Takes each input of the client machine together with its effects. Another machine that is given the same inputs has
/// the same effects.
///
/// It is called while the client is locked: it must neither block, nor panic, nor call the client.
pub trait Recorder: Send + Sync {
    /// Takes the machine as it is before its first input.
    fn begin(&self, machine: &ClientMachine) {
        let _ = machine;
    }

    /// Takes the next input and what it caused.
    fn input(&self, input: &ClientInput, effects: &[ClientEffect]);
}

/// Provides what an engine provides beside ZooKeeper, so that programs written for an engine run on real servers:
/// resources that check tokens, and messages to other programs.
///
/// It is called while the client is locked: it must neither block, nor panic, nor call the client.
pub trait Surroundings: Send + Sync {
    /// Executes a write to a resource.
    ///
    /// # Errors
    /// The largest token that the resource has seen, if that is larger than the request's.
    fn write(&self, from: ClientId, request: &ResourceRequest) -> Result<(), Zxid>;

    /// Sends a message to another program, which receives it by [`Client::deliver`](crate::Client::deliver).
    fn send(&self, from: ClientId, to: ClientId, body: Arc<[u8]>);
}

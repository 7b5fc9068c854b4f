//! The places in the source of programs that await something.
//!
//! A handle passes every call to its transport within a poll of the program. So a stack trace that the transport takes
//! shows each `.await` from the handle's method up to the program itself. Only walks take traces, through a transport of
//! their own, because traces would slow down sweeps.

use std::backtrace::Backtrace;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use vivarium_model::error::Error;
use vivarium_model::handle::transport::{BoxFuture, Subscription, Ticket, Transport, Unseen};
use vivarium_model::handle::{Program, ZooKeeper, program};
use vivarium_model::host::{Operation, Outcome};
use vivarium_model::id::{ClientId, SessionId};
use vivarium_model::observation::Observed;
use vivarium_model::op::{Request, SessionChange, WatchedEvent};

/// A place in a program that awaits something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Await {
    /// The client machine of the program.
    pub client: ClientId,
    /// The source lines of the awaits, such as `src/worker.rs:41`: the innermost one first. Empty if the program was
    /// compiled without line tables.
    pub places: Vec<String>,
}

/// What an await waits for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Awaited {
    Answer(Ticket),
    Change(Subscription),
}

/// The stack traces of all awaits that have not ended.
#[derive(Default)]
pub(super) struct Traces(Mutex<BTreeMap<(ClientId, Awaited), Backtrace>>);

impl Traces {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<(ClientId, Awaited), Backtrace>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the awaits that have not ended, each place of a client once.
    pub(super) fn awaits(&self) -> Vec<Await> {
        let mut awaits: Vec<Await> = Vec::new();
        for ((client, _), trace) in self.lock().iter() {
            let found = Await { client: *client, places: places(&trace.to_string()) };
            if !awaits.contains(&found) {
                awaits.push(found);
            }
        }
        awaits
    }
}

impl fmt::Debug for Traces {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Traces").finish_non_exhaustive()
    }
}

/// Returns the program, whose awaits are traced.
pub(super) fn traced(traced: Program, traces: &Arc<Traces>) -> Program {
    let traces = Arc::clone(traces);
    program(move |zookeeper: ZooKeeper| {
        let client = zookeeper.client();
        // A process that starts again awaits nothing of what the one before did.
        traces.lock().retain(|(of, _), _| *of != client);
        let below = Arc::clone(zookeeper.transport());
        let handle =
            ZooKeeper::new(Arc::new(Tracing { below, client, traces: Arc::clone(&traces) }));
        let traced = traced.clone();
        async move { traced.run(handle).await }
    })
}

/// A transport that passes everything on, and traces who awaits it.
struct Tracing {
    below: Arc<dyn Transport>,
    client: ClientId,
    traces: Arc<Traces>,
}

impl Tracing {
    fn begins(&self, awaited: Awaited) {
        self.traces.lock().insert((self.client, awaited), Backtrace::force_capture());
    }

    fn ends(&self, awaited: Awaited) {
        self.traces.lock().remove(&(self.client, awaited));
    }

    fn polled<T>(&self, awaited: Awaited, polled: Poll<T>) -> Poll<T> {
        match polled {
            Poll::Pending => self.begins(awaited),
            Poll::Ready(_) => self.ends(awaited),
        }
        polled
    }
}

impl Transport for Tracing {
    fn client(&self) -> ClientId {
        self.below.client()
    }

    fn admit(&self, request: &Request) -> Option<BoxFuture<()>> {
        self.below.admit(request)
    }

    fn submit(&self, operation: Operation, waker: &Waker) -> Ticket {
        let ticket = self.below.submit(operation, waker);
        self.begins(Awaited::Answer(ticket));
        ticket
    }

    fn submit_watching(
        &self,
        request: Arc<Request>,
        scope: Option<SessionId>,
        waker: &Waker,
    ) -> (Ticket, Ticket) {
        let (reply, event) = self.below.submit_watching(request, scope, waker);
        self.begins(Awaited::Answer(reply));
        (reply, event)
    }

    fn keep_back(&self, ticket: Ticket, unseen: Unseen) {
        self.below.keep_back(ticket, unseen);
    }

    fn poll(&self, ticket: Ticket, waker: &Waker) -> Poll<Outcome> {
        self.polled(Awaited::Answer(ticket), self.below.poll(ticket, waker))
    }

    fn poll_events(&self, ticket: Ticket, waker: &Waker) -> Poll<Result<WatchedEvent, Error>> {
        self.polled(Awaited::Answer(ticket), self.below.poll_events(ticket, waker))
    }

    fn abandon(&self, ticket: Ticket) {
        self.ends(Awaited::Answer(ticket));
        self.below.abandon(ticket);
    }

    fn subscribe(&self, of_sessions: bool) -> Subscription {
        self.below.subscribe(of_sessions)
    }

    fn poll_session(&self, subscription: Subscription, waker: &Waker) -> Poll<SessionChange> {
        let polled = self.below.poll_session(subscription, waker);
        self.polled(Awaited::Change(subscription), polled)
    }

    fn unsubscribe(&self, subscription: Subscription) {
        self.ends(Awaited::Change(subscription));
        self.below.unsubscribe(subscription);
    }

    fn spawn(&self, future: BoxFuture<()>) {
        self.below.spawn(future);
    }

    fn observe(&self, observation: Observed) {
        self.below.observe(observation);
    }

    fn send(&self, to: ClientId, body: Arc<[u8]>) {
        self.below.send(to, body);
    }
}

/// Parts of the paths of source files that are no program's: the standard library, other packages, and what is between
/// a program and its transport.
const NOT_OF_PROGRAMS: [&str; 5] =
    ["/rustc/", "/rustlib/src/", "/.cargo/", "model/src/program/", "sim/src/walked/awaits.rs"];

/// Returns the lines of a program's source in a stack trace, the innermost one first.
fn places(trace: &str) -> Vec<String> {
    let mut places: Vec<String> = Vec::new();
    for line in trace.lines() {
        // The executor polls the program. What is outside of it belongs to the walk.
        if line.contains("handle::executor::") || line.contains("handle::run_queue::") {
            break;
        }
        let Some(at) = line.trim().strip_prefix("at ") else { continue };
        if NOT_OF_PROGRAMS.iter().any(|part| at.contains(part)) {
            continue;
        }
        let place = at.rsplit_once(':').map_or(at, |(place, _column)| place);
        let place = place.trim_start_matches("./").to_owned();
        if places.last() != Some(&place) {
            places.push(place);
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_shows_the_lines_of_the_program_and_nothing_around_it() {
        let trace = "   0: vivarium_sim::walked::awaits::Tracing::begins\n             \
                     at ./sim/src/walked/awaits.rs:80:9\n   \
                     1: vivarium_model::program::handle::ZooKeeper::create::{{closure}}\n             \
                     at ./model/src/program/handle/request.rs:50:9\n   \
                     2: shop::reserve::{{closure}}\n             at ./src/shop.rs:12:30\n   \
                     3: core::future::poll\n             at /rustc/0123/library/core/src/future.rs:1:1\n   \
                     4: shop::main::{{closure}}\n             at ./src/shop.rs:40:9\n   \
                     5: vivarium_model::program::handle::executor::Executor::run\n   \
                     6: vivarium::cli::walk\n             at ./scenarios/src/cli/walk.rs:3:1\n";
        assert_eq!(places(trace), ["src/shop.rs:12", "src/shop.rs:40"]);
    }
}

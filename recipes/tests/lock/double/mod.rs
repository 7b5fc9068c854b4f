//! A ZooKeeper of one server for scripts: it executes a request only when the script says so.
//!
//! It has the parts of a real ZooKeeper that the lock needs: sessions, ephemerals, sequence numbers, data watches,
//! multi, and the three fates of a request whose connection breaks: applied, never applied, applied later. It has no
//! quorum, no time of its own and no latency.

mod client;
mod server;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use vivarium_model::error::Error;
use vivarium_model::event::Event;
use vivarium_model::handle::{Process, Program};
use vivarium_model::history::History;
use vivarium_model::host::{Input, Outcome};
use vivarium_model::id::{CallId, ClientId, ServerId, SessionId, Xid};
use vivarium_model::op::{Request, Response, SessionState, WatchedEvent};
use vivarium_model::property::{Monitor, View};
use vivarium_model::time::Time;
use vivarium_model::tree::DataTree;
use vivarium_model::txn::{Txn, TxnBody};
use vivarium_model::zxid::{Epoch, Zxid};

/// The fate of the requests in flight when a connection breaks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The oldest request was applied, and its reply is lost.
    Applied,
    /// No request was applied.
    Lost,
    /// The oldest request is proposed: it commits before the next write or sync, and reads do not show it until then.
    Pending,
}

/// The server, its clients, and the record of the run.
pub(crate) struct Double {
    clients: BTreeMap<ClientId, Client>,
    history: History,
    proposed: VecDeque<(SessionId, Xid, Arc<Request>)>,
    at: Time,
    sessions: u32,
    resources: BTreeMap<Arc<str>, Zxid>,
    pumping: bool,
    monitors: Vec<Box<dyn Monitor>>,
    /// Observations, served requests and faults, in order.
    pub journal: Vec<String>,
    /// The objections of the monitors.
    pub objections: Vec<String>,
}

struct Client {
    process: Process,
    session: Option<SessionId>,
    next_xid: Xid,
    inbox: VecDeque<Input>,
    /// The tree that the client's server has applied.
    view: DataTree,
    lags: bool,
    requests: VecDeque<Queued>,
    watches: Vec<(CallId, Arc<str>)>,
    sleeping: Vec<(Time, CallId)>,
    cancel: Option<CallId>,
    randoms: u64,
    finished: Option<Result<(), String>>,
}

struct Queued {
    xid: Xid,
    request: Arc<Request>,
    call: Option<CallId>,
    watch: Option<CallId>,
}

/// The first client.
pub(crate) const ONE: ClientId = ClientId(1);
/// The second client.
pub(crate) const TWO: ClientId = ClientId(2);

impl Double {
    /// Creates a server with an empty tree and no clients.
    pub(crate) fn new(monitors: Vec<Box<dyn Monitor>>) -> Double {
        Double {
            clients: BTreeMap::new(),
            history: History::new(),
            proposed: VecDeque::new(),
            at: Time::ZERO,
            sessions: 0,
            resources: BTreeMap::new(),
            pumping: false,
            monitors,
            journal: Vec::new(),
            objections: Vec::new(),
        }
    }

    /// Starts a program, connects it immediately, and runs it until its first request.
    pub(crate) fn start(&mut self, client: ClientId, program: &Program) {
        let process = Process::new(client, program);
        let new = Client {
            process,
            session: None,
            next_xid: Xid(1),
            inbox: VecDeque::new(),
            view: DataTree::new(),
            lags: false,
            requests: VecDeque::new(),
            watches: Vec::new(),
            sleeping: Vec::new(),
            cancel: None,
            randoms: 0,
            finished: None,
        };
        self.clients.insert(client, new);
        self.event(Event::Started { client });
        self.begin_session(client);
        self.feed(client, Input::Start);
    }

    // ---- what happens ----

    /// Serves the oldest request of a client; returns false if there was none.
    pub(crate) fn serve(&mut self, client: ClientId) -> bool {
        let Some(queued) = self.client(client).requests.pop_front() else { return false };
        self.journal.push(format!("{client}: {}", queued.request));
        let result = self.execute(client, queued.xid, &queued.request);
        if let (Some(call), Ok(_)) = (queued.watch, &result) {
            let path = path_of(&queued.request);
            self.client(client).watches.push((call, path));
        }
        self.reply(client, queued.call, Outcome::Response(result));
        if *queued.request == Request::CloseSession {
            self.session_over(client, SessionState::Closed);
        }
        true
    }

    /// Serves a client's requests until the oldest one begins like this.
    pub(crate) fn serve_until(&mut self, client: ClientId, beginning: &str) {
        while !self.next_request(client).starts_with(beginning) {
            assert!(
                self.serve(client),
                "{client} never asks for {beginning:?}: {:#?}",
                self.journal
            );
        }
    }

    /// Serves all clients in turn, until there are no requests. No sleep ends.
    pub(crate) fn settle(&mut self) {
        let all: Vec<ClientId> = self.clients.keys().copied().collect();
        for _ in 0..1000 {
            let mut served = false;
            for client in &all {
                served |= self.serve(*client);
            }
            if !served {
                return;
            }
        }
        panic!("the programs never come to rest: {:#?}", self.journal);
    }

    /// Lets time pass, which ends sleeps; requests are served meanwhile.
    pub(crate) fn pass(&mut self, span: Duration) {
        let until = self.at + span;
        self.settle();
        while self.wake_one(until) {
            self.settle();
        }
        self.at = until;
    }

    /// Lets time pass, which ends sleeps; no requests are served.
    pub(crate) fn elapse(&mut self, span: Duration) {
        let until = self.at + span;
        while self.wake_one(until) {}
        self.at = until;
    }

    /// Ends the sleep that is due first, if it is due by then.
    fn wake_one(&mut self, until: Time) -> bool {
        let sleeping = self.clients.iter().flat_map(|(client, state)| {
            state.sleeping.iter().map(|(due, call)| (*due, *client, *call))
        });
        let Some((due, client, call)) = sleeping.min().filter(|(due, ..)| *due <= until) else {
            return false;
        };
        self.at = self.at.max(due);
        self.client(client).sleeping.retain(|(_, other)| *other != call);
        self.reply(client, Some(call), Outcome::Elapsed);
        true
    }

    /// Breaks a client's connection and restores it.
    pub(crate) fn break_connection(&mut self, client: ClientId, fate: Fate) {
        self.journal.push(format!("{client}: connection lost"));
        let session = self.client(client).session.expect("a session");
        let requests = std::mem::take(&mut self.client(client).requests);
        if let Some(oldest) = requests.front() {
            match fate {
                Fate::Applied => drop(self.execute(client, oldest.xid, &oldest.request)),
                Fate::Lost => {}
                Fate::Pending if oldest.request.is_read() => {}
                Fate::Pending if matches!(*oldest.request, Request::Sync { .. }) => {}
                Fate::Pending => {
                    self.proposed.push_back((session, oldest.xid, Arc::clone(&oldest.request)));
                }
            }
        }
        for call in requests.into_iter().filter_map(|queued| queued.call) {
            let outcome = Outcome::Response(Err(Error::ConnectionLoss));
            self.client(client).inbox.push_back(Input::Reply { call, outcome });
        }
        self.session_state(client, SessionState::Disconnected);
        self.session_state(client, SessionState::SyncConnected);
    }

    /// Ends a client's session at the server. The client does not know, and its own server lags: it does not see the
    /// end.
    pub(crate) fn expire(&mut self, client: ClientId) {
        let session = self.client(client).session.expect("a session");
        self.journal.push(format!("{client}: session expires"));
        self.client(client).lags = true;
        let closed = self.close(session, Xid(0));
        assert_eq!(closed, Ok(Response::Closed));
    }

    /// Returns true if a client's session is over and the client does not know.
    pub(crate) fn is_zombie(&self, client: ClientId) -> bool {
        let session = self.clients[&client].session;
        session.is_some_and(|session| !self.tree().sessions().contains_key(&session))
    }

    /// Returns true if a client has an open session.
    pub(crate) fn is_alive(&self, client: ClientId) -> bool {
        self.clients[&client].session.is_some() && !self.is_zombie(client)
    }

    /// Returns true if the program can be cancelled at present.
    pub(crate) fn can_cancel(&self, client: ClientId) -> bool {
        self.clients[&client].cancel.is_some()
    }

    /// Lets a client's server lag: from now on it shows other sessions' writes only when the client itself writes or
    /// syncs, or when the server catches up.
    pub(crate) fn lag(&mut self, client: ClientId) {
        self.client(client).lags = true;
    }

    /// Lets a client's server apply everything, and lag no more.
    pub(crate) fn catch_up(&mut self, client: ClientId) {
        self.client(client).lags = false;
        self.advance(client);
    }

    /// Informs the client that its session is over.
    pub(crate) fn tell_expired(&mut self, client: ClientId) {
        self.journal.push(format!("{client}: told so"));
        self.session_over(client, SessionState::Expired);
    }

    /// Cancels the call that the program has made cancellable.
    pub(crate) fn cancel(&mut self, client: ClientId) {
        self.journal.push(format!("{client}: cancelled"));
        let call = self.client(client).cancel.take().expect("the program can be cancelled");
        self.reply(client, Some(call), Outcome::Cancelled);
    }

    /// Commits a transaction that no client has requested, like an operator.
    pub(crate) fn commit(&mut self, session: SessionId, cxid: Xid, body: TxnBody) -> OutcomeOf {
        let zxid = Zxid(self.history.last().0.max(Epoch(1).opening().0) + 1);
        let txn = Arc::new(Txn { zxid, session, cxid, time: 0, body });
        let applied = self.history.commit(Arc::clone(&txn));
        self.event(Event::Committed { leader: ServerId(1), txn });
        for client in self.clients.keys().copied().collect::<Vec<_>>() {
            if !self.client(client).lags {
                self.advance(client);
            }
        }
        applied.result.clone()
    }

    /// Lets a client's server apply the committed transactions, which fires its watches.
    fn advance(&mut self, client: ClientId) {
        let state = self.clients.get_mut(&client).expect("a client that was started");
        let behind =
            self.history.txns().iter().filter(|txn| txn.zxid > state.view.last_processed());
        for txn in behind.cloned().collect::<Vec<_>>() {
            for change in state.view.apply(&txn).changes {
                let path = change.path.shared();
                state.fire(&WatchedEvent { kind: change.kind, path, zxid: txn.zxid });
            }
        }
        self.pump();
    }

    // ---- what can be seen ----

    /// Returns the oldest request of a client in words; empty if there is none.
    pub(crate) fn next_request(&self, client: ClientId) -> String {
        let oldest = self.clients[&client].requests.front();
        oldest.map(|queued| queued.request.to_string()).unwrap_or_default()
    }

    /// Returns the server's tree.
    pub(crate) fn tree(&self) -> &DataTree {
        self.history.tree()
    }

    /// Returns the program's result, once it has finished.
    pub(crate) fn finished(&self, client: ClientId) -> Option<&Result<(), String>> {
        self.clients[&client].finished.as_ref()
    }

    /// Returns the journal as text.
    pub(crate) fn story(&self) -> String {
        self.journal.join("\n")
    }

    /// Ends the run, and returns all objections.
    pub(crate) fn end(mut self) -> Vec<String> {
        let view = View::new(self.at, &self.history);
        for monitor in &mut self.monitors {
            let objection = monitor.end(view.within(monitor.looks_back())).err();
            self.objections.extend(objection.map(|objection| objection.to_string()));
        }
        self.objections
    }
}

/// The answer to a request.
pub(crate) type OutcomeOf = Result<Response, Error>;

fn path_of(request: &Request) -> Arc<str> {
    match request {
        Request::Exists { path, .. } | Request::GetData { path, .. } => Arc::clone(path),
        other => unreachable!("the lock sets no watch by {other}"),
    }
}

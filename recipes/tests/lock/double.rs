//! A ZooKeeper of one server for scripts: it executes one request when it is told to.
//!
//! It has what the lock needs of the real one: sessions, ephemerals, sequence numbers, data watches,
//! multi, and the three fates of a request whose connection breaks: applied, never applied, applied
//! later. It has no quorum, no time of its own and no latency.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use vivarium_model::error::Error;
use vivarium_model::event::{Event, Observation};
use vivarium_model::handle::{Process, Program};
use vivarium_model::history::History;
use vivarium_model::host::{Input, Operation, Outcome, Output};
use vivarium_model::id::{CallId, ClientId, ServerId, SessionId, Xid};
use vivarium_model::op::{CreateMode, Op, Request, Response, SessionState, WatchedEvent};
use vivarium_model::path::ZnodePath;
use vivarium_model::property::{Monitor, View};
use vivarium_model::time::Time;
use vivarium_model::tree::DataTree;
use vivarium_model::txn::{Txn, TxnBody};
use vivarium_model::zxid::{Epoch, Zxid};

/// The fate of the requests in flight when a connection breaks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// The oldest one was applied, its reply is lost.
    Applied,
    /// None was applied.
    Lost,
    /// The oldest one is proposed: it commits before the next write or sync, and until then reads do
    /// not show it.
    Pending,
}

/// The server, its clients, and what was seen.
pub struct Double {
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
    /// What the monitors objected to.
    pub objections: Vec<String>,
}

struct Client {
    process: Process,
    session: Option<SessionId>,
    next_xid: Xid,
    inbox: VecDeque<Input>,
    /// What its server has applied.
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
pub const ONE: ClientId = ClientId(1);
/// The second client.
pub const TWO: ClientId = ClientId(2);

impl Double {
    /// A server with an empty tree, no clients yet.
    pub fn new(monitors: Vec<Box<dyn Monitor>>) -> Double {
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

    /// Starts a program, which is connected at once, and runs it until its first request.
    pub fn start(&mut self, client: ClientId, program: &Program) {
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

    /// Serves the oldest request of a client; whether there was one.
    pub fn serve(&mut self, client: ClientId) -> bool {
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

    /// Serves a client's requests until its oldest one reads like this.
    pub fn serve_until(&mut self, client: ClientId, beginning: &str) {
        while !self.next_request(client).starts_with(beginning) {
            assert!(
                self.serve(client),
                "{client} never asks for {beginning:?}: {:#?}",
                self.journal
            );
        }
    }

    /// Serves everybody, in turn, until nobody asks for anything. Nobody's sleep ends.
    pub fn settle(&mut self) {
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

    /// Time passes, and with it everybody's sleep; all that is asked for is served meanwhile.
    pub fn pass(&mut self, span: Duration) {
        let until = self.at + span;
        self.settle();
        while self.wake_one(until) {
            self.settle();
        }
        self.at = until;
    }

    /// Time passes, and with it everybody's sleep, and the server does nothing.
    pub fn elapse(&mut self, span: Duration) {
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

    /// A client's connection breaks and is there again.
    pub fn break_connection(&mut self, client: ClientId, fate: Fate) {
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

    /// The server ends a client's session. The client is not told, and its server lags behind: it
    /// sees nothing of it.
    pub fn expire(&mut self, client: ClientId) {
        let session = self.client(client).session.expect("a session");
        self.journal.push(format!("{client}: session expires"));
        self.client(client).lags = true;
        let closed = self.close(session, Xid(0));
        assert_eq!(closed, Ok(Response::Closed));
    }

    /// Whether a client's session is over without its knowing.
    pub fn is_zombie(&self, client: ClientId) -> bool {
        let session = self.clients[&client].session;
        session.is_some_and(|session| !self.tree().sessions().contains_key(&session))
    }

    /// Whether a client has a session that is open.
    pub fn is_alive(&self, client: ClientId) -> bool {
        self.clients[&client].session.is_some() && !self.is_zombie(client)
    }

    /// Whether the program can be cancelled just now.
    pub fn can_cancel(&self, client: ClientId) -> bool {
        self.clients[&client].cancel.is_some()
    }

    /// From now on, a client's server shows it other sessions' writes only when it writes or syncs
    /// itself, or catches up.
    pub fn lag(&mut self, client: ClientId) {
        self.client(client).lags = true;
    }

    /// A client's server has seen everything, and does not lag any more.
    pub fn catch_up(&mut self, client: ClientId) {
        self.client(client).lags = false;
        self.advance(client);
    }

    /// The client is told that its session is over.
    pub fn tell_expired(&mut self, client: ClientId) {
        self.journal.push(format!("{client}: told so"));
        self.session_over(client, SessionState::Expired);
    }

    /// The engine cancels what the program made cancellable.
    pub fn cancel(&mut self, client: ClientId) {
        self.journal.push(format!("{client}: cancelled"));
        let call = self.client(client).cancel.take().expect("the program can be cancelled");
        self.reply(client, Some(call), Outcome::Cancelled);
    }

    /// A transaction by nobody's request: an operator's hand.
    pub fn commit(&mut self, session: SessionId, cxid: Xid, body: TxnBody) -> OutcomeOf {
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

    /// A client's server applies what is committed, and its watches fire.
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

    /// The oldest request of a client in words; empty where there is none.
    pub fn next_request(&self, client: ClientId) -> String {
        let oldest = self.clients[&client].requests.front();
        oldest.map(|queued| queued.request.to_string()).unwrap_or_default()
    }

    /// The server's tree.
    pub fn tree(&self) -> &DataTree {
        self.history.tree()
    }

    /// What a program returned.
    pub fn finished(&self, client: ClientId) -> Option<&Result<(), String>> {
        self.clients[&client].finished.as_ref()
    }

    /// The journal as text.
    pub fn story(&self) -> String {
        self.journal.join("\n")
    }

    /// The run ends: all that the monitors objected to.
    pub fn end(mut self) -> Vec<String> {
        let view = View { at: self.at, history: &self.history };
        for monitor in &mut self.monitors {
            self.objections.extend(monitor.end(view).err().map(|objection| objection.to_string()));
        }
        self.objections
    }

    // ---- the server ----

    /// A read is answered by the client's server as it is; anything else waits until it has caught
    /// up. (`lags` stays: it lags again from here on.)
    fn execute(&mut self, client: ClientId, xid: Xid, request: &Arc<Request>) -> OutcomeOf {
        let view = &self.client(client).view;
        match &**request {
            Request::Exists { path, .. } => {
                return view.stat(path).map(Response::Exists).ok_or(Error::NoNode);
            }
            Request::GetData { path, .. } => {
                let node = view.node(path).ok_or(Error::NoNode)?;
                let stat = view.stat(path).expect("it exists");
                return Ok(Response::Data(Arc::clone(&node.data), stat));
            }
            Request::GetChildren { path, .. } => {
                let children = view.children(path).ok_or(Error::NoNode)?;
                return Ok(Response::Children(children, view.stat(path).expect("it exists")));
            }
            _ => {}
        }
        self.commit_proposed();
        let session = self.client(client).session.expect("a session");
        if !self.tree().sessions().contains_key(&session) {
            return Err(Error::SessionExpired);
        }
        let result = match &**request {
            Request::Sync { .. } => Ok(Response::Synced),
            _ => self.write(session, xid, request),
        };
        self.advance(client);
        result
    }

    fn commit_proposed(&mut self) {
        for (session, xid, request) in std::mem::take(&mut self.proposed) {
            let _ = self.write(session, xid, &request);
        }
    }

    fn write(&mut self, session: SessionId, xid: Xid, request: &Request) -> OutcomeOf {
        let body = match request {
            Request::Write(op) => self.prepare(op).unwrap_or_else(TxnBody::Error),
            Request::Multi(ops) => self.prepare_multi(ops),
            Request::CloseSession => return self.close(session, xid),
            read => unreachable!("{read} is no write"),
        };
        self.commit(session, xid, body)
    }

    fn close(&mut self, session: SessionId, cxid: Xid) -> OutcomeOf {
        self.commit_proposed();
        let ephemerals = self.tree().ephemerals(session).cloned().collect();
        self.commit(session, cxid, TxnBody::CloseSession { ephemerals })
    }

    fn prepare(&self, op: &Op) -> Result<TxnBody, Error> {
        let tree = self.history.tree();
        match op {
            Op::Create { path, data, mode } => self.prepare_create(path, data, *mode),
            Op::Delete { path, version } => {
                let node = tree.node(path).ok_or(Error::NoNode)?;
                match version.accepts(node.version) {
                    true if tree.children_count(path) > 0 => Err(Error::NotEmpty),
                    true => Ok(TxnBody::Delete { path: valid(path)? }),
                    false => Err(Error::BadVersion),
                }
            }
            Op::SetData { path, data, version } => {
                let node = tree.node(path).ok_or(Error::NoNode)?;
                match version.accepts(node.version) {
                    true => Ok(TxnBody::SetData {
                        path: valid(path)?,
                        data: Arc::clone(data),
                        version: node.version + 1,
                    }),
                    false => Err(Error::BadVersion),
                }
            }
            Op::Check { path, version } => {
                let node = tree.node(path).ok_or(Error::NoNode)?;
                match version.accepts(node.version) {
                    true => Ok(TxnBody::Check { path: valid(path)? }),
                    false => Err(Error::BadVersion),
                }
            }
        }
    }

    fn prepare_create(
        &self,
        path: &str,
        data: &Arc<[u8]>,
        mode: CreateMode,
    ) -> Result<TxnBody, Error> {
        let directory = vivarium_model::path::parent(path).ok_or(Error::NodeExists)?;
        // A sequential name is valid though its prefix may not be.
        let probe = if mode.is_sequential() { format!("{path}0") } else { path.to_owned() };
        valid(&probe)?;
        let parent = self.tree().node(directory).ok_or(Error::NoNode)?;
        let path = match mode.is_sequential() {
            true => valid(&format!("{path}{:010}", parent.cversion))?,
            false => valid(path)?,
        };
        if self.tree().node(&path).is_some() {
            return Err(Error::NodeExists);
        }
        if parent.ephemeral_owner.is_some() {
            return Err(Error::NoChildrenForEphemerals);
        }
        Ok(TxnBody::Create {
            path,
            data: Arc::clone(data),
            ephemeral: mode.is_ephemeral(),
            parent_cversion: parent.cversion + 1,
        })
    }

    fn prepare_multi(&self, ops: &[Op]) -> TxnBody {
        let parts: Vec<Result<TxnBody, Error>> = ops.iter().map(|op| self.prepare(op)).collect();
        let Some(failed) = parts.iter().position(Result::is_err) else {
            return TxnBody::Multi(parts.into_iter().flatten().collect());
        };
        let code = |(at, part): (usize, &Result<TxnBody, Error>)| match at.cmp(&failed) {
            std::cmp::Ordering::Less => None,
            std::cmp::Ordering::Equal => part.as_ref().err().copied(),
            std::cmp::Ordering::Greater => Some(Error::RuntimeInconsistency),
        };
        TxnBody::FailedMulti(parts.iter().enumerate().map(code).collect())
    }

    // ---- the clients ----

    fn client(&mut self, client: ClientId) -> &mut Client {
        self.clients.get_mut(&client).expect("a client that was started")
    }

    fn begin_session(&mut self, client: ClientId) {
        self.sessions += 1;
        let session = SessionId::new(ServerId(1), 1, self.sessions);
        let timeout = Duration::from_secs(6);
        let _ = self.commit(session, Xid(0), TxnBody::CreateSession { timeout });
        let state = self.client(client);
        state.session = Some(session);
        state.next_xid = Xid(1);
        self.catch_up(client);
        self.event(Event::Session {
            client,
            session: Some(session),
            server: Some(ServerId(1)),
            state: SessionState::SyncConnected,
        });
    }

    fn session_state(&mut self, client: ClientId, state: SessionState) {
        let session = self.client(client).session;
        let server = (state == SessionState::SyncConnected).then_some(ServerId(1));
        self.event(Event::Session { client, session, server, state });
        self.feed(client, Input::Session(state));
    }

    fn session_over(&mut self, client: ClientId, how: SessionState) {
        let state = self.client(client);
        let session = state.session.take();
        // All of this is on its way at once: what the program begins when it hears of the end
        // belongs to its next session.
        let requests = std::mem::take(&mut state.requests);
        let watches = std::mem::take(&mut state.watches);
        state.inbox.push_back(Input::Session(how));
        for call in requests.into_iter().filter_map(|queued| queued.call) {
            let outcome = Outcome::Response(Err(Error::SessionExpired));
            state.inbox.push_back(Input::Reply { call, outcome });
        }
        for (call, _) in watches {
            let outcome = Outcome::Watch(Err(Error::SessionExpired));
            state.inbox.push_back(Input::Reply { call, outcome });
        }
        self.event(Event::Session { client, session, server: None, state: how });
        self.pump();
    }

    fn reply(&mut self, client: ClientId, call: Option<CallId>, outcome: Outcome) {
        if let Some(call) = call {
            self.feed(client, Input::Reply { call, outcome });
        }
    }

    fn feed(&mut self, client: ClientId, input: Input) {
        self.client(client).inbox.push_back(input);
        self.pump();
    }

    /// Delivers inputs one by one, also those that come of them, until there are none.
    fn pump(&mut self) {
        if self.pumping {
            return;
        }
        self.pumping = true;
        while let Some((client, input)) = self.next_input() {
            if self.client(client).finished.is_some() {
                continue;
            }
            let mut outputs = Vec::new();
            self.client(client).process.feed(input, &mut outputs);
            for output in outputs {
                self.output(client, output);
            }
        }
        self.pumping = false;
    }

    fn next_input(&mut self) -> Option<(ClientId, Input)> {
        self.clients
            .iter_mut()
            .find_map(|(client, state)| Some((*client, state.inbox.pop_front()?)))
    }

    fn output(&mut self, client: ClientId, output: Output) {
        match output {
            Output::Submit { call, operation } => self.submit(client, call, operation),
            Output::Abandon { call } => self.client(client).forget(call),
            Output::Observe(observation) => self.observe(client, observation),
            Output::Finished(result) => {
                self.journal.push(format!("{client}: finished, {result:?}"));
                self.client(client).finished = Some(result.clone());
                self.event(Event::Finished { client, result });
            }
            Output::Panicked(message) => panic!("{client} panicked: {message}"),
            Output::Send { .. } => unreachable!("the lock sends no messages"),
        }
    }

    fn submit(&mut self, client: ClientId, call: CallId, operation: Operation) {
        match operation {
            Operation::Request { request, watch, scope } => {
                let state = self.client(client);
                if state.session.is_none()
                    || scope.is_some_and(|scope| state.session != Some(scope))
                {
                    let refused = Outcome::Response(Err(Error::SessionExpired));
                    return self.reply(client, Some(call), refused);
                }
                let xid = state.next_xid;
                state.next_xid = xid.next();
                state.requests.push_back(Queued { xid, request, call: Some(call), watch });
            }
            Operation::Connect => {
                if self.client(client).session.is_none() {
                    self.begin_session(client);
                    self.feed(client, Input::Session(SessionState::SyncConnected));
                }
                let session = self.client(client).session.expect("just begun");
                self.reply(client, Some(call), Outcome::Connected(session));
            }
            Operation::Close => match self.client(client).session {
                None => self.reply(client, Some(call), Outcome::Closed),
                Some(session) => {
                    let _ = self.close(session, Xid(0));
                    self.session_over(client, SessionState::Closed);
                    self.reply(client, Some(call), Outcome::Closed);
                }
            },
            Operation::Sleep(span) => {
                let due = self.at + span;
                self.client(client).sleeping.push((due, call));
            }
            Operation::Now => self.reply(client, Some(call), Outcome::Now(self.at)),
            Operation::Random => {
                let state = self.client(client);
                state.randoms += 1;
                let random = u64::from(client.0) << 8 | state.randoms;
                self.reply(client, Some(call), Outcome::Random(random));
            }
            Operation::Cancelled => self.client(client).cancel = Some(call),
            Operation::Resource(write) => {
                let token = write.token.expect("the lock's worker passes its token");
                let largest = self.resources.entry(Arc::clone(&write.resource)).or_insert(token);
                let accepted = token >= *largest;
                *largest = token.max(*largest);
                let outcome = if accepted { Ok(()) } else { Err(*largest) };
                let resource = write.resource;
                self.event(Event::ResourceWrite { client, resource, token: Some(token), accepted });
                self.journal.push(format!("{client}: resource write {token}, {outcome:?}"));
                self.reply(client, Some(call), Outcome::Resource(outcome));
            }
            Operation::Receive => unreachable!("the lock receives no messages"),
        }
    }

    fn observe(&mut self, client: ClientId, observation: Observation) {
        self.journal.push(format!("{client}: {}", in_words(&observation)));
        let Client { session, next_xid, .. } = *self.client(client);
        self.event(Event::Observed { client, session, next_xid, observation });
    }

    fn event(&mut self, event: Event) {
        let view = View { at: self.at, history: &self.history };
        for monitor in &mut self.monitors {
            let objection = monitor.event(view, &event).err();
            self.objections.extend(objection.map(|objection| objection.to_string()));
        }
    }
}

impl Client {
    /// Data watches only: the lock sets no other.
    fn fire(&mut self, event: &WatchedEvent) {
        let watches = std::mem::take(&mut self.watches);
        let (fired, rest): (Vec<_>, Vec<_>) =
            watches.into_iter().partition(|(_, path)| *path == event.path);
        self.watches = rest;
        for (call, _) in fired {
            let outcome = Outcome::Watch(Ok(event.clone()));
            self.inbox.push_back(Input::Reply { call, outcome });
        }
    }

    fn forget(&mut self, abandoned: CallId) {
        self.inbox
            .retain(|input| !matches!(input, Input::Reply { call, .. } if *call == abandoned));
        for queued in &mut self.requests {
            if queued.call == Some(abandoned) {
                queued.call = None;
                queued.watch = None;
            }
            queued.watch = queued.watch.filter(|watch| *watch != abandoned);
        }
        self.watches.retain(|(watch, _)| *watch != abandoned);
        self.sleeping.retain(|(_, sleep)| *sleep != abandoned);
        self.cancel = self.cancel.filter(|cancel| *cancel != abandoned);
    }
}

/// The answer to a request.
pub type OutcomeOf = Result<Response, Error>;

fn valid(path: &str) -> Result<ZnodePath, Error> {
    ZnodePath::new(path)
}

fn path_of(request: &Request) -> Arc<str> {
    match request {
        Request::Exists { path, .. } | Request::GetData { path, .. } => Arc::clone(path),
        other => unreachable!("the lock sets no watch by {other}"),
    }
}

fn in_words(observation: &Observation) -> String {
    match observation {
        Observation::Attempt { attempt, .. } => format!("ATTEMPT {attempt}"),
        Observation::NodeKnown { node, .. } => format!("KNOWS {node}"),
        Observation::Waiting { on, .. } => format!("WAITS on {on}"),
        Observation::Granted { token, .. } => format!("GRANTED {token}"),
        Observation::Lost { token, .. } => format!("LOST {token}"),
        Observation::Releasing { token, .. } => format!("RELEASING {token}"),
        Observation::Released { token, .. } => format!("RELEASED {token}"),
        Observation::GaveUp { attempt, .. } => format!("GAVE UP {attempt}"),
        Observation::Custom { name, .. } => format!("says {name}"),
    }
}

#[test]
fn a_failed_multi_answers_with_its_codes() {
    let double = Double::new(Vec::new());
    let check =
        |path: &str| Op::Check { path: path.into(), version: vivarium_model::op::Version::Any };
    let failed = double.prepare_multi(&[check("/"), check("/none"), check("/")]);
    let codes = vec![None, Some(Error::NoNode), Some(Error::RuntimeInconsistency)];
    assert_eq!(failed, TxnBody::FailedMulti(codes));
    let passed = double.prepare_multi(&[check("/")]);
    assert_eq!(passed, TxnBody::Multi(vec![TxnBody::Check { path: ZnodePath::root() }]));
}

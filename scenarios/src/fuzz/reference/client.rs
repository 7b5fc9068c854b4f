//! The reference's client: its session, its connection, and its program's inputs.

use super::super::case::{Call, Watching};
use super::task::{Slot, Task};
use super::tree::{Change, Kind, Place, Session, Watches};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use vivarium_model::error::Error;

/// A request to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Ask {
    Call(Call),
    Watch(Watching, &'static str),
    CloseSession,
}

impl Ask {
    /// Returns true if the leader decides the request.
    pub(super) fn is_write(self) -> bool {
        match self {
            Ask::CloseSession => true,
            Ask::Watch(..) => false,
            Ask::Call(call) => !matches!(
                call,
                Call::Exists(_)
                    | Call::GetData(_)
                    | Call::GetChildren(_)
                    | Call::Ephemerals
                    | Call::Sync
            ),
        }
    }
}

/// A request and the slots that wait for it. A slot is removed when it no longer waits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Request {
    pub ask: Ask,
    pub reply: Option<Slot>,
    pub watch: Option<Slot>,
}

/// An input of a program.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Input {
    Start,
    State(&'static str),
    Answer(Slot, Result<String, String>),
}

/// A packet to a server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Up {
    Connect { session: Option<Session>, seen: Place },
    SetWatches { seen: Place, lists: BTreeSet<(&'static str, String)> },
    Request(Ask),
}

/// A packet to a client.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Down {
    Connected(Session),
    Expired,
    Event(Change),
    WatchesSet(Place),
    Reply { seen: Place, answer: Result<String, String>, kept: Kind },
}

/// A connection, and the state of its server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Link {
    pub open: bool,
    pub session: Option<Session>,
    pub view: Place,
    pub watches: Watches,
    pub up: VecDeque<Up>,
    pub down: VecDeque<Down>,
    pub hung_up: bool,
    /// True if the previous connection was closed by its server because the session was over.
    pub after_end: bool,
}

/// The state of a session at its client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Standing {
    Off,
    Waiting,
    Connecting,
    Connected,
    Over,
}

/// The part of a client's state that starts afresh with a session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Held {
    pub session: Option<Session>,
    pub seen: Place,
    pub queued: VecDeque<Request>,
    pub in_flight: VecDeque<Request>,
    /// By path, and then in the order of registration.
    pub watches: Vec<(String, &'static str, Slot)>,
    pub closing: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Process {
    NotStarted,
    Running,
    Finished,
    Killed,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Client {
    pub running: Process,
    pub task: Task,
    pub standing: Standing,
    pub held: Held,
    pub connects: Vec<Slot>,
    pub closes: Vec<Slot>,
    pub link: Link,
    /// Writes of lost connections that may still arrive, by session.
    pub late: BTreeMap<Session, VecDeque<Ask>>,
    pub sessions: u32,
    pub inbox: VecDeque<Input>,
    pub sleeping: BTreeSet<Slot>,
    pub drawing: BTreeSet<Slot>,
    pub asking: BTreeSet<Slot>,
    /// The least minute that the clock can show, once it was read.
    pub minute: Option<u64>,
    /// The least minute after a sleep has ended.
    pub wakes: BTreeMap<Slot, u64>,
    pub cancellable: Vec<Slot>,
    pub receiving: VecDeque<Slot>,
    pub received: VecDeque<usize>,
    pub under_way: BTreeMap<usize, u32>,
}

impl Client {
    pub(super) fn new(task: Task) -> Client {
        Client {
            running: Process::NotStarted,
            task,
            standing: Standing::Off,
            held: Held::default(),
            connects: Vec::new(),
            closes: Vec::new(),
            link: Link::default(),
            late: BTreeMap::new(),
            sessions: 0,
            inbox: VecDeque::new(),
            sleeping: BTreeSet::new(),
            drawing: BTreeSet::new(),
            asking: BTreeSet::new(),
            minute: None,
            wakes: BTreeMap::new(),
            cancellable: Vec::new(),
            receiving: VecDeque::new(),
            received: VecDeque::new(),
            under_way: BTreeMap::new(),
        }
    }

    pub(super) fn tell(&mut self, input: Input) {
        if self.running == Process::Running {
            self.inbox.push_back(input);
        }
    }

    pub(super) fn answer(&mut self, slot: Slot, answer: Result<String, String>) {
        self.tell(Input::Answer(slot, answer));
    }

    fn is_alive(&self) -> bool {
        matches!(self.standing, Standing::Waiting | Standing::Connecting | Standing::Connected)
    }

    /// Returns true if the client keeps this session alive.
    pub(super) fn keeps(&self, session: Session) -> bool {
        self.is_alive() && self.held.session == Some(session)
    }

    // ---- the session ----

    pub(super) fn begin_session(&mut self) {
        self.held = Held::default();
        self.attempt();
    }

    /// Opens a connection to a server.
    pub(super) fn attempt(&mut self) {
        self.standing = Standing::Connecting;
        let (session, seen) = (self.held.session, self.held.seen);
        let up = VecDeque::from([Up::Connect { session, seen }]);
        self.link = Link { open: true, up, after_end: self.link.after_end, ..Link::default() };
    }

    /// Ends the connection. Writes that its server had not taken may still arrive.
    pub(super) fn end_link(&mut self) {
        let link = std::mem::take(&mut self.link);
        self.link.after_end = link.hung_up && link.session.is_some();
        let (Some(session), false) = (link.session, link.hung_up) else { return };
        let write = |up| match up {
            Up::Request(ask) if ask.is_write() => Some(ask),
            _ => None,
        };
        let writes: VecDeque<Ask> = link.up.into_iter().filter_map(write).collect();
        if !writes.is_empty() {
            self.late.insert(session, writes);
        }
    }

    /// The client notices that its connection is lost.
    pub(super) fn lose(&mut self) {
        self.end_link();
        let was_connected = self.standing == Standing::Connected;
        self.standing = Standing::Waiting;
        self.fail_requests(Error::ConnectionLoss);
        if was_connected {
            self.tell(Input::State("Disconnected"));
        }
        if self.held.closing {
            self.end_session("Closed");
        }
    }

    /// Returns true if the client has a session to give up by its own clock.
    pub(super) fn can_give_up(&self) -> bool {
        self.is_alive() && self.held.session.is_some()
    }

    /// The client treats its session as expired after a time without packets, whatever its server's state.
    pub(super) fn give_up(&mut self) {
        let how = if self.held.closing { "Closed" } else { "Expired" };
        self.end_link();
        if self.standing == Standing::Connected {
            self.fail_requests(Error::ConnectionLoss);
            self.tell(Input::State("Disconnected"));
        }
        self.end_session(how);
    }

    fn fail_requests(&mut self, error: Error) {
        let in_flight = std::mem::take(&mut self.held.in_flight);
        let queued = std::mem::take(&mut self.held.queued);
        for request in in_flight.into_iter().chain(queued) {
            if let Some(slot) = request.reply {
                self.answer(slot, Err(error.to_string()));
            }
        }
    }

    fn end_session(&mut self, how: &'static str) {
        self.standing = Standing::Over;
        self.tell(Input::State(how));
        self.fail_requests(Error::SessionExpired);
        for (_, _, slot) in std::mem::take(&mut self.held.watches) {
            self.answer(slot, Err(Error::SessionExpired.to_string()));
        }
        for slot in std::mem::take(&mut self.closes) {
            self.answer(slot, Ok("closed".into()));
        }
        self.held.closing = false;
        if !self.connects.is_empty() {
            self.begin_session();
        }
    }

    // ---- calls of the program ----

    pub(super) fn request(&mut self, request: Request) {
        let refusal = match () {
            () if !self.is_alive() => Some(Error::SessionExpired),
            () if self.held.closing => Some(Error::ConnectionLoss),
            () => None,
        };
        if let Some(error) = refusal {
            if let Some(slot) = request.reply {
                self.answer(slot, Err(error.to_string()));
            }
            return;
        }
        self.held.closing = request.ask == Ask::CloseSession;
        self.held.queued.push_back(request);
        self.flush();
    }

    fn flush(&mut self) {
        if self.standing != Standing::Connected {
            return;
        }
        for request in std::mem::take(&mut self.held.queued) {
            self.link.up.push_back(Up::Request(request.ask));
            self.held.in_flight.push_back(request);
        }
    }

    pub(super) fn connect(&mut self, slot: Slot) {
        match self.held.session {
            Some(session) if self.standing == Standing::Connected && !self.held.closing => {
                self.answer(slot, Ok(format!("session {}", session.1)));
            }
            _ => {
                self.connects.push(slot);
                if self.standing == Standing::Over {
                    self.begin_session();
                }
            }
        }
    }

    pub(super) fn close(&mut self, slot: Slot) {
        if !self.is_alive() {
            return self.answer(slot, Ok("closed".into()));
        }
        self.closes.push(slot);
        if !self.held.closing {
            self.request(Request { ask: Ask::CloseSession, reply: None, watch: None });
        }
    }

    /// Drops a slot that no longer waits.
    pub(super) fn abandon(&mut self, slot: Slot) {
        for request in self.held.queued.iter_mut().chain(&mut self.held.in_flight) {
            if request.reply == Some(slot) {
                (request.reply, request.watch) = (None, None);
            } else if request.watch == Some(slot) {
                request.watch = None;
            }
        }
        self.held.watches.retain(|(_, _, mine)| *mine != slot);
        self.connects.retain(|mine| *mine != slot);
        self.closes.retain(|mine| *mine != slot);
        self.inbox.retain(|input| !matches!(input, Input::Answer(mine, _) if *mine == slot));
        self.sleeping.remove(&slot);
        self.drawing.remove(&slot);
        self.asking.remove(&slot);
        self.wakes.remove(&slot);
        self.cancellable.retain(|mine| *mine != slot);
        self.receiving.retain(|mine| *mine != slot);
    }

    /// Ends the process.
    pub(super) fn end_process(&mut self, running: Process) {
        self.running = running;
        self.end_link();
        self.standing = Standing::Off;
        self.held = Held::default();
        self.connects.clear();
        self.closes.clear();
        self.inbox.clear();
        self.sleeping.clear();
        self.drawing.clear();
        self.asking.clear();
        self.wakes.clear();
        if running == Process::Finished {
            self.minute = None;
        }
        self.cancellable.clear();
        self.receiving.clear();
        self.received.clear();
    }

    // ---- packets ----

    /// Reads the oldest packet of the connection, or its end.
    pub(super) fn read(&mut self) {
        let Some(packet) = self.link.down.pop_front() else { return self.lose() };
        match packet {
            Down::Connected(session) => self.established(session),
            Down::Expired => {
                self.end_link();
                self.end_session("Expired");
            }
            Down::Event((kind, path)) => {
                let hears = |kept: &str| match kind {
                    "NodeDeleted" => true,
                    "NodeChildrenChanged" => kept == "child",
                    _ => kept != "child",
                };
                let (fired, kept) = std::mem::take(&mut self.held.watches)
                    .into_iter()
                    .partition(|(at, kept, _)| *at == path && hears(kept));
                self.held.watches = kept;
                let fired: Vec<(String, &str, Slot)> = fired;
                for (_, _, slot) in fired {
                    self.answer(slot, Ok(format!("{kind} {path}")));
                }
            }
            Down::WatchesSet(seen) => self.held.seen = self.held.seen.max(seen),
            Down::Reply { seen, answer, kept } => self.replied(seen, answer, kept),
        }
    }

    fn established(&mut self, session: Session) {
        self.standing = Standing::Connected;
        self.held.session = Some(session);
        self.tell(Input::State("SyncConnected"));
        if !self.held.closing {
            for slot in std::mem::take(&mut self.connects) {
                self.answer(slot, Ok(format!("session {}", session.1)));
            }
        }
        if !self.held.watches.is_empty() {
            let lists = self.held.watches.iter();
            let lists = lists.map(|(path, kind, _)| (*kind, path.clone())).collect();
            self.link.up.push_back(Up::SetWatches { seen: self.held.seen, lists });
        }
        self.flush();
    }

    fn replied(&mut self, seen: Place, answer: Result<String, String>, kept: Kind) {
        let request = self.held.in_flight.pop_front().expect("replies come to requests");
        self.held.seen = seen;
        if let (Ask::Watch(_, path), Some(kind), Some(slot)) = (request.ask, kept, request.watch) {
            self.held.watches.push((path.to_string(), kind, slot));
            self.held.watches.sort_by(|(one, ..), (other, ..)| one.cmp(other));
        }
        if let Some(slot) = request.reply {
            self.answer(slot, answer);
        }
        if request.ask == Ask::CloseSession {
            self.end_link();
            self.end_session("Closed");
        }
    }
}

//! The duties of one client machine: to its program, and to its server.

mod asked;
mod link;
mod read;

use super::chroot::Prefix;
use super::watches::{Lists, Watches};
use crate::program::host::{Input, Outcome};
use crate::vocabulary::config::ClientConfig;
use crate::vocabulary::error::Error;
use crate::vocabulary::id::{CallId, ServerId, SessionId, Xid};
use crate::vocabulary::op::{Data, Request, Response, SessionChange, SessionState};
use crate::vocabulary::time::{Duration, Time};
use crate::vocabulary::zxid::Zxid;
use std::collections::{BTreeMap, VecDeque};
use std::mem::take;
use std::sync::Arc;

/// The state of the machine's session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Stage {
    /// The client has no process.
    #[default]
    Down,
    /// Between two attempts to connect.
    Waiting,
    Connecting,
    Connected,
    /// The session is over; calls fail with this error.
    Over(Error),
}

/// A request that the machine has taken and not answered.
#[derive(Clone, Debug, Hash)]
struct Taken {
    request: Arc<Request>,
    /// The call to answer, and the call that its watch notifies; `None` if there is none or the program dropped it.
    call: Option<CallId>,
    watch: Option<CallId>,
    /// True if watches are removed here even if the server fails to remove them.
    local: bool,
    /// Set when the request is sent.
    xid: Option<Xid>,
}

/// Actions that the machine must take at once, before anything else can pass it.
#[derive(Clone, Debug, Default, Hash)]
struct Duties {
    hang_up: bool,
    open: bool,
    connect: bool,
    ping: bool,
    auths: VecDeque<(Arc<str>, Data)>,
    /// The watches that SetWatches must still set again, and the zxid that it must carry.
    watches: Option<(Zxid, Lists)>,
}

/// Calls that do not involve ZooKeeper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Local {
    Sleep,
    Now,
    Random,
    Message,
    Cancelled,
    Resource,
}

/// The account of one client.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Account {
    // ---- configuration ----
    timeout: Duration,
    servers: Vec<ServerId>,
    read_only: bool,
    expires_locally: bool,
    drops_watches: bool,
    prefix: Prefix,
    // ---- state of the session, reset by a new one ----
    stage: Stage,
    next_server: usize,
    session: Option<SessionId>,
    /// True once a server with a quorum has accepted the session.
    is_known: bool,
    seen: Zxid,
    last_xid: Option<Xid>,
    /// The highest request number possible so far: the number of requests that the machine has taken.
    last_made: Xid,
    identities: Vec<(Arc<str>, Data)>,
    /// In the order in which the program made them; the first `sent` of them are in flight.
    requests: VecDeque<Taken>,
    sent: usize,
    watches: Watches,
    closing: bool,
    // ---- state that survives the session ----
    connects: Vec<CallId>,
    closes: Vec<CallId>,
    locals: BTreeMap<CallId, Local>,
    duties: Duties,
    /// Inputs that the program must receive next, each with its turn and the time since when it is due. Inputs of the
    /// same turn may arrive in any order.
    owed: VecDeque<(u64, Time, Input)>,
    turn: u64,
    now: Time,
    paused: bool,
}

/// Ok, or what the monitor objects to.
type Judged = Result<(), String>;

/// An input that is overdue for longer than this counts as lost, unless the machine is paused.
const LOST: Duration = Duration::from_secs(60);

impl Account {
    pub(super) fn new(config: &ClientConfig) -> Account {
        Account {
            timeout: config.session_timeout,
            servers: config.servers.clone(),
            read_only: config.can_be_read_only,
            expires_locally: config.expires_locally,
            drops_watches: config.disable_auto_watch_reset,
            prefix: Prefix::new(&config.chroot),
            ..Account::default()
        }
    }

    /// Sets the time of the next event.
    pub(super) fn at(&mut self, now: Time) {
        self.now = now;
    }

    pub(super) fn started(&mut self) {
        self.ended();
        self.begin();
        self.owe(Input::Start);
    }

    /// Ends the process: its program receives nothing more, and the server reads nothing more.
    pub(super) fn ended(&mut self) {
        let (paused, now) = (self.paused, self.now);
        *self = Account {
            timeout: self.timeout,
            servers: take(&mut self.servers),
            read_only: self.read_only,
            expires_locally: self.expires_locally,
            drops_watches: self.drops_watches,
            prefix: take(&mut self.prefix),
            paused,
            now,
            ..Account::default()
        };
    }

    pub(super) fn paused(&mut self, paused: bool) {
        self.paused = paused;
    }

    /// Fails at the run's end if an input was lost.
    pub(super) fn end(&self, at: Time) -> Judged {
        match self.owed.front() {
            Some((_, since, input)) if !self.paused && at.since(*since) > LOST => {
                Err(format!("never received: {input}"))
            }
            _ => Ok(()),
        }
    }

    /// Fails if the machine has not taken an action that it must take at once.
    pub(super) fn settled(&self) -> Judged {
        let Duties { hang_up, open, connect, ping, auths, watches } = &self.duties;
        if *hang_up {
            return Err("does not close a connection that has ended".into());
        }
        if *open {
            return Err("opens no connection, though it is time to".into());
        }
        if *connect {
            return Err("opened a connection and sent no ConnectRequest".into());
        }
        if let Some((scheme, _)) = auths.front() {
            return Err(format!("does not prove its identity by {scheme}"));
        }
        if let Some((_, lists)) = watches {
            let left: Vec<&str> = lists.iter().flatten().map(|path| &**path).collect();
            return Err(format!(
                "does not set its watches again at the server to which it came back: {}",
                left.join(", ")
            ));
        }
        if *ping {
            return Err("sends no ping, though it is time to".into());
        }
        match self.requests.get(self.sent) {
            Some(unsent) if self.stage == Stage::Connected => {
                Err(format!("is connected and does not send {}", unsent.request))
            }
            _ => Ok(()),
        }
    }

    // ---- inputs of the program ----

    fn answer(&mut self, call: CallId, result: Result<Response, Error>) {
        self.owe(Input::Reply { call, outcome: Outcome::Response(result) });
    }

    fn next_turn(&mut self) -> u64 {
        self.turn += 1;
        self.turn
    }

    fn owe(&mut self, input: Input) {
        let turn = self.next_turn();
        self.owed.push_back((turn, self.now, input));
    }

    /// Makes the program due to be notified of its session's new state.
    fn owe_state(&mut self, state: SessionState) {
        self.owe(Input::Session(SessionChange { state, session: self.session }));
    }

    pub(super) fn told(&mut self, input: &Input) -> Judged {
        if let Input::Reply { call, outcome } = input
            && let Some(local) = Local::answered_by(outcome)
        {
            return match self.locals.remove(call) {
                Some(asked) if asked == local => Ok(()),
                _ => Err(format!("received a reply to a call that it has not made: {outcome}")),
            };
        }
        let Some((turn, _, first)) = self.owed.front() else {
            return Err(format!("received an input that no event explains: {input}"));
        };
        let turn = *turn;
        let now = self.owed.iter().take_while(|(its, ..)| *its == turn);
        match now.enumerate().find(|(_, (_, _, owed))| owed == input) {
            Some((at, _)) => {
                self.owed.remove(at);
                Ok(())
            }
            None => Err(format!("received: {input}; it should have received: {first}")),
        }
    }
}

impl Local {
    /// Returns the call that this outcome answers; `None` if it answers a call to ZooKeeper.
    fn answered_by(outcome: &Outcome) -> Option<Local> {
        Some(match outcome {
            Outcome::Elapsed => Local::Sleep,
            Outcome::Now(_) => Local::Now,
            Outcome::Random(_) => Local::Random,
            Outcome::Message(_) => Local::Message,
            Outcome::Cancelled => Local::Cancelled,
            Outcome::Resource(_) => Local::Resource,
            Outcome::Response(_)
            | Outcome::Watch(_)
            | Outcome::Connected(_)
            | Outcome::Closed
            | Outcome::AuthAdded(_) => return None,
        })
    }
}

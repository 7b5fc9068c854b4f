//! What one client machine owes: to its program, and to its server.

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

/// Where its session stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Stage {
    /// There is no process.
    #[default]
    Down,
    /// Between two attempts to connect.
    Waiting,
    Connecting,
    Connected,
    /// Over; calls fail with this.
    Over(Error),
}

/// A request that was taken and is not answered.
#[derive(Clone, Debug, Hash)]
struct Taken {
    request: Arc<Request>,
    /// Who is answered, and who hears of the watch; `None` for nobody (any more).
    call: Option<CallId>,
    watch: Option<CallId>,
    /// Watches go here also where they do not at the server.
    local: bool,
    /// Once it is sent.
    xid: Option<Xid>,
}

/// What the machine must do at once, before anything else can pass it.
#[derive(Clone, Debug, Default, Hash)]
struct Duties {
    hang_up: bool,
    open: bool,
    connect: bool,
    ping: bool,
    auths: VecDeque<(Arc<str>, Data)>,
    /// The watches that are not told again yet, and with which zxid.
    watches: Option<(Zxid, Lists)>,
}

/// What is not ZooKeeper's affair.
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
    // ---- as it is configured ----
    timeout: Duration,
    servers: Vec<ServerId>,
    read_only: bool,
    expires_locally: bool,
    drops_watches: bool,
    prefix: Prefix,
    // ---- the session, which a new one begins anew ----
    stage: Stage,
    next_server: usize,
    session: Option<SessionId>,
    /// Whether a server with a quorum has taken it.
    is_known: bool,
    seen: Zxid,
    last_xid: Option<Xid>,
    /// As if each request that it has taken had the next number.
    last_made: Xid,
    identities: Vec<(Arc<str>, Data)>,
    /// In the order in which they were made; the first `sent` of them are in flight.
    requests: VecDeque<Taken>,
    sent: usize,
    watches: Watches,
    closing: bool,
    // ---- whatever the session ----
    connects: Vec<CallId>,
    closes: Vec<CallId>,
    locals: BTreeMap<CallId, Local>,
    duties: Duties,
    /// What its program must be told next, each with its turn, and since when; in any order what has the same turn.
    owed: VecDeque<(u64, Time, Input)>,
    turn: u64,
    now: Time,
    paused: bool,
}

/// What was seen that must not be.
type Judged = Result<(), String>;

/// Something owed for so long while the machine is awake is lost.
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

    /// Every event carries the time.
    pub(super) fn at(&mut self, now: Time) {
        self.now = now;
    }

    pub(super) fn started(&mut self) {
        self.ended();
        self.begin();
        self.owe(Input::Start);
    }

    /// Nobody is left to be told anything, and nobody to tell it.
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

    /// The run is over.
    pub(super) fn end(&self, at: Time) -> Judged {
        match self.owed.front() {
            Some((_, since, input)) if !self.paused && at.since(*since) > LOST => {
                Err(format!("was never told: {input}"))
            }
            _ => Ok(()),
        }
    }

    /// Nothing is left to be done at once.
    pub(super) fn settled(&self) -> Judged {
        let Duties { hang_up, open, connect, ping, auths, watches } = &self.duties;
        if *hang_up {
            return Err("keeps a connection that is over".into());
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

    // ---- the program is told ----

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

    /// A change of the state of its session.
    fn owe_state(&mut self, state: SessionState) {
        self.owe(Input::Session(SessionChange { state, session: self.session }));
    }

    pub(super) fn told(&mut self, input: &Input) -> Judged {
        if let Input::Reply { call, outcome } = input
            && let Some(local) = Local::answered_by(outcome)
        {
            return match self.locals.remove(call) {
                Some(asked) if asked == local => Ok(()),
                _ => Err(format!("was told that {outcome}, for which it has not asked")),
            };
        }
        let Some((turn, _, first)) = self.owed.front() else {
            return Err(format!("was told: {input}; nothing that has happened says so"));
        };
        let turn = *turn;
        let now = self.owed.iter().take_while(|(its, ..)| *its == turn);
        match now.enumerate().find(|(_, (_, _, owed))| owed == input) {
            Some((at, _)) => {
                self.owed.remove(at);
                Ok(())
            }
            None => Err(format!("was told: {input}; it should have been: {first}")),
        }
    }
}

impl Local {
    /// Whose answer this is; `None` for ZooKeeper's.
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

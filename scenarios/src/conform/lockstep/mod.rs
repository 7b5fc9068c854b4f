//! A real server and the model, in step: every action is done by both, and all that clients hear is
//! compared.
//!
//! A case has a root znode of its own, made by a superuser who also clears up behind it, so cases do
//! not see each other. Within a case, after every action, the client that acted has heard its answer
//! from both; whoever else has something to hear in the model is made to hear all of it from the real
//! server too, by a ping that is answered behind it. At the end of a case everybody is asked, the
//! sessions are closed, and every znode of the case is read.

mod journeys;

use super::action::{Action, SEATS, Seat, Watched, placed, request_placed};
use super::heard::{Heard, same};
use super::pair::{Bases, Both, Link, Session, Until};
use super::tally::Tally;
use super::{ConformError, Servers, Setting};
use std::sync::Arc;
use vivarium_model::case::Case;
use vivarium_model::id::{ServerId, Xid};
use vivarium_model::op::{CreateMode, Op, Request, Version};
use vivarium_model::packet::ClientPacket;
use vivarium_model::path::QUOTA;
use vivarium_model::time::Duration;
use vivarium_model::wire::Opcodes;
use vivarium_model::zxid::Zxid;
use vivarium_sim::replica::Replica;

/// The timeout of sessions that are not to expire.
const LONG: Duration = Duration::from_secs(30);

/// Who makes the root of a case, and clears up.
const KEEPER: Seat = Seat(SEATS);

/// Whose session expires.
const FORGOTTEN: Seat = Seat(SEATS + 1);

/// How many places the model needs.
pub(super) const PLACES: u8 = SEATS + 2;

/// All are asked for news after so many actions, should a server tell of what it should not.
const ROUND: usize = 16;

/// Where the two differ.
#[derive(Clone, Debug)]
pub struct Divergence {
    /// At which action; `None` for the end of the case.
    pub action: Option<usize>,
    /// Who heard it.
    pub who: String,
    /// What for.
    pub occasion: String,
    /// What was heard.
    pub both: Both,
}

impl Divergence {
    /// Whether the real server said the same up to some place, and nothing from there on.
    pub fn is_silence(&self) -> bool {
        let Both { real, model, .. } = &self.both;
        let before = real.strip_suffix(&[Heard::Silence]);
        before.is_some_and(|before| model.starts_with(before))
    }
}

/// Why a case ended early.
#[derive(Debug)]
pub(super) enum Stop {
    /// The two differ.
    Diverged(Box<Divergence>),
    /// The real server cannot be talked to any more.
    Failed(ConformError),
}

impl From<ConformError> for Stop {
    fn from(error: ConformError) -> Stop {
        Stop::Failed(error)
    }
}

#[derive(Debug)]
struct Place {
    link: Option<Link>,
    session: Option<Session>,
    /// The last zxid seen on connections that are gone.
    seen: (Zxid, Zxid),
    next_xid: u32,
    /// The server that it is at, or was.
    server: ServerId,
}

impl Place {
    fn new(seat: u8) -> Place {
        let (link, session, seen) = (None, None, (Zxid::ZERO, Zxid::ZERO));
        Place { link, session, seen, next_xid: 0, server: ServerId(seat + 1) }
    }
}

/// Both servers, and the clients of both.
#[derive(Debug)]
pub(super) struct Lockstep {
    servers: Servers,
    replica: Replica,
    bases: Bases,
    places: Vec<Place>,
    root: String,
    cases: u32,
    /// What was done and heard.
    pub tally: Tally,
}

impl Lockstep {
    /// A model that has done nothing, like these real servers.
    ///
    /// # Errors
    /// When the real server cannot be talked to, or is not set up as it must be.
    pub(super) fn new(servers: Servers, setting: &Setting) -> Result<Lockstep, Stop> {
        let mut lockstep = Lockstep {
            replica: replica(servers.count(), setting),
            servers,
            bases: Bases::default(),
            places: (0..PLACES).map(Place::new).collect(),
            root: String::new(),
            cases: 0,
            tally: Tally::default(),
        };
        lockstep.connect(KEEPER).map_err(|stop| match stop {
            Stop::Diverged(divergence) => {
                Stop::Failed(ConformError::NotSetUp(divergence.both.real_in_words()))
            }
            failed => failed,
        })?;
        Ok(lockstep)
    }

    /// The model's run so far.
    pub(super) fn recorded(&self) -> Case {
        self.replica.case()
    }

    /// Does a case from its beginning to its end.
    ///
    /// # Errors
    /// The first divergence.
    pub(super) fn case(&mut self, actions: &[Action]) -> Result<(), Stop> {
        self.begin()?;
        for (at, action) in actions.iter().enumerate() {
            let done = self.act(action).and_then(|()| self.news(at % ROUND == ROUND - 1));
            done.map_err(|stop| stop.at(at))?;
            self.tally.action(action.name());
        }
        self.end()
    }

    fn begin(&mut self) -> Result<(), Stop> {
        self.cases += 1;
        self.root = format!("/case-{}", self.cases);
        // Where the two stand is known only from an answer, which therefore cannot be compared: a real
        // server may have done much before.
        self.ask_plainly(KEEPER, nothing(&self.root), Opcodes::Newest)?;
        self.count_from_here();
        let op = Op::create(self.root.as_str(), [], CreateMode::Persistent);
        let both = self.ask_plainly(KEEPER, Request::Write(op), Opcodes::Newest)?;
        self.compare(KEEPER, "the root of the case", &both, false)?;
        self.count_from_here();
        Ok(())
    }

    /// Zxids are told from the superuser's last answer.
    fn count_from_here(&mut self) {
        let link = self.places[usize::from(KEEPER.0)].link.as_ref().expect("it has just been used");
        (self.bases.real.zxid, self.bases.model.zxid) = link.seen();
        self.note_epoch();
    }

    fn act(&mut self, action: &Action) -> Result<(), Stop> {
        match action {
            Action::Ask { seat, request, opcodes } => {
                self.ask(*seat, request_placed(request, &self.root), *opcodes)
            }
            Action::Prove { seat, scheme, proof } => self.prove(*seat, scheme, proof),
            Action::Return { seat, watched } => self.come_back(*seat, watched),
            Action::Take { seat } => self.take_over(*seat),
            Action::Expire { path } => self.expire(&placed(path, &self.root)),
            Action::Move { seat, server } => {
                self.move_to(*seat, ServerId::at(usize::from(*server)))
            }
            Action::Kill { leader } => self.kill(*leader),
            Action::Revive => self.revive(),
        }
    }

    fn ask(&mut self, seat: Seat, request: Request, opcodes: Opcodes) -> Result<(), Stop> {
        let closes = request == Request::CloseSession;
        let occasion = request.to_string();
        if request.is_read() || matches!(request, Request::Sync { .. }) {
            self.catch_up(seat)?;
        }
        let both = self.ask_plainly(seat, request, opcodes)?;
        self.tally.heard(&both);
        let place = &mut self.places[usize::from(seat.0)];
        if closes || place.link.as_ref().is_some_and(Link::has_ended) {
            place.link = None;
        }
        if closes {
            place.session = None;
        }
        self.compare(seat, &occasion, &both, closes)?;
        if closes { self.others_hear(seat, &occasion) } else { Ok(()) }
    }

    fn ask_plainly(
        &mut self,
        seat: Seat,
        request: Request,
        opcodes: Opcodes,
    ) -> Result<Both, Stop> {
        self.connect(seat)?;
        let place = &mut self.places[usize::from(seat.0)];
        place.next_xid += 1;
        let xid = Xid(place.next_xid);
        let link = place.link.as_mut().expect("it was just connected");
        let closes = request == Request::CloseSession;
        let packet = ClientPacket::Request { xid, request: Arc::new(request) };
        link.send(&mut self.replica, packet, opcodes)?;
        let until = if closes { Until::End } else { Until::Reply(xid) };
        Ok(link.listen(&mut self.replica, until, &self.bases)?)
    }

    /// A server of an ensemble may be behind what others have done, also behind a sync at the leader
    /// (rule 4.6.4), but not behind a write of one's own.
    fn catch_up(&mut self, seat: Seat) -> Result<(), Stop> {
        if !self.servers.are_many() {
            return Ok(());
        }
        self.connect(seat)?;
        self.hear(seat, "what others did", false, true)
    }

    /// What a closeSession fires at others comes in the order of a set.
    fn others_hear(&mut self, seat: Seat, occasion: &str) -> Result<(), Stop> {
        for other in 0..PLACES {
            if other != seat.0 {
                self.hear(Seat(other), occasion, true, false)?;
            }
        }
        Ok(())
    }

    fn prove(&mut self, seat: Seat, scheme: &str, proof: &str) -> Result<(), Stop> {
        self.connect(seat)?;
        let place = &mut self.places[usize::from(seat.0)];
        let link = place.link.as_mut().expect("it was just connected");
        let packet = ClientPacket::Auth { scheme: scheme.into(), auth: proof.as_bytes().into() };
        link.send(&mut self.replica, packet, Opcodes::Newest)?;
        let both = link.listen(&mut self.replica, Until::Authenticated, &self.bases)?;
        if link.has_ended() {
            place.seen = link.seen();
            place.link = None;
        }
        self.tally.heard(&both);
        self.compare(seat, "addAuth", &both, false)
    }

    /// Whoever has something to hear in the model hears it from both; with `all`, everybody is
    /// asked.
    fn news(&mut self, all: bool) -> Result<(), Stop> {
        for seat in 0..PLACES {
            self.hear(Seat(seat), "what others did", false, all)?;
        }
        Ok(())
    }

    fn hear(
        &mut self,
        seat: Seat,
        occasion: &str,
        in_any_order: bool,
        all: bool,
    ) -> Result<(), Stop> {
        let place = &mut self.places[usize::from(seat.0)];
        let Some(link) = &mut place.link else { return Ok(()) };
        if !all && !link.has_news(&self.replica) {
            return Ok(());
        }
        let (packet, until) = match self.servers.are_many() {
            // A ping says nothing of what other servers have done. What fails is a write all the same.
            true => {
                place.next_xid += 1;
                let xid = Xid(place.next_xid);
                let request = Arc::new(nothing(&self.root));
                (ClientPacket::Request { xid, request }, Until::Reply(xid))
            }
            false => (ClientPacket::Ping, Until::Pong),
        };
        link.send(&mut self.replica, packet, Opcodes::Newest)?;
        let both = link.listen(&mut self.replica, until, &self.bases)?;
        if link.has_ended() {
            place.seen = link.seen();
            place.link = None;
        }
        self.tally.action("ping");
        self.compare(seat, occasion, &both, in_any_order)
    }

    fn compare(
        &self,
        seat: Seat,
        occasion: &str,
        both: &Both,
        in_any_order: bool,
    ) -> Result<(), Stop> {
        match same(&both.real, &both.model, in_any_order) {
            true => Ok(()),
            false => Err(diverged(seat, occasion, both.clone())),
        }
    }

    /// Everybody is asked, the sessions are closed, every znode is read and deleted.
    fn end(&mut self) -> Result<(), Stop> {
        self.news(true)?;
        for seat in 0..SEATS {
            if self.places[usize::from(seat)].session.is_some() {
                self.ask(Seat(seat), Request::CloseSession, Opcodes::Newest)?;
                self.news(false)?;
            }
        }
        let quotas = format!("{QUOTA}{}", self.root);
        let ours = |path: &str, of: &str| {
            path == of || path.strip_prefix(of).is_some_and(|rest| rest.starts_with('/'))
        };
        let tree = self.replica.tree();
        let paths: Vec<Arc<str>> = tree
            .nodes()
            .map(|(path, _)| path.shared())
            .filter(|path| ours(path, &self.root) || ours(path, &quotas))
            .collect();
        for path in &paths {
            self.read_all(path)?;
        }
        // Children before their parents. What the model takes for the version is what it must be.
        for path in paths.into_iter().rev() {
            let version = self.replica.tree().node(&path).map_or(0, |znode| znode.version);
            let op = Op::Delete { path, version: Version::Is(version) };
            self.ask(KEEPER, Request::Write(op), Opcodes::Newest)?;
        }
        self.bases.real.sessions.truncate(1);
        self.bases.model.sessions.truncate(1);
        Ok(())
    }

    fn read_all(&mut self, path: &Arc<str>) -> Result<(), Stop> {
        let (path, watch) = (|| Arc::clone(path), false);
        self.ask(KEEPER, Request::GetData { path: path(), watch }, Opcodes::Newest)?;
        self.ask(KEEPER, Request::GetChildren { path: path(), watch }, Opcodes::Newest)?;
        self.ask(KEEPER, Request::GetAcl { path: path() }, Opcodes::Newest)
    }
}

impl Stop {
    fn at(self, action: usize) -> Stop {
        match self {
            Stop::Diverged(divergence) => {
                Stop::Diverged(Box::new(Divergence { action: Some(action), ..*divergence }))
            }
            failed => failed,
        }
    }
}

/// A write that fails, and so changes nothing; who is told so has heard of all before it.
fn nothing(root: &str) -> Request {
    let path = Arc::from(format!("{root}/none"));
    Request::Write(Op::Delete { path, version: Version::Any })
}

fn replica(servers: u8, setting: &Setting) -> Replica {
    Replica::new(servers, setting.bugs, setting.options.clone())
}

fn diverged(seat: Seat, occasion: &str, both: Both) -> Stop {
    let who = match seat {
        KEEPER => "the superuser".to_owned(),
        FORGOTTEN => "the client that is left alone".to_owned(),
        seat => seat.to_string(),
    };
    let occasion = occasion.to_owned();
    Stop::Diverged(Box::new(Divergence { action: None, who, occasion, both }))
}

impl Both {
    /// What the real server said.
    fn real_in_words(&self) -> String {
        self.real.iter().map(Heard::to_string).collect::<Vec<String>>().join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn divergence(real: &[&str], model: &[&str], is_silent: bool) -> Divergence {
        let heard =
            |words: &[&str]| words.iter().map(|it| Heard::Garbled(it.to_string())).collect();
        let (mut real, model): (Vec<Heard>, _) = (heard(real), heard(model));
        real.extend(is_silent.then_some(Heard::Silence));
        let both = Both { real, model, kept_back: 0 };
        Divergence { action: None, who: String::new(), occasion: String::new(), both }
    }

    /// Only that is taken for a lost wake-up: what it says otherwise counts.
    #[test]
    fn a_server_that_says_the_same_and_then_nothing_is_silent() {
        assert!(divergence(&[], &["event", "answer"], true).is_silence());
        assert!(divergence(&["event"], &["event", "answer"], true).is_silence());
        assert!(!divergence(&["other"], &["event", "answer"], true).is_silence());
        assert!(!divergence(&["event"], &["event", "answer"], false).is_silence());
        assert!(!divergence(&["event", "answer", "more"], &["event", "answer"], true).is_silence());
    }
}

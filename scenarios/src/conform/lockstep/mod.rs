//! Runs a real server and the model in lockstep: each performs every action, and everything that clients receive is
//! compared.
//!
//! A case has a root znode of its own, which a superuser creates and deletes, so cases do not see each other. Within a
//! case, after every action, the client that acted has received its answer from both. Every other client that has
//! received something in the model receives all of it from the real server too, by a ping that is answered after it. At
//! the end of a case, all clients are asked for news, the sessions are closed, and every znode of the case is read.

mod divergence;
mod journeys;
mod reconfigurations;

pub use divergence::Divergence;
pub(super) use divergence::Stop;

use super::action::{Action, SEATS, Seat, Watched, placed, request_placed};
use super::heard::{Base, Heard, same};
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

/// The timeout of sessions that must not expire.
const LONG: Duration = Duration::from_secs(30);

/// The client that creates the root of a case and deletes it.
const KEEPER: Seat = Seat(SEATS);

/// The client whose session expires.
const FORGOTTEN: Seat = Seat(SEATS + 1);

/// The number of clients in the model.
pub(super) const PLACES: u8 = SEATS + 2;

/// After this number of actions, all clients are asked for news, to detect packets that should not have been sent.
const ROUND: usize = 16;

#[derive(Debug)]
struct Place {
    link: Option<Link>,
    session: Option<Session>,
    /// The last zxids seen on earlier connections: of the real server, of the model.
    seen: (Zxid, Zxid),
    next_xid: u32,
    /// The present or last server of the client.
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
    /// Counts of actions and answers.
    pub tally: Tally,
}

impl Lockstep {
    /// Creates a new model beside these new real servers.
    ///
    /// # Errors
    /// Fails if the real server cannot be used, or is not set up as required.
    pub(super) fn new(servers: Servers, setting: &Setting) -> Result<Lockstep, Stop> {
        let mut lockstep = Lockstep {
            replica: replica(servers.count(), setting),
            bases: Bases {
                real: Base { members: servers.members(), ..Base::default() },
                model: Base::default(),
            },
            servers,
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

    /// Returns the model's run so far.
    pub(super) fn recorded(&self) -> Case {
        self.replica.case()
    }

    /// Runs a case from its beginning to its end.
    ///
    /// # Errors
    /// Returns the first divergence.
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
        // The first answer reveals the zxids of both, so it cannot be compared: a real server may have executed
        // transactions before.
        self.ask_plainly(KEEPER, nothing(&self.root), Opcodes::Newest)?;
        self.count_from_here();
        let op = Op::create(self.root.as_str(), [], CreateMode::Persistent);
        let both = self.ask_plainly(KEEPER, Request::Write(op), Opcodes::Plain)?;
        self.compare(KEEPER, "the root of the case", &both, false)?;
        self.count_from_here();
        Ok(())
    }

    /// From here on, counts zxids from the superuser's last answer.
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
            Action::Reconfigure { server, part } => {
                self.reconfigure(ServerId::at(usize::from(*server)), *part)
            }
            Action::Regroup { places } => self.regroup(places),
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

    /// In an ensemble, lets the client send a write, so that its server has applied all that was committed before. A sync
    /// at the leader does not ensure this (rule 4.6.4).
    fn catch_up(&mut self, seat: Seat) -> Result<(), Stop> {
        if !self.servers.are_many() {
            return Ok(());
        }
        self.connect(seat)?;
        self.hear(seat, "what others did", false, true)
    }

    /// Compares what other clients received after a closeSession, whose events come in the order of a set.
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

    /// Lets each client that has received something in the model receive it from both; with `all`, asks every client
    /// for news.
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
            // In an ensemble, a pong does not prove that the server has applied other servers' writes. The answer to a
            // write does, even if the write fails.
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

    /// Ends a case: asks all clients for news, closes the sessions, and reads and deletes every znode.
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
        // Deletes children before their parents, with the version from the model, which must be the real server's too.
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

/// Returns a write that fails and so changes nothing. A client that receives its answer has received everything before
/// it.
fn nothing(root: &str) -> Request {
    let path = Arc::from(format!("{root}/none"));
    Request::Write(Op::Delete { path, version: Version::Any })
}

fn replica(servers: u8, setting: &Setting) -> Replica {
    let Setting { bugs, options, observers } = setting;
    Replica::with_observers(servers - observers, *observers, *bugs, options.clone())
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
    /// Describes what the real server sent.
    fn real_in_words(&self) -> String {
        self.real.iter().map(Heard::to_string).collect::<Vec<String>>().join("; ")
    }
}

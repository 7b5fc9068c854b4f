//! Actions on connections, sessions and servers: connections begin, break, are taken over and move; sessions expire;
//! servers are killed and restart.

use super::{
    FORGOTTEN, KEEPER, LONG, Lockstep, PLACES, Seat, Stop, Watched, diverged, nothing, placed,
};
use crate::conform::draw::SUPER;
use crate::conform::pair::{Arrival, Link, PATIENCE, Until, wait};
use std::sync::Arc;
use vivarium_model::id::ServerId;
use vivarium_model::op::{CreateMode, Op, Request};
use vivarium_model::packet::ClientPacket;
use vivarium_model::time::Duration;
use vivarium_model::wire::Opcodes;
use vivarium_model::zxid::Zxid;

impl Lockstep {
    /// Connects a seat without a connection: with its session, or with a new one.
    pub(super) fn connect(&mut self, seat: Seat) -> Result<(), Stop> {
        if self.places[usize::from(seat.0)].link.is_some() {
            return Ok(());
        }
        let new = self.places[usize::from(seat.0)].session.is_none();
        self.open(seat, LONG)?;
        self.tally.action(if new { "new session" } else { "reconnect" });
        // A new connection has no identities.
        if seat == KEEPER { self.prove(KEEPER, "digest", SUPER) } else { Ok(()) }
    }

    /// Opens a connection. An existing connection of the seat stays open but is not read any more.
    pub(super) fn open(&mut self, seat: Seat, timeout: Duration) -> Result<Option<Link>, Stop> {
        let place = &mut self.places[usize::from(seat.0)];
        place.server = self.servers.up_from(place.server);
        let old = place.link.take();
        if let Some(old) = &old {
            place.seen = old.seen();
        }
        if place.session.is_none() {
            place.seen = (Zxid::ZERO, Zxid::ZERO);
        }
        let arrival = Arrival {
            address: self.servers.address(place.server),
            server: place.server,
            session: place.session,
            seen: place.seen,
            timeout,
            patience: if self.servers.are_many() { PATIENCE } else { Duration::ZERO },
        };
        let (both, open) = Link::open(&arrival, &mut self.replica, &mut self.bases)?;
        let (link, session) = open.unzip();
        place.link = link;
        place.session = session;
        self.compare(seat, "its ConnectRequest", &both, false)?;
        match self.places[usize::from(seat.0)].link {
            Some(_) => Ok(old),
            None => Err(diverged(seat, "its ConnectRequest, which both refuse", both)),
        }
    }

    pub(super) fn come_back(&mut self, seat: Seat, watched: &Watched) -> Result<(), Stop> {
        let place = &mut self.places[usize::from(seat.0)];
        if let Some(link) = place.link.take() {
            place.seen = link.seen();
            link.hang_up(&mut self.replica);
        }
        self.connect(seat)?;
        if watched.is_empty() {
            return Ok(());
        }
        self.catch_up(seat)?;
        let (real, model) = self.places[usize::from(seat.0)].seen;
        let behind = u64::from(watched.behind).min(u64::from(real.counter()));
        let behind = behind.min(u64::from(model.counter()));
        let packets = (
            self.set_watches(watched, Zxid(real.0 - behind)),
            self.set_watches(watched, Zxid(model.0 - behind)),
        );
        let link = self.places[usize::from(seat.0)].link.as_mut().expect("it was just connected");
        link.send_each(&mut self.replica, packets)?;
        let both = link.listen(&mut self.replica, Until::WatchesSet, &self.bases)?;
        self.compare(seat, "SetWatches", &both, false)
    }

    pub(super) fn set_watches(&self, watched: &Watched, relative_zxid: Zxid) -> ClientPacket {
        let list = |paths: &[Arc<str>]| -> Vec<Arc<str>> {
            paths.iter().map(|path| placed(path, &self.root)).collect()
        };
        ClientPacket::SetWatches {
            relative_zxid,
            data: list(&watched.data),
            exist: list(&watched.exist),
            child: list(&watched.child),
            persistent: list(&watched.persistent),
            recursive: list(&watched.recursive),
        }
    }

    /// Reattaches a session by a second connection, which makes the server close the first one.
    pub(super) fn take_over(&mut self, seat: Seat) -> Result<(), Stop> {
        self.connect(seat)?;
        if let Some(mut old) = self.open(seat, LONG)? {
            let both = old.listen(&mut self.replica, Until::End, &self.bases)?;
            self.compare(seat, "the end of its first connection", &both, false)?;
        }
        Ok(())
    }

    pub(super) fn expire(&mut self, path: &Arc<str>) -> Result<(), Stop> {
        let short = Duration::from_millis(200);
        self.open(FORGOTTEN, short)?;
        let op = Op::create(Arc::clone(path), [], CreateMode::Ephemeral);
        let both = self.ask_plainly(FORGOTTEN, Request::Write(op), Opcodes::Plain)?;
        self.compare(FORGOTTEN, "its create", &both, false)?;
        let place = &mut self.places[usize::from(FORGOTTEN.0)];
        let session = place.session.take().expect("it was just used");
        if let Some(link) = place.link.take() {
            link.hang_up(&mut self.replica);
        }
        // A server rounds the timeout up to a tick, so wait longer.
        wait(short * 3);
        self.replica.expire(session.model);
        self.news(true)
    }

    /// Registers the current epoch of both servers.
    pub(super) fn note_epoch(&mut self) {
        let link = self.places[usize::from(KEEPER.0)].link.as_ref().expect("it has just been used");
        let (real, model) = link.seen();
        self.bases.real.epoch(real.epoch());
        self.bases.model.epoch(model.epoch());
    }

    pub(super) fn move_to(&mut self, seat: Seat, server: ServerId) -> Result<(), Stop> {
        let place = &mut self.places[usize::from(seat.0)];
        if let Some(link) = place.link.take() {
            place.seen = link.seen();
            link.hang_up(&mut self.replica);
        }
        place.server = server;
        self.connect(seat)
    }

    /// Returns true if the real leader is the twin of the model's. Real servers elect another one if one of them was behind.
    pub(in crate::conform) fn agree_on_leader(&self) -> bool {
        !self.servers.are_many() || self.replica.leader().is_some_and(|it| self.servers.leads(it))
    }

    /// Kills a server, if the others are a quorum. All clients of that server lose their connections; if the server led, all
    /// clients do.
    pub(super) fn kill(&mut self, leader: bool) -> Result<(), Stop> {
        if !self.servers.are_many() || self.servers.down().is_some() || !self.agree_on_leader() {
            return Ok(());
        }
        // A client may otherwise receive pending packets or not, depending on timing.
        self.news(true)?;
        let leading = self.replica.leader().expect("the replica has a leader");
        let all = (0..usize::from(self.servers.count())).map(ServerId::at);
        let configuration = self.replica.configuration();
        // One that the configuration does not list would not start again (rule 5.8.2).
        let mut members = all.into_iter().filter(|server| configuration.has_member(*server));
        let killed = members.find(|server| (*server == leading) == leader);
        let Some(killed) = killed else { return Ok(()) };
        if !configuration.contains_quorum(configuration.voters().without(killed)) {
            return Ok(());
        }
        self.servers.kill(killed);
        self.replica.crash(killed);
        self.connections_end("the kill of a server")?;
        self.servers.wait()?;
        self.settled()
    }

    /// Lets each client read the end of its connection, if it has one in the model.
    pub(super) fn connections_end(&mut self, occasion: &str) -> Result<(), Stop> {
        for seat in 0..PLACES {
            let place = &mut self.places[usize::from(seat)];
            let Some(link) = &mut place.link else { continue };
            if !link.has_news(&self.replica) {
                continue;
            }
            let both = link.listen(&mut self.replica, Until::End, &self.bases)?;
            place.seen = link.seen();
            place.link = None;
            self.compare(Seat(seat), occasion, &both, false)?;
        }
        Ok(())
    }

    pub(super) fn revive(&mut self) -> Result<(), Stop> {
        let Some(down) = self.servers.down() else { return Ok(()) };
        self.servers.restart(down)?;
        self.replica.restart(down);
        self.settled()
    }

    /// Waits until the servers agree again, maybe in a new epoch.
    pub(super) fn settled(&mut self) -> Result<(), Stop> {
        self.connect(KEEPER)?;
        // The first answer reveals the epochs, so it cannot be compared yet.
        self.ask_plainly(KEEPER, nothing(&self.root), Opcodes::Newest)?;
        self.note_epoch();
        let again = self.ask_plainly(KEEPER, nothing(&self.root), Opcodes::Newest)?;
        self.compare(KEEPER, "the first write after an election", &again, false)
    }
}

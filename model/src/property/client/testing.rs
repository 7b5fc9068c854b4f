//! Drives the monitors of H15 and H16 with exchanges of a client machine that a test makes up.

use crate::program::exchange::Exchange;
use crate::program::host::{Input, Operation, Outcome};
use crate::property::testing::{CLIENT, SESSION};
use crate::property::{LooksBack, Monitor, View};
use crate::vocabulary::config::{ClientConfig, Config};
use crate::vocabulary::error::Error;
use crate::vocabulary::id::{CallId, ServerId, SessionId, Xid};
use crate::vocabulary::op::{Request, Response, SessionChange, SessionState};
use crate::vocabulary::packet::{ClientPacket, ServerPacket};
use crate::vocabulary::time::{Duration, Time};
use crate::vocabulary::zxid::Zxid;
use crate::world::history::History;
use std::sync::Arc;

/// The timeout that the client asks for, and the one that its server grants.
pub(super) const ASKED: Duration = Duration::from_secs(6);
pub(super) const GRANTED: Duration = Duration::from_secs(3);

/// A monitor and the time of its next exchange.
#[derive(Clone)]
pub(super) struct Scene<M> {
    pub(super) monitor: M,
    history: Arc<History>,
    pub(super) now: Time,
}

impl<M: Monitor + Clone> Scene<M> {
    pub(super) fn new(mut monitor: M, configure: impl FnOnce(&mut ClientConfig)) -> Scene<M> {
        let mut config = Config::new(3, 1);
        config.clients[0].session_timeout = ASKED;
        configure(&mut config.clients[0]);
        monitor.begin(&Arc::new(config));
        Scene { monitor, history: Arc::new(History::new()), now: Time(1_000_000) }
    }

    /// Returns a scene in which the client's program runs and the client is connected to server 1.
    pub(super) fn connected(monitor: M) -> Scene<M> {
        Scene::connected_as(monitor, |_| {})
    }

    pub(super) fn connected_as(monitor: M, configure: impl FnOnce(&mut ClientConfig)) -> Scene<M> {
        let mut scene = Scene::new(monitor, configure);
        scene.accepts(Exchange::Started);
        scene.opens(1, None, Zxid::ZERO);
        scene.accepts(Exchange::Told(Input::Start));
        scene.is_taken(SESSION);
        scene
    }

    pub(super) fn feed(&mut self, exchange: &Exchange) -> Result<(), String> {
        let view = View::new(self.now, &self.history).within(LooksBack::Nothing);
        self.monitor.exchange(view, CLIENT, exchange).map_err(|objection| objection.saw)
    }

    #[track_caller]
    pub(super) fn accepts(&mut self, exchange: Exchange) {
        if let Err(saw) = self.feed(&exchange) {
            panic!("{exchange:?} is right, but: {saw}");
        }
    }

    /// Returns the monitor's objection to the exchange, which a copy of the scene receives.
    #[track_caller]
    pub(super) fn objects(&self, exchange: Exchange) -> String {
        match self.clone().feed(&exchange) {
            Ok(()) => panic!("{exchange:?} is wrong, but was accepted"),
            Err(saw) => saw,
        }
    }

    #[track_caller]
    pub(super) fn opens(&mut self, server: u8, session: Option<SessionId>, zxid: Zxid) {
        self.accepts(Exchange::Opened { server: ServerId(server) });
        self.accepts(connect(session, zxid));
    }

    #[track_caller]
    pub(super) fn is_taken(&mut self, session: SessionId) {
        self.accepts(taken(session));
        self.accepts(state_of(session, SessionState::SyncConnected));
    }

    /// The program makes a request, and the machine sends it.
    #[track_caller]
    pub(super) fn sends(&mut self, call: u32, request: Request, watch: Option<u32>) {
        self.accepts(asks(call, request.clone(), watch));
        self.accepts(wrote(call, request));
    }
}

pub(super) fn connect(session: Option<SessionId>, last_zxid_seen: Zxid) -> Exchange {
    let (timeout, read_only) = (ASKED, false);
    Exchange::Wrote(ClientPacket::Connect { last_zxid_seen, timeout, session, read_only })
}

pub(super) fn taken(session: SessionId) -> Exchange {
    let (timeout, read_only) = (GRANTED, false);
    Exchange::Read(ServerPacket::Connected { session, timeout, read_only })
}

/// Notifies the program of a state of its first session.
pub(super) fn state(state: SessionState) -> Exchange {
    state_of(SESSION, state)
}

pub(super) fn state_of(session: SessionId, state: SessionState) -> Exchange {
    Exchange::Told(Input::Session(SessionChange { state, session: Some(session) }))
}

pub(super) fn asks(call: u32, request: Request, watch: Option<u32>) -> Exchange {
    asks_in(None, call, request, watch)
}

pub(super) fn asks_in(
    scope: Option<SessionId>,
    call: u32,
    request: Request,
    watch: Option<u32>,
) -> Exchange {
    let (request, watch) = (Arc::new(request), watch.map(CallId));
    let operation = Operation::Request { request, watch, scope };
    Exchange::Asked { call: CallId(call), operation }
}

pub(super) fn wrote(xid: u32, request: Request) -> Exchange {
    Exchange::Wrote(ClientPacket::Request { xid: Xid(xid), request: Arc::new(request) })
}

pub(super) fn replies(xid: u32, zxid: Zxid, result: Result<Response, Error>) -> Exchange {
    Exchange::Read(ServerPacket::Reply { xid: Xid(xid), zxid, result })
}

pub(super) fn told(call: u32, outcome: Outcome) -> Exchange {
    Exchange::Told(Input::Reply { call: CallId(call), outcome })
}

pub(super) fn answered(call: u32, result: Result<Response, Error>) -> Exchange {
    told(call, Outcome::Response(result))
}

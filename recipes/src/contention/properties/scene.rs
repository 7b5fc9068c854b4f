//! A run made by hand for the tests of monitors: commits and observations, one after the other.

use crate::contention::LockSeen;
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::history::History;
use vivarium_model::id::{ClientId, ServerId, SessionId, Xid};
use vivarium_model::observation::Observed;
use vivarium_model::op::SessionState;
use vivarium_model::path::ZnodePath;
use vivarium_model::property::{LooksBack, Monitor, Objection, View};
use vivarium_model::time::{Duration, Time};
use vivarium_model::tree::EphemeralType;
use vivarium_model::txn::{Txn, TxnBody};
use vivarium_model::zxid::{Epoch, Zxid};

/// The lock's directory in every scene.
pub(crate) const LOCK: &str = "/lock";

/// The first program's session.
pub(crate) const S1: SessionId = SessionId(0x1);
/// The second program's session.
pub(crate) const S2: SessionId = SessionId(0x2);
/// The session that replaces one of these.
pub(crate) const S3: SessionId = SessionId(0x3);

/// One monitor and the run that it watches.
pub(crate) struct Scene<M> {
    pub(crate) monitor: M,
    history: History,
    at: Time,
    objection: Option<Objection>,
}

impl<M: Monitor> Scene<M> {
    /// Returns a scene in which the lock's directory exists and both programs are connected, `client n` by session
    /// `n`.
    pub(crate) fn new(monitor: M) -> Scene<M> {
        let history = History::new();
        let mut scene = Scene { monitor, history, at: Time::ZERO, objection: None };
        for session in [S1, S2] {
            let timeout = Duration::from_secs(6);
            scene.commit(session, 0, TxnBody::CreateSession { timeout });
            scene.session(session.0 as u8, session, SessionState::SyncConnected);
        }
        scene.create(S1, 1, LOCK);
        scene
    }

    /// Commits a transaction under the next zxid, and returns that zxid.
    pub(crate) fn commit(&mut self, session: SessionId, cxid: u32, body: TxnBody) -> Zxid {
        let zxid = Zxid(self.history.last().0.max(Epoch(1).opening().0) + 1);
        let txn = Arc::new(Txn { zxid, session, cxid: Xid(cxid), time: 0, body });
        self.history.commit(Arc::clone(&txn));
        self.tell(true, &Event::Committed { leader: ServerId(1), txn });
        zxid
    }

    /// Lets a leader report a transaction that is already committed.
    pub(crate) fn report_again(&mut self, zxid: Zxid) {
        let txn = Arc::clone(self.history.get(zxid).expect("it is committed"));
        self.tell(false, &Event::Committed { leader: ServerId(2), txn });
    }

    /// Commits a create; the directory is persistent, all other znodes are ephemeral.
    pub(crate) fn create(&mut self, session: SessionId, cxid: u32, path: &str) -> Zxid {
        self.commit(session, cxid, create(session, path))
    }

    /// Commits a delete.
    pub(crate) fn delete(&mut self, session: SessionId, cxid: u32, node: &str) -> Zxid {
        self.commit(session, cxid, TxnBody::Delete { path: path(node) })
    }

    /// Commits the end of a session.
    pub(crate) fn close(&mut self, session: SessionId) -> Zxid {
        let ephemerals = self.history.tree().ephemerals(session).cloned().collect();
        self.commit(session, 0, TxnBody::CloseSession { ephemerals })
    }

    /// Adds a program's observation.
    pub(crate) fn observe(
        &mut self,
        client: u8,
        session: SessionId,
        next_xid: u32,
        seen: LockSeen,
    ) {
        self.event(Event::Observed {
            client: ClientId(client.into()),
            session: Some(session),
            next_xid: Xid(next_xid),
            observation: Observed::new(seen),
        });
    }

    /// Adds a change of a client's session.
    pub(crate) fn session(&mut self, client: u8, session: SessionId, state: SessionState) {
        self.event(Event::Session {
            client: ClientId(client.into()),
            session: Some(session),
            server: (state == SessionState::SyncConnected).then_some(ServerId(1)),
            state,
        });
    }

    /// Lets time pass.
    pub(crate) fn pass(&mut self, span: Duration) {
        self.at = self.at + span;
    }

    /// Passes an event to the monitor, and keeps the monitor's first objection.
    pub(crate) fn event(&mut self, event: Event) {
        self.tell(false, &event);
    }

    fn tell(&mut self, is_new: bool, event: &Event) {
        let view = if is_new { View::of_new } else { View::new };
        let view = view(self.at, &self.history).within(self.monitor.looks_back());
        let result = self.monitor.event(view, event);
        self.objection = self.objection.take().or(result.err());
    }

    /// Returns the objection of the monitor in a state in which only time can pass.
    pub(crate) fn at_rest(&mut self) -> Option<String> {
        let view = View::new(self.at, &self.history)
            .within(self.monitor.looks_back().max(LooksBack::Tip))
            .asked(self.monitor.asked());
        self.monitor.at_rest(view).err().map(|objection| objection.to_string())
    }

    /// Ends the run, and returns the monitor's first objection.
    pub(crate) fn end(mut self) -> Option<String> {
        let view = View::new(self.at, &self.history)
            .within(self.monitor.looks_back().max(LooksBack::Tip))
            .asked(self.monitor.asked());
        let result = self.monitor.end(view);
        self.objection.or(result.err()).map(|objection| objection.to_string())
    }

    /// Returns the fingerprint of the monitor's state.
    pub(crate) fn fingerprint(&self) -> Fingerprint {
        let monitor: &dyn Monitor = &self.monitor;
        Fingerprint::of(monitor)
    }
}

/// Parses a valid path.
pub(crate) fn path(text: &str) -> ZnodePath {
    ZnodePath::new(text).expect("a path in a test is valid")
}

/// Returns a create of the persistent directory, or of an ephemeral znode of this session.
pub(crate) fn create(session: SessionId, node: &str) -> TxnBody {
    let owned = EphemeralType::Normal(session);
    let ephemeral_type = if node == LOCK { EphemeralType::Void } else { owned };
    TxnBody::create(path(node), [], ephemeral_type, 1)
}

/// Returns the full path of the contender of `attempt` with this sequence number.
pub(crate) fn node(attempt: &str, sequence: i32) -> String {
    format!("{LOCK}/{attempt}-lock-{sequence:010}")
}

/// [`LockSeen::Attempt`].
pub(crate) fn attempt(id: &str) -> LockSeen {
    LockSeen::Attempt { lock: LOCK.into(), attempt: id.into() }
}

/// [`LockSeen::Waiting`].
pub(crate) fn waiting(id: &str, on: &str) -> LockSeen {
    LockSeen::Waiting { lock: LOCK.into(), attempt: id.into(), on: on.into() }
}

/// [`LockSeen::Granted`].
pub(crate) fn granted(id: &str, node: &str, token: Zxid) -> LockSeen {
    LockSeen::Granted { lock: LOCK.into(), attempt: id.into(), node: node.into(), token }
}

/// [`LockSeen::Lost`].
pub(crate) fn lost(token: Zxid) -> LockSeen {
    LockSeen::Lost { lock: LOCK.into(), token }
}

/// [`LockSeen::Releasing`].
pub(crate) fn releasing(token: Zxid) -> LockSeen {
    LockSeen::Releasing { lock: LOCK.into(), token }
}

/// [`LockSeen::GaveUp`].
pub(crate) fn gave_up(id: &str) -> LockSeen {
    LockSeen::GaveUp { lock: LOCK.into(), attempt: id.into() }
}

//! H8: a session that has ended is over.
//!
//! * A client is notified of Expired only if its session is closed, closing or unknown to the server. Two cases look
//!   wrong but are legal. First, a *closing* session is refused as soon as its closeSession is proposed (rules 2.3.1
//!   and 2.4.1: `touch` on a closing session returns false). So the client can be notified before the commit, and if
//!   the leader is deposed the commit may be missing for long. Second, a deposed leader that has not noticed its end
//!   does not *know* a session that began under its successor; the check of the client's last zxid (rule 2.1.2) does
//!   not stop such a client before it has read a reply.
//! * A client with [`expires_locally`](crate::vocabulary::config::ClientConfig::expires_locally) expires its session
//!   without a server's reply after a long silence (rule 2.8.3). It must have lost its connection before.
//! * With local sessions (rule 2.6.2), two more refusals are legal. While a session is upgraded, no server knows it
//!   for a moment: its first server has forgotten it, and the leader has not received it yet. And a lagging read-only
//!   server refuses a global session that it does not know (rule 2.7.2).
//! * After Expired, Closed or AuthFailed, no call of that session succeeds at its client.
//! * In the committed history, no request of a session succeeds before its createSession or after its closeSession
//!   (rule 2.5.1). With local sessions this holds only for transactions that create an ephemeral: the leader accepts
//!   all other requests of a session that it does not track (rule 2.6.3), even of a closed one.

use super::{Declaration, Declared, LooksBack, View};
use crate::minds;
use crate::vocabulary::config::{ClientConfig, Config, ServerOptions};
use crate::vocabulary::event::Event;
use crate::vocabulary::id::{ClientId, ServerId, SessionId};
use crate::vocabulary::op::{Response, SessionState};
use crate::vocabulary::txn::{Txn, TxnBody};
use crate::vocabulary::zxid::Epoch;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The monitor of H8.
#[derive(Clone, Debug, Default, Hash)]
pub struct EndedSession {
    /// The present leaders, with their epochs.
    leading: BTreeMap<ServerId, Epoch>,
    /// Living sessions that a server may refuse because it does not know them, such as a deposed leader.
    unknown: BTreeSet<SessionId>,
    /// Sessions whose closeSession is proposed but not committed.
    closing: BTreeSet<SessionId>,
    /// Sessions whose client was notified of their end.
    ended: BTreeSet<SessionId>,
    /// Connected sessions of clients that expire their sessions locally.
    connected: BTreeSet<SessionId>,
    /// With local sessions, the sessions that began without a transaction, and whether the client has lost its
    /// connection.
    local: BTreeMap<SessionId, bool>,
    /// Constant during a run.
    options: ServerOptions,
    /// Clients that expire their sessions locally. Constant during a run.
    give_up: BTreeSet<ClientId>,
}

impl EndedSession {
    /// Returns a monitor that knows no session.
    pub fn new() -> EndedSession {
        EndedSession::default()
    }

    fn committed(&mut self, view: View<'_>, txn: &Txn) -> Result<(), String> {
        match txn.body {
            TxnBody::CloseSession { .. } => {
                self.closing.remove(&txn.session);
                self.unknown.remove(&txn.session);
                return Ok(());
            }
            TxnBody::CreateSession { .. } => {
                // A client that went to another server in the meantime may have been refused there before this
                // commit.
                if self.local.remove(&txn.session) == Some(true) {
                    self.unknown.insert(txn.session);
                }
                if self.leading.values().any(|epoch| *epoch < txn.zxid.epoch()) {
                    self.unknown.insert(txn.session);
                }
                return Ok(());
            }
            // The leader's own deletion belongs to no session.
            TxnBody::DeleteContainer { .. } if txn.session == SessionId(0) => return Ok(()),
            TxnBody::Error(_) | TxnBody::FailedMulti(_) => return Ok(()),
            _ if self.options.local_sessions && !creates_ephemeral(&txn.body) => return Ok(()),
            _ => {}
        }
        let reported_again = view.history.last() != txn.zxid;
        if reported_again || view.history.tree().sessions().contains_key(&txn.session) {
            return Ok(());
        }
        Err(format!("{txn} was committed, although this session is not open."))
    }

    fn see_local(&mut self, view: View<'_>, session: SessionId, state: SessionState) {
        let is_global = view.history.tree().sessions().contains_key(&session);
        match state {
            SessionState::SyncConnected if !is_global => {
                self.local.insert(session, false);
            }
            SessionState::Disconnected => {
                if let Some(lost) = self.local.get_mut(&session) {
                    *lost = true;
                }
            }
            SessionState::Expired | SessionState::Closed | SessionState::AuthFailed => {
                self.local.remove(&session);
            }
            SessionState::SyncConnected | SessionState::ConnectedReadOnly => {}
        }
    }

    fn state(
        &mut self,
        view: View<'_>,
        client: ClientId,
        session: SessionId,
        server: Option<ServerId>,
        state: SessionState,
    ) -> Result<(), String> {
        let was_connected = self.connected.remove(&session);
        if self.options.local_sessions {
            self.see_local(view, session, state);
        }
        match state {
            // Without a server, the client expired the session itself, which it may if it expires locally (rule
            // 2.8.3).
            SessionState::Expired if server.is_none() && self.give_up.contains(&client) => {
                self.ended.insert(session);
                if was_connected {
                    return Err(format!(
                        "{client} gave up session {session} while it was connected."
                    ));
                }
            }
            SessionState::Expired => {
                self.ended.insert(session);
                let alive = view.history.tree().sessions().contains_key(&session);
                let refused = self.closing.contains(&session) || self.unknown.contains(&session);
                let behind = self.options.read_only_mode && self.options.local_sessions;
                if alive && !refused && !behind {
                    return Err(format!(
                        "{client} learned that session {session} has expired, but no leader has \
                         proposed to close it."
                    ));
                }
            }
            SessionState::Closed => {
                self.ended.insert(session);
            }
            SessionState::SyncConnected | SessionState::ConnectedReadOnly
                if self.ended.contains(&session) =>
            {
                return Err(format!(
                    "{client} was connected with session {session} after its end."
                ));
            }
            SessionState::AuthFailed => {
                self.ended.insert(session);
            }
            SessionState::SyncConnected | SessionState::ConnectedReadOnly => {
                // Recorded only for clients that need it, since it is part of the hashed state.
                if self.give_up.contains(&client) {
                    self.connected.insert(session);
                }
            }
            SessionState::Disconnected => {}
        }
        Ok(())
    }
}

/// Returns true if the transaction creates an ephemeral.
fn creates_ephemeral(body: &TxnBody) -> bool {
    match body {
        TxnBody::Create { ephemeral_type, .. } => ephemeral_type.owner().is_some(),
        TxnBody::Multi(parts) => parts.iter().any(creates_ephemeral),
        _ => false,
    }
}

impl Declared for EndedSession {
    const DECLARATION: Declaration<Self> =
        Declaration::everywhere("H8 an ended session is over", LooksBack::Tip, minds! { |this, view, event|
            Event::Proposed { txn, .. } if matches!(txn.body, TxnBody::CloseSession { .. }) => {
                this.closing.insert(txn.session);
            },
            Event::Established { leader, epoch, .. } => {
                this.leading.insert(*leader, *epoch);
                if view.history.last().epoch() > *epoch {
                    // The leader is established after its successor, and does not know the sessions that began since.
                    this.unknown.extend(view.history.tree().sessions().keys());
                }
            },
            Event::LeftRole { server, .. } | Event::Crashed { server, .. } | Event::Exited { server, .. } => {
                this.leading.remove(server);
            },
            Event::Committed { txn, .. } => this.committed(view, txn).map_err(|saw| this.objection(saw)),
            Event::Session { client, session: Some(session), server, state } => {
                let judged = this.state(view, *client, *session, *server, *state);
                judged.map_err(|saw| this.objection(saw))
            },
            Event::Replied { client, session, xid, request, result: Ok(response), .. }
                if *response != Response::Closed && this.ended.contains(session) =>
            {
                Err(this.objection(format!(
                    "request {} of session {session} ({request}, {client}) succeeded after the \
                     session's end.",
                    xid.0
                )))
            },
        })
        .begin(Self::begin);
}

impl EndedSession {
    fn begin(&mut self, config: &Arc<Config>) {
        let gives_up = |(_, client): &(usize, &ClientConfig)| client.expires_locally;
        let clients = config.clients.iter().enumerate().filter(gives_up);
        self.options = config.options.clone();
        self.give_up = clients.map(|(index, _)| ClientId::at(index)).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::testing::{Bodies, SESSION};
    use crate::property::testing::{
        ONE, TWO, Trial, committed, create_request, exists, replied, session, txn, z,
    };
    use crate::vocabulary::error::Error;
    use crate::vocabulary::op::Request;
    use crate::vocabulary::zxid::Zxid;

    fn established(leader: ServerId, epoch: u32) -> Event {
        Event::Established { leader, epoch: Epoch(epoch), last_zxid: Zxid::ZERO }
    }

    fn trial() -> Trial<EndedSession> {
        let mut trial = Trial::new(EndedSession::new());
        trial.create_session(z(1, 1));
        trial.accepts(session(SessionState::SyncConnected, Some(ONE)));
        trial
    }

    fn close(zxid: Zxid) -> Arc<Txn> {
        txn(zxid, 0, TxnBody::CloseSession { ephemerals: Vec::new() })
    }

    #[test]
    fn expired_without_a_reason() {
        assert_eq!(
            trial().objects(session(SessionState::Expired, None)),
            "H8 an ended session is over: client 1 learned that session 0x10 has expired, but \
             no leader has proposed to close it."
        );
    }

    /// Returns a trial whose one client expires its sessions locally.
    fn trial_of_one_that_gives_up() -> Trial<EndedSession> {
        let mut trial = trial();
        let mut config = Config::new(3, 1);
        config.clients[0].expires_locally = true;
        trial.monitor.begin(&Arc::new(config));
        trial.accepts(session(SessionState::Disconnected, None));
        trial.accepts(session(SessionState::SyncConnected, Some(TWO)));
        trial
    }

    /// The client may expire its session although no leader has closed it and no server has refused it (rule 2.8.3).
    #[test]
    fn a_client_may_give_its_session_up() {
        let mut trial = trial_of_one_that_gives_up();
        trial.accepts(session(SessionState::Disconnected, None));
        trial.accepts(session(SessionState::Expired, None));
        assert!(trial.history.tree().sessions().contains_key(&SESSION));
        // The session is over for the client even so.
        trial.objects(session(SessionState::SyncConnected, Some(TWO)));
    }

    #[test]
    fn what_is_no_giving_up_is_judged_as_ever() {
        // A server says so, and it must know the session.
        let mut trial = trial_of_one_that_gives_up();
        trial.accepts(session(SessionState::Disconnected, None));
        let saw = trial.objects(session(SessionState::Expired, Some(TWO)));
        assert!(saw.ends_with("but no leader has proposed to close it."), "{saw}");
        // The client is still connected.
        let mut trial = trial_of_one_that_gives_up();
        assert_eq!(
            trial.objects(session(SessionState::Expired, None)),
            "H8 an ended session is over: client 1 gave up session 0x10 while it was connected."
        );
        // This client does not expire its sessions locally.
        let mut trial = self::trial();
        trial.monitor.begin(&Arc::new(Config::new(3, 1)));
        trial.accepts(session(SessionState::Disconnected, None));
        trial.objects(session(SessionState::Expired, None));
    }

    /// After a refused identity the session lives on, but is over for this client.
    #[test]
    fn nothing_succeeds_after_a_refused_identity() {
        let mut trial = trial();
        trial.accepts(session(SessionState::AuthFailed, None));
        trial.objects(session(SessionState::ConnectedReadOnly, Some(TWO)));
    }

    #[test]
    fn a_read_after_the_end() {
        let mut trial = trial();
        trial.accepts(committed(close(z(1, 2))));
        trial.accepts(session(SessionState::Expired, None));
        trial.accepts(replied(1, z(1, 2), exists("/a"), Err(Error::SessionExpired)));
        let stat = trial.history.tree().stat("/").expect("the root");
        assert_eq!(
            trial.objects(replied(2, z(1, 2), exists("/"), Ok(Response::Exists(stat)))),
            "H8 an ended session is over: request 2 of session 0x10 (exists /, client 1) succeeded \
             after the session's end."
        );
        assert_eq!(
            trial.objects(session(SessionState::SyncConnected, Some(TWO))),
            "H8 an ended session is over: client 1 was connected with session 0x10 after its end."
        );
    }

    #[test]
    fn a_write_committed_after_close_session() {
        let mut trial = trial();
        trial.accepts(committed(close(z(1, 2))));
        let create = Bodies(&trial.history).create_as("/e", "", true);
        assert_eq!(
            trial.objects(committed(txn(z(1, 3), 5, create))),
            "H8 an ended session is over: 1:3 create /e (ephemeral) by 0x10 was committed, \
             although this session is not open."
        );
    }

    #[test]
    fn failures_and_a_second_close_are_legal_after_the_end() {
        let mut trial = trial();
        let create = Bodies(&trial.history).create("/a", "");
        trial.accepts(committed(txn(z(1, 2), 1, create.clone())));
        trial.accepts(committed(close(z(1, 3))));
        trial.accepts(committed(txn(z(1, 4), 2, TxnBody::Error(Error::SessionExpired))));
        trial.accepts(committed(close(z(1, 5))));
        // A late leader reports again what was committed while the session lived.
        trial.accepts(committed(txn(z(1, 2), 1, create)));
    }

    #[test]
    fn an_expired_session_may_still_read_until_it_is_told() {
        let mut trial = trial();
        trial.accepts(committed(close(z(1, 2))));
        // A slow follower answers a read without asking the leader (rule 2.4.2).
        let stat = trial.history.tree().stat("/").expect("the root");
        trial.accepts(replied(1, z(1, 1), exists("/"), Ok(Response::Exists(stat))));
        trial.accepts(session(SessionState::Expired, None));
    }

    #[test]
    fn a_closing_session_is_refused_before_the_commit() {
        let mut trial = trial();
        trial.accepts(Event::Proposed { leader: ONE, txn: close(z(1, 2)) });
        trial.accepts(session(SessionState::Expired, None));
        assert!(trial.history.tree().sessions().contains_key(&SESSION));
    }

    #[test]
    fn a_deposed_leader_does_not_know_a_session_of_its_successor() {
        for in_time in [true, false] {
            let mut trial = Trial::new(EndedSession::new());
            if in_time {
                trial.accepts(established(ONE, 1));
            }
            trial.accepts(established(TWO, 2));
            trial.create_session(z(2, 1));
            if !in_time {
                trial.accepts(established(ONE, 1));
            }
            trial.accepts(session(SessionState::Expired, None));
        }
    }

    #[test]
    fn a_leader_that_left_before_the_session_began_cannot_refuse_it() {
        let mut trial = Trial::new(EndedSession::new());
        trial.accepts(established(ONE, 1));
        trial.accepts(Event::LeftRole { server: ONE, reason: "no quorum" });
        trial.accepts(established(TWO, 2));
        trial.create_session(z(2, 1));
        trial.objects(session(SessionState::Expired, None));
    }

    #[test]
    fn the_reply_to_close_session() {
        let mut trial = trial();
        trial.accepts(committed(close(z(1, 2))));
        trial.accepts(session(SessionState::Closed, None));
        trial.accepts(replied(3, z(1, 2), Request::CloseSession, Ok(Response::Closed)));
        let result = Ok(Response::Synced);
        trial.objects(replied(4, z(1, 2), create_request("/a", ""), result));
    }

    /// Returns a trial with a local session (rule 2.6.1) that is connected to server 1.
    fn local_trial() -> Trial<EndedSession> {
        let mut trial = Trial::new(EndedSession::new());
        let mut config = Config::new(3, 1);
        config.options.local_sessions = true;
        trial.monitor.begin(&Arc::new(config));
        trial.accepts(session(SessionState::SyncConnected, Some(ONE)));
        trial
    }

    #[test]
    fn a_local_session_writes_without_a_beginning_but_owns_nothing() {
        let mut trial = local_trial();
        let create = Bodies(&trial.history).create("/a", "");
        trial.clone_and_object(committed(txn(
            z(1, 1),
            1,
            Bodies(&trial.history).create_as("/e", "", true),
        )));
        trial.accepts(committed(txn(z(1, 1), 1, create.clone())));
        trial.accepts(session(SessionState::Disconnected, None));
        trial.accepts(session(SessionState::Expired, Some(TWO)));
        // Without local sessions, the session of this transaction does not exist.
        Trial::new(EndedSession::new()).objects(committed(txn(z(1, 1), 1, create)));
    }

    #[test]
    fn a_session_may_be_refused_while_it_is_upgraded_and_not_after() {
        for lost_before in [true, false] {
            let mut trial = local_trial();
            if lost_before {
                trial.accepts(session(SessionState::Disconnected, None));
            }
            trial.create_session(z(1, 1));
            if !lost_before {
                trial.accepts(session(SessionState::Disconnected, None));
            }
            let expired = session(SessionState::Expired, Some(TWO));
            match lost_before {
                true => trial.accepts(expired),
                false => drop(trial.objects(expired)),
            }
        }
    }
}

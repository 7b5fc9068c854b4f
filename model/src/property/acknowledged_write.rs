//! H5: an acknowledged write is in the history, and its session sees it.
//!
//! * The reply to a write, successful or not, is the result of the transaction at the reply's zxid: the transaction
//!   belongs to this request, does what it asked, and had this result. A failed request is a transaction too (rule
//!   1.6.4).
//! * Every later reply of the session has that zxid or a higher one, on any connection: read-your-acknowledged-writes
//!   (rule 4.6.3).
//!
//! Three replies have no such transaction. A read-only connection answers NotReadOnly (rule 2.7.2). The other two
//! need local sessions (rule 2.6.2): the server of a session without a createSession closes it alone; and if sessions
//! are not upgraded, that session's ephemeral create, which the leader refuses with SessionExpired, is answered with
//! EphemeralOnLocalSession.

use super::read_only::ReadOnlySessions;
use super::{Declaration, Declared, LooksBack, View};
use crate::minds;
use crate::server::local::creates_ephemeral;
use crate::vocabulary::config::{Config, ServerOptions};
use crate::vocabulary::error::Error;
use crate::vocabulary::event::Event;
use crate::vocabulary::id::{ClientId, SessionId, Xid};
use crate::vocabulary::op::{Op, Request, Response, SessionState};
use crate::vocabulary::txn::TxnBody;
use crate::vocabulary::zxid::Zxid;
use crate::world::history::History;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The monitor of H5.
#[derive(Clone, Debug, Default, Hash)]
pub struct AcknowledgedWrite {
    /// The zxid of each living session's last acknowledged write.
    acknowledged: BTreeMap<SessionId, Zxid>,
    read_only: ReadOnlySessions,
    /// With local sessions, the sessions with a committed createSession: they are not local, or no longer.
    global: BTreeSet<SessionId>,
    /// Constant during a run.
    options: ServerOptions,
}

impl AcknowledgedWrite {
    /// Returns a monitor that has seen no acknowledged write.
    pub fn new() -> AcknowledgedWrite {
        AcknowledgedWrite::default()
    }

    /// Returns true if the reply to a write is valid without a transaction.
    fn is_without_transaction(&self, client: ClientId, reply: &Reply<'_>) -> bool {
        match (reply.request, reply.result) {
            (_, Err(Error::NotReadOnly)) => self.read_only.contains(client, reply.session),
            (Request::CloseSession, Ok(_)) => self.is_local(reply.session),
            _ => false,
        }
    }

    fn is_local(&self, session: SessionId) -> bool {
        self.options.local_sessions && !self.global.contains(&session)
    }

    /// Returns true if the reply is how a client sees that the leader refused an ephemeral of its local session.
    fn is_ephemeral_on_local(&self, reply: &Reply<'_>, history: &History) -> bool {
        let refused = history.get(reply.zxid).map(|txn| &txn.body);
        *reply.result == Err(Error::EphemeralOnLocalSession)
            && refused == Some(&TxnBody::Error(Error::SessionExpired))
            && !self.options.local_sessions_upgrading
            && self.is_local(reply.session)
            && matches!(reply.request, Request::Write(_))
            && creates_ephemeral(reply.request)
    }
}

/// A reply that a client has read.
struct Reply<'a> {
    session: SessionId,
    xid: Xid,
    zxid: Zxid,
    request: &'a Request,
    result: &'a Result<Response, Error>,
}

impl Reply<'_> {
    /// Returns true if the reply needs a transaction.
    fn is_of_write(&self) -> bool {
        match self.request {
            // A server refuses a request of an unknown type at once, without a transaction.
            Request::Write(_)
            | Request::Multi(_)
            | Request::SetAcl { .. }
            | Request::DeleteContainer { .. } => *self.result != Err(Error::Unimplemented),
            Request::CloseSession | Request::Reconfig(_) => true,
            Request::Sync { .. } => false,
            read => {
                debug_assert!(read.is_read());
                false
            }
        }
    }

    /// Compares the reply with the transaction at its zxid.
    fn check(&self, history: &History) -> Result<(), String> {
        if *self.result == Err(Error::SessionMoved) {
            // The server closes the connection instead (rule 2.4.4).
            return Err("was answered with SessionMoved, which no reply carries".to_owned());
        }
        let Some(txn) = history.get(self.zxid) else {
            return Err(format!("was answered at {}, where nothing is committed", self.zxid));
        };
        if txn.session != self.session || txn.cxid != self.xid || !answers(self.request, &txn.body)
        {
            return Err(format!("was answered at {}, but committed there is {txn}", self.zxid));
        }
        let applied = history.applied(self.zxid).expect("a transaction of the history");
        if applied.result == *self.result {
            return Ok(());
        }
        Err(format!(
            "was answered with {:?}, but the result of {txn} is {:?}",
            self.result, applied.result
        ))
    }
}

/// Returns true if `prep` may turn the request into this transaction.
fn answers(request: &Request, body: &TxnBody) -> bool {
    match (request, body) {
        (
            Request::Write(_)
            | Request::Multi(_)
            | Request::SetAcl { .. }
            | Request::DeleteContainer { .. }
            | Request::Reconfig(_),
            TxnBody::Error(_),
        ) => true,
        (Request::SetAcl { path: asked, .. }, TxnBody::SetAcl { path, .. })
        | (Request::DeleteContainer { path: asked }, TxnBody::DeleteContainer { path }) => {
            **path == **asked
        }
        (Request::Write(op), body) => op_answers(op, body),
        (Request::Multi(ops), TxnBody::Multi(bodies)) => {
            ops.len() == bodies.len()
                && ops.iter().zip(bodies).all(|(op, body)| op_answers(op, body))
        }
        (Request::Multi(ops), TxnBody::FailedMulti(codes)) => ops.len() == codes.len(),
        (Request::CloseSession, TxnBody::CloseSession { .. })
        | (Request::Reconfig(_), TxnBody::Reconfig(_)) => true,
        _ => false,
    }
}

fn op_answers(op: &Op, body: &TxnBody) -> bool {
    match (op, body) {
        (
            Op::Create { path: asked, data: content, mode, .. },
            TxnBody::Create { path, data, ephemeral_type, .. },
        ) => {
            let named = match mode.is_sequential() {
                true => path.starts_with(&**asked) && path.len() > asked.len(),
                false => **path == **asked,
            };
            named && data == content && ephemeral_type.owner().is_some() == mode.is_ephemeral()
        }
        (Op::Delete { path: asked, .. }, TxnBody::Delete { path })
        | (Op::Check { path: asked, .. }, TxnBody::Check { path }) => **path == **asked,
        (Op::SetData { path: asked, data: content, .. }, TxnBody::SetData { path, data, .. }) => {
            **path == **asked && data == content
        }
        _ => false,
    }
}

impl Declared for AcknowledgedWrite {
    const DECLARATION: Declaration<Self> =
        Declaration::everywhere("H5 acknowledged writes last", LooksBack::Whole, minds! { |this, view, event|
            Event::Session { .. } | Event::Killed { .. } => this.read_only.see(event),
            Event::Committed { txn, .. }
                if this.options.local_sessions && matches!(txn.body, TxnBody::CreateSession { .. }) =>
            {
                this.global.insert(txn.session);
            },
            Event::Replied { client, session, xid, zxid, request, result, .. } => {
                let reply = Reply { session: *session, xid: *xid, zxid: *zxid, request, result };
                this.replied(view, *client, reply).map_err(|saw| {
                    let number = xid.0;
                    this.objection(format!("request {number} of session {session} ({request}, {client}) {saw}."))
                })
            },
            Event::Session { session: Some(session), state: SessionState::Expired | SessionState::Closed, .. } => {
                this.acknowledged.remove(session);
            },
        })
        .begin(Self::begin);
}

impl AcknowledgedWrite {
    fn begin(&mut self, config: &Arc<Config>) {
        self.options = config.options.clone();
    }

    fn replied(
        &mut self,
        view: View<'_>,
        client: ClientId,
        reply: Reply<'_>,
    ) -> Result<(), String> {
        let Reply { session, zxid, .. } = reply;
        if let Some(write) = self.acknowledged.get(&session).filter(|write| zxid < **write) {
            return Err(format!(
                "was answered at {zxid}, although a write of the session at {write} had \
                 been acknowledged"
            ));
        }
        if reply.is_of_write() && !self.is_without_transaction(client, &reply) {
            let told = Err(Error::SessionExpired);
            let reply = match self.is_ephemeral_on_local(&reply, view.history.whole()) {
                true => Reply { result: &told, ..reply },
                false => reply,
            };
            reply.check(view.history.whole())?;
            self.acknowledged.insert(session, zxid);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::testing::{
        Bodies, ONE, SESSION, Trial, committed, create_request, exists, replied, session,
        set_data_request, txn, z,
    };
    use crate::vocabulary::op::{CreateMode, OpResult, Version};

    /// Returns a trial in which request 1 has created /a at 1:1, and the expected reply to that request.
    fn trial() -> (Trial<AcknowledgedWrite>, Result<Response, Error>) {
        let mut trial = Trial::new(AcknowledgedWrite::new());
        let create = Bodies(&trial.history).create("/a", "x");
        trial.commit(z(1, 1), 1, create);
        let result = trial.history.applied(z(1, 1)).expect("committed").result.clone();
        (trial, result)
    }

    #[test]
    fn a_lost_write_acknowledged() {
        let (mut trial, result) = trial();
        assert_eq!(
            trial.objects(replied(1, z(1, 2), create_request("/a", "x"), result)),
            "H5 acknowledged writes last: request 1 of session 0x10 (create /a (Persistent), \
             client 1) was answered at 1:2, where nothing is committed."
        );
    }

    #[test]
    fn the_answer_to_another_request() {
        let (mut trial, result) = trial();
        assert_eq!(
            trial.objects(replied(2, z(1, 1), create_request("/a", "x"), result.clone())),
            "H5 acknowledged writes last: request 2 of session 0x10 (create /a (Persistent), \
             client 1) was answered at 1:1, but committed there is 1:1 create /a by 0x10."
        );
        for other in [
            create_request("/b", "x"),
            create_request("/a", "y"),
            set_data_request("/a", "x"),
            Request::CloseSession,
            Request::Multi(Vec::new()),
        ] {
            let saw = trial.objects(replied(1, z(1, 1), other, result.clone()));
            assert!(saw.contains("but committed there is"), "{saw}");
        }
    }

    #[test]
    fn a_wrong_answer() {
        let (mut trial, _) = trial();
        let failed = replied(1, z(1, 1), create_request("/a", "x"), Err(Error::NodeExists));
        let saw = trial.objects(failed);
        assert!(
            saw.contains("was answered with Err(NodeExists), but the result of 1:1 create /a"),
            "{saw}"
        );
    }

    #[test]
    fn a_read_that_misses_the_own_write() {
        let (mut trial, result) = trial();
        trial.accepts(replied(1, z(1, 1), create_request("/a", "x"), result));
        assert_eq!(
            trial.objects(replied(2, z(1, 0), exists("/a"), Err(Error::NoNode))),
            "H5 acknowledged writes last: request 2 of session 0x10 (exists /a, client 1) was \
             answered at 1:0, although a write of the session at 1:1 had been acknowledged."
        );
    }

    #[test]
    fn session_moved_is_no_answer() {
        let (mut trial, _) = trial();
        trial.commit(z(1, 2), 2, TxnBody::Error(Error::SessionMoved));
        let reply = replied(2, z(1, 2), create_request("/b", ""), Err(Error::SessionMoved));
        assert!(trial.objects(reply).contains("which no reply carries"));
    }

    #[test]
    fn failed_requests_have_their_transactions() {
        let (mut trial, result) = trial();
        trial.accepts(replied(1, z(1, 1), create_request("/a", "x"), result));
        trial.commit(z(1, 2), 2, TxnBody::Error(Error::NodeExists));
        trial.accepts(replied(2, z(1, 2), create_request("/a", "x"), Err(Error::NodeExists)));
        // A failed multi is answered successfully, with one error code per operation.
        let codes = vec![None, Some(Error::NoNode), Some(Error::RuntimeInconsistency)];
        let op = Op::Check { path: Arc::from("/a"), version: Version::Any };
        let request = Request::Multi(vec![op; 3]);
        let results = codes.iter().map(|code| OpResult::Failed(*code)).collect();
        trial.commit(z(1, 3), 3, TxnBody::FailedMulti(codes));
        trial.accepts(replied(3, z(1, 3), request, Ok(Response::Multi(results))));
    }

    #[test]
    fn a_sequential_create_may_add_its_number() {
        let (mut trial, _) = trial();
        let body = Bodies(&trial.history).create_as("/lock-0000000001", "", true);
        trial.commit(z(1, 2), 2, body);
        let result = trial.history.applied(z(1, 2)).expect("committed").result.clone();
        let create = Op::create("/lock-", [], CreateMode::EphemeralSequential);
        let request = Request::Write(create);
        trial.accepts(replied(2, z(1, 2), request, result));
    }

    #[test]
    fn reads_and_refusals_need_no_transaction() {
        let (mut trial, result) = trial();
        trial.accepts(replied(1, z(1, 1), create_request("/a", "x"), result));
        trial.accepts(replied(2, z(2, 0), exists("/a"), Err(Error::SessionExpired)));
        let check = Request::Write(Op::Check { path: Arc::from("/a"), version: Version::Any });
        trial.accepts(replied(3, z(2, 0), check, Err(Error::Unimplemented)));
        let sync = Request::Sync { path: Arc::from("/") };
        trial.accepts(replied(4, z(2, 0), sync, Ok(Response::Synced)));
    }

    #[test]
    fn a_transaction_of_another_session_is_no_answer() {
        let (mut trial, result) = trial();
        let mut foreign = (*txn(z(1, 2), 1, Bodies(&trial.history).create("/b", "x"))).clone();
        foreign.session = SessionId(SESSION.0 + 1);
        trial.accepts(committed(Arc::new(foreign)));
        trial.objects(replied(1, z(1, 2), create_request("/b", "x"), result));
    }

    #[test]
    fn not_read_only_needs_a_read_only_connection() {
        let refused = || replied(2, z(1, 1), create_request("/b", ""), Err(Error::NotReadOnly));
        let (mut trial, _) = trial();
        trial.clone_and_object(refused());
        trial.accepts(session(SessionState::ConnectedReadOnly, Some(ONE)));
        trial.accepts(refused());
        // A read-only server cannot answer a write successfully.
        let success = Ok(Response::Closed);
        trial.clone_and_object(replied(2, z(1, 1), create_request("/b", ""), success));
        trial.accepts(session(SessionState::Disconnected, None));
        trial.objects(refused());
    }

    #[test]
    fn only_a_local_session_is_closed_without_a_transaction() {
        let closed = || replied(2, z(1, 1), Request::CloseSession, Ok(Response::Closed));
        for local_sessions in [true, false] {
            let (mut trial, _) = trial();
            let mut config = Config::new(3, 1);
            config.options.local_sessions = local_sessions;
            trial.monitor.begin(&Arc::new(config));
            if !local_sessions {
                trial.objects(closed());
                continue;
            }
            trial.clone().accepts(closed());
            trial.create_session(z(1, 2));
            trial.objects(closed());
        }
    }

    #[test]
    fn an_ephemeral_on_a_local_session_is_refused_with_another_word() {
        let ephemeral = || Request::Write(Op::create("/e", &b""[..], CreateMode::Ephemeral));
        let told = |request| replied(2, z(1, 2), request, Err(Error::EphemeralOnLocalSession));
        for upgrading in [false, true] {
            let (mut trial, _) = trial();
            let mut config = Config::new(3, 1);
            config.options.local_sessions = true;
            config.options.local_sessions_upgrading = upgrading;
            trial.monitor.begin(&Arc::new(config));
            trial.commit(z(1, 2), 2, TxnBody::Error(Error::SessionExpired));
            // EphemeralOnLocalSession is wrong for a znode that is not ephemeral, and for sessions that are upgraded.
            trial.clone_and_object(told(create_request("/e", "")));
            match upgrading {
                false => trial.accepts(told(ephemeral())),
                true => drop(trial.objects(told(ephemeral()))),
            }
        }
    }
}

//! Judges transactions: each is appended to the log, and is what `prep` decides at the log's end.
//!
//! Nothing is outstanding at this grain, so a request's result is what a fresh [`Prep`] decides over the tree at the
//! log's end, except for creates with a counter past its end ([`super::counters`]). This decides SessionExpired too:
//! the leader refuses a session from the moment it proposes the closeSession, so in the log a write fails with
//! SessionExpired exactly if the session is not in the tree there.
//!
//! SessionMoved alone depends on state outside of the log, the session's owner. It is allowed only if the session
//! exists and its client has lost a connection before: the owner differs from the session's first connection only
//! after the client has connected to another server.
//!
//! The log does not show either whether a session that is not in the tree is a local one (rule 2.6.3); the leader
//! accepts all requests of a local session except the creation of an ephemeral. So with local sessions, both results
//! are allowed.
//!
//! The writes of a session are committed in the order of their numbers, without a gap within one connection: the way
//! to the leader is first in, first out, so a broken connection loses only its last writes. A write that the leader
//! refused because the session had moved or ended has no effect, and is exempt from this order.

use super::Bridge;
use super::account::{Account, Write};
use crate::property::Saw;
use crate::server::prep::{Asker, Prep, Run};
use crate::server::tracker::Owner;
use crate::service::link::is_write;
use crate::tree::DataTree;
use crate::vocabulary::config::Config;
use crate::vocabulary::error::Error;
use crate::vocabulary::id::{ClientId, LearnerConnection, ServerId, SessionId, Xid};
use crate::vocabulary::op::Request;
use crate::vocabulary::packet::ServerRequest;
use crate::vocabulary::reconfiguration::Reconfiguration;
use crate::vocabulary::time::Time;
use crate::vocabulary::txn::{Txn, TxnBody};
use crate::vocabulary::zxid::Epoch;
use std::sync::Arc;

impl Bridge {
    pub(super) fn committed(&mut self, txn: &Arc<Txn>) -> Result<(), Saw> {
        let end = self.log.last().zxid();
        if txn.zxid <= end {
            return self.reported_again(txn);
        }
        if txn.zxid.is_opening() {
            return Err(Saw::from(format!(
                "{txn} was committed, although counter 0 names no transaction."
            )));
        }
        self.check(txn)?;
        self.counters.committed(txn);
        self.log.append(Arc::clone(txn));
        match txn.body {
            TxnBody::CreateSession { .. } => self.created(txn),
            TxnBody::CloseSession { .. } => self.closed(txn),
            _ => {}
        }
        self.log.forget_before(self.floor());
        Ok(())
    }

    /// Judges a transaction of a new leader's history, which repeats what was committed before.
    fn reported_again(&self, txn: &Arc<Txn>) -> Result<(), Saw> {
        match self.log.get(txn.zxid).map(|entry| &entry.txn) {
            Some(Some(known)) if known == txn => Ok(()),
            Some(Some(known)) => {
                Err(Saw::from(format!("{txn} was committed in the place of {known}.")))
            }
            _ if txn.zxid <= self.log.first().zxid() => Ok(()),
            _ => Err(Saw::from(format!("{txn} was committed below the log's end."))),
        }
    }

    fn check(&mut self, txn: &Txn) -> Result<(), Saw> {
        match (&txn.body, txn.cxid) {
            (TxnBody::CreateSession { .. }, Xid(0)) => {
                let account = self.sessions.get(&txn.session);
                match account.is_some_and(|account| !account.may_be_local()) {
                    true => Err(Saw::from(format!(
                        "{txn} was committed, although this session had been created before."
                    ))),
                    false => Ok(()),
                }
            }
            (TxnBody::CloseSession { .. }, Xid(0)) => self.check_expiry(txn),
            (_, Xid(0)) if txn.session == SessionId(0) => self.check_container(txn),
            (TxnBody::Error(Error::SessionMoved), _) => self.check_moved(txn),
            _ => self.check_write(txn),
        }
    }

    /// Fails unless the expired session is alive in the tree and the closeSession is what `prep` decides.
    fn check_expiry(&self, txn: &Txn) -> Result<(), Saw> {
        let tree = &self.log.last().tree;
        if !tree.sessions().contains_key(&txn.session) {
            return Err(Saw::from(format!(
                "{txn} was committed, although this session is not open."
            )));
        }
        let mut prep = Prep::new(Epoch(1), tree);
        let expected = prep.close(tree, txn.session).expect("an epoch has many zxids");
        compare(txn, &expected.body, "the expiry")
    }

    /// Judges a deletion by the leader itself, as session 0, which deletes containers and TTL znodes without
    /// children. Which of them it tries and when is not judged; a deletion that fails records only an error.
    fn check_container(&self, txn: &Txn) -> Result<(), Saw> {
        let path = match &txn.body {
            TxnBody::DeleteContainer { path } => path.shared(),
            TxnBody::Error(_) => return Ok(()),
            _ => {
                return Err(Saw::from(format!(
                    "{txn} was committed, but the leader itself deletes only containers and TTL znodes."
                )));
            }
        };
        let request = ServerRequest::Client(Arc::new(Request::DeleteContainer { path }));
        let tree = &self.log.last().tree;
        let asker = Asker::new(txn.session, Owner::Leader, Arc::from([]));
        let mut prep = Prep::new(Epoch(1), tree);
        let expected = prep.request(tree, &asker, txn.cxid, &request, &run(&self.config));
        compare(txn, &expected.expect("an epoch has many zxids").body, "the deletion")
    }

    fn check_moved(&mut self, txn: &Txn) -> Result<(), Saw> {
        let account = self.sessions.get_mut(&txn.session);
        let Some((account, at)) = account.and_then(|account| {
            let at = account.position(txn.cxid)?;
            Some((account, at))
        }) else {
            return Err(self.not_sent(txn).into());
        };
        if account.closed.is_some() || account.disconnected.is_none() {
            return Err(Saw::from(format!(
                "{txn} was committed for request {}, although the session had no other \
                 connection than the one that it was sent by.",
                txn.cxid.0
            )));
        }
        account.writes.remove(at);
        self.counts.moved += 1;
        Ok(())
    }

    fn check_write(&mut self, txn: &Txn) -> Result<(), Saw> {
        let account = self.sessions.get(&txn.session);
        let found = account.and_then(|account| Some((account, account.position(txn.cxid)?)));
        let Some((account, at)) = found else { return Err(self.not_sent(txn).into()) };
        let tree = &self.log.last().tree;
        if let Err(refused) = self.check_over(tree, account, at, txn) {
            let request = &account.writes[at].request;
            let databases = self.counters.databases(txn.zxid.epoch(), tree, request);
            if !databases.iter().any(|tree| self.check_over(tree, account, at, txn).is_ok()) {
                return Err(refused);
            }
            self.counts.outstanding += 1;
        }
        self.count_write(txn, at);
        Ok(())
    }

    /// Fails unless the transaction is the result of the session's write number `at` over this tree.
    fn check_over(
        &self,
        tree: &DataTree,
        account: &Account,
        at: usize,
        txn: &Txn,
    ) -> Result<(), Saw> {
        let write = &account.writes[at];
        let is_global = tree.sessions().contains_key(&txn.session);
        if is_global || account.may_be_local() {
            account.is_next(at, txn)?;
        }
        if let Request::Reconfig(asked) = &*write.request {
            return check_reconfiguration(asked, txn);
        }
        let request = ServerRequest::Client(Arc::clone(&write.request));
        let decide = |local, owner| {
            let asker = Asker::new(txn.session, owner, Arc::clone(&write.auth));
            let asker = Asker { local, ..asker };
            let mut prep = Prep::new(Epoch(1), tree);
            let expected = prep.request(tree, &asker, txn.cxid, &request, &run(&self.config));
            expected.expect("an epoch has many zxids")
        };
        let what = format!("request {} ({})", txn.cxid.0, write.request);
        let learner = Owner::Learner(LearnerConnection { learner: ServerId(0), slot: 0 });
        let passes = |owner| compare(txn, &decide(true, owner).body, &what).is_ok();
        let may_pass = self.config.options.local_sessions && !is_global;
        if !(may_pass && (passes(Owner::Leader) || passes(learner))) {
            compare(txn, &decide(false, Owner::Leader).body, &what)?;
        }
        Ok(())
    }

    fn count_write(&mut self, txn: &Txn, at: usize) {
        let account = self.sessions.get_mut(&txn.session).expect("it was just looked at");
        let write = account.writes.remove(at).expect("it was just looked at");
        account.decided = account.decided.max(Some((txn.cxid, txn.zxid)));
        let counts = &mut self.counts;
        counts.decided += 1;
        counts.failed += u64::from(matches!(txn.body, TxnBody::Error(_) | TxnBody::FailedMulti(_)));
        counts.late += u64::from(write.lost);
        counts.pending += u64::from(account.connections > write.connection);
    }

    fn not_sent(&self, txn: &Txn) -> String {
        let account = self.sessions.get(&txn.session);
        let decided = account.and_then(|account| account.decided);
        match decided.filter(|(decided, _)| *decided == txn.cxid && txn.cxid > Xid(0)) {
            Some((_, place)) => format!(
                "{txn} was committed for request {}, which was decided at {place} already.",
                txn.cxid.0
            ),
            None => format!(
                "{txn} was committed, although the session has no write number {} under way.",
                txn.cxid.0
            ),
        }
    }

    /// Records a request that a client machine sends.
    pub(super) fn sent(
        &mut self,
        client: ClientId,
        session: SessionId,
        xid: Xid,
        request: &Arc<Request>,
    ) -> Result<(), Saw> {
        if self.is_read_only(client, session) {
            return Ok(());
        }
        // Requests are tracked even if the connection's replies cannot be judged.
        let is_known = self.connection(client, session)?.is_some();
        let connection = self.open_connection(client);
        if is_known {
            connection.ask(xid, request);
        }
        let auth = Arc::clone(&connection.proven);
        let account = self.sessions.get_mut(&session).expect("a connection has a session");
        if xid <= account.last_sent {
            return Err(Saw::from(format!(
                "{client} sent request {} of session {session} ({request}) after request {}.",
                xid.0, account.last_sent.0
            )));
        }
        account.last_sent = xid;
        if is_write(request) {
            let (request, connection) = (Arc::clone(request), account.connections);
            account.writes.push_back(Write { xid, request, auth, connection, lost: false });
        }
        Ok(())
    }
}

impl Account {
    /// Fails unless the write at `at`, for which `txn` was committed, is the session's next one.
    fn is_next(&self, at: usize, txn: &Txn) -> Result<(), Saw> {
        let write = &self.writes[at];
        if let Some((later, place)) = self.decided.filter(|(later, _)| *later > write.xid) {
            return Err(Saw::from(format!(
                "{txn} was committed for request {} after request {} of the session, which was \
                 sent later and has its place at {place}.",
                write.xid.0, later.0
            ))
            .about(place));
        }
        let mut before = self.writes.iter().take(at);
        match before.find(|earlier| earlier.connection == write.connection) {
            Some(skipped) => Err(Saw::from(format!(
                "{txn} was committed for request {} before request {} ({}), which was sent \
                 earlier by the same connection.",
                write.xid.0, skipped.xid.0, skipped.request
            ))),
            None => Ok(()),
        }
    }
}

/// Returns what `prep` needs besides the database. The service grain has no ensemble that could be reconfigured.
fn run(config: &Config) -> Run<'_> {
    Run { config, view: None, at: Time::ZERO }
}

/// Fails unless the transaction is what a leader may make of this reconfiguration. Which error it gives, and which members it
/// finds, depends on configurations that are in no transaction (rule 5.8.8); so only the change is compared: made once more,
/// it changes nothing.
fn check_reconfiguration(asked: &Reconfiguration, txn: &Txn) -> Result<(), Saw> {
    match &txn.body {
        TxnBody::Error(_) => Ok(()),
        TxnBody::Reconfig(next) if asked.of(*next, txn.zxid) == Ok(*next) => Ok(()),
        _ => Err(Saw::from(format!("{txn} was committed for a request of another configuration."))),
    }
}

/// Fails unless the transaction has the expected body.
fn compare(txn: &Txn, expected: &TxnBody, what: &str) -> Result<(), Saw> {
    if txn.body == *expected {
        return Ok(());
    }
    let (was, should) = match (txn.body.to_string(), expected.to_string()) {
        (was, should) if was == should => (format!("{:?}", txn.body), format!("{expected:?}")),
        sentences => sentences,
    };
    Err(Saw::from(format!(
        "{} is {was} by session {}, but the result of {what} at this place of the log is {should}.",
        txn.zxid, txn.session
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::quorum::QuorumVerifier;
    use crate::vocabulary::zxid::Zxid;

    /// A request for server 4 becomes a configuration with it, or an error.
    #[test]
    fn a_reconfiguration_of_another_request() {
        let asked = Reconfiguration::incremental(["server.4=d:1:2;3"], []);
        let zxid = Zxid::new(Epoch(1), 5);
        let judged = |body| {
            check_reconfiguration(
                &asked,
                &Txn { zxid, session: SessionId(1), cxid: Xid(1), time: 0, body },
            )
        };
        let four = QuorumVerifier::majority(4);
        assert!(judged(TxnBody::Reconfig(four.with_version(zxid))).is_ok());
        assert!(judged(TxnBody::Error(Error::ReconfigInProgress)).is_ok());
        for body in [
            TxnBody::Reconfig(QuorumVerifier::majority(3).with_version(zxid)),
            TxnBody::Reconfig(four),
            TxnBody::CreateSession { timeout: std::time::Duration::from_secs(6) },
        ] {
            judged(body).expect_err("another change, another version, another request");
        }
    }
}

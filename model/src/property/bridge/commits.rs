//! Transactions: each takes its place at the log's end, and is what `prep` decides there.
//!
//! Nothing is outstanding at this grain, so what a request comes to is what a fresh
//! [`Prep`] over the tree at the log's end says, but for counters past their end ([`super::counters`]). That settles SessionExpired too: the leader refuses
//! a session from the moment it proposes its closeSession, so in the log a write fails with it
//! exactly when the session is not in the tree at that place.
//!
//! SessionMoved alone depends on what is not in the log, the owner of the session. It is allowed
//! only for a session that exists and whose client has lost a connection before: a session has an
//! owner other than the connection it was created by only once its client has gone elsewhere.
//!
//! Nor is it in the log whether a session that is not in the tree is a local one (rule 2.6.3), to which the
//! leader lets its requests pass, all but the creation of an ephemeral. So with local sessions it may
//! be either.
//!
//! The writes of a session take their places in the order of their numbers, and of one connection
//! none is left out: the way to the leader is first in, first out, and what is lost of it is its
//! end. What the leader refused because the session had moved, or was over, is out of this order, as
//! it has no effect.

use super::Bridge;
use super::account::{Account, Write};
use crate::property::Saw;
use crate::server::prep::{Asker, Prep};
use crate::server::tracker::Owner;
use crate::service::link::is_write;
use crate::tree::DataTree;
use crate::vocabulary::error::Error;
use crate::vocabulary::id::{ClientId, LearnerConnection, ServerId, SessionId, Xid};
use crate::vocabulary::op::Request;
use crate::vocabulary::packet::ServerRequest;
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

    /// A new leader reports its history, of which the beginning is known.
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
                        "{txn} was committed, although that session began before."
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

    /// The leader expires only what it holds to be alive.
    fn check_expiry(&self, txn: &Txn) -> Result<(), Saw> {
        let tree = &self.log.last().tree;
        if !tree.sessions().contains_key(&txn.session) {
            return Err(Saw::from(format!(
                "{txn} was committed, although no such session is alive."
            )));
        }
        let mut prep = Prep::new(Epoch(1), tree);
        let expected = prep.close(tree, txn.session).expect("an epoch has many zxids");
        compare(txn, &expected.body, "the expiry")
    }

    /// The leader itself, as session 0, deletes containers and TTL znodes without children; which it
    /// tries, and whether it is time to, is its own affair. What it tries in vain says only why.
    fn check_container(&self, txn: &Txn) -> Result<(), Saw> {
        let path = match &txn.body {
            TxnBody::DeleteContainer { path } => path.shared(),
            TxnBody::Error(_) => return Ok(()),
            _ => {
                return Err(Saw::from(format!(
                    "{txn} was committed, which is not the leader's to do."
                )));
            }
        };
        let request = ServerRequest::Client(Arc::new(Request::DeleteContainer { path }));
        let tree = &self.log.last().tree;
        let asker = Asker::new(txn.session, Owner::Leader, Arc::from([]));
        let mut prep = Prep::new(Epoch(1), tree);
        let expected = prep.request(tree, &asker, txn.cxid, &request, &self.config, Time::ZERO);
        compare(txn, &expected.expect("an epoch has many zxids").body, "the deletion")
    }

    fn check_moved(&mut self, txn: &Txn) -> Result<(), Saw> {
        let account = self.sessions.get_mut(&txn.session);
        let Some((account, at)) = account.and_then(|account| {
            let at = account.position(txn.cxid)?;
            Some((account, at))
        }) else {
            return Err(self.nobody_sent(txn).into());
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
        let Some((account, at)) = found else { return Err(self.nobody_sent(txn).into()) };
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

    /// Whether a transaction is what the write at `at` of its session comes to over this database.
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
        let request = ServerRequest::Client(Arc::clone(&write.request));
        let decide = |local, owner| {
            let asker = Asker::new(txn.session, owner, Arc::clone(&write.auth));
            let asker = Asker { local, ..asker };
            let mut prep = Prep::new(Epoch(1), tree);
            let expected = prep.request(tree, &asker, txn.cxid, &request, &self.config, Time::ZERO);
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

    fn nobody_sent(&self, txn: &Txn) -> String {
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

    /// A client machine puts a request on its connection.
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
        // What a connection says is known even where nothing is known of what it is told.
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
    /// Whether it is the turn of the write at `at`, for which `txn` was committed.
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

/// Whether a transaction does what it should.
fn compare(txn: &Txn, expected: &TxnBody, what: &str) -> Result<(), Saw> {
    if txn.body == *expected {
        return Ok(());
    }
    let (was, should) = match (txn.body.to_string(), expected.to_string()) {
        (was, should) if was == should => (format!("{:?}", txn.body), format!("{expected:?}")),
        sentences => sentences,
    };
    Err(Saw::from(format!(
        "{} is {was} by session {}, but at this place of the log {what} comes to {should}.",
        txn.zxid, txn.session
    )))
}

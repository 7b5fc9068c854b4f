//! The checks of one request, in the order of rule 1.6.2, and its records.

use super::{Asker, LeaderView};
use crate::server::access;
use crate::server::disk::Configurations;
use crate::server::outstanding::{OutstandingChanges, Record};
use crate::server::tracker::{Owner, SessionTracker};
use crate::tree::{DataTree, EphemeralType};
use crate::vocabulary::acl::{AclList, Permissions};
use crate::vocabulary::config::Config;
use crate::vocabulary::error::Error;
use crate::vocabulary::id::SessionId;
use crate::vocabulary::op::{CreateMode, Data, Op, Request, Version};
use crate::vocabulary::path::{CONFIG, RECONFIGURED, RESERVED, ZnodePath};
use crate::vocabulary::quorum::QuorumVerifier;
use crate::vocabulary::reconfiguration::Reconfiguration;
use crate::vocabulary::release::{Bug, Bugs, Release};
use crate::vocabulary::time::Duration;
use crate::vocabulary::txn::TxnBody;
use crate::vocabulary::zxid::Zxid;
use crate::wire::txn::record_length;
use std::sync::Arc;

/// The longest time to live, in milliseconds (rule 1.5.2).
const MAX_TTL: u128 = (1 << 40) - 1;

/// The change that one request makes.
pub(super) struct Change<'a> {
    pub tree: &'a DataTree,
    pub outstanding: &'a mut OutstandingChanges,
    pub sessions: &'a mut SessionTracker,
    pub zxid: Zxid,
    pub asker: &'a Asker,
    pub config: &'a Config,
    pub view: Option<LeaderView>,
}

impl Change<'_> {
    pub(super) fn request(&mut self, request: &Request) -> Result<TxnBody, Error> {
        match request {
            // Only a multi can contain a check; alone, it has an opcode that servers refuse.
            Request::Write(Op::Check { .. }) => Err(Error::Unimplemented),
            Request::Write(op) => self.op(op),
            // The server cannot read a multi with an operation that it does not know (rule 1.7.5).
            Request::Multi(ops) if !ops.iter().all(|op| self.operations_of().knows_op(op)) => {
                Err(Error::MarshallingError)
            }
            Request::Multi(ops) => Ok(self.multi(ops)),
            Request::SetAcl { path, acl, version } => {
                self.check_session()?;
                self.set_acl(path, acl, *version)
            }
            // The session is not checked, because the request comes from the leader itself.
            Request::DeleteContainer { path } => self.delete_container(path),
            Request::Reconfig(asked) => self.reconfigure(asked),
            read => unreachable!("{read} needs no transaction"),
        }
    }

    /// Checks all operations of a multi; if one fails, none is applied (rule 1.7).
    fn multi(&mut self, ops: &[Op]) -> TxnBody {
        let mut parts = Vec::with_capacity(ops.len());
        for op in ops {
            match self.op(op) {
                Ok(part) => parts.push(part),
                Err(error) => {
                    self.outstanding.roll_back(self.zxid);
                    return failed_multi(parts.len(), error, ops.len(), self.config.bugs);
                }
            }
        }
        TxnBody::Multi(parts)
    }

    /// Replaces a transaction that no server could read by an error. Identities in place of `auth` can make it much
    /// longer than its request (see [`Bug::LongRecordUnreadable`]).
    pub(super) fn refuse_if_too_long(&mut self, body: TxnBody) -> TxnBody {
        let limit = self.config.options.longest_record();
        if self.has(Bug::LongRecordUnreadable) || record_length(&body) <= limit {
            return body;
        }
        self.outstanding.roll_back(self.zxid);
        let (error, bugs) = (Error::MarshallingError, self.config.bugs);
        match body {
            TxnBody::Multi(parts) => failed_multi(0, error, parts.len(), bugs),
            _ => TxnBody::Error(error),
        }
    }

    fn op(&mut self, op: &Op) -> Result<TxnBody, Error> {
        if let Op::Create { mode, .. } = op {
            self.check_ttl(mode.ttl())?;
        }
        match op {
            Op::Create { mode, .. } if mode.is_ephemeral() => self.check_global_session()?,
            _ => self.check_session()?,
        }
        match op {
            Op::Create { path, data, mode, acl } => self.create(path, data, *mode, acl),
            Op::Delete { path, version } => self.delete(path, *version),
            Op::SetData { path, data, version } => self.set_data(path, data, *version),
            Op::Check { path, version } => self.check(path, *version),
        }
    }

    /// Checks the session of a request (checkSession); a session that is not tracked may be a local one.
    fn check_session(&mut self) -> Result<(), Error> {
        if self.asker.local && !self.sessions.is_tracking(self.asker.session) {
            return Ok(());
        }
        self.check_tracked(self.asker.session, self.asker.owner)
    }

    fn check_tracked(&mut self, session: SessionId, owner: Owner) -> Result<(), Error> {
        match self.sessions.check(session, owner) {
            Err(Error::SessionExpired)
                if self.has(Bug::ClosingSessionWrites) && self.sessions.is_tracking(session) =>
            {
                Ok(())
            }
            checked => checked,
        }
    }

    /// Checks that the session is in the tree, so that it can own a znode (checkGlobalSession). An own client of the
    /// leader with a local session that was not upgraded gets a specific error; the leader does not know a learner's
    /// local sessions.
    fn check_global_session(&mut self) -> Result<(), Error> {
        let Asker { session, owner, local, .. } = *self.asker;
        if local && owner == Owner::Leader && !self.sessions.is_tracking(session) {
            return Err(Error::EphemeralOnLocalSession);
        }
        self.check_tracked(session, owner)
    }

    fn check_ttl(&self, ttl: Option<Duration>) -> Result<(), Error> {
        let Some(ttl) = ttl else { return Ok(()) };
        if !self.config.options.extended_types {
            return Err(Error::Unimplemented);
        }
        if (1..=MAX_TTL).contains(&ttl.as_millis()) { Ok(()) } else { Err(Error::BadArguments) }
    }

    pub(super) fn create(
        &mut self,
        path: &Arc<str>,
        data: &Data,
        mode: CreateMode,
        acl: &AclList,
    ) -> Result<TxnBody, Error> {
        let parent = parent_of(path)?;
        let acl = access::fix_up(acl, &self.asker.auth, self.operations_of())?;
        let (parent, record) = self.find(parent)?;
        if !self.has(Bug::PlantedCreateAsksNoAcl) {
            self.may(&record, Permissions::CREATE)?;
        }
        // Validated only with its number appended: `/p/` is a valid prefix of a sequential name.
        let path = match mode.is_sequential() {
            true => self.path(format!("{path}{:010}", self.suffix(&record)))?,
            false => self.path(Arc::clone(path))?,
        };
        if self.find(&path).is_ok() {
            return Err(Error::NodeExists);
        }
        // An ephemeral has no children (rule 1.5.3).
        let is_ephemeral = record.ephemeral_type.owner().is_some();
        if is_ephemeral && !self.has(Bug::PlantedEphemeralParent) {
            return Err(Error::NoChildrenForEphemerals);
        }
        let data_length = data.len() as u32;
        self.check_quota(&path, 1, i64::from(data_length))?;
        let counted = if self.has(Bug::PlantedCversion) { 2 } else { 1 };
        let parent_cversion = record.cversion.wrapping_add(counted);
        let children = record.children + 1;
        let parent_record = Record { cversion: parent_cversion, children, ..record };
        let ephemeral_type = EphemeralType::of(mode, self.asker.session);
        let created = Record::created(ephemeral_type, data_length, acl.clone());
        self.outstanding.add(self.zxid, parent, Some(parent_record));
        self.outstanding.add(self.zxid, path.clone(), Some(created));
        let data = data.clone();
        Ok(TxnBody::Create { path, data, ephemeral_type, acl, parent_cversion })
    }

    fn delete(&mut self, path: &str, version: Version) -> Result<TxnBody, Error> {
        let (parent, parent_record) = self.find(self.deletable(path)?)?;
        // Rule 1.6.5.
        if !self.operations_of().asks_before_it_finds() {
            self.find(path)?;
        }
        if !self.has(Bug::PlantedDeleteAcl) {
            self.may(&parent_record, Permissions::DELETE)?;
        }
        let (path, record) = self.find(path)?;
        if self.has(Bug::PlantedDeleteAcl) {
            self.may(&record, Permissions::DELETE)?;
        }
        self.next_version(record.version, version)?;
        if record.children > 0 {
            return Err(Error::NotEmpty);
        }
        delete(self.outstanding, self.zxid, Some((parent, parent_record)), path.clone());
        Ok(TxnBody::Delete { path })
    }

    /// Checks a deleteContainer: it needs no permission and no version, and the time to live is not checked again
    /// (rule 1.5.5).
    fn delete_container(&mut self, path: &str) -> Result<TxnBody, Error> {
        let parent = self.deletable(path)?;
        let (path, record) = self.find(path)?;
        if record.children > 0 {
            return Err(Error::NotEmpty);
        }
        if record.ephemeral_type.owner().is_some() {
            return Err(Error::BadVersion);
        }
        let parent = self.find(parent)?;
        delete(self.outstanding, self.zxid, Some(parent), path.clone());
        Ok(TxnBody::DeleteContainer { path })
    }

    fn set_data(
        &mut self,
        path: &Arc<str>,
        data: &Data,
        version: Version,
    ) -> Result<TxnBody, Error> {
        self.path(Arc::clone(path))?;
        let (path, record) = self.find(path)?;
        self.may(&record, Permissions::WRITE)?;
        let data_length = data.len() as u32;
        self.check_quota(&path, 0, i64::from(data_length) - i64::from(record.data_length))?;
        let version = self.next_version(record.version, version)?;
        let record = Record { version, data_length, ..record };
        self.outstanding.add(self.zxid, path.clone(), Some(record));
        Ok(TxnBody::SetData { path, data: data.clone(), version })
    }

    fn set_acl(
        &mut self,
        path: &Arc<str>,
        acl: &AclList,
        version: Version,
    ) -> Result<TxnBody, Error> {
        self.path(Arc::clone(path))?;
        let acl = access::fix_up(acl, &self.asker.auth, self.operations_of())?;
        let (path, record) = self.find(path)?;
        self.may(&record, Permissions::ADMIN)?;
        let aversion = self.next_version(record.aversion, version)?;
        let is_old = self.has(Bug::OutstandingAclIsOld);
        let kept = if is_old { record.acl.clone() } else { acl.clone() };
        let record = Record { aversion, acl: kept, ..record };
        self.outstanding.add(self.zxid, path.clone(), Some(record));
        Ok(TxnBody::SetAcl { path, acl, aversion })
    }

    /// Checks a reconfiguration in the order of rule 5.8.3.
    fn reconfigure(&mut self, asked: &Reconfiguration) -> Result<TxnBody, Error> {
        if !self.config.options.reconfig_enabled {
            return Err(Error::ReconfigDisabled);
        }
        self.check_session()?;
        let next = self.next_configuration(asked)?;
        let (_, record) = self.find(CONFIG)?;
        self.may(&record, Permissions::WRITE)?;
        self.replace(next)
    }

    /// Checks what a reconfiguration asks for, and returns the configuration that becomes of it.
    pub(super) fn next_configuration(
        &self,
        asked: &Reconfiguration,
    ) -> Result<QuorumVerifier, Error> {
        let Some(LeaderView { configurations, synced }) = self.view else {
            return Err(Error::Unimplemented);
        };
        let Configurations { quorum, last_seen, .. } = configurations;
        if last_seen.version() != quorum.version() {
            return Err(Error::ReconfigInProgress);
        }
        if asked.version.is_some_and(|version| version != last_seen.version()) {
            return Err(Error::BadVersion);
        }
        let next = asked.of(last_seen, self.zxid)?;
        let least = if self.config.options.standalone_enabled { 2 } else { 1 };
        if next.voters().len() < least {
            return Err(Error::BadArguments);
        }
        if !next.contains_quorum(synced) {
            return Err(Error::NewConfigNoQuorum);
        }
        Ok(next)
    }

    /// Replaces the configuration.
    pub(super) fn replace(&mut self, next: QuorumVerifier) -> Result<TxnBody, Error> {
        let (path, record) = self.find(CONFIG)?;
        let data_length = next.to_string().len() as u32;
        let record = Record { version: RECONFIGURED, data_length, ..record };
        self.outstanding.add(self.zxid, path, Some(record));
        Ok(TxnBody::Reconfig(next))
    }

    fn check(&mut self, path: &Arc<str>, version: Version) -> Result<TxnBody, Error> {
        self.path(Arc::clone(path))?;
        let (path, record) = self.find(path)?;
        self.may(&record, Permissions::READ)?;
        self.next_version(record.version, version)?;
        Ok(TxnBody::Check { path })
    }

    /// Returns the parent of a path that may be deleted (rule 1.1.4).
    fn deletable<'a>(&self, path: &'a str) -> Result<&'a str, Error> {
        let parent = parent_of(path)?;
        let is_own = path == CONFIG && !self.operations_of().has_config_znode();
        if RESERVED.contains(&path) && !is_own { Err(Error::BadArguments) } else { Ok(parent) }
    }

    fn path(&self, path: impl Into<Arc<str>>) -> Result<ZnodePath, Error> {
        ZnodePath::of_release(path, self.operations_of())
    }

    fn find(&self, path: &str) -> Result<(ZnodePath, Record), Error> {
        let (path, record) = self.outstanding.find(self.tree, path).ok_or(Error::NoNode)?;
        Ok((path.clone(), record))
    }

    fn may(&self, record: &Record, wanted: Permissions) -> Result<(), Error> {
        access::check(&record.acl, wanted, &self.asker.auth, &self.config.options)
    }

    /// Checks a quota on the applied tree: requests in flight are not counted (rule 1.10.2).
    fn check_quota(&self, path: &str, count: i64, bytes: i64) -> Result<(), Error> {
        match self.config.options.enforce_quota {
            true => self.tree.check_quota(path, count, bytes),
            false => Ok(()),
        }
    }

    /// Returns the release whose operations the servers know.
    fn operations_of(&self) -> Release {
        self.config.options.operations_of
    }

    fn has(&self, bug: Bug) -> bool {
        self.config.bugs.has(bug)
    }

    /// Returns the number of a sequential name: the counter before this create (rules 1.4.1 and 1.4.4).
    fn suffix(&self, parent: &Record) -> i32 {
        match self.has(Bug::PlantedSequence) {
            true => parent.children as i32,
            false => parent.cversion,
        }
    }

    fn next_version(&self, current: i32, expected: Version) -> Result<i32, Error> {
        next_version(current, expected, self.config.bugs)
    }
}

/// Records a deletion. The parent's stored cversion counts only creations, so it does not change (rule 1.4.2).
pub(super) fn delete(
    outstanding: &mut OutstandingChanges,
    zxid: Zxid,
    parent: Option<(ZnodePath, Record)>,
    path: ZnodePath,
) {
    if let Some((parent, record)) = parent {
        let children = record.children.saturating_sub(1);
        outstanding.add(zxid, parent, Some(Record { children, ..record }));
    }
    outstanding.add(zxid, path, None);
}

/// Returns the text before the last slash, used to look up the parent. Nothing else of the path is checked at this
/// point, so an invalid path mostly fails with NoNode (rule 1.1.3).
fn parent_of(path: &str) -> Result<&str, Error> {
    match path.rfind('/') {
        Some(_) if path.contains('\0') => Err(Error::BadArguments),
        Some(0) => Ok("/"),
        Some(at) => Ok(&path[..at]),
        None => Err(Error::BadArguments),
    }
}

/// Returns the version after a change of a znode with version `current`. It is never -1, which in a request would
/// mean that any version is accepted (ZOOKEEPER-4743).
fn next_version(current: i32, expected: Version, bugs: Bugs) -> Result<i32, Error> {
    let compared = bugs.has(Bug::PlantedVersion) && expected == Version::Any && current != -1;
    if compared || !expected.accepts(current) {
        return Err(Error::BadVersion);
    }
    match current.wrapping_add(1) {
        -1 if !bugs.has(Bug::VersionBecomesMinusOne) => Ok(0),
        next => Ok(next),
    }
}

/// Returns the codes of a multi whose operation number `at` failed. SessionMoved becomes the error of the whole
/// request: the client's server closes the connection for it, and so needs to check only one place.
fn failed_multi(at: usize, error: Error, operations: usize, bugs: Bugs) -> TxnBody {
    if error == Error::SessionMoved {
        return TxnBody::Error(error);
    }
    let planted = bugs.has(Bug::PlantedMultiResults);
    let mut codes = vec![planted.then_some(Error::RuntimeInconsistency); at];
    codes.push(Some(error));
    codes.resize(operations, Some(Error::RuntimeInconsistency));
    TxnBody::FailedMulti(codes)
}

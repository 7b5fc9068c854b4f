//! The server's side of the double: turns requests into transactions.

use super::{Double, OutcomeOf};
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::id::{ClientId, SessionId, Xid};
use vivarium_model::op::{CreateMode, Data, Op, Request, Response};
use vivarium_model::path::ZnodePath;
use vivarium_model::tree::EphemeralType;
use vivarium_model::txn::TxnBody;

impl Double {
    /// Executes a request. The client's server answers a read from its present state; for all other requests it first
    /// catches up. (`lags` remains set: the server lags again from here on.)
    pub(super) fn execute(
        &mut self,
        client: ClientId,
        xid: Xid,
        request: &Arc<Request>,
    ) -> OutcomeOf {
        let view = &self.client(client).view;
        match &**request {
            Request::Exists { path, .. } => {
                return view.stat(path).map(Response::Exists).ok_or(Error::NoNode);
            }
            Request::GetData { path, .. } => {
                let node = view.node(path).ok_or(Error::NoNode)?;
                let stat = view.stat(path).expect("it exists");
                return Ok(Response::Data(node.data.clone(), stat));
            }
            Request::GetChildren { path, .. } => {
                let children = view.children(path).ok_or(Error::NoNode)?;
                return Ok(Response::Children(children, view.stat(path).expect("it exists")));
            }
            _ => {}
        }
        self.commit_proposed();
        let session = self.client(client).session.expect("a session");
        if !self.tree().sessions().contains_key(&session) {
            return Err(Error::SessionExpired);
        }
        let result = match &**request {
            Request::Sync { .. } => Ok(Response::Synced),
            _ => self.write(session, xid, request),
        };
        self.advance(client);
        result
    }

    pub(super) fn commit_proposed(&mut self) {
        for (session, xid, request) in std::mem::take(&mut self.proposed) {
            let _ = self.write(session, xid, &request);
        }
    }

    pub(super) fn write(&mut self, session: SessionId, xid: Xid, request: &Request) -> OutcomeOf {
        let body = match request {
            Request::Write(op) => self.prepare(session, op).unwrap_or_else(TxnBody::Error),
            Request::Multi(ops) => self.prepare_multi(session, ops),
            Request::CloseSession => return self.close(session, xid),
            read => unreachable!("{read} is no write"),
        };
        self.commit(session, xid, body)
    }

    pub(super) fn close(&mut self, session: SessionId, cxid: Xid) -> OutcomeOf {
        self.commit_proposed();
        let ephemerals = self.tree().ephemerals(session).cloned().collect();
        self.commit(session, cxid, TxnBody::CloseSession { ephemerals })
    }

    pub(super) fn prepare(&self, session: SessionId, op: &Op) -> Result<TxnBody, Error> {
        let tree = self.history.tree();
        match op {
            Op::Create { path, data, mode, .. } => self.prepare_create(session, path, data, *mode),
            Op::Delete { path, .. } if &**path == "/" => Err(Error::BadArguments),
            Op::Delete { path, version } => {
                let node = tree.node(path).ok_or(Error::NoNode)?;
                match version.accepts(node.version) {
                    true if tree.children_count(path) > 0 => Err(Error::NotEmpty),
                    true => Ok(TxnBody::Delete { path: valid(path)? }),
                    false => Err(Error::BadVersion),
                }
            }
            Op::SetData { path, data, version } => {
                let node = tree.node(path).ok_or(Error::NoNode)?;
                match version.accepts(node.version) {
                    true => Ok(TxnBody::SetData {
                        path: valid(path)?,
                        data: data.clone(),
                        version: node.version + 1,
                    }),
                    false => Err(Error::BadVersion),
                }
            }
            Op::Check { path, version } => {
                let node = tree.node(path).ok_or(Error::NoNode)?;
                match version.accepts(node.version) {
                    true => Ok(TxnBody::Check { path: valid(path)? }),
                    false => Err(Error::BadVersion),
                }
            }
        }
    }

    pub(super) fn prepare_create(
        &self,
        session: SessionId,
        path: &str,
        data: &Data,
        mode: CreateMode,
    ) -> Result<TxnBody, Error> {
        let directory = vivarium_model::path::parent(path).ok_or(Error::NodeExists)?;
        // A sequential name can be valid even if its prefix is not.
        let probe = if mode.is_sequential() { format!("{path}0") } else { path.to_owned() };
        valid(&probe)?;
        let parent = self.tree().node(directory).ok_or(Error::NoNode)?;
        let path = match mode.is_sequential() {
            true => valid(&format!("{path}{:010}", parent.cversion))?,
            false => valid(path)?,
        };
        if self.tree().node(&path).is_some() {
            return Err(Error::NodeExists);
        }
        if parent.ephemeral_owner().is_some() {
            return Err(Error::NoChildrenForEphemerals);
        }
        let ephemeral_type = EphemeralType::of(mode, session);
        Ok(TxnBody::create(path, data.clone(), ephemeral_type, parent.cversion + 1))
    }

    pub(super) fn prepare_multi(&self, session: SessionId, ops: &[Op]) -> TxnBody {
        let parts: Vec<Result<TxnBody, Error>> =
            ops.iter().map(|op| self.prepare(session, op)).collect();
        let Some(failed) = parts.iter().position(Result::is_err) else {
            return TxnBody::Multi(parts.into_iter().flatten().collect());
        };
        let code = |(at, part): (usize, &Result<TxnBody, Error>)| match at.cmp(&failed) {
            std::cmp::Ordering::Less => None,
            std::cmp::Ordering::Equal => part.as_ref().err().copied(),
            std::cmp::Ordering::Greater => Some(Error::RuntimeInconsistency),
        };
        TxnBody::FailedMulti(parts.iter().enumerate().map(code).collect())
    }
}

fn valid(path: &str) -> Result<ZnodePath, Error> {
    ZnodePath::new(path)
}

#[test]
fn a_failed_multi_answers_with_its_codes() {
    let double = Double::new(Vec::new());
    let check =
        |path: &str| Op::Check { path: path.into(), version: vivarium_model::op::Version::Any };
    let failed = double.prepare_multi(SessionId(1), &[check("/"), check("/none"), check("/")]);
    let codes = vec![None, Some(Error::NoNode), Some(Error::RuntimeInconsistency)];
    assert_eq!(failed, TxnBody::FailedMulti(codes));
    let passed = double.prepare_multi(SessionId(1), &[check("/")]);
    assert_eq!(passed, TxnBody::Multi(vec![TxnBody::Check { path: ZnodePath::root() }]));
}

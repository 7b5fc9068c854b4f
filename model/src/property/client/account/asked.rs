//! The operations that a program asks of its client machine.

use super::{Account, Local, Stage, Taken};
use crate::program::host::{Input, Operation, Outcome};
use crate::vocabulary::error::Error;
use crate::vocabulary::id::{CallId, SessionId};
use crate::vocabulary::op::{Data, Request};
use std::sync::Arc;

impl Account {
    pub(in crate::property::client) fn asked(&mut self, call: CallId, operation: &Operation) {
        let local = match operation {
            Operation::Request { request, watch, scope } => {
                return match self.prefix.whole(request) {
                    Ok(request) => self.request(
                        Taken { request, call: Some(call), watch: *watch, local: false, xid: None },
                        *scope,
                    ),
                    Err(error) => self.answer(call, Err(error)),
                };
            }
            Operation::RemoveWatches { path, kind, local, scope } => {
                let request = Request::RemoveWatches { path: Arc::clone(path), kind: *kind };
                return match self.prefix.whole(&Arc::new(request)) {
                    Ok(request) => self.request(
                        Taken { request, call: Some(call), watch: None, local: *local, xid: None },
                        *scope,
                    ),
                    Err(error) => self.answer(call, Err(error)),
                };
            }
            Operation::AddAuth { scheme, auth, scope } => {
                return self.add_auth(call, (Arc::clone(scheme), auth.clone()), *scope);
            }
            Operation::Connect => return self.connect(call),
            Operation::Close => return self.close(call),
            Operation::Sleep(_) => Local::Sleep,
            Operation::Now => Local::Now,
            Operation::Random => Local::Random,
            Operation::Receive => Local::Message,
            Operation::Cancelled => Local::Cancelled,
            Operation::Resource(_) => Local::Resource,
        };
        self.locals.insert(call, local);
    }

    /// Returns the error with which a call fails without a server's reply (rules 2.8.3 and 2.8.9). A call that is
    /// pinned to another session fails with SessionExpired.
    pub(super) fn refusal(&self, scope: Option<SessionId>) -> Option<Error> {
        if scope.is_some_and(|scope| self.session != Some(scope)) {
            return Some(Error::SessionExpired);
        }
        match self.stage {
            Stage::Over(error) => Some(error),
            Stage::Down => Some(Error::SessionExpired),
            _ if self.closing => Some(Error::ConnectionLoss),
            _ => None,
        }
    }

    pub(super) fn request(&mut self, taken: Taken, scope: Option<SessionId>) {
        match self.refusal(scope) {
            None => {
                self.closing = *taken.request == Request::CloseSession;
                self.last_made = self.last_made.next();
                self.requests.push_back(taken);
            }
            // The session is not over, so a removal may still remove its local watches.
            Some(Error::ConnectionLoss) => self.finish(taken, &Err(Error::ConnectionLoss)),
            Some(error) => {
                if let Some(call) = taken.call {
                    self.answer(call, Err(error));
                }
            }
        }
    }

    fn add_auth(&mut self, call: CallId, identity: (Arc<str>, Data), scope: Option<SessionId>) {
        let added = match self.refusal(scope) {
            Some(error) => Err(error),
            None => {
                if self.stage == Stage::Connected {
                    self.duties.auths.push_back(identity.clone());
                }
                if !self.identities.contains(&identity) {
                    self.identities.push(identity);
                }
                Ok(())
            }
        };
        self.owe(Input::Reply { call, outcome: Outcome::AuthAdded(added) });
    }

    fn connect(&mut self, call: CallId) {
        match (self.stage, self.session) {
            (Stage::Connected, Some(session)) if !self.closing => {
                self.owe(Input::Reply { call, outcome: Outcome::Connected(session) });
            }
            (stage, _) => {
                self.connects.push(call);
                if let Stage::Over(_) = stage {
                    self.begin();
                }
            }
        }
    }

    fn close(&mut self, call: CallId) {
        if matches!(self.stage, Stage::Over(_) | Stage::Down) {
            return self.owe(Input::Reply { call, outcome: Outcome::Closed });
        }
        self.closes.push(call);
        if !self.closing {
            let request = Arc::new(Request::CloseSession);
            self.request(Taken { request, call: None, watch: None, local: false, xid: None }, None);
        }
    }

    pub(in crate::property::client) fn abandoned(&mut self, call: CallId) {
        for taken in &mut self.requests {
            if taken.call == Some(call) {
                (taken.call, taken.watch) = (None, None);
            }
            if taken.watch == Some(call) {
                taken.watch = None;
            }
        }
        self.watches.forget(call);
        self.connects.retain(|other| *other != call);
        self.closes.retain(|other| *other != call);
        self.locals.remove(&call);
        self.owed.retain(|(_, _, input)| input.call() != Some(call));
    }
}

//! What an event, a step or an objection is about: clients, servers, sessions, transactions, znodes.
//!
//! A report of a violation shows the events that share a subject with the objection.

use crate::vocabulary::event::Event;
use crate::vocabulary::id::{ClientId, Machine, ServerId, SessionId};
use crate::vocabulary::observation::Value;
use crate::vocabulary::op::Request;
use crate::vocabulary::packet::ServerPacket;
use crate::vocabulary::path::ZnodePath;
use crate::vocabulary::step::Step;
use crate::vocabulary::txn::{Txn, TxnBody};
use crate::vocabulary::zxid::Zxid;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// One subject.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Subject {
    /// A client machine and its program.
    Client(ClientId),
    /// A server.
    Server(ServerId),
    /// A session.
    Session(SessionId),
    /// A transaction, or a fencing token.
    Zxid(Zxid),
    /// The path of a znode, or a text of an observation: the name of a child, an item, an attempt.
    Text(Arc<str>),
}

impl Subject {
    /// Returns true for clients and servers, which take part in many events of a run; other subjects occur in few.
    pub fn is_machine(&self) -> bool {
        matches!(self, Subject::Client(_) | Subject::Server(_))
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Client(client) => client.fmt(f),
            Subject::Server(server) => server.fmt(f),
            Subject::Session(session) => session.fmt(f),
            Subject::Zxid(zxid) => zxid.fmt(f),
            Subject::Text(text) => text.fmt(f),
        }
    }
}

impl From<ClientId> for Subject {
    fn from(client: ClientId) -> Subject {
        Subject::Client(client)
    }
}

impl From<ServerId> for Subject {
    fn from(server: ServerId) -> Subject {
        Subject::Server(server)
    }
}

impl From<SessionId> for Subject {
    fn from(session: SessionId) -> Subject {
        Subject::Session(session)
    }
}

impl From<Zxid> for Subject {
    fn from(zxid: Zxid) -> Subject {
        Subject::Zxid(zxid)
    }
}

impl From<Machine> for Subject {
    fn from(machine: Machine) -> Subject {
        match machine {
            Machine::Server(server) => server.into(),
            Machine::Client(client) => client.into(),
        }
    }
}

impl From<Arc<str>> for Subject {
    fn from(text: Arc<str>) -> Subject {
        Subject::Text(text)
    }
}

impl From<&str> for Subject {
    fn from(text: &str) -> Subject {
        Subject::Text(text.into())
    }
}

impl From<&ZnodePath> for Subject {
    fn from(path: &ZnodePath) -> Subject {
        Subject::Text(path.shared())
    }
}

/// A set of subjects that is being collected.
#[derive(Default)]
struct Subjects(BTreeSet<Subject>);

impl Subjects {
    fn add(&mut self, subject: impl Into<Subject>) -> &mut Subjects {
        self.0.insert(subject.into());
        self
    }

    /// Adds what a program has observed.
    fn value(&mut self, value: &Value) {
        match value {
            Value::Text(text) => _ = self.add(Arc::clone(text)),
            Value::Zxid(zxid) => _ = self.add(*zxid),
            Value::Session(session) => _ = self.add(*session),
            Value::List(values) => values.iter().for_each(|value| self.value(value)),
            Value::Fields(fields) => fields.iter().for_each(|(_, value)| self.value(value)),
            Value::Nothing | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn txn(&mut self, txn: &Txn) {
        self.add(txn.zxid).add(txn.session);
        self.body(&txn.body);
    }

    fn body(&mut self, body: &TxnBody) {
        match body {
            TxnBody::Create { path, .. }
            | TxnBody::Delete { path }
            | TxnBody::SetData { path, .. }
            | TxnBody::SetAcl { path, .. }
            | TxnBody::DeleteContainer { path }
            | TxnBody::Check { path } => _ = self.add(path),
            TxnBody::Multi(parts) => parts.iter().for_each(|part| self.body(part)),
            TxnBody::CloseSession { ephemerals } => {
                ephemerals.iter().for_each(|path| _ = self.add(path));
            }
            TxnBody::FailedMulti(_)
            | TxnBody::CreateSession { .. }
            | TxnBody::Error(_)
            | TxnBody::Reconfig(_) => {}
        }
    }

    fn request(&mut self, request: &Request) {
        request.each_path(|path| _ = self.add(Arc::clone(path)));
    }
}

impl Event {
    /// Returns what the event is about.
    pub fn subjects(&self) -> BTreeSet<Subject> {
        let mut all = Subjects::default();
        self.client().into_iter().for_each(|client| _ = all.add(client));
        match self {
            Event::Elected { server, leader, .. } | Event::Designated { server, leader } => {
                _ = all.add(*server).add(*leader);
            }
            Event::LeftRole { server, .. }
            | Event::Crashed { server, .. }
            | Event::Restarted { server }
            | Event::Exited { server, .. }
            | Event::EpochUndone { server, .. }
            | Event::Unexpected { server, .. } => _ = all.add(*server),
            Event::Activated { server, configuration } => {
                _ = all.add(*server).add(configuration.version());
            }
            Event::Followed { leader, learner, .. } => _ = all.add(*leader).add(*learner),
            Event::Established { leader, last_zxid, .. } => _ = all.add(*leader).add(*last_zxid),
            Event::AtMaster { master: leader, observer: learner, .. }
            | Event::Synchronising { leader, learner, .. }
            | Event::AcksStalled { leader, learner } => {
                _ = all.add(*leader).add(learner.learner);
            }
            Event::Proposed { leader: server, txn }
            | Event::Committed { leader: server, txn }
            | Event::Applied { server, txn, .. } => all.add(*server).txn(txn),
            Event::Serving { server, zxid, .. } | Event::Acked { server, zxid, .. } => {
                _ = all.add(*server).add(*zxid);
            }
            Event::AckedNewLeader { server, history, .. } => _ = all.add(*server).add(*history),
            Event::SnapshotTruncated { server, label, before, after } => {
                _ = all.add(*server).add(*label).add(*before).add(*after);
            }
            Event::Heard { server, session }
            | Event::Reattached { server, session }
            | Event::SyncRead { leader: server, session, .. }
            | Event::TakenForExpired { leader: server, session } => {
                _ = all.add(*server).add(*session);
            }
            Event::TouchesForwarded { learner, .. } => _ = all.add(learner.learner),
            Event::Touched { leader, .. } => _ = all.add(*leader),
            Event::Sent { session, request, .. }
            | Event::Lost { session, request, .. }
            | Event::Refused { session, request, .. } => {
                all.add(*session).request(request);
            }
            Event::Replied { session, request, zxid, .. } => {
                all.add(*session).add(*zxid).request(request);
            }
            Event::Session { session, server, .. } => {
                session.iter().for_each(|session| _ = all.add(*session));
                server.iter().for_each(|server| _ = all.add(*server));
            }
            Event::Notified { session, event, .. } => {
                _ = all.add(*session).add(Arc::clone(&event.path)).add(event.zxid);
            }
            Event::Mismatched { session, packet, .. } => {
                session.iter().for_each(|session| _ = all.add(*session));
                if let ServerPacket::Reply { zxid, .. } = packet {
                    all.add(*zxid);
                }
            }
            Event::Rearming { session, relative_zxid: zxid, .. }
            | Event::Rearmed { session, zxid, .. } => {
                _ = all.add(*session).add(*zxid);
            }
            Event::Authenticating { session, .. } | Event::Authenticated { session, .. } => {
                _ = all.add(*session)
            }
            Event::Observed { session, observation, .. } => {
                session.iter().for_each(|session| _ = all.add(*session));
                let fields = observation.fields().unwrap_or_default();
                fields.iter().for_each(|(_, value)| all.value(value));
            }
            Event::ResourceWrite { resource, token, .. } => {
                all.add(Arc::clone(resource));
                token.iter().for_each(|token| _ = all.add(*token));
            }
            Event::LearnsOfEnd { .. }
            | Event::Started { .. }
            | Event::Finished { .. }
            | Event::Panicked { .. }
            | Event::Killed { .. }
            | Event::Paused { .. }
            | Event::Resumed { .. }
            | Event::Cancelled { .. } => {}
        }
        all.0
    }
}

impl Step {
    /// Returns what a fault, or the end of one, is about; nothing for other steps, whose events say it.
    pub fn subjects(&self) -> BTreeSet<Subject> {
        let mut all = Subjects::default();
        match self {
            Step::Crash { server, .. } | Step::Restart(server) | Step::Rejoin(server) => {
                _ = all.add(*server);
            }
            Step::BreakClient { connection, .. } => _ = all.add(connection.client),
            Step::BreakLearner { connection, .. } => _ = all.add(connection.learner),
            Step::Cut { from, to } | Step::Heal { from, to } => _ = all.add(*from).add(*to),
            Step::Expire(session) => _ = all.add(*session),
            Step::Kill(client)
            | Step::Pause(client)
            | Step::Resume(client)
            | Step::Cancel(client) => {
                _ = all.add(*client);
            }
            _ => {}
        }
        all.0
    }
}

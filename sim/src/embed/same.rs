//! Translation of events of a run to the sessions, zxids and connections of its embedding, without times and servers,
//! which the service grain does not have.

use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::event::Event;
use vivarium_model::id::{ClientConnection, SessionId};
use vivarium_model::observation::{Custom, Observed, Value};
use vivarium_model::op::{OpResult, ReadResult, Response};
use vivarium_model::stat::Stat;
use vivarium_model::zxid::Zxid;

/// The names of a run and the corresponding names of its embedding.
#[derive(Default)]
pub(super) struct Names {
    /// Zxids of transactions.
    pub(super) zxids: BTreeMap<Zxid, Zxid>,
    pub(super) sessions: BTreeMap<SessionId, SessionId>,
}

impl Names {
    /// Translates a place in the log: that of the last transaction up to it.
    pub(super) fn zxid(&self, zxid: Zxid) -> Zxid {
        self.zxids.range(..=zxid).next_back().map_or(Zxid::ZERO, |(_, here)| *here)
    }

    fn session(&self, session: SessionId) -> SessionId {
        self.sessions.get(&session).copied().unwrap_or(session)
    }

    fn stat(&self, stat: &mut Stat) {
        for zxid in [&mut stat.czxid, &mut stat.mzxid, &mut stat.pzxid] {
            *zxid = self.zxid(*zxid);
        }
        (stat.ctime, stat.mtime) = (0, 0);
        stat.ephemeral_owner = stat.ephemeral_owner.map(|owner| self.session(owner));
    }

    fn op_result(&self, result: &mut OpResult) {
        match result {
            OpResult::Created(_, stat) | OpResult::Set(stat) => self.stat(stat),
            _ => {}
        }
    }

    fn result(&self, result: &mut Result<Response, Error>) {
        match result {
            Ok(Response::Written(result)) => self.op_result(result),
            Ok(Response::Multi(results)) => {
                results.iter_mut().for_each(|result| self.op_result(result));
            }
            Ok(
                Response::Exists(stat)
                | Response::Data(_, stat)
                | Response::Children(_, stat)
                | Response::Acl(_, stat)
                | Response::AclSet(stat),
            ) => self.stat(stat),
            Ok(Response::MultiRead(results)) => {
                for result in results {
                    if let ReadResult::Data(_, stat) = result {
                        self.stat(stat);
                    }
                }
            }
            _ => {}
        }
    }

    /// Returns the corresponding event of the embedding, without the parts that are left out of both.
    pub(super) fn translated(&self, event: &Event, connection: ClientConnection) -> Event {
        let mut event = event.clone();
        match &mut event {
            Event::Sent { session, connection: its, .. } => {
                (*session, *its) = (self.session(*session), connection);
            }
            Event::Replied { session, connection: its, zxid, result, .. } => {
                (*session, *its) = (self.session(*session), connection);
                *zxid = self.zxid(*zxid);
                self.result(result);
            }
            Event::Lost { session, .. }
            | Event::Refused { session, .. }
            | Event::Authenticating { session, .. }
            | Event::Authenticated { session, .. } => *session = self.session(*session),
            Event::Session { session, server, .. } => {
                *session = session.map(|session| self.session(session));
                *server = None;
            }
            Event::Notified { session, event, .. } => {
                *session = self.session(*session);
                event.zxid = self.zxid(event.zxid);
            }
            Event::Rearming { session, relative_zxid: zxid, .. }
            | Event::Rearmed { session, zxid, .. } => {
                (*session, *zxid) = (self.session(*session), self.zxid(*zxid));
            }
            Event::Observed { session, observation, .. } => {
                *session = session.map(|session| self.session(session));
                *observation =
                    written(observation, &|zxid| self.zxid(zxid), &|session| self.session(session));
            }
            Event::ResourceWrite { token, .. } => *token = token.map(|token| self.zxid(token)),
            _ => {}
        }
        event
    }
}

/// Returns an event of the embedding, without the parts that are left out of both.
pub(super) fn plain(event: &Event) -> Event {
    let mut event = event.clone();
    match &mut event {
        Event::Session { server, .. } => *server = None,
        Event::Observed { observation, .. } => {
            *observation = written(observation, &|zxid| zxid, &|session| session)
        }
        _ => {}
    }
    event
}

/// Converts an observation to its serialised form, in which zxids and session ids are recognised and can be replaced.
/// One that cannot be serialised is returned unchanged.
fn written(
    observation: &Observed,
    zxid: &impl Fn(Zxid) -> Zxid,
    session: &impl Fn(SessionId) -> SessionId,
) -> Observed {
    let Ok(fields) = observation.fields() else { return observation.clone() };
    let name = format!("{} ({})", observation.name(), observation.type_name());
    let other = |(name, value): &(Arc<str>, Value)| {
        (Arc::clone(name), value.clone().with_ids(zxid, session))
    };
    let fields = fields.iter().map(other);
    Observed::new(Custom { name: name.into(), fields: fields.collect() })
}

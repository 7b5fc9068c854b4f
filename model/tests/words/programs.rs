//! Inputs and outputs of programs; timers; effects of steps.

use super::{SESSION, create, lines};
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;
use vivarium_model::effect::{Blocker, Effect, Effects};
use vivarium_model::error::Error;
use vivarium_model::event::Event;
use vivarium_model::host::{Input, Message, Operation, Outcome, Output, ResourceRequest};
use vivarium_model::id::{CallId, ClientId, LearnerConnection, Machine, ServerId};
use vivarium_model::note::Note;
use vivarium_model::observation::{Observation, Observed};
use vivarium_model::op::{EventType, Response, SessionState, WatchedEvent, WatcherType};
use vivarium_model::server::Writing;
use vivarium_model::step::Step;
use vivarium_model::time::Time;
use vivarium_model::timer::{ClientTimer, ServerTimer, Timer, Watched};
use vivarium_model::zxid::{Epoch, Zxid};

const CALL: CallId = CallId(2);
const CLIENT: ClientId = ClientId(1);
const SERVER: ServerId = ServerId(2);
const MOMENT: Duration = Duration::from_millis(100);

/// An observation with words of its own.
#[derive(Debug, PartialEq, Eq, Hash, Serialize)]
struct Ready;

impl Observation for Ready {
    fn words(&self) -> String {
        "is ready for anything".into()
    }
}

fn body() -> Arc<[u8]> {
    Arc::from(&b"hello"[..])
}

#[test]
fn inputs() {
    let token = Zxid::new(Epoch(1), 9);
    let event = WatchedEvent { kind: EventType::NodeDeleted, path: "/a".into(), zxid: token };
    let outcomes = [
        Outcome::Response(Ok(Response::Synced)),
        Outcome::Response(Err(Error::ConnectionLoss)),
        Outcome::Watch(Ok(event.clone())),
        Outcome::Watch(Err(Error::SessionExpired)),
        Outcome::Connected(SESSION),
        Outcome::Closed,
        Outcome::Elapsed,
        Outcome::Now(Time(1_500_000)),
        Outcome::Random(7),
        Outcome::Message(Message { from: ClientId(2), body: body() }),
        Outcome::Cancelled,
        Outcome::Resource(Ok(())),
        Outcome::Resource(Err(token)),
        Outcome::AuthAdded(Ok(())),
        Outcome::AuthAdded(Err(Error::SessionExpired)),
    ];
    let replies = outcomes.map(|outcome| Input::Reply { call: CALL, outcome });
    let others = [
        Input::Start,
        Input::Session(SessionState::Disconnected.into()),
        Input::Event { call: CALL, event },
    ];
    insta::assert_snapshot!(lines(others.into_iter().chain(replies)));
}

#[test]
fn outputs() {
    let request = |watch, scope| Operation::Request { request: create(), watch, scope };
    let write =
        |token| Operation::Resource(ResourceRequest { resource: "disk".into(), token, value: 5 });
    let removal = |local, scope| Operation::RemoveWatches {
        path: "/a".into(),
        kind: WatcherType::Any,
        local,
        scope,
    };
    let operations = [
        request(None, None),
        request(Some(CallId(3)), Some(SESSION)),
        Operation::Connect,
        Operation::Close,
        Operation::Sleep(MOMENT),
        Operation::Now,
        Operation::Random,
        Operation::Receive,
        Operation::Cancelled,
        write(Some(Zxid::new(Epoch(1), 9))),
        write(None),
        Operation::AddAuth { scheme: "digest".into(), auth: body().into(), scope: None },
        removal(true, Some(SESSION)),
        removal(false, None),
    ];
    let submitted = operations.map(|operation| Output::Submit { call: CALL, operation });
    let others = [
        Output::Abandon { call: CALL },
        Output::Observe(Observed::new(Ready)),
        Output::Send { to: ClientId(2), body: body() },
        Output::Finished(Ok(())),
        Output::Finished(Err("no lock".into())),
        Output::Panicked("index out of bounds".into()),
    ];
    insta::assert_snapshot!(lines(submitted.into_iter().chain(others)));
}

#[test]
fn timers_and_writes() {
    let connection = LearnerConnection { learner: ServerId(1), slot: 0 };
    let of_server = [
        ServerTimer::Notification,
        ServerTimer::Finalize,
        ServerTimer::ConnectLeader,
        ServerTimer::InitLimit,
        ServerTimer::LeaderSilent,
        ServerTimer::LearnerSilent(connection),
        ServerTimer::AckDeadline(connection),
        ServerTimer::Unacknowledged(connection, Watched::One),
        ServerTimer::Ping,
        ServerTimer::SessionExpiry(SESSION),
        ServerTimer::ReadOnly,
        ServerTimer::ConnectMaster(SERVER),
    ];
    let of_client = [
        ClientTimer::Reconnect,
        ClientTimer::Connect,
        ClientTimer::Read,
        ClientTimer::Ping,
        ClientTimer::Expiry,
        ClientTimer::Probe,
    ];
    let server = of_server.map(|timer| Timer::Server(SERVER, timer));
    let client = of_client.map(|timer| Timer::Client(CLIENT, timer));
    let timers = server.into_iter().chain(client).chain([Timer::Sleep(CLIENT, CALL)]);
    insta::assert_snapshot!(lines(timers.map(Step::Fire)));
    let writes = [
        Writing::LeadSnapshot,
        Writing::AcceptedEpoch,
        Writing::CurrentEpochTmp,
        Writing::CurrentEpoch,
        Writing::SyncSnapshot,
        Writing::SyncAppend,
        Writing::SyncFsync,
    ];
    let written = writes.map(|writing| format!("{SERVER} has written {writing}"));
    insta::assert_snapshot!(lines(written));
}

#[test]
fn what_a_step_causes() {
    let timer = Timer::Client(CLIENT, ClientTimer::Reconnect);
    let mut effects = Effects::noted();
    effects.note(|| Note::Refused { server: SERVER });
    effects.event(Event::Paused { client: CLIENT });
    effects.due(Step::Fsync(SERVER));
    effects.push(Effect::Random(CLIENT, CALL));
    effects.push(Effect::Arm { timer, after: MOMENT, spread: MOMENT });
    effects.arm(timer, MOMENT);
    effects.disarm(timer);
    let (from, to) = (Machine::Client(CLIENT), Machine::Server(SERVER));
    for blocker in [Blocker::Cut { from, to }, Blocker::Paused(CLIENT), Blocker::Busy(SERVER)] {
        effects.push(Effect::Unblocked(blocker));
    }
    insta::assert_snapshot!(effects);
}

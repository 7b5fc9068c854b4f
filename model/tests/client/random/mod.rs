//! Random lives of a client machine. Whatever happens to it, in whatever order:
//!
//! * every call gets exactly one outcome, of its kind, unless it is abandoned or its process dies; a watch that was
//!   registered fires, is removed or fails exactly once; a persistent watch ends exactly once, and gets only events
//!   of what it watches, before its end;
//! * the numbers of requests strictly increase within a session, and replies belong to the oldest request;
//! * only requests that were sent are reported as lost;
//! * packets are sent on an open connection: ConnectRequest first, and after its answer the identities that were
//!   added, then the watches, then requests;
//! * exactly the timers of its state are armed.

mod account;

use account::{Configuration, Surroundings};
use proptest::prelude::*;
use vivarium_model::client::ClientEffect;
use vivarium_model::event::Event;
use vivarium_model::host::{Input, Outcome};
use vivarium_model::id::{CallId, ClientConnection, ClientId, SessionId};
use vivarium_model::op::{EventType, WatchedEvent};
use vivarium_model::zxid::Zxid;

/// Something that happens to the machine.
#[derive(Clone, Debug)]
pub(crate) enum Happening {
    /// The process starts.
    Start,
    /// The process dies.
    Kill,
    /// A request on one of three paths: sync, a read with a watch, a persistent watch.
    Request { kind: u8, path: u8, scope: Option<u8> },
    /// Watches of one of the types are removed.
    Remove { kind: usize, path: u8, local: bool },
    /// One of three identities is added.
    AddAuth(u8),
    /// A server accepts or refuses an identity.
    Judge { ok: bool },
    /// `Connect`.
    Connect,
    /// `Close`.
    Close,
    /// One of the pending calls or watches is dropped.
    Abandon(usize),
    /// The server accepts the session, or begins one; it may be read-only.
    Accept { read_only: bool },
    /// The server answers that the session is over.
    Expire,
    /// The server answers the oldest request, with success or with NoNode.
    Reply { ok: bool },
    /// A reply with a number that may be wrong.
    StrayReply(u32),
    /// A notification, for a watch or not.
    Notify { event: usize, path: u8 },
    /// The answer to a ping.
    Pong,
    /// The connection ends.
    Disconnect,
    /// A timer fires, armed or not.
    Timer(usize),
}

fn happening() -> impl Strategy<Value = Happening> {
    let request = (0..6u8, 0..3u8, proptest::option::weighted(0.2, 1..4u8));
    let removal = (0..5usize, 0..3u8, any::<bool>());
    prop_oneof![
        1 => Just(Happening::Start),
        1 => Just(Happening::Kill),
        16 => request.prop_map(|(kind, path, scope)| Happening::Request { kind, path, scope }),
        3 => removal.prop_map(|(kind, path, local)| Happening::Remove { kind, path, local }),
        2 => (0..3u8).prop_map(Happening::AddAuth),
        1 => prop::bool::weighted(0.8).prop_map(|ok| Happening::Judge { ok }),
        4 => Just(Happening::Connect),
        1 => Just(Happening::Close),
        6 => (0..8usize).prop_map(Happening::Abandon),
        12 => prop::bool::weighted(0.2).prop_map(|read_only| Happening::Accept { read_only }),
        1 => Just(Happening::Expire),
        14 => any::<bool>().prop_map(|ok| Happening::Reply { ok }),
        1 => (0..6u32).prop_map(Happening::StrayReply),
        8 => (0..4usize, 0..3u8).prop_map(|(event, path)| Happening::Notify { event, path }),
        2 => Just(Happening::Pong),
        4 => Just(Happening::Disconnect),
        10 => (0..6usize).prop_map(Happening::Timer),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_random_life_keeps_every_promise(
        can_be_read_only: bool,
        expires_locally: bool,
        happenings in proptest::collection::vec(happening(), 0..80),
    ) {
        let mut life = Surroundings::new(Configuration { can_be_read_only, expires_locally });
        life.happens(&Happening::Start);
        for happening in &happenings {
            life.happens(happening);
        }
        life.settle();
    }
}

const ACCEPT: Happening = Happening::Accept { read_only: false };

/// The record rejects a second outcome of a call.
#[test]
#[should_panic(expected = "call 0 awaits None")]
fn a_second_answer_is_noticed() {
    let mut life = Surroundings::plain();
    for happening in [Happening::Start, ACCEPT, Happening::Connect] {
        life.happens(&happening);
    }
    let outcome = Outcome::Connected(SessionId(1));
    life.judge(vec![ClientEffect::Input(Input::Reply { call: CallId(0), outcome })]);
}

/// The record rejects a call without outcome.
#[test]
#[should_panic(expected = "never answered")]
fn a_missing_answer_is_noticed() {
    let mut life = Surroundings::plain();
    for happening in [Happening::Start, ACCEPT] {
        life.happens(&happening);
    }
    life.expect_close(CallId(0));
    life.settle();
}

/// The record rejects a request number that does not increase.
#[test]
#[should_panic(expected = "Xid(1) after Xid(1)")]
fn a_repeated_number_is_noticed() {
    let mut life = Surroundings::plain();
    for happening in [Happening::Start, ACCEPT] {
        life.happens(&happening);
    }
    let sync = Happening::Request { kind: 0, path: 0, scope: None };
    life.happens(&sync);
    let (xid, request) = life.take_oldest().expect("the sync was sent");
    life.reported(Event::Sent {
        client: ClientId(1),
        session: SessionId(1),
        connection: ClientConnection { client: ClientId(1), slot: 0 },
        xid,
        request,
    });
}

/// The record rejects an event of a path that is not watched.
#[test]
#[should_panic(expected = "is told of /2")]
fn a_wrong_event_of_a_watch_that_stays_is_noticed() {
    let mut life = Surroundings::plain();
    let recursive = Happening::Request { kind: 5, path: 0, scope: None };
    for happening in [Happening::Start, ACCEPT, recursive, Happening::Reply { ok: true }] {
        life.happens(&happening);
    }
    let event = |path: &str| {
        let (kind, path) = (EventType::NodeCreated, path.into());
        let event = WatchedEvent { kind, path, zxid: Zxid(1) };
        vec![ClientEffect::Input(Input::Event { call: CallId(1), event })]
    };
    life.judge(event("/0/1"));
    life.judge(event("/2"));
}

/// The record rejects a request to a server that has not received an identity yet.
#[test]
#[should_panic(expected = "before it is told of all identities")]
fn a_forgotten_identity_is_noticed() {
    let mut life = Surroundings::plain();
    for happening in [Happening::Start, ACCEPT, Happening::AddAuth(0)] {
        life.happens(&happening);
    }
    life.forget_what_was_told();
    life.happens(&Happening::Request { kind: 0, path: 0, scope: None });
}

//! The monitor of H16 on machines that are late or early.

use super::PunctualClient;
use crate::program::exchange::Exchange;
use crate::program::host::{Operation, Outcome};
use crate::property::client::testing::{GRANTED, Scene, told};
use crate::property::testing::SESSION;
use crate::property::{LooksBack, View};
use crate::vocabulary::id::CallId;
use crate::vocabulary::packet::{ClientPacket, ServerPacket};
use crate::vocabulary::time::Duration;
use crate::vocabulary::timer::ClientTimer;
use crate::vocabulary::zxid::Zxid;
use crate::world::history::History;

const PONG: Exchange = Exchange::Read(ServerPacket::Pong);

fn connected() -> Scene<PunctualClient> {
    Scene::connected(PunctualClient::new())
}

#[test]
fn a_ping_that_is_late() {
    let mut scene = connected();
    scene.now = scene.now + GRANTED / 3;
    let mut late = scene.clone();
    late.now = late.now + Duration::from_millis(1);
    assert!(late.objects(PONG).contains("sent nothing"));
    let history = History::new();
    let view = View::new(late.now, &history).within(LooksBack::Nothing);
    assert!(late.monitor.end(view).is_err());
    scene.accepts(Exchange::Fired(ClientTimer::Ping));
    scene.accepts(Exchange::Wrote(ClientPacket::Ping));
    scene.now = scene.now + GRANTED / 3;
    scene.accepts(PONG);
}

#[test]
fn a_timeout_that_nobody_has_granted() {
    // Two thirds of the requested timeout are longer than the granted one.
    let mut scene = connected();
    scene.now = scene.now + GRANTED / 3;
    scene.accepts(Exchange::Wrote(ClientPacket::Ping));
    scene.now = scene.now + GRANTED / 3;
    scene.accepts(Exchange::Wrote(ClientPacket::Ping));
    let mut late = scene.clone();
    late.now = late.now + Duration::from_millis(1);
    assert!(late.objects(Exchange::Fired(ClientTimer::Read)).contains("read nothing"));
    scene.accepts(Exchange::Fired(ClientTimer::Read));
}

#[test]
fn a_connection_that_is_given_up_too_early() {
    let mut scene = connected();
    scene.now = scene.now + GRANTED / 3;
    assert!(scene.objects(Exchange::Fired(ClientTimer::Read)).contains("too early"));
    scene.accepts(Exchange::Fired(ClientTimer::Ping));
}

#[test]
fn an_attempt_that_waits_too_long() {
    let mut scene = connected();
    scene.accepts(Exchange::Broke);
    scene.now = scene.now + Duration::from_millis(1_001);
    assert!(scene.objects(Exchange::Fired(ClientTimer::Reconnect)).contains("more than a second"));
    scene.now.0 -= 1_000;
    scene.accepts(Exchange::Fired(ClientTimer::Reconnect));
    scene.opens(2, Some(SESSION), Zxid::ZERO);
    scene.now = scene.now + GRANTED / 3 + Duration::from_millis(1);
    assert!(scene.objects(Exchange::Fired(ClientTimer::Connect)).contains("than it may"));
}

#[test]
fn a_machine_that_stood_still_has_a_reason() {
    let mut scene = connected();
    scene.accepts(Exchange::Paused);
    scene.now = scene.now + GRANTED * 2;
    scene.accepts(Exchange::Resumed);
    scene.accepts(Exchange::Fired(ClientTimer::Ping));
    scene.now = scene.now + Duration::from_millis(1);
    scene.objects(PONG);
}

#[test]
fn a_sleep_that_is_too_short() {
    let mut scene = connected();
    let operation = Operation::Sleep(Duration::from_millis(500));
    scene.accepts(Exchange::Asked { call: CallId(1), operation });
    scene.now = scene.now + Duration::from_millis(499);
    assert!(scene.objects(told(1, Outcome::Elapsed)).contains("too early"));
    scene.now = scene.now + Duration::from_millis(1);
    scene.accepts(told(1, Outcome::Elapsed));
}

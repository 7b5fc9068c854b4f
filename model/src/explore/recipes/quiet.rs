//! What follows a step quietly: see the table of reductions in the module above.

use super::Recipes;
use super::scene::Scene;
use crate::effect::{Effects, Status};
use crate::event::{Event, Observation};
use crate::explore::trie::Edge;
use crate::fingerprint::Fingerprint;
use crate::host::Output;
use crate::id::{ClientConnection, ClientId, SessionId, Xid};
use crate::op::{EventType, Request, SessionState, WatchedEvent};
use crate::property::{Monitor, Monitors, Objection};
use crate::step::Step;
use crate::timer::{ClientTimer, Timer};
use crate::zxid::Zxid;
use std::sync::Arc;

impl Recipes {
    /// Takes all steps of this client that follow quietly.
    ///
    /// # Errors
    /// An objection.
    pub(super) fn settle(
        &self,
        scene: &mut Scene,
        client: ClientId,
        effects: &mut Effects,
    ) -> Result<(), Objection> {
        while let Some(step) = self.quiet_step(scene, client) {
            let status = scene.take(step, effects)?;
            assert_eq!(status, Status::Done, "{step} was found to be possible");
        }
        Ok(())
    }

    /// A step of this client that nothing is lost by taking now.
    fn quiet_step(&self, scene: &Scene, client: ClientId) -> Option<Step> {
        let service = scene.world.grain();
        if let Some(call) = service.draws(client).next() {
            return Some(draw(client, call, service.numbers_drawn(client)));
        }
        if let Some(input) = service.next_input(client) {
            let edge = scene.world.host().peek(client, input);
            return self
                .is_quiet(scene.world.monitors(), client, &edge)
                .then_some(Step::Input(client));
        }
        if service.can_reconnect(client) {
            return Some(Step::Fire(Timer::Client(client, ClientTimer::Reconnect)));
        }
        let (timers, cancels) = (scene.left.timers > 0, scene.left.cancels > 0);
        if service.has_packet(client)
            && !self.reads_matter
            && !service.has_other_inputs(client, timers, cancels)
        {
            return Some(Step::ToClient(service.connection(client)));
        }
        let can_expire = scene.left.expiries > 0;
        service.only_answer(client, can_expire).map(|prefix| Step::Serve { client, prefix })
    }

    /// Whether no monitor minds when this client's program takes its next input.
    pub(super) fn is_quiet_input(&self, scene: &Scene, client: ClientId) -> bool {
        scene.world.grain().next_input(client).is_some_and(|input| {
            let edge = scene.world.host().peek(client, input);
            self.is_quiet(scene.world.monitors(), client, &edge)
        })
    }

    /// Whether no monitor minds when this edge is taken.
    fn is_quiet(&self, monitors: &Monitors, client: ClientId, edge: &Edge) -> bool {
        !edge.is_visible()
            || edge.outputs().iter().all(|output| match output {
                Output::Submit { .. } | Output::Abandon { .. } | Output::Send { .. } => true,
                Output::Observe(observation) => !monitors.mind(&observed(client, observation)),
                Output::Finished(result) => {
                    result.is_ok() && !monitors.mind(&Event::Finished { client, result: Ok(()) })
                }
                Output::Panicked(_) => false,
            })
    }
}

/// A random number: fresh, as good ones are. Which one is no choice; that two are equal is none of
/// the things that this search tries.
pub(super) fn draw(client: ClientId, call: crate::id::CallId, number: u64) -> Step {
    let value = Fingerprint::of(&("random", client, number)).0 as u64;
    Step::Random { client, call, value }
}

fn observed(client: ClientId, observation: &Observation) -> Event {
    let observation = observation.clone();
    Event::Observed { client, session: None, next_xid: Xid(0), observation }
}

/// Whether any monitor minds in which order clients are told things by ZooKeeper.
pub(super) fn reads_matter(monitors: &[Box<dyn Monitor>]) -> bool {
    let (client, session, xid, zxid) = (ClientId(1), SessionId(1), Xid(1), Zxid(1));
    let connection = ClientConnection { client, slot: 0 };
    let request = Arc::new(Request::Sync { path: "/".into() });
    let event = WatchedEvent { kind: EventType::NodeDeleted, path: "/".into(), zxid };
    let result = Err(crate::error::Error::NoNode);
    let replied = Event::Replied {
        client,
        session,
        connection,
        xid,
        zxid,
        request: Arc::clone(&request),
        result,
    };
    let states = [
        SessionState::SyncConnected,
        SessionState::ConnectedReadOnly,
        SessionState::Disconnected,
        SessionState::Expired,
        SessionState::Closed,
        SessionState::AuthFailed,
    ];
    let session = |state| Event::Session { client, session: Some(session), server: None, state };
    let told = [
        replied,
        Event::Notified { client, session: SessionId(1), event },
        Event::Lost { client, session: SessionId(1), xid, request },
    ];
    let told = told.into_iter().chain(states.map(session));
    let monitors = Monitors::new(monitors.to_vec());
    told.into_iter().any(|event| monitors.mind(&event))
}

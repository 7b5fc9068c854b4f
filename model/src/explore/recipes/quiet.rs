//! What follows a step quietly: see the table of reductions in the module above.

use super::{Recipes, State};
use crate::effect::{Effects, Status};
use crate::event::{Event, Observation};
use crate::explore::trie::Edge;
use crate::fingerprint::Fingerprint;
use crate::host::Output;
use crate::id::{ClientConnection, ClientId, SessionId, Xid};
use crate::op::{EventType, Request, SessionState, WatchedEvent};
use crate::property::{Monitor, Monitors, Objection};
use crate::service::retake::judge;
use crate::step::Step;
use crate::time::Time;
use crate::timer::{ClientTimer, Timer};
use crate::zxid::Zxid;
use std::sync::Arc;

impl Recipes {
    /// Takes one step in this state, without what follows.
    ///
    /// # Errors
    /// An objection.
    pub(super) fn take(
        &self,
        state: &mut State,
        step: Step,
        effects: &mut Effects,
    ) -> Result<Status, Objection> {
        effects.clear();
        let applied = state.world.apply(Time::ZERO, &step, effects);
        if let Ok(status @ (Status::Blocked(_) | Status::NotEnabled)) = applied {
            return Ok(status);
        }
        // The step that is objected to belongs to the way there.
        state.length += 1;
        if let Some(steps) = &mut state.steps {
            steps.push(step);
        }
        let status = applied?;
        judge(&effects.events)?;
        match state.world.host().dependent() {
            Some(why) => Err(Objection::new("a function of its inputs", why)),
            None => Ok(status),
        }
    }

    /// Takes all steps that follow quietly.
    ///
    /// # Errors
    /// An objection.
    pub(super) fn settle(&self, state: &mut State, effects: &mut Effects) -> Result<(), Objection> {
        let clients = self.config.clients.len();
        loop {
            let mut settled = true;
            for client in (0..clients).map(ClientId::at) {
                while let Some(step) = self.quiet_step(state, client) {
                    let status = self.take(state, step, effects)?;
                    assert_eq!(status, Status::Done, "{step} was found to be possible");
                    settled = false;
                }
            }
            if settled {
                return Ok(());
            }
        }
    }

    /// A step of this client that nothing is lost by taking now.
    fn quiet_step(&self, state: &State, client: ClientId) -> Option<Step> {
        let service = state.world.grain();
        if let Some(call) = service.draw_of(client) {
            return Some(draw(client, call, service.numbers_drawn(client)));
        }
        if let Some(input) = service.next_input(client) {
            let edge = state.world.host().peek(client, input);
            return self
                .is_quiet(state.world.monitors(), client, &edge)
                .then_some(Step::Input(client));
        }
        if service.can_reconnect(client) {
            return Some(Step::Fire(Timer::Client(client, ClientTimer::Reconnect)));
        }
        let (timers, cancels) = (state.left.timers > 0, state.left.cancels > 0);
        if service.has_packet(client)
            && !self.reads_matter
            && !service.has_other_inputs(client, timers, cancels)
        {
            return Some(Step::ToClient(service.connection(client)));
        }
        let can_expire = state.left.expiries > 0;
        service.only_answer(client, can_expire).map(|prefix| Step::Serve { client, prefix })
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
        SessionState::Disconnected,
        SessionState::Expired,
        SessionState::Closed,
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

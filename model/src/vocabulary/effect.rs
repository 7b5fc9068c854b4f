//! What a step leaves for the engine to do: steps that became due, timers, events for monitors.

use crate::client::ClientEffect;
use crate::program::exchange::Exchange;
use crate::vocabulary::event::Event;
use crate::vocabulary::fingerprint::StableHasher;
use crate::vocabulary::id::{CallId, ClientConnection, ClientId, Machine, ServerId};
use crate::vocabulary::packet::{Delivered, ServerPacket};
use crate::vocabulary::step::Step;
use crate::vocabulary::time::Duration;
use crate::vocabulary::timer::Timer;
use std::fmt;
use std::hash::Hash;

/// Something that an engine with a clock must schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum Effect {
    /// This step became possible: a packet is under way, a disk operation was begun, a program has
    /// an input. One per packet, operation and input; how long it takes is the engine's affair, but
    /// equal steps complete in the order in which they became due.
    Due(Step),
    /// A program wants a random number: a [`Step::Random`] with one is due.
    Random(ClientId, CallId),
    /// A timer was armed (again, if it was armed already).
    Arm {
        timer: Timer,
        /// When it fires, from now.
        after: Duration,
        /// Up to this much later, as the engine draws it (a client's reconnect delay).
        spread: Duration,
    },
    /// A timer was disarmed.
    Disarm(Timer),
    /// What blocked steps (see [`Status::Blocked`]) is gone: the blocked ones are due again.
    Unblocked(Blocker),
}

/// Why a step cannot happen just now, though it will be able to later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum Blocker {
    /// The link is cut in this direction.
    Cut { from: Machine, to: Machine },
    /// The client machine stands still.
    Paused(ClientId),
    /// The server's packet thread waits for its disk.
    Busy(ServerId),
}

/// Whether a step happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// It did.
    Done,
    /// Not now: it is to be tried again when [`Effect::Unblocked`] names the blocker.
    Blocked(Blocker),
    /// There is nothing (left) of the kind to do: the packet was lost, the timer disarmed.
    NotEnabled,
}

impl Status {
    /// Whether there is anything to do.
    pub(crate) fn when(possible: bool) -> Result<(), Status> {
        if possible { Ok(()) } else { Err(Status::NotEnabled) }
    }
}

/// Collects what a step causes. Reused from step to step.
#[derive(Default)]
pub struct Effects {
    /// For the engine, in order.
    pub effects: Vec<Effect>,
    /// For the monitors, in order.
    pub events: Vec<Event>,
    /// What passed client machines, in order; only where a monitor hears it.
    pub(crate) exchanges: Vec<(ClientId, Exchange)>,
    /// Whether one does. The world sets it.
    pub(crate) hears_exchanges: bool,
    /// Room for what a client machine wants done, so that it need not be made anew in each step.
    pub(crate) client_effects: Vec<ClientEffect>,
    /// What clients outside of the run have read, in order: the engine passes it on.
    pub to_outside: Vec<(ClientConnection, Delivered<ServerPacket>)>,
    /// For people, in order, in ZooKeeper's words; only where somebody reads along.
    pub notes: Option<Vec<String>>,
    /// The step only kept a connection alive: a ping or its answer was read. A timeline can do
    /// without it, unless it caused something.
    pub keep_alive: bool,
    /// Nobody asks what became due: an engine that looks at the state for that. Events are kept.
    pub unheard: bool,
    /// The run's rolling hash over (time, step, effects); absent in the explorer.
    pub hasher: Option<StableHasher>,
}

impl Effects {
    /// For a simulated run: hashed, without notes.
    pub fn hashed() -> Effects {
        Effects { hasher: Some(StableHasher::new()), ..Effects::default() }
    }

    /// With notes for people, not hashed.
    pub fn noted() -> Effects {
        Effects { notes: Some(Vec::new()), ..Effects::default() }
    }

    /// Forgets the last step's effects, events and notes; the hash goes on.
    pub fn clear(&mut self) {
        self.effects.clear();
        self.events.clear();
        self.exchanges.clear();
        self.to_outside.clear();
        self.keep_alive = false;
        if let Some(notes) = &mut self.notes {
            notes.clear();
        }
    }

    /// A step became due.
    pub fn due(&mut self, step: Step) {
        self.push(Effect::Due(step));
    }

    /// Arms a timer without spread.
    pub fn arm(&mut self, timer: Timer, after: Duration) {
        self.push(Effect::Arm { timer, after, spread: Duration::ZERO });
    }

    /// Disarms a timer.
    pub fn disarm(&mut self, timer: Timer) {
        self.push(Effect::Disarm(timer));
    }

    /// Any effect.
    pub fn push(&mut self, effect: Effect) {
        self.absorb(&effect);
        if !self.unheard {
            self.effects.push(effect);
        }
    }

    /// An event for the monitors. It is not taken into the run's hash: whatever it tells of is there
    /// already, as a packet, an effect, or a program's input or output.
    pub fn event(&mut self, event: Event) {
        self.events.push(event);
    }

    /// Something passed a client machine; only built where a monitor hears it.
    pub(crate) fn exchange(&mut self, client: ClientId, exchange: impl FnOnce() -> Exchange) {
        if self.hears_exchanges {
            self.exchanges.push((client, exchange()));
        }
    }

    /// A line for people; only built where somebody reads along.
    pub fn note(&mut self, line: impl FnOnce() -> String) {
        if let Some(notes) = &mut self.notes {
            notes.push(line());
        }
    }

    /// Takes something into the run's hash (a packet's content, the step itself).
    pub fn absorb<T: Hash + ?Sized>(&mut self, value: &T) {
        if let Some(hasher) = &mut self.hasher {
            value.hash(hasher);
        }
    }
}

impl fmt::Debug for Effects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Effects")
            .field("effects", &self.effects)
            .field("events", &self.events)
            .finish()
    }
}

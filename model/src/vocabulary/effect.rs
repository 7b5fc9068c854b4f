//! Consequences of a step: steps that became due, timers, events for the monitors.

use crate::client::ClientEffect;
use crate::program::exchange::Exchange;
use crate::vocabulary::event::Event;
use crate::vocabulary::fingerprint::StableHasher;
use crate::vocabulary::id::{CallId, ClientConnection, ClientId, Machine, ServerId};
use crate::vocabulary::note::Note;
use crate::vocabulary::packet::{Delivered, ServerPacket};
use crate::vocabulary::step::Step;
use crate::vocabulary::time::Duration;
use crate::vocabulary::timer::Timer;
use std::fmt;
use std::hash::Hash;

/// A consequence that an engine with a clock must schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum Effect {
    /// The step became possible: a packet was sent, a disk operation was begun, or a program has an input. There is
    /// one for each packet, operation and input. The engine chooses how long the step takes, but must complete equal
    /// steps in the order in which they became due.
    Due(Step),
    /// A program requested a random number: the engine answers with a [`Step::Random`].
    Random(ClientId, CallId),
    /// A timer was armed (again, if it was armed already).
    Arm {
        timer: Timer,
        /// The time until it fires.
        after: Duration,
        /// The engine draws an additional delay up to this (used for a client's reconnect delay).
        spread: Duration,
    },
    /// A timer was disarmed.
    Disarm(Timer),
    /// The blocker is gone: steps that it blocked (see [`Status::Blocked`]) are due again.
    Unblocked(Blocker),
}

/// Why a step cannot happen now but may happen later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum Blocker {
    /// The link is cut in this direction.
    Cut { from: Machine, to: Machine },
    /// The client machine is paused.
    Paused(ClientId),
    /// The server's packet thread is waiting for its disk.
    Busy(ServerId),
}

/// Whether a step happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The step happened.
    Done,
    /// The step cannot happen now; the engine tries it again after [`Effect::Unblocked`] with this blocker.
    Blocked(Blocker),
    /// The step has nothing to act on any more: the packet was lost, or the timer disarmed.
    NotEnabled,
}

impl Status {
    /// Returns `Ok` if the step is possible, and otherwise the error `NotEnabled`.
    pub(crate) fn when(possible: bool) -> Result<(), Status> {
        if possible { Ok(()) } else { Err(Status::NotEnabled) }
    }
}

/// Collects the consequences of a step. Engines reuse it from step to step.
#[derive(Default)]
pub struct Effects {
    /// The engine's part, in order.
    pub effects: Vec<Effect>,
    /// The events for the monitors, in order.
    pub events: Vec<Event>,
    /// The packets that passed client machines, in order; recorded only if a monitor needs them.
    pub(crate) exchanges: Vec<(ClientId, Exchange)>,
    /// True if a monitor needs `exchanges`. The world sets it.
    pub(crate) hears_exchanges: bool,
    /// A buffer for the effects of a client machine, kept to avoid an allocation in each step.
    pub(crate) client_effects: Vec<ClientEffect>,
    /// The packets and ends of connections that clients outside of the run have read, in order, for the engine to pass on.
    pub to_outside: Vec<(ClientConnection, Delivered<ServerPacket>)>,
    /// Notes for people, in order, in ZooKeeper's terms; `None` if no reader wants them.
    pub notes: Option<Vec<Note>>,
    /// True if the step read only a ping or its answer. Timelines omit such a step unless it had other consequences.
    pub keep_alive: bool,
    /// True if the engine ignores due steps because it inspects the state instead; `effects` then stays empty. Events
    /// are still recorded.
    pub unheard: bool,
    /// The run's rolling hash over (time, step, effects); absent in the explorer.
    pub hasher: Option<StableHasher>,
}

impl Effects {
    /// Returns a collector for a simulated run: with a hash, without notes.
    pub fn hashed() -> Effects {
        Effects { hasher: Some(StableHasher::new()), ..Effects::default() }
    }

    /// Returns a collector with notes for people and without a hash.
    pub fn noted() -> Effects {
        Effects { notes: Some(Vec::new()), ..Effects::default() }
    }

    /// Clears the last step's effects, events and notes; the hash continues.
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

    /// Records that a step became due.
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

    /// Records an effect and adds it to the run's hash.
    pub fn push(&mut self, effect: Effect) {
        self.absorb(&effect);
        if !self.unheard {
            self.effects.push(effect);
        }
    }

    /// Records an event for the monitors. The run's hash does not include it, because it already includes the packet,
    /// effect, input or output that the event reports.
    pub fn event(&mut self, event: Event) {
        self.events.push(event);
    }

    /// Records a packet that passed a client machine; builds it only if a monitor needs it.
    pub(crate) fn exchange(&mut self, client: ClientId, exchange: impl FnOnce() -> Exchange) {
        if self.hears_exchanges {
            self.exchanges.push((client, exchange()));
        }
    }

    /// Adds a note for people; builds it only if notes are wanted.
    pub fn note(&mut self, note: impl FnOnce() -> Note) {
        if let Some(notes) = &mut self.notes {
            notes.push(note());
        }
    }

    /// Adds a value to the run's hash, such as a packet's content or the step itself.
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

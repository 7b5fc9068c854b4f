//! Judges a service while it runs: the monitors of its recipes, and ZooKeeper's promises to its clients.

use super::builder::Builder;
use super::hooks::EventSink;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use vivarium_model::event::Event;
use vivarium_model::history::History;
use vivarium_model::id::ClientId;
use vivarium_model::property::{
    Kinds, LooksBack, Monitor, Monitors, MonotoneZxid, Objection, Protocol, ReplyOrder, View,
};
use vivarium_model::time::Time;

/// The events that a violation shows.
const SHOWN: usize = 50;

/// Judges what the clients of a process do, as the monitors of a sweep do, while the service runs.
///
/// A service knows only its own clients. So those monitors judge that mind only events of clients and need no committed
/// transaction: [`Watchdog::new`] leaves the others out, and [`Watchdog::left_out`] names them. Besides, three of
/// ZooKeeper's promises to a client are judged: replies in order (H2), no way back in time (H3) and the protocol (H13).
///
/// A violation is given to [`Watchdog::on_violation`] and reported as an error of the crate `tracing`; the service goes on.
/// The monitor that has objected begins anew.
///
/// ```no_run
/// use vivarium_client::{Client, Watchdog};
/// use vivarium_recipes::lock;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let watchdog = Watchdog::new(lock::monitors_of_a_service("/jobs/nightly"));
/// let client = watchdog.watch(Client::builder("zk1:2181,zk2:2181")).connect().await?;
/// # client.close().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Watchdog {
    shared: Arc<Shared>,
    left_out: Arc<[String]>,
}

struct Shared {
    judge: Mutex<Judge>,
}

impl Watchdog {
    /// Returns a watchdog with those of the monitors that can judge by the events of a service's own clients.
    pub fn new(monitors: impl IntoIterator<Item = Box<dyn Monitor>>) -> Watchdog {
        let (judging, left_out): (Vec<_>, Vec<_>) =
            monitors.into_iter().partition(|monitor| needs_only_clients(&**monitor));
        let left_out = left_out.iter().map(|monitor| monitor.name().to_owned()).collect();
        let judge = Judge::new(of_zookeeper().into_iter().chain(judging).collect());
        Watchdog { shared: Arc::new(Shared { judge: Mutex::new(judge) }), left_out }
    }

    /// Sets what is done about a violation. The function is called while a client is locked: it must neither block nor
    /// call the client.
    pub fn on_violation(self, act: impl Fn(&Violation) + Send + Sync + 'static) -> Watchdog {
        self.shared.with(|judge| judge.act = Some(Arc::new(act)));
        self
    }

    /// Sets how many events a monitor remembers at least, 100,000 if this is not called; it remembers at most twice as
    /// many. What a service has done before is forgotten, so that its memory does not grow.
    pub fn remember(self, events: usize) -> Watchdog {
        self.shared.with(|judge| judge.span = events.max(1));
        self
    }

    /// Returns the names of the monitors that cannot judge by a service's own events.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// Returns the names of the monitors that judge.
    pub fn judging(&self) -> Vec<String> {
        self.shared
            .with(|judge| judge.slots.iter().map(|slot| slot.fresh.name().to_owned()).collect())
    }

    /// Judges the client with these settings too. It is given a number of its own ([`Builder::client_id`]); a sink that
    /// [`Builder::events`] has set gets the events as well, before they are judged.
    pub fn watch(&self, builder: Builder) -> Builder {
        let client = self.shared.with(Judge::next_client);
        let shared = Arc::clone(&self.shared);
        builder.client_id(client).also(move |event: Event| shared.with(|judge| judge.event(event)))
    }
}

impl Shared {
    fn with<T>(&self, act: impl FnOnce(&mut Judge) -> T) -> T {
        act(&mut self.judge.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A violation that a [`Watchdog`] has found.
#[derive(Clone, Debug)]
pub struct Violation {
    /// The property, and what its monitor saw.
    pub objection: Objection,
    /// The last events of all watched clients, each with the time since the watchdog began; the last one was objected
    /// to.
    pub last: Vec<(Duration, Event)>,
}

/// The objection in the first line, then a line for each event.
impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.objection)?;
        self.last
            .iter()
            .try_for_each(|(since, event)| write!(f, "\n{:>12.3} s  {event}", since.as_secs_f64()))
    }
}

/// Returns true if the monitor judges by events of clients alone.
fn needs_only_clients(monitor: &dyn Monitor) -> bool {
    monitor.kinds().is_within(Kinds::OF_CLIENTS)
        && monitor.looks_back() == LooksBack::Nothing
        && !monitor.hears_exchanges()
}

/// Returns the monitors of ZooKeeper's promises that a client alone can judge. Two of them declare that they look at the
/// tip of the history, since zxids differ where the past does; they read nothing of it.
fn of_zookeeper() -> Vec<Box<dyn Monitor>> {
    vec![Box::new(ReplyOrder::new()), Box::new(MonotoneZxid::new()), Box::new(Protocol)]
}

/// A monitor, twice: the younger copy takes the place of the older one when that has seen enough.
struct Slot {
    fresh: Box<dyn Monitor>,
    old: Monitors,
    young: Monitors,
}

impl Slot {
    fn new(fresh: Box<dyn Monitor>) -> Slot {
        let begun = || Monitors::new(vec![fresh.clone()]);
        Slot { old: begun(), young: begun(), fresh }
    }

    fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), Objection> {
        // What the younger one sees, the older one sees too.
        let (old, young) = (self.old.event(view, event), self.young.event(view, event));
        if old.is_err() || young.is_err() {
            *self = Slot::new(self.fresh.clone());
        }
        old.and(young)
    }

    fn forget(&mut self) {
        let young = Monitors::new(vec![self.fresh.clone()]);
        self.old = std::mem::replace(&mut self.young, young);
    }
}

type Act = Arc<dyn Fn(&Violation) + Send + Sync>;

struct Judge {
    begun: Instant,
    slots: Vec<Slot>,
    /// Nothing is committed as far as the monitors see.
    history: History,
    last: VecDeque<(Duration, Event)>,
    /// The events since the younger copies began.
    events: usize,
    span: usize,
    clients: u16,
    act: Option<Act>,
}

impl Judge {
    fn new(monitors: Vec<Box<dyn Monitor>>) -> Judge {
        Judge {
            begun: Instant::now(),
            slots: monitors.into_iter().map(Slot::new).collect(),
            history: History::new(),
            last: VecDeque::with_capacity(SHOWN),
            events: 0,
            span: 100_000,
            clients: 0,
            act: None,
        }
    }

    fn next_client(&mut self) -> ClientId {
        // After 65,535 clients the numbers begin again: the first ones have ended by then.
        self.clients = self.clients.checked_add(1).unwrap_or(1);
        ClientId(self.clients)
    }

    fn event(&mut self, event: Event) {
        let since = self.begun.elapsed();
        let at = Time(u64::try_from(since.as_micros()).unwrap_or(u64::MAX));
        if self.last.len() == SHOWN {
            self.last.pop_front();
        }
        self.last.push_back((since, event.clone()));
        let view = View::new(at, &self.history);
        let judged = self.slots.iter_mut().map(|slot| slot.event(view, &event));
        let objections: Vec<Objection> = judged.filter_map(Result::err).collect();
        for objection in objections {
            self.objected(objection);
        }
        self.events += 1;
        if self.events >= self.span {
            self.events = 0;
            self.slots.iter_mut().for_each(Slot::forget);
        }
    }

    fn objected(&self, objection: Objection) {
        let violation = Violation { objection, last: self.last.iter().cloned().collect() };
        let Objection { property, saw, .. } = &violation.objection;
        tracing::error!(%property, %saw, "a property is violated");
        if let Some(act) = &self.act {
            act(&violation);
        }
    }
}

impl EventSink for Both {
    fn event(&self, event: Event) {
        self.first.event(event.clone());
        self.then.event(event);
    }
}

/// Two sinks, one after the other.
struct Both {
    first: Arc<dyn EventSink>,
    then: Arc<dyn EventSink>,
}

impl Builder {
    /// Adds a sink of events to that of [`Builder::events`], if there is one.
    fn also(mut self, sink: impl EventSink + 'static) -> Builder {
        let then: Arc<dyn EventSink> = Arc::new(sink);
        self.settings.events = Some(match self.settings.events.take() {
            None => then,
            Some(first) => Arc::new(Both { first, then }),
        });
        self
    }
}

impl fmt::Debug for Watchdog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watchdog").field("judging", &self.judging()).finish_non_exhaustive()
    }
}

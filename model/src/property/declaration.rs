//! Monitors as declarations: the name of a monitor, where it is asked, how far it looks back, and the patterns of the
//! events that it minds, each with the code for a matching event.
//!
//! A search leaves out the orders of events that no monitor can distinguish, so a monitor that minds an event without
//! declaring it would let a search miss violations. A declaration rules that out: [`Monitor::concerns`],
//! [`Monitor::minds_order`], [`Monitor::looks_for`] and the dispatch of events ([`Monitor::event`]) all follow from
//! the patterns in [`minds!`](crate::minds). An event that no pattern matches runs no code of the monitor.

use super::{Asked, Kinds, LooksBack, Measure, Minds, Monitor, Objection, Saw, View};
use crate::program::exchange::Exchange;
use crate::vocabulary::config::Config;
use crate::vocabulary::event::Event;
use crate::vocabulary::id::ClientId;
use std::hash::Hash;
use std::sync::Arc;

/// A monitor that is written as one declaration. It derives [`Clone`] and [`Hash`] for its state, and implements
/// [`Monitor`].
///
/// ```
/// use std::collections::BTreeSet;
/// use vivarium_model::event::Event;
/// use vivarium_model::id::ClientId;
/// use vivarium_model::minds;
/// use vivarium_model::observation::Observation;
/// use vivarium_model::property::{Declaration, Declared, LooksBack, Monitor, Objection};
/// use vivarium_model::zxid::Zxid;
///
/// #[derive(Debug, PartialEq, Eq, Hash, serde::Serialize)]
/// enum Seen {
///     Acquired { token: Zxid },
///     Released,
/// }
///
/// impl Observation for Seen {}
///
/// /// No fencing token is granted twice, and no program dies while it holds one.
/// #[derive(Clone, Default, Hash)]
/// struct FreshTokens {
///     granted: BTreeSet<Zxid>,
///     holders: BTreeSet<ClientId>,
/// }
///
/// impl Declared for FreshTokens {
///     const DECLARATION: Declaration<Self> =
///         Declaration::everywhere("fresh tokens", LooksBack::Nothing, minds! { |this, view, event|
///             #[needed]
///             Observed(client, Seen::Acquired { token }) => this.acquired(client, *token),
///             #[unordered]
///             Observed(client, Seen::Released) => {
///                 this.holders.remove(&client);
///             },
///             Event::Killed { client } => match this.holders.contains(client) {
///                 false => Ok(()),
///                 true => Err(this.objection(format!("{client} died as a holder"))),
///             },
///         });
/// }
///
/// impl FreshTokens {
///     fn acquired(&mut self, client: ClientId, token: Zxid) -> Result<(), Objection> {
///         self.holders.insert(client);
///         match self.granted.insert(token) {
///             true => Ok(()),
///             false => Err(self.objection(format!("{client} has token {token} again"))),
///         }
///     }
/// }
///
/// let monitor: Box<dyn Monitor> = Box::new(FreshTokens::default());
/// assert_eq!(monitor.name(), "fresh tokens");
/// assert_eq!(monitor.looks_for(), ["acquired".into()]);
/// ```
///
/// It cannot have an `event` of its own, which could mind an event that the declaration does not name:
///
/// ```compile_fail,E0119
/// # use vivarium_model::event::Event;
/// # use vivarium_model::minds;
/// # use vivarium_model::property::{Asked, Declaration, Declared, LooksBack, Monitor, Objection, View};
/// #[derive(Clone, Hash)]
/// struct Twofold;
///
/// impl Declared for Twofold {
///     const DECLARATION: Declaration<Self> =
///         Declaration::everywhere("twofold", LooksBack::Nothing, minds! { |this, view, event| });
/// }
///
/// impl Monitor for Twofold {
///     fn name(&self) -> &'static str {
///         "twofold"
///     }
///     fn asked(&self) -> Asked {
///         Asked::Everywhere
///     }
///     fn event(&mut self, _view: View<'_>, _event: &Event) -> Result<(), Objection> {
///         Ok(())
///     }
/// }
/// ```
pub trait Declared: Clone + Hash + Send + Sync + Sized + 'static {
    /// The monitor's declaration, which holds no state.
    const DECLARATION: Declaration<Self>;

    /// Returns an objection of this monitor.
    fn objection(&self, saw: impl Into<Saw>) -> Objection {
        Objection::new(Self::DECLARATION.name, saw)
    }
}

/// A monitor `M` without its state.
pub struct Declaration<M: 'static> {
    name: &'static str,
    asked: Asked,
    looks_back: LooksBack,
    minds: Minds<M>,
    begin: Option<fn(&mut M, &Arc<Config>)>,
    exchange: Option<Exchanged<M>>,
    at_rest: Option<Closing<M>>,
    end: Option<Closing<M>>,
    measured: Option<fn(&M) -> Vec<Measure>>,
}

/// Code for the end of a run, and for when the run is at rest.
type Closing<M> = fn(&mut M, View<'_>) -> Result<(), Objection>;

/// Code for an exchange of a client machine.
type Exchanged<M> = fn(&mut M, View<'_>, ClientId, &Exchange) -> Result<(), Objection>;

impl<M> Declaration<M> {
    /// Returns a monitor for sweeps and searches ([`Asked::Everywhere`]). [`minds!`](crate::minds) makes its `minds`.
    pub const fn everywhere(
        name: &'static str,
        looks_back: LooksBack,
        minds: Minds<M>,
    ) -> Declaration<M> {
        Declaration::new(name, Asked::Everywhere, looks_back, minds)
    }

    /// Returns a monitor for sweeps only ([`Asked::InSweeps`]). [`minds!`](crate::minds) makes its `minds`.
    pub const fn in_sweeps(
        name: &'static str,
        looks_back: LooksBack,
        minds: Minds<M>,
    ) -> Declaration<M> {
        Declaration::new(name, Asked::InSweeps, looks_back, minds)
    }

    const fn new(
        name: &'static str,
        asked: Asked,
        looks_back: LooksBack,
        minds: Minds<M>,
    ) -> Declaration<M> {
        Declaration {
            name,
            asked,
            looks_back,
            minds,
            begin: None,
            exchange: None,
            at_rest: None,
            end: None,
            measured: None,
        }
    }

    /// Adds code that receives the run's configuration before the first event ([`Monitor::begin`]).
    #[must_use]
    pub const fn begin(mut self, begin: fn(&mut M, &Arc<Config>)) -> Declaration<M> {
        self.begin = Some(begin);
        self
    }

    /// Adds code that receives the exchanges of client machines ([`Monitor::exchange`]).
    #[must_use]
    pub const fn exchange(mut self, exchange: Exchanged<M>) -> Declaration<M> {
        self.exchange = Some(exchange);
        self
    }

    /// Adds code that is run when no step but the passing of time is left ([`Monitor::at_rest`]).
    #[must_use]
    pub const fn at_rest(mut self, at_rest: Closing<M>) -> Declaration<M> {
        self.at_rest = Some(at_rest);
        self
    }

    /// Adds code that is run when the run has ended ([`Monitor::end`]).
    #[must_use]
    pub const fn end(mut self, end: Closing<M>) -> Declaration<M> {
        self.end = Some(end);
        self
    }

    /// Adds code that returns counts and measurements for reports ([`Monitor::measured`]).
    #[must_use]
    pub const fn measured(mut self, measured: fn(&M) -> Vec<Measure>) -> Declaration<M> {
        self.measured = Some(measured);
        self
    }
}

/// Returns a declared monitor's declaration, which all its values share.
const fn of<T: Declared>() -> &'static Declaration<T> {
    const { &T::DECLARATION }
}

impl<T: Declared> Monitor for T {
    fn name(&self) -> &'static str {
        of::<T>().name
    }

    fn asked(&self) -> Asked {
        of::<T>().asked
    }

    fn looks_back(&self) -> LooksBack {
        of::<T>().looks_back
    }

    fn looks_for(&self) -> Vec<Arc<str>> {
        of::<T>().minds.looks_for()
    }

    fn kinds(&self) -> Kinds {
        of::<T>().minds.kinds()
    }

    fn concerns(&self, event: &Event) -> bool {
        of::<T>().minds.concerns(event)
    }

    fn minds_order(&self, event: &Event) -> bool {
        of::<T>().minds.order(self, event)
    }

    fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), Objection> {
        of::<T>().minds.event(self, view, event)
    }

    fn begin(&mut self, config: &Arc<Config>) {
        if let Some(begin) = of::<T>().begin {
            begin(self, config);
        }
    }

    fn hears_exchanges(&self) -> bool {
        of::<T>().exchange.is_some()
    }

    fn exchange(
        &mut self,
        view: View<'_>,
        client: ClientId,
        exchange: &Exchange,
    ) -> Result<(), Objection> {
        of::<T>().exchange.map_or(Ok(()), |handle| handle(self, view, client, exchange))
    }

    fn at_rest(&mut self, view: View<'_>) -> Result<(), Objection> {
        of::<T>().at_rest.map_or(Ok(()), |at_rest| at_rest(self, view))
    }

    fn end(&mut self, view: View<'_>) -> Result<(), Objection> {
        of::<T>().end.map_or(Ok(()), |end| end(self, view))
    }

    fn measured(&self) -> Vec<Measure> {
        of::<T>().measured.map_or_else(Vec::new, |measured| measured(self))
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{CLIENT, ONE, SESSION};
    use super::*;
    use crate::minds;
    use crate::property::{EventKind, Monitors, Telling};
    use crate::vocabulary::id::Xid;
    use crate::vocabulary::observation::{Custom, Observation, Observed};
    use crate::vocabulary::op::SessionState;
    use crate::vocabulary::time::Time;
    use crate::world::history::History;
    use serde::Serialize;

    #[derive(Debug, PartialEq, Eq, Hash, Serialize)]
    enum Seen {
        GrantedAll { token: u32 },
        Alone(u32),
        Released,
    }

    impl Observation for Seen {}

    #[derive(Debug, PartialEq, Eq, Hash, Serialize)]
    struct Unknown;

    impl Observation for Unknown {}

    /// Records the names of the code that was run.
    #[derive(Clone, Default, Hash)]
    struct Ran {
        ran: Vec<&'static str>,
        orders: bool,
    }

    impl Ran {
        fn ran(&mut self, what: &'static str) -> Result<(), Objection> {
            self.ran.push(what);
            Ok(())
        }

        fn at_rest(&mut self, _view: View<'_>) -> Result<(), Objection> {
            Err(self.objection("at rest"))
        }
    }

    impl Declared for Ran {
        const DECLARATION: Declaration<Self> =
            Declaration::everywhere("ran", LooksBack::Tip, minds! { |this, view, event|
                #[needed]
                #[unordered]
                Observed(_, Seen::GrantedAll { token: 1.. } | Seen::Alone(_)) => this.ran("granted"),
                #[needed("leads")]
                Observed(_, custom: Custom) => this.ran(if &*custom.name == "leads" { "leads" } else { "other" }),
                #[ordered_if(|ran: &Ran, _| ran.orders)]
                Event::Killed { client: CLIENT } | Event::Finished { client: CLIENT, .. } => this.ran("gone"),
                Event::Session { state: SessionState::Expired, .. } => Err(this.objection("expired")),
                Event::Killed { .. } => this.ran("killed"),
                let Some(server) = elected(event) => this.ran(if server == ONE { "one" } else { "two" }),
            })
            .at_rest(Self::at_rest);
    }

    fn elected(event: &Event) -> Option<crate::vocabulary::id::ServerId> {
        let Event::Elected { server, .. } = event else { return None };
        Some(*server)
    }

    /// Records the kind of every event.
    #[derive(Clone, Default, Hash)]
    struct Everything(Vec<EventKind>);

    impl Declared for Everything {
        const DECLARATION: Declaration<Self> = Declaration::in_sweeps(
            "everything",
            LooksBack::Nothing,
            minds! { |this, view, event|
                _ => this.0.push(event.kind()),
            },
        );
    }

    fn observed(observation: impl Observation) -> Event {
        let (client, session, next_xid) = (CLIENT, Some(SESSION), Xid(1));
        Event::Observed { client, session, next_xid, observation: Observed::new(observation) }
    }

    fn events() -> Vec<Event> {
        let session = |state| Event::Session { client: CLIENT, session: None, server: None, state };
        vec![
            observed(Seen::GrantedAll { token: 1 }),
            observed(Seen::GrantedAll { token: 0 }),
            observed(Seen::Alone(7)),
            observed(Seen::Released),
            observed(Unknown),
            observed(Custom::new("leads", &[])),
            observed(Custom::new("resigns", &[])),
            Event::Killed { client: CLIENT },
            Event::Killed { client: ClientId(9) },
            Event::Finished { client: CLIENT, result: Ok(()) },
            Event::Finished { client: ClientId(9), result: Ok(()) },
            session(SessionState::SyncConnected),
            session(SessionState::Expired),
            Event::Elected { server: ONE, leader: ONE, round: 1 },
            Event::Restarted { server: ONE },
        ]
    }

    /// The code that is run for each of the events.
    const RUN: [&[&str]; 15] = [
        &["granted"],
        &[],
        &["granted"],
        &[],
        &[],
        &["leads"],
        &["other"],
        &["gone", "killed"],
        &["killed"],
        &["gone"],
        &[],
        &[],
        &[],
        &["one"],
        &[],
    ];

    #[test]
    fn what_is_declared_is_run_and_nothing_else_is() {
        let history = History::new();
        let view = View::new(Time::ZERO, &history);
        for (event, run) in events().iter().zip(RUN) {
            let mut monitor = Ran::default();
            let result = monitor.event(view, event);
            let is_objection = matches!(event, Event::Session { state: SessionState::Expired, .. });
            assert_eq!((&monitor.ran[..], result.is_err()), (run, is_objection), "{event}");
            assert_eq!(monitor.concerns(event), !run.is_empty() || is_objection, "{event}");
            assert!(!monitor.concerns(event) || monitor.kinds().contains(event.kind()), "{event}");
            let mut everything = Everything::default();
            assert!(everything.concerns(event) && everything.event(view, event).is_ok());
            assert_eq!(everything.0, [event.kind()]);
        }
    }

    #[test]
    fn the_rest_follows_from_the_declaration() {
        let (calm, ordered) = (Ran::default(), Ran { orders: true, ..Ran::default() });
        assert_eq!(
            (calm.name(), calm.asked(), calm.looks_back()),
            ("ran", Asked::Everywhere, LooksBack::Tip)
        );
        assert_eq!(calm.looks_for(), ["granted all", "alone", "leads"].map(Arc::from));
        assert_eq!(Everything::default().asked(), Asked::InSweeps);
        for (event, run) in events().iter().zip(RUN) {
            let minds = |ran: &Ran| ran.minds_order(event);
            match run {
                ["granted"] => assert!(!minds(&calm), "{event}"),
                ["gone"] => assert_eq!((minds(&calm), minds(&ordered)), (false, true), "{event}"),
                _ => assert_eq!(minds(&calm), calm.concerns(event), "{event}"),
            }
        }
    }

    /// A monitor that receives every event, as in an audit, does not change its state for events that it does not
    /// mind.
    #[test]
    fn an_event_that_is_not_declared_reaches_no_code() {
        let history = History::new();
        let view = View::new(Time::ZERO, &history);
        let mut monitors = Monitors::new(vec![Box::new(Ran::default())]);
        let before = monitors.fingerprint();
        for telling in [Telling::Copies, Telling::Everyone] {
            monitors.tell(telling);
            for event in
                events().iter().zip(RUN).filter(|(_, run)| run.is_empty()).map(|(event, _)| event)
            {
                let is_objection =
                    matches!(event, Event::Session { state: SessionState::Expired, .. });
                assert_eq!(monitors.event(view, event).is_err(), is_objection, "{event}");
            }
        }
        assert_eq!(monitors.fingerprint(), before);
        assert!(monitors.at_rest(view).is_err() && monitors.end(view).is_ok());
    }
}

//! Checks what a program owes once nothing keeps it from doing it: in runs, within a time ([`WithinATime`]), and in a
//! state in which only time can pass ([`AtRest`]).
//!
//! A client's time starts again with every change of its connection, with every pause, and with every change of what is
//! owed. No time passes while the client is disconnected, paused or not running.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::hash::Hash;
use vivarium_model::event::Event;
use vivarium_model::id::ClientId;
use vivarium_model::minds;
use vivarium_model::op::SessionState;
use vivarium_model::property::{Declaration, Declared, LooksBack, Minds, Objection, Saw, View};
use vivarium_model::time::{Duration, Time};
use vivarium_model::txn::TxnBody;

/// What programs owe: an account per client.
pub(crate) trait Owed: Clone + Debug + Hash + Send + Sync + 'static {
    /// The names of its properties, within a time and at rest.
    const NAMES: [&'static str; 2];

    /// The events that can change the account, each with the code that is run for it.
    const MINDS: Minds<Self>;

    /// Returns true if such a transaction changes what any client owes.
    fn is_changed_by(&self, body: &TxnBody) -> bool;

    /// Returns the clients that may owe something.
    fn clients(&self) -> Vec<ClientId>;

    /// Says what a client owes, if anything.
    fn owes(&self, view: View<'_>, client: ClientId) -> Option<Saw>;
}

/// A client must have done what it owes after it was connected without a disturbance for some time.
#[derive(Clone, Debug, Hash)]
pub(crate) struct WithinATime<O> {
    owed: O,
    calm: Calm,
}

impl<O: Owed> WithinATime<O> {
    pub(crate) fn new(owed: O, bound: Duration) -> WithinATime<O> {
        WithinATime { owed, calm: Calm::new(bound) }
    }

    fn check(&mut self, view: View<'_>) -> Result<(), Objection> {
        for client in self.calm.due(view.at()) {
            if let Some(saw) = self.owed.owes(view, client) {
                let saw = saw.within(|saw| format!("{saw}, for {:?}", self.calm.bound));
                return Err(self.objection(saw).about(client));
            }
        }
        Ok(())
    }
}

impl<O: Owed> Declared for WithinATime<O> {
    const DECLARATION: Declaration<Self> = Declaration::in_sweeps(
        O::NAMES[0],
        LooksBack::Whole,
        minds! { |this, view, event|
            _ => this.event(view, event),
        },
    )
    .end(Self::end);
}

impl<O: Owed> WithinATime<O> {
    fn end(&mut self, view: View<'_>) -> Result<(), Objection> {
        self.check(view)
    }

    fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), Objection> {
        // Check first, because this event may end the client's time. But an event that changes what is owed is already
        // in the tree, and the new debt is not due yet.
        let is_change = matches!(event, Event::Committed { txn, .. }
            if view.history.is_new(txn) && self.owed.is_changed_by(&txn.body));
        if !is_change {
            self.check(view)?;
        }
        self.calm.event(view.at(), event);
        match event {
            Event::Committed { txn, .. } if self.owed.is_changed_by(&txn.body) => {
                self.calm.stir_all(view.at());
            }
            Event::Observed { client, .. } if O::MINDS.concerns(event) => {
                self.calm.stir(view.at(), *client);
            }
            _ => {}
        }
        O::MINDS.event(&mut self.owed, view, event)
    }
}

/// All must be done in a state in which only time can pass.
#[derive(Clone, Debug, Hash)]
pub(crate) struct AtRest<O> {
    owed: O,
}

impl<O: Owed> AtRest<O> {
    pub(crate) fn new(owed: O) -> AtRest<O> {
        AtRest { owed }
    }
}

impl<O: Owed> Declared for AtRest<O> {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        O::NAMES[1],
        LooksBack::Nothing,
        minds! { |this, view, event|
            // An account per client, read at rest only.
            #[unordered]
            let true = O::MINDS.concerns(event) => O::MINDS.event(&mut this.owed, view, event),
        },
    )
    .at_rest(Self::at_rest);
}

impl<O: Owed> AtRest<O> {
    fn at_rest(&mut self, view: View<'_>) -> Result<(), Objection> {
        let owes = |client| Some((client, self.owed.owes(view, client)?));
        match self.owed.clients().into_iter().find_map(owes) {
            None => Ok(()),
            Some((client, saw)) => {
                let saw = saw.within(|saw| format!("{saw}, and nothing else can happen"));
                Err(self.objection(saw).about(client))
            }
        }
    }
}

/// The time since which each client is undisturbed. See the module.
#[derive(Clone, Debug, Hash)]
struct Calm {
    bound: Duration,
    clients: BTreeMap<ClientId, Client>,
}

#[derive(Clone, Debug, Default, Hash)]
struct Client {
    connected: bool,
    paused: bool,
    /// `None` while no time passes, and after the check at its bound.
    since: Option<Time>,
}

impl Calm {
    /// A client that is calm for `bound` must have done what it owes.
    fn new(bound: Duration) -> Calm {
        Calm { bound, clients: BTreeMap::new() }
    }

    /// Processes an event of a client.
    fn event(&mut self, at: Time, event: &Event) {
        match event {
            Event::Session { client, state, .. } => {
                let known = self.clients.entry(*client).or_default();
                known.connected = *state == SessionState::SyncConnected;
                known.start(at);
            }
            Event::Paused { client } | Event::Resumed { client } => {
                let known = self.clients.entry(*client).or_default();
                known.paused = matches!(event, Event::Paused { .. });
                known.start(at);
            }
            Event::Started { client } => self.stir(at, *client),
            // The program cannot do it any more. Its successor connects again.
            Event::Killed { client }
            | Event::Finished { client, .. }
            | Event::Panicked { client, .. } => {
                let known = self.clients.entry(*client).or_default();
                known.connected = false;
                known.start(at);
            }
            _ => {}
        }
    }

    /// Restarts a client's time.
    fn stir(&mut self, at: Time, client: ClientId) {
        self.clients.entry(client).or_default().start(at);
    }

    /// Restarts the time of all clients.
    fn stir_all(&mut self, at: Time) {
        self.clients.values_mut().for_each(|client| client.start(at));
    }

    /// Returns the clients whose time is up: each once, until its time starts again.
    fn due(&mut self, at: Time) -> Vec<ClientId> {
        let bound = self.bound;
        let is_due = |client: &Client| client.since.is_some_and(|since| at.since(since) >= bound);
        if !self.clients.values().any(is_due) {
            return Vec::new();
        }
        let mut due = Vec::new();
        for (id, client) in &mut self.clients {
            if is_due(client) {
                client.since = None;
                due.push(*id);
            }
        }
        due
    }
}

impl Client {
    fn start(&mut self, at: Time) {
        let runs = self.connected && !self.paused;
        self.since = runs.then_some(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contention::properties::scene::{S1, Scene};

    const ZNODE: &str = "/lock/a";

    /// The first client owes that this znode is gone.
    #[derive(Clone, Debug, Hash)]
    struct Gone;

    impl Owed for Gone {
        const NAMES: [&'static str; 2] = ["gone", "gone at rest"];

        const MINDS: Minds<Self> = minds! { |this, view, event| };

        fn is_changed_by(&self, body: &TxnBody) -> bool {
            matches!(body, TxnBody::Create { .. } | TxnBody::Delete { .. })
        }

        fn clients(&self) -> Vec<ClientId> {
            vec![ClientId(1)]
        }

        fn owes(&self, view: View<'_>, _client: ClientId) -> Option<Saw> {
            view.history.tree().node(ZNODE).map(|_| format!("{ZNODE} is there").into())
        }
    }

    /// A new debt gets its full time, however long the client has been undisturbed before.
    #[test]
    fn what_has_just_changed_is_not_owed_yet() {
        let bound = Duration::from_secs(5);
        let created = |before: u64, after: u64| {
            let mut scene = Scene::new(WithinATime::new(Gone, bound));
            scene.pass(Duration::from_secs(before));
            let zxid = scene.create(S1, 2, ZNODE);
            scene.pass(Duration::from_secs(after));
            // A repeated report by another leader changes nothing.
            scene.report_again(zxid);
            scene.end()
        };
        assert_eq!(created(6, 0), None);
        assert_eq!(created(6, 4), None);
        assert!(created(6, 5).is_some_and(|saw| saw.contains("is there, for 5s")));
        assert!(created(0, 5).is_some());
    }
}

//! The common part of all properties over observations: a name, the observations that the property takes, and its
//! implementation of [`Monitor`].

use super::said::{Datum, Said};
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use vivarium_model::config::Config;
use vivarium_model::event::Event;
use vivarium_model::id::ClientId;
use vivarium_model::observation::Value;
use vivarium_model::property::{Asked, LooksBack, Monitor, Objection, View};

/// A property made of a rule; the functions of [this module](super) make them. It is a [`Monitor`] of
/// [`Asked::Everywhere`], for both engines.
#[derive(Clone, Hash)]
pub struct Property<R> {
    name: &'static str,
    scope: Scope,
    /// Number of clients, known once the run begins.
    clients: u8,
    pub(super) rule: R,
}

/// The observations that a property takes, and which of them it judges together.
#[derive(Clone, Default, Hash)]
struct Scope {
    per_client: bool,
    /// True if each process is judged alone: a client's observations are forgotten when its process begins or ends.
    per_process: bool,
    per: Vec<Arc<str>>,
    by: Option<Vec<ClientId>>,
    with: Vec<(Arc<str>, Datum)>,
}

/// Identifies the observations that are judged together.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    client: Option<ClientId>,
    fields: Vec<(Arc<str>, Datum)>,
}

impl Key {
    /// Returns true if the key belongs to this client alone.
    pub(super) fn is_of(&self, client: ClientId) -> bool {
        self.client == Some(client)
    }
}

/// Displays `` of path = /lock``, or nothing if there is only one key.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let client = self.client.iter().map(ClientId::to_string);
        let fields = self.fields.iter().map(|(name, value)| format!("{name} = {value}"));
        let all: Vec<String> = client.chain(fields).collect();
        if all.is_empty() { Ok(()) } else { write!(f, " of {}", all.join(", ")) }
    }
}

/// The data about a run that a rule gets at its end.
pub struct Ended<'a> {
    /// The clients whose observations the property takes.
    pub(super) clients: &'a [ClientId],
    /// True if there can be more than one [`Key`].
    pub(super) is_keyed: bool,
}

/// The specific part of a property.
///
/// # Requirements on its state
/// Everything that influences the judgement is in its hash, except closures ([`Closure`](super::closure::Closure)).
pub trait Rule: Clone + Hash + Send + Sync + 'static {
    /// Returns true if the rule takes observations of this name.
    fn hears(&self, name: &str) -> bool {
        let _ = name;
        false
    }

    /// Returns the names of the observations that the rule needs: without any one of them it can never object.
    fn looks_for(&self) -> Vec<Arc<str>> {
        Vec::new()
    }

    /// Returns true if `by` restricts the clients of observations of this name.
    fn is_own(&self, name: &str) -> bool {
        let _ = name;
        true
    }

    /// Returns how far back the rule looks in the committed history.
    fn reach(&self) -> LooksBack {
        LooksBack::Nothing
    }

    /// Returns true if the order of its observations matters.
    fn orders(&self) -> bool {
        true
    }

    /// Returns true if that order matters even if each client is judged alone.
    fn minds_own(&self) -> bool {
        false
    }

    /// Called before the first event.
    fn begin(&mut self, config: &Config) {
        let _ = config;
    }

    /// Judges an observation that the rule takes.
    fn said(&mut self, view: View<'_>, key: Key, said: &Said<'_>) -> Result<(), String> {
        let _ = (view, key, said);
        Ok(())
    }

    /// Returns true if the rule also takes this event with [`Rule::event`].
    fn concerns(&self, event: &Event) -> bool {
        let _ = event;
        false
    }

    /// Returns true if the event's effect on the rule depends on other clients' events before it.
    fn minds(&self, event: &Event) -> bool {
        self.concerns(event)
    }

    /// Judges an event that the rule takes; if the event is an observation, before [`Rule::said`].
    fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), String> {
        let _ = (view, event);
        Ok(())
    }

    /// Forgets everything about keys of this client.
    fn forget(&mut self, client: ClientId) {
        let _ = client;
    }

    /// Judges the end of the run.
    fn end(&mut self, view: View<'_>, ended: &Ended<'_>) -> Result<(), String> {
        let _ = (view, ended);
        Ok(())
    }
}

/// A rule about observations.
pub trait Hears: Rule {}

/// A rule that judges observations with the same key together, and each key alone.
pub trait Keyed: Hears {}

impl<R: Rule> Property<R> {
    pub(super) fn new(name: &'static str, rule: R) -> Property<R> {
        Property { name, scope: Scope::default(), clients: 0, rule }
    }

    /// Sets the name in reports, which distinguishes two properties of one kind.
    #[must_use]
    pub fn named(mut self, name: &'static str) -> Property<R> {
        self.name = name;
        self
    }

    fn takes(&self, said: &Said<'_>) -> Result<bool, String> {
        let listed = |by: &Vec<ClientId>| by.contains(&said.client());
        if self.rule.is_own(said.name()) && !self.scope.by.as_ref().is_none_or(listed) {
            return Ok(false);
        }
        for (field, value) in &self.scope.with {
            if said.field_like(field, value)? != *value {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn key(&self, said: &Said<'_>) -> Result<Key, String> {
        let field = |name: &Arc<str>| Ok((Arc::clone(name), said.field(name)?));
        let fields = self.scope.per.iter().map(field).collect::<Result<Vec<_>, String>>()?;
        Ok(Key { client: self.scope.per_client.then(|| said.client()), fields })
    }

    fn judge(&mut self, view: View<'_>, event: &Event) -> Result<(), String> {
        if self.rule.concerns(event) {
            self.rule.event(view, event)?;
        }
        if let Some(said) = Said::of(event).filter(|said| self.rule.hears(said.name()))
            && self.takes(&said)?
        {
            let key = self.key(&said)?;
            self.rule.said(view, key, &said)?;
        }
        if let Some(client) = self.process_of(event) {
            self.rule.forget(client);
        }
        Ok(())
    }

    /// Returns the client whose process begins or ends with this event, if each process is judged alone.
    fn process_of(&self, event: &Event) -> Option<ClientId> {
        let (Event::Started { client }
        | Event::Killed { client }
        | Event::Finished { client, .. }
        | Event::Panicked { client, .. }) = event
        else {
            return None;
        };
        self.scope.per_process.then_some(*client)
    }

    fn judge_end(&mut self, view: View<'_>) -> Result<(), String> {
        let all = || ClientId::first(self.clients);
        let clients = self.scope.by.clone().unwrap_or_else(|| all().collect());
        if clients.is_empty() {
            return Err(
                "the property concerns no client, because `by` names none: name at least one"
                    .to_string(),
            );
        }
        if let Some(unknown) = clients.iter().find(|client| all().all(|one| one != **client)) {
            let there_are = self.clients;
            return Err(format!(
                "the property is `by` {unknown}, but the clients are 1 to {there_are}"
            ));
        }
        let is_keyed = self.scope.per_client || !self.scope.per.is_empty();
        self.rule.end(view, &Ended { clients: &clients, is_keyed })
    }
}

impl<R: Hears> Property<R> {
    /// Takes only observations of these clients.
    #[must_use]
    pub fn by(mut self, clients: impl IntoIterator<Item = ClientId>) -> Property<R> {
        self.scope.by = Some(clients.into_iter().collect());
        self
    }

    /// Takes only observations with this value in this field. The property objects if an observation of the right
    /// name lacks the field or has another type in it (text instead of a number).
    #[must_use]
    pub fn with(mut self, field: &str, value: impl Into<Value>) -> Property<R> {
        self.scope.with.push((Arc::from(field), Datum(value.into())));
        self
    }
}

impl<R: Keyed> Property<R> {
    /// Judges each value of this field alone; several calls judge each combination of values alone.
    #[must_use]
    pub fn per(mut self, field: &str) -> Property<R> {
        self.scope.per.push(Arc::from(field));
        self
    }

    /// Judges each client's observations alone.
    #[must_use]
    pub fn per_client(mut self) -> Property<R> {
        self.scope.per_client = true;
        self
    }

    /// Judges each process's observations alone: when a client's program is killed, starts again or returns, its
    /// earlier observations are forgotten. At the end, only processes that have not ended are judged.
    ///
    /// ```
    /// use vivarium::prelude::*;
    ///
    /// let counts_up = grows("counted", "to").per_process();
    /// # let _ = Test::new("t", |_| async { Ok(()) }).monitor(counts_up);
    /// ```
    #[must_use]
    pub fn per_process(mut self) -> Property<R> {
        self.scope.per_client = true;
        self.scope.per_process = true;
        self
    }
}

impl<R: Rule> Monitor for Property<R> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn asked(&self) -> Asked {
        Asked::Everywhere
    }

    fn concerns(&self, event: &Event) -> bool {
        let hears = |said: Said<'_>| self.rule.hears(said.name());
        Said::of(event).is_some_and(hears)
            || self.rule.concerns(event)
            || self.process_of(event).is_some()
    }

    /// If each client is judged alone, an observation is compared only with its own client's state, and changes only
    /// that.
    fn minds_order(&self, event: &Event) -> bool {
        let hears = |said: Said<'_>| self.rule.hears(said.name());
        let orders = self.rule.orders() && (!self.scope.per_client || self.rule.minds_own());
        orders && Said::of(event).is_some_and(hears)
            || self.rule.concerns(event) && self.rule.minds(event)
            || self.rule.minds_own() && self.process_of(event).is_some()
    }

    fn looks_back(&self) -> LooksBack {
        self.rule.reach()
    }

    fn looks_for(&self) -> Vec<Arc<str>> {
        self.rule.looks_for()
    }

    fn begin(&mut self, config: &Arc<Config>) {
        self.clients = config.clients.len() as u8;
        self.rule.begin(config);
    }

    fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), Objection> {
        self.judge(view, event).map_err(|saw| Objection::new(self.name, saw))
    }

    fn end(&mut self, view: View<'_>) -> Result<(), Objection> {
        self.judge_end(view).map_err(|saw| Objection::new(self.name, saw))
    }
}

//! What all properties over observations have in common: a name, which observations they take, and how
//! they are monitors.

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
/// [`Asked::Everywhere`]: for both engines.
#[derive(Clone, Hash)]
pub struct Property<R> {
    name: &'static str,
    scope: Scope,
    /// How many clients there are, once that is known.
    clients: u8,
    pub(super) rule: R,
}

/// Which observations a property takes, and which of them it judges together.
#[derive(Clone, Default, Hash)]
struct Scope {
    per_client: bool,
    /// Each process by itself: what is known of a client is forgotten when its process begins or ends.
    per_process: bool,
    per: Vec<Arc<str>>,
    by: Option<Vec<ClientId>>,
    with: Vec<(Arc<str>, Datum)>,
}

/// What is judged together.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    client: Option<ClientId>,
    fields: Vec<(Arc<str>, Datum)>,
}

impl Key {
    /// Whether it is of this client alone.
    pub(super) fn is_of(&self, client: ClientId) -> bool {
        self.client == Some(client)
    }
}

/// `` of path = /lock``, or nothing if there is one key only.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let client = self.client.iter().map(ClientId::to_string);
        let fields = self.fields.iter().map(|(name, value)| format!("{name} = {value}"));
        let all: Vec<String> = client.chain(fields).collect();
        if all.is_empty() { Ok(()) } else { write!(f, " of {}", all.join(", ")) }
    }
}

/// What a rule is told of the run at its end.
pub struct Ended<'a> {
    /// The clients whose observations it takes.
    pub(super) clients: &'a [ClientId],
    /// Whether there can be more than one [`Key`].
    pub(super) is_keyed: bool,
}

/// The part of a property that is its own.
///
/// # What its state has to be
/// All that decides is in its hash but for closures ([`Closure`](super::closure::Closure)).
pub trait Rule: Clone + Hash + Send + Sync + 'static {
    /// Whether it takes observations of this name.
    fn hears(&self, name: &str) -> bool {
        let _ = name;
        false
    }

    /// Names without each of which it can never object.
    fn looks_for(&self) -> Vec<Arc<str>> {
        Vec::new()
    }

    /// Whether `by` is about observations of this name.
    fn is_own(&self, name: &str) -> bool {
        let _ = name;
        true
    }

    /// How far it looks back.
    fn reach(&self) -> LooksBack {
        LooksBack::Nothing
    }

    /// Whether the order of what it hears matters.
    fn orders(&self) -> bool {
        true
    }

    /// Whether it matters even where each client is judged by itself.
    fn minds_own(&self) -> bool {
        false
    }

    /// Before anything.
    fn begin(&mut self, config: &Config) {
        let _ = config;
    }

    /// An observation that it hears.
    fn said(&mut self, view: View<'_>, key: Key, said: &Said<'_>) -> Result<(), String> {
        let _ = (view, key, said);
        Ok(())
    }

    /// Whether it takes this event beside that.
    fn concerns(&self, event: &Event) -> bool {
        let _ = event;
        false
    }

    /// Whether what it makes of that depends on others' events before.
    fn minds(&self, event: &Event) -> bool {
        self.concerns(event)
    }

    /// Such an event; of an observation, before [`Rule::said`].
    fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), String> {
        let _ = (view, event);
        Ok(())
    }

    /// Forgets what it knows of the keys of this client.
    fn forget(&mut self, client: ClientId) {
        let _ = client;
    }

    /// The end.
    fn end(&mut self, view: View<'_>, ended: &Ended<'_>) -> Result<(), String> {
        let _ = (view, ended);
        Ok(())
    }
}

/// Of a rule about observations.
pub trait Hears: Rule {}

/// Of one that judges observations with the same key together, and each key by itself.
pub trait Keyed: Hears {}

impl<R: Rule> Property<R> {
    pub(super) fn new(name: &'static str, rule: R) -> Property<R> {
        Property { name, scope: Scope::default(), clients: 0, rule }
    }

    /// Calls it something else: of two properties of one kind, a report tells which.
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

    /// Whose process begins or ends by this event, where each is judged by itself.
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
            return Err("it is about no client at all: `by` names none".to_string());
        }
        if let Some(nobody) = clients.iter().find(|client| all().all(|one| one != **client)) {
            let there_are = self.clients;
            return Err(format!("it is about {nobody}, and the clients are 1 to {there_are}"));
        }
        let is_keyed = self.scope.per_client || !self.scope.per.is_empty();
        self.rule.end(view, &Ended { clients: &clients, is_keyed })
    }
}

impl<R: Hears> Property<R> {
    /// Takes what these clients say, and nothing that others say.
    #[must_use]
    pub fn by(mut self, clients: impl IntoIterator<Item = ClientId>) -> Property<R> {
        self.scope.by = Some(clients.into_iter().collect());
        self
    }

    /// Takes only what is said with this value in this field. Where an observation of the right name has
    /// no such field, or has it as something else (text for a number), the property objects.
    #[must_use]
    pub fn with(mut self, field: &str, value: impl Into<Value>) -> Property<R> {
        self.scope.with.push((Arc::from(field), Datum(value.into())));
        self
    }
}

impl<R: Keyed> Property<R> {
    /// Judges each value of this field by itself. Said twice: each pair of values.
    #[must_use]
    pub fn per(mut self, field: &str) -> Property<R> {
        self.scope.per.push(Arc::from(field));
        self
    }

    /// Judges what each client says by itself.
    #[must_use]
    pub fn per_client(mut self) -> Property<R> {
        self.scope.per_client = true;
        self
    }

    /// Judges what each process says by itself: a client whose program is killed and begins anew, or returns, is
    /// from then on as if it had said nothing. What is judged at the end is judged of the last processes, as far as
    /// they have not ended.
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

    /// Where each client is judged by itself, all that an observation is compared with, and all that it
    /// changes, is an account of its own client's.
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

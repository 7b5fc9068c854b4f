//! Values that are observed at most once, or exactly once.

use super::property::{Ended, Hears, Key, Keyed, Property, Rule};
use super::said::{Datum, Said};
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::id::ClientId;
use vivarium_model::observation::Value;
use vivarium_model::property::View;

/// The rule of [`at_most_once`] and [`exactly_once`].
#[derive(Clone, Hash)]
pub struct Once {
    name: Arc<str>,
    field: Arc<str>,
    /// True if each due value must be observed.
    exactly: bool,
    announced_by: Option<Arc<str>>,
    among: Vec<Datum>,
    /// The first observation of each value.
    said: BTreeMap<(Key, Datum), Arc<str>>,
    /// The first announcement of each due value.
    due: BTreeMap<(Key, Datum), Arc<str>>,
}

/// No two observations `name` have the same value in `field`.
///
/// Both engines; judged at each such observation.
///
/// ```
/// use vivarium::prelude::*;
///
/// let once = at_most_once("consumed", "job").per("queue");
/// # let _ = Test::new("t", |_| async { Ok(()) }).monitor(once);
/// ```
pub fn at_most_once(name: &str, field: &str) -> Property<Once> {
    Property::new("at most once", Once::new(name, field, false))
}

/// Each due value is in exactly one observation `name`. Due are the values that another observation has
/// [announced](Property::announced_by) and those that are [listed](Property::among); if there is neither, at least
/// one value must be observed.
///
/// Both engines. A second observation is judged when it is made; a missing one is judged at the end, when every
/// program has finished (in a search: in each state in which no step is left). So a value can be observed before it
/// is announced, and a value that is never announced is accepted: a write whose reply was lost may have been done. A
/// value that is announced before its write is missed if the write fails; a value that is announced after its write
/// is due only if the write is known to have succeeded.
///
/// ```
/// use vivarium::prelude::*;
///
/// let once = exactly_once("consumed", "job").announced_by("produced");
/// # let _ = Test::new("t", |_| async { Ok(()) }).monitor(once);
/// ```
pub fn exactly_once(name: &str, field: &str) -> Property<Once> {
    Property::new("exactly once", Once::new(name, field, true))
}

impl Property<Once> {
    /// Makes each value due that any client observes in the same field of this other observation.
    #[must_use]
    pub fn announced_by(mut self, name: &str) -> Self {
        self.rule.exactly = true;
        self.rule.announced_by = Some(Arc::from(name));
        self
    }

    /// Makes each of these values due (with a key: for each value of the key).
    #[must_use]
    pub fn among<V: Into<Value>>(mut self, values: impl IntoIterator<Item = V>) -> Self {
        self.rule.exactly = true;
        self.rule.among.extend(values.into_iter().map(|value| Datum(value.into())));
        self
    }
}

impl Once {
    fn new(name: &str, field: &str, exactly: bool) -> Once {
        Once {
            name: Arc::from(name),
            field: Arc::from(field),
            exactly,
            announced_by: None,
            among: Vec::new(),
            said: BTreeMap::new(),
            due: BTreeMap::new(),
        }
    }

    fn announces(&self, name: &str) -> bool {
        self.announced_by.as_ref().is_some_and(|announces| **announces == *name)
    }

    /// Returns a sentence about one of the listed values that no client observed.
    fn missing(&self, ended: &Ended<'_>) -> Option<String> {
        let mut keys: Vec<&Key> =
            self.said.keys().chain(self.due.keys()).map(|(key, _)| key).collect();
        keys.dedup();
        let only = Key::default();
        if !ended.is_keyed {
            keys = vec![&only];
        }
        let all = keys.into_iter().flat_map(|key| self.among.iter().map(move |value| (key, value)));
        let mut missing =
            all.filter(|(key, value)| !self.said.contains_key(&((*key).clone(), (*value).clone())));
        let (key, value) = missing.next()?;
        Some(format!("no client said `{}` with {} = {value}{key}", self.name, self.field))
    }
}

impl Hears for Once {}

impl Keyed for Once {}

impl Rule for Once {
    fn hears(&self, name: &str) -> bool {
        *name == *self.name || self.announces(name)
    }

    fn is_own(&self, name: &str) -> bool {
        !self.announces(name)
    }

    fn looks_for(&self) -> Vec<Arc<str>> {
        if self.exactly {
            self.announced_by.iter().cloned().collect()
        } else {
            vec![Arc::clone(&self.name)]
        }
    }

    fn said(&mut self, _view: View<'_>, key: Key, said: &Said<'_>) -> Result<(), String> {
        let words: Arc<str> = Arc::from(said.to_string());
        let place = (key, said.field(&self.field)?);
        if self.announces(said.name()) {
            self.due.entry(place.clone()).or_insert_with(|| Arc::clone(&words));
        }
        if *said.name() != *self.name {
            return Ok(());
        }
        match self.said.insert(place, words) {
            None => Ok(()),
            Some(before) => Err(format!("{said}, but before, {before}")),
        }
    }

    fn forget(&mut self, client: ClientId) {
        self.said.retain(|(key, _), _| !key.is_of(client));
        self.due.retain(|(key, _), _| !key.is_of(client));
    }

    fn end(&mut self, _view: View<'_>, ended: &Ended<'_>) -> Result<(), String> {
        if !self.exactly {
            return Ok(());
        }
        let missing = self.due.iter().find(|(place, _)| !self.said.contains_key(*place));
        if let Some(((_, value), words)) = missing {
            return Err(format!(
                "{words}, but no client said `{}` with {} = {value}",
                self.name, self.field
            ));
        }
        let nothing_due = self.announced_by.is_none() && self.among.is_empty();
        if nothing_due && self.said.is_empty() {
            return Err(format!("no client said `{}`", self.name));
        }
        self.missing(ended).map_or(Ok(()), Err)
    }
}

//! All clients say the same value.

use super::property::{Hears, Key, Keyed, Property, Rule};
use super::said::{Datum, Said};
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::id::ClientId;
use vivarium_model::property::View;

/// The rule of [`agree`].
#[derive(Clone, Hash)]
pub struct Agree {
    name: Arc<str>,
    field: Arc<str>,
    /// The value, and the observation that had it first.
    first: BTreeMap<Key, (Datum, Arc<str>)>,
}

/// Every observation `name` has the same value in `field`, now and later: it is a decision.
///
/// Both engines; judged at each such observation.
///
/// ```
/// use vivarium::prelude::*;
///
/// let agreement = agree("decided", "outcome").per("transaction");
/// # let _ = Test::new("t", |_| async { Ok(()) }).monitor(agreement);
/// ```
pub fn agree(name: &str, field: &str) -> Property<Agree> {
    let (name, field, first) = (Arc::from(name), Arc::from(field), BTreeMap::new());
    Property::new("agree", Agree { name, field, first })
}

impl Hears for Agree {}

impl Keyed for Agree {}

impl Rule for Agree {
    fn hears(&self, name: &str) -> bool {
        *name == *self.name
    }

    fn looks_for(&self) -> Vec<Arc<str>> {
        vec![Arc::clone(&self.name)]
    }

    fn said(&mut self, _view: View<'_>, key: Key, said: &Said<'_>) -> Result<(), String> {
        let value = said.field(&self.field)?;
        let new = || (value.clone(), Arc::from(said.to_string()));
        let (first, words) = self.first.entry(key).or_insert_with(new);
        if value == *first { Ok(()) } else { Err(format!("{said}, but before, {words}")) }
    }

    fn forget(&mut self, client: ClientId) {
        self.first.retain(|key, _| !key.is_of(client));
    }
}

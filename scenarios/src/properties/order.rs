//! Orders: of the values of one observation, and of one observation's values in another.

use super::property::{Hears, Key, Keyed, Property, Rule};
use super::said::{Datum, Said};
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::id::ClientId;
use vivarium_model::observation::Value;
use vivarium_model::property::View;

/// The rule of [`grows`].
#[derive(Clone, Hash)]
pub struct Grows {
    name: Arc<str>,
    field: Arc<str>,
    may_stay: bool,
    /// The last value, and its observation.
    last: BTreeMap<Key, (Datum, Arc<str>)>,
}

/// The value of `field` grows from each observation `name` to the next. It is a number, or text that is compared
/// letter by letter (which compares numbers in names only if they have equally many digits). The order is that of the
/// *observations*, which programs make some time after the action, so between clients it need not be the order of the
/// commits. One client's own order is certain: [`Property::per_client`].
///
/// Both engines; judged at each such observation.
///
/// ```
/// use vivarium::prelude::*;
///
/// let counts_up = grows("counted", "to").per_client();
/// # let _ = Test::new("t", |_| async { Ok(()) }).monitor(counts_up);
/// ```
pub fn grows(name: &str, field: &str) -> Property<Grows> {
    let (name, field, last) = (Arc::from(name), Arc::from(field), BTreeMap::new());
    Property::new("grows", Grows { name, field, may_stay: false, last })
}

impl Property<Grows> {
    /// Allows that a value repeats.
    #[must_use]
    pub fn or_stays(mut self) -> Self {
        self.rule.may_stay = true;
        self
    }
}

impl Hears for Grows {}

impl Keyed for Grows {}

impl Rule for Grows {
    fn hears(&self, name: &str) -> bool {
        *name == *self.name
    }

    fn looks_for(&self) -> Vec<Arc<str>> {
        vec![Arc::clone(&self.name)]
    }

    fn said(&mut self, _view: View<'_>, key: Key, said: &Said<'_>) -> Result<(), String> {
        let value = said.field(&self.field)?;
        // The first value must have an order too.
        let order = self.last.get(&key).map_or(&value, |(last, _)| last).compare(&value)?;
        if let Some((_, words)) = self.last.get(&key) {
            let is_fine = order.is_lt() || order.is_eq() && self.may_stay;
            if !is_fine {
                return Err(format!("{said}, but before, {words}"));
            }
        }
        self.last.insert(key, (value, Arc::from(said.to_string())));
        Ok(())
    }

    fn forget(&mut self, client: ClientId) {
        self.last.retain(|key, _| !key.is_of(client));
    }
}

/// The rule of [`same_order`].
#[derive(Clone, Hash)]
pub struct SameOrder {
    first: Arc<str>,
    then: Arc<str>,
    field: Arc<str>,
    ranked_by: Option<Arc<str>>,
    lines: BTreeMap<Key, Line>,
}

/// The observations of one key.
#[derive(Clone, Default, Hash)]
struct Line {
    /// For each value, its rank and the observation that first had it.
    ranks: BTreeMap<Datum, (Datum, Arc<str>)>,
    /// The values of `then` observations in order, each with its observation.
    order: Vec<(Datum, Arc<str>)>,
}

/// The values of `field` come in the same order in observations `first` and `then`: for instance, jobs are consumed
/// in the order in which they were produced. A value that only one of the two has had is not judged yet, so `then`
/// may come before `first`.
///
/// The order of `first` is that of the observations, which between clients need not be that of the commits. If it
/// matters, let `first` contain the value's place, and name that field with [`ranked_by`](Property::ranked_by).
///
/// Both engines; judged at each of both observations.
///
/// ```
/// use vivarium::prelude::*;
///
/// let fifo = same_order("produced", "consumed", "job").ranked_by("czxid").per("queue");
/// # let _ = Test::new("t", |_| async { Ok(()) }).monitor(fifo);
/// ```
pub fn same_order(first: &str, then: &str, field: &str) -> Property<SameOrder> {
    let [first, then, field] = [first, then, field].map(Arc::from);
    Property::new(
        "same order",
        SameOrder { first, then, field, ranked_by: None, lines: BTreeMap::new() },
    )
}

impl Property<SameOrder> {
    /// Orders the values of `first` by this field of it, such as a sequence number or a czxid.
    #[must_use]
    pub fn ranked_by(mut self, field: &str) -> Self {
        self.rule.ranked_by = Some(Arc::from(field));
        self
    }
}

impl Line {
    /// Fails with the first two observations `then` that are in the wrong order.
    fn check(&self) -> Result<(), String> {
        let ranked = |(value, words)| Some((&self.ranks.get(value)?.0, words));
        let mut last: Option<(&Datum, &Arc<str>)> = None;
        for (rank, words) in
            self.order.iter().map(|(value, words)| (value, words)).filter_map(ranked)
        {
            if let Some((before, earlier)) = last
                && rank.compare(before)?.is_lt()
            {
                return Err(format!("{words} (place {rank}) after {earlier} (place {before})"));
            }
            last = Some((rank, words));
        }
        Ok(())
    }
}

impl Hears for SameOrder {}

impl Keyed for SameOrder {}

impl Rule for SameOrder {
    fn hears(&self, name: &str) -> bool {
        *name == *self.first || *name == *self.then
    }

    /// `by` restricts the clients that say `then`.
    fn is_own(&self, name: &str) -> bool {
        *name == *self.then
    }

    fn looks_for(&self) -> Vec<Arc<str>> {
        vec![Arc::clone(&self.first), Arc::clone(&self.then)]
    }

    fn said(&mut self, _view: View<'_>, key: Key, said: &Said<'_>) -> Result<(), String> {
        let line = self.lines.entry(key).or_default();
        let (value, words) = (said.field(&self.field)?, Arc::from(said.to_string()));
        if *said.name() == *self.then {
            line.order.push((value, words));
            return line.check();
        }
        let rank = match &self.ranked_by {
            Some(field) => said.field(field)?,
            None => Datum(Value::Number(line.ranks.len() as i128 + 1)),
        };
        rank.compare(&rank)?;
        match line.ranks.get(&value) {
            Some((known, before)) if self.ranked_by.is_some() && *known != rank => {
                Err(format!("{said}, but before, {before}: one value has two places"))
            }
            Some(_) => Ok(()),
            None => {
                line.ranks.insert(value, (rank, words));
                line.check()
            }
        }
    }

    fn forget(&mut self, client: ClientId) {
        self.lines.retain(|key, _| !key.is_of(client));
    }
}

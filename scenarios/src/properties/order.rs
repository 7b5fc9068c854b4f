//! Orders: of what one observation says, and of one observation by another.

use super::property::{Hears, Key, Keyed, Property, Rule};
use super::said::{Datum, Said};
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::id::ClientId;
use vivarium_model::observation::Value;
use vivarium_model::property::View;

/// See [`grows`].
#[derive(Clone, Hash)]
pub struct Grows {
    name: Arc<str>,
    field: Arc<str>,
    may_stay: bool,
    /// The last value, and what was said.
    last: BTreeMap<Key, (Datum, Arc<str>)>,
}

/// From each observation `name` to the next the value of `field` grows: a number, or text letter by letter
/// (numbers in names are so compared only if they have as many digits). The order is that in which
/// programs *say* so, which is some time after they have done it: between clients it need not be the
/// order of the commits. [`Property::per_client`] is what one client can answer for.
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
    /// The same value may be said again.
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
        // Also the first one must be something that has an order.
        let order = self.last.get(&key).map_or(&value, |(last, _)| last).compare(&value)?;
        if let Some((_, words)) = self.last.get(&key) {
            let is_fine = order.is_lt() || order.is_eq() && self.may_stay;
            if !is_fine {
                return Err(format!("{said}, and before that {words}"));
            }
        }
        self.last.insert(key, (value, Arc::from(said.to_string())));
        Ok(())
    }

    fn forget(&mut self, client: ClientId) {
        self.last.retain(|key, _| !key.is_of(client));
    }
}

/// See [`same_order`].
#[derive(Clone, Hash)]
pub struct SameOrder {
    first: Arc<str>,
    then: Arc<str>,
    field: Arc<str>,
    ranked_by: Option<Arc<str>>,
    lines: BTreeMap<Key, Line>,
}

/// What was said of one key.
#[derive(Clone, Default, Hash)]
struct Line {
    /// The place of each value, and what was said of it first.
    ranks: BTreeMap<Datum, (Datum, Arc<str>)>,
    /// What was said then, in order.
    order: Vec<(Datum, Arc<str>)>,
}

/// Values of `field` that come by observations `first` come by observations `then` in the same order: what
/// is consumed in that of what was produced. A value that only one of them has said is not judged yet, so
/// `then` may come before `first` is said.
///
/// The order of `first` is that in which programs say so, which between clients need not be that of their
/// commits: let it name its place, and say by which field it is [`ranked`](Property::ranked_by).
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
    /// The order is that of this field of `first`, such as a sequence number or a czxid.
    #[must_use]
    pub fn ranked_by(mut self, field: &str) -> Self {
        self.rule.ranked_by = Some(Arc::from(field));
        self
    }
}

impl Line {
    /// The first two of `then` that came the wrong way round.
    fn check(&self) -> Result<(), String> {
        let ranked = |(value, words)| Some((&self.ranks.get(value)?.0, words));
        let mut last: Option<(&Datum, &Arc<str>)> = None;
        for (rank, words) in
            self.order.iter().map(|(value, words)| (value, words)).filter_map(ranked)
        {
            if let Some((before, earlier)) = last
                && rank.compare(before)?.is_lt()
            {
                return Err(format!(
                    "{words}, whose place is {rank}, behind that {earlier}, whose place is {before}"
                ));
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

    /// `by` is about who says `then`.
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
                Err(format!("{said}, and before that {before}: one value has two places"))
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

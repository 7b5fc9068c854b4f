//! Observations: what programs report to the monitors, as values of types of their own.
//!
//! The model knows none of these types. A recipe (or a user, in another crate) defines a type for the observations of
//! its programs and derives the required traits: [`Serialize`] for name and fields, [`Hash`] and [`Eq`] to compare.
//! Its own monitors read the observation typed ([`Event::observed`](crate::vocabulary::event::Event::observed)); code
//! that does not know the type reads a name, fields ([`Observed::name`], [`Observed::fields`]) and a sentence.
//!
//! ```
//! use serde::Serialize;
//! use vivarium_model::handle::ZooKeeper;
//! use vivarium_model::observation::{Observation, Observed, Value};
//! use vivarium_model::zxid::Zxid;
//!
//! /// What a leader says of itself.
//! #[derive(Debug, PartialEq, Eq, Hash, Serialize)]
//! enum Leadership {
//!     TookOver { term: Zxid },
//!     Resigned,
//! }
//!
//! impl Observation for Leadership {}
//!
//! fn lead(zookeeper: &ZooKeeper, term: Zxid) {
//!     zookeeper.observe(Leadership::TookOver { term });
//! }
//!
//! let observed = Observed::new(Leadership::TookOver { term: Zxid(7) });
//! assert_eq!(observed.read(), Some(&Leadership::TookOver { term: Zxid(7) }));
//! assert_eq!(observed.name(), "took over");
//! assert_eq!(observed.fields(), Ok(&[("term".into(), Value::Zxid(Zxid(7)))][..]));
//! assert_eq!(observed.to_string(), "says took over: term = 0:7");
//! ```
//!
//! # Name and fields
//!
//! Both come from the output of [`Serialize`]. The name is that of the struct or of the enum's variant, in small
//! letters and with a space before each word that begins with a capital: `NodeKnown` is `node known`.
//! (`#[serde(rename = "…")]` gives another name, under the same rule.) A value that is neither has the name of its
//! type.
//!
//! Named fields keep their names; unnamed fields are called `0`, `1` and so on. A single unnamed field that has named
//! fields itself (`Granted(Grant)`) is replaced by those. A field is a [`Value`]: nothing is left out, `None` is
//! [`Value::Nothing`], and a zxid is recognised as a zxid. Observations that are not equal must also differ in their
//! serialised form: properties over fields cannot see what `#[serde(skip)]` hides.

mod custom;
mod record;
mod spell;
#[cfg(test)]
mod tests;
mod value;

pub use custom::Custom;
pub use record::Record;
#[cfg(feature = "world")]
pub(crate) use spell::spaced;
pub use value::Value;

use serde::{Serialize, Serializer, ser};
use std::any::{Any, type_name};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

/// A type of observations. A type that derives the required traits needs only `impl Observation for … {}`; see the
/// [module](self).
pub trait Observation: Serialize + Hash + Eq + fmt::Debug + Send + Sync + 'static {
    /// Returns the text for a timeline: the rest of a sentence whose subject is the program. By default, the name and
    /// fields.
    fn words(&self) -> String {
        match self.record() {
            Ok(record) => format!("says {record}"),
            Err(why) => format!("says {why}"),
        }
    }

    /// Returns the name, called at most once per observation. By default, the name of the
    /// [record](Observation::record); only a type whose names are not known at compile time, such as [`Custom`],
    /// overrides it.
    fn name(&self) -> String {
        Record::name_of(self)
    }

    /// Returns the name and fields, called at most once per observation. Only a type that overrides the
    /// [name](Observation::name) overrides this as well.
    ///
    /// # Errors
    /// A sentence if the type's [`Serialize`] fails.
    fn record(&self) -> Result<Record, String> {
        Record::of(self)
    }
}

/// An observation that a program made: some [`Observation`], whose type only the reader needs to know.
///
/// Two are equal if their types and their values are equal. The hash covers the type's name and the value, and
/// nothing that differs between processes or builds. So two types of the same name (in two closures of one function)
/// hash alike: a monitor that keeps observations of both in its state must distinguish them itself.
#[derive(Clone)]
pub struct Observed(Arc<Held<dyn Erased>>);

struct Held<T: ?Sized> {
    /// Made on first use, because a search runs programs far more often than it reads their records.
    record: OnceLock<Box<Result<Record, String>>>,
    /// Made on first use; sweeps read the name of every observation.
    name: OnceLock<Box<str>>,
    observation: T,
}

impl Observed {
    /// Wraps an observation.
    pub fn new(observation: impl Observation) -> Observed {
        Observed(Arc::new(Held { record: OnceLock::new(), name: OnceLock::new(), observation }))
    }

    /// Returns the observation if it has this type.
    pub fn read<T: Observation>(&self) -> Option<&T> {
        let observation: &dyn Any = &self.0.observation;
        observation.downcast_ref()
    }

    /// Returns the name. It exists even if the fields cannot be serialised.
    pub fn name(&self) -> &str {
        self.0.name.get_or_init(|| self.0.observation.name().into())
    }

    /// Returns the fields.
    ///
    /// # Errors
    /// A sentence that begins with the name, if the observation cannot be serialised.
    pub fn fields(&self) -> Result<&[(Arc<str>, Value)], &str> {
        match self.record() {
            Ok(record) => Ok(&record.fields),
            Err(why) => Err(why),
        }
    }

    /// Returns the name of the type, which distinguishes observations with equal names and fields.
    pub fn type_name(&self) -> &'static str {
        self.0.observation.type_name()
    }

    fn record(&self) -> Result<&Record, &str> {
        let record = || Box::new(self.0.observation.record());
        (**self.0.record.get_or_init(record)).as_ref().map_err(String::as_str)
    }
}

/// The operations on an observation of unknown type.
trait Erased: Any + Send + Sync {
    fn type_name(&self) -> &'static str;
    fn name(&self) -> String;
    fn words(&self) -> String;
    fn record(&self) -> Result<Record, String>;
    fn equals(&self, other: &dyn Any) -> bool;
    fn hash_into(&self, state: &mut dyn Hasher);
    fn debug(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result;
}

impl<T: Observation> Erased for T {
    fn type_name(&self) -> &'static str {
        type_name::<T>()
    }

    fn name(&self) -> String {
        Observation::name(self)
    }

    fn words(&self) -> String {
        Observation::words(self)
    }

    fn record(&self) -> Result<Record, String> {
        Observation::record(self)
    }

    fn equals(&self, other: &dyn Any) -> bool {
        other.downcast_ref::<T>().is_some_and(|other| self == other)
    }

    /// Hashes the type's full name, and not a shorter one chosen by its author: two types with one name would make a
    /// search merge two different states.
    fn hash_into(&self, mut state: &mut dyn Hasher) {
        type_name::<T>().hash(&mut state);
        self.hash(&mut state);
    }

    fn debug(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl PartialEq for Observed {
    fn eq(&self, other: &Observed) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.observation.equals(&other.0.observation)
    }
}

impl Eq for Observed {}

impl Hash for Observed {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.observation.hash_into(state);
    }
}

impl fmt::Display for Observed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.observation.words())
    }
}

impl fmt::Debug for Observed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.observation.debug(f)
    }
}

/// Serialises type, name and fields. Fails if there are no fields, so that no comparison silently ignores them.
impl Serialize for Observed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let record = self.record().map_err(ser::Error::custom)?;
        (self.type_name(), record).serialize(serializer)
    }
}

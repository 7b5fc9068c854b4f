//! What programs tell the monitors: values of types of their own.
//!
//! The model knows no recipe's words. A recipe (and a user, in another crate) defines a type for what its
//! programs say, and derives what an observation needs: [`Serialize`] for its name and fields, [`Hash`]
//! and [`Eq`] to tell two apart. Its own monitors read it typed ([`Event::observed`](crate::vocabulary::event::Event::observed)), and
//! whoever does not know the type reads a name, fields ([`Observed::name`], [`Observed::fields`]) and words.
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
//! Both come from what [`Serialize`] writes. A variant of an enum is called by the variant and a struct
//! by the struct, with a space before each word that begins with a capital, and in small letters:
//! `NodeKnown` is `node known`. (`#[serde(rename = "…")]` gives another name, under the same rule.)
//! Whatever has neither is called as its type is.
//!
//! Named fields are fields; without names they are called `0`, `1` and so on; one that has named fields
//! itself (`Granted(Grant)`) gives these. What can stand in a field is a [`Value`]: nothing is left out,
//! `None` is [`Value::Nothing`], a zxid is known as one. Two observations that are not equal must differ in
//! what is written down, too: what `#[serde(skip)]` hides, no property over fields can see.

mod custom;
mod record;
mod spell;
#[cfg(test)]
mod tests;
mod value;

pub use custom::Custom;
pub use record::Record;
pub(crate) use spell::spaced;
pub use value::Value;

use serde::{Serialize, Serializer, ser};
use std::any::{Any, type_name};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};

/// A type of what a program tells the monitors. Whatever derives what is needed is one with
/// `impl Observation for … {}`; see the [module](self).
pub trait Observation: Serialize + Hash + Eq + fmt::Debug + Send + Sync + 'static {
    /// How it reads in a timeline: the rest of a sentence that begins with the program. Unless a type
    /// has words of its own, its name and fields.
    fn words(&self) -> String {
        match self.record() {
            Ok(record) => format!("says {record}"),
            Err(why) => format!("says {why}"),
        }
    }

    /// Its name, asked at most once of each observation: that of its [record](Observation::record). Only a
    /// type whose names are not known before it runs, such as [`Custom`], needs another definition.
    fn name(&self) -> String {
        Record::name_of(self)
    }

    /// Its name and fields, asked at most once of each observation. Only a type that defines its
    /// [name](Observation::name) needs another definition.
    ///
    /// # Errors
    /// Its [`Serialize`] fails: a sentence.
    fn record(&self) -> Result<Record, String> {
        Record::of(self)
    }
}

/// What a program told the monitors: some [`Observation`], whose type only those know that ask for it.
///
/// Two are equal if their types are the same and their values equal. A hash takes in the type's name and
/// the value, and nothing that another process or build would have otherwise. So types that the compiler
/// calls alike (two of one name, in two closures of one function) hash alike: a monitor that keeps
/// observations of both in its state has to tell them apart itself.
#[derive(Clone)]
pub struct Observed(Arc<Held<dyn Erased>>);

struct Held<T: ?Sized> {
    /// Made when it is first asked for: a search runs programs far more often than it asks.
    record: OnceLock<Box<Result<Record, String>>>,
    /// So is this, which sweeps ask of every observation.
    name: OnceLock<Box<str>>,
    observation: T,
}

impl Observed {
    /// Of this observation.
    pub fn new(observation: impl Observation) -> Observed {
        Observed(Arc::new(Held { record: OnceLock::new(), name: OnceLock::new(), observation }))
    }

    /// The observation, if it is of this type.
    pub fn read<T: Observation>(&self) -> Option<&T> {
        let observation: &dyn Any = &self.0.observation;
        observation.downcast_ref()
    }

    /// Its name. It has one even if it cannot be written down.
    pub fn name(&self) -> &str {
        self.0.name.get_or_init(|| self.0.observation.name().into())
    }

    /// Its fields.
    ///
    /// # Errors
    /// It cannot be written down: why, in a sentence that begins with its name.
    pub fn fields(&self) -> Result<&[(Arc<str>, Value)], &str> {
        match self.record() {
            Ok(record) => Ok(&record.fields),
            Err(why) => Err(why),
        }
    }

    /// The name of its type: of two observations that are written down alike, it tells which is which.
    pub fn type_name(&self) -> &'static str {
        self.0.observation.type_name()
    }

    fn record(&self) -> Result<&Record, &str> {
        let record = || Box::new(self.0.observation.record());
        (**self.0.record.get_or_init(record)).as_ref().map_err(String::as_str)
    }
}

/// What is done with an observation without knowing its type.
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

    /// The type's whole name, and not a shorter one that its author could give: two types under one
    /// name would let a search take two states for one.
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

/// Its type, name and fields; an error where it has no fields, so that nobody compares what is missing.
impl Serialize for Observed {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let record = self.record().map_err(ser::Error::custom)?;
        (self.type_name(), record).serialize(serializer)
    }
}

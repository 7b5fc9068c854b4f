//! An observation as a name and fields, for readers that do not know its type.

use super::spell::{Spelled, Speller, spaced};
use super::value::{Value, named};
use crate::vocabulary::phrase::{list, panic_message};
use serde::Serialize;
use std::any::type_name;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// The name and the fields of an observation, derived as the [module](super) describes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Record {
    /// The observation's name.
    pub name: Arc<str>,
    /// Its fields, by name.
    pub fields: Vec<(Arc<str>, Value)>,
}

impl Record {
    /// Returns the record of a value, from its [`Serialize`] output.
    ///
    /// # Errors
    /// A sentence if serialising fails or panics. (A report reads all observations of a run.)
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Record, String> {
        let of_type = last_of(type_name::<T>());
        let written = catch_unwind(AssertUnwindSafe(|| value.serialize(Speller::Whole)));
        let written = match written {
            Ok(written) => written.map_err(|why| why.to_string()),
            Err(panic) => Err(format!("it panicked: {}", panic_message(&*panic))),
        };
        let Spelled { name, value, .. } = written
            .map_err(|why| format!("the observation `{of_type}` cannot be written down: {why}"))?;
        let fields = match value {
            None => Vec::new(),
            Some(Value::Fields(fields)) => fields,
            Some(value) => vec![(Arc::from("0"), value)],
        };
        Ok(Record { name: spaced(name.unwrap_or(of_type)).into(), fields })
    }

    /// Returns the name in the record of a value. It exists even if the fields cannot be serialised.
    pub fn name_of<T: Serialize + ?Sized>(value: &T) -> String {
        let name = value.serialize(Speller::Name).ok().and_then(|spelled| spelled.name);
        spaced(name.unwrap_or_else(|| last_of(type_name::<T>())))
    }
}

/// Formats as `granted: lock = "/lock", token = 1:4`.
impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.fields[..] {
            [] => f.write_str(&self.name),
            fields => write!(f, "{}: {}", self.name, list(named(fields))),
        }
    }
}

/// Returns the last component of a type's path, without parameters; `list` or `tuple` for types without a name.
pub(super) fn last_of(type_name: &str) -> &str {
    match type_name.chars().next() {
        Some('[') => return "list",
        Some('(') => return "tuple",
        _ => {}
    }
    let plain = type_name.split('<').next().unwrap_or(type_name);
    plain.rsplit("::").next().unwrap_or(plain)
}

//! An observation as a name and fields, for whoever does not know its type.

use super::spell::{Spelled, Speller, spaced};
use super::value::{Value, named};
use crate::vocabulary::phrase::list;
use serde::Serialize;
use std::any::type_name;
use std::fmt;
use std::sync::Arc;

/// The name and the fields of an observation; the [module](super) says where they come from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct Record {
    /// What it is called.
    pub name: Arc<str>,
    /// What is in it.
    pub fields: Vec<(Arc<str>, Value)>,
}

impl Record {
    /// What [`Serialize`] writes of a value.
    ///
    /// # Errors
    /// It fails: a sentence.
    pub fn of<T: Serialize + ?Sized>(value: &T) -> Result<Record, String> {
        let of_type = last_of(type_name::<T>());
        let Spelled { name, value, .. } = value
            .serialize(Speller::Whole)
            .map_err(|why| format!("the observation `{of_type}` cannot be written down: {why}"))?;
        let fields = match value {
            None => Vec::new(),
            Some(Value::Fields(fields)) => fields,
            Some(value) => vec![(Arc::from("0"), value)],
        };
        Ok(Record { name: spaced(name.unwrap_or(of_type)).into(), fields })
    }

    /// The name in the record of a value, without the rest. It has one even if its fields cannot be
    /// written down.
    pub fn name_of<T: Serialize + ?Sized>(value: &T) -> String {
        let name = value.serialize(Speller::Name).ok().and_then(|spelled| spelled.name);
        spaced(name.unwrap_or_else(|| last_of(type_name::<T>())))
    }
}

/// `granted: lock = "/lock", token = 1:4`
impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.fields[..] {
            [] => f.write_str(&self.name),
            fields => write!(f, "{}: {}", self.name, list(named(fields))),
        }
    }
}

/// The last name of a path of names, without its parameters; lists and tuples have no name of their own.
pub(super) fn last_of(type_name: &str) -> &str {
    match type_name.chars().next() {
        Some('[') => return "list",
        Some('(') => return "tuple",
        _ => {}
    }
    let plain = type_name.split('<').next().unwrap_or(type_name);
    plain.rsplit("::").next().unwrap_or(plain)
}

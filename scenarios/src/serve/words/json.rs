//! JSON whose objects keep the order of their fields, printed as ZooKeeper's admin server prints it.

use super::java::Double;
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::fmt;

/// A JSON value whose objects keep the order of their fields.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Integer(i64),
    Decimal(f64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

impl Json {
    /// Returns an object of fields with fixed names.
    pub(super) fn object<const N: usize>(fields: [(&str, Json); N]) -> Json {
        Json::Object(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// Returns the value of a field; `None` if there is no such field or this is no object.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Json> {
        match self {
            Json::Object(fields) => {
                fields.iter().find(|field| field.0 == name).map(|field| &field.1)
            }
            _ => None,
        }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        match self {
            Json::Null => f.write_str("null"),
            Json::Bool(value) => write!(f, "{value}"),
            Json::Integer(value) => write!(f, "{value}"),
            Json::Decimal(value) if value.is_finite() => write!(f, "{}", Double(*value)),
            Json::Decimal(value) => write!(f, "\"{}\"", Double(*value)),
            Json::Text(text) => write_text(f, text),
            Json::List(values) => {
                f.write_str("[ ")?;
                for (index, value) in values.iter().enumerate() {
                    if index > 0 {
                        f.write_str(", ")?;
                    }
                    value.write(f, depth)?;
                }
                f.write_str(if values.is_empty() { "]" } else { " ]" })
            }
            Json::Object(fields) if fields.is_empty() => f.write_str("{ }"),
            Json::Object(fields) => {
                for (index, (name, value)) in fields.iter().enumerate() {
                    f.write_str(if index == 0 { "{" } else { "," })?;
                    write!(f, "\n{:width$}", "", width = 2 * (depth + 1))?;
                    write_text(f, name)?;
                    f.write_str(" : ")?;
                    value.write(f, depth + 1)?;
                }
                write!(f, "\n{:width$}}}", "", width = 2 * depth)
            }
        }
    }
}

fn write_text(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    for letter in text.chars() {
        match letter {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\u{8}' => f.write_str("\\b")?,
            '\u{c}' => f.write_str("\\f")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            '\0'..'\u{20}' => write!(f, "\\u{:04X}", u32::from(letter))?,
            _ => write!(f, "{letter}")?,
        }
    }
    f.write_str("\"")
}

/// Prints with two spaces of indentation for each object, and with lists on one line.
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, 0)
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Json::Null => serializer.serialize_unit(),
            Json::Bool(value) => serializer.serialize_bool(*value),
            Json::Integer(value) => serializer.serialize_i64(*value),
            Json::Decimal(value) => serializer.serialize_f64(*value),
            Json::Text(text) => serializer.serialize_str(text),
            Json::List(values) => serializer.collect_seq(values),
            Json::Object(fields) => {
                let mut map = serializer.serialize_map(Some(fields.len()))?;
                for (name, value) in fields {
                    map.serialize_entry(name, value)?;
                }
                map.end()
            }
        }
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Json {
        Json::Bool(value)
    }
}

impl From<i64> for Json {
    fn from(value: i64) -> Json {
        Json::Integer(value)
    }
}

impl From<i32> for Json {
    fn from(value: i32) -> Json {
        Json::Integer(value.into())
    }
}

impl From<u32> for Json {
    fn from(value: u32) -> Json {
        Json::Integer(value.into())
    }
}

/// Larger values than a Java long become the largest long.
impl From<u64> for Json {
    fn from(value: u64) -> Json {
        Json::Integer(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<usize> for Json {
    fn from(value: usize) -> Json {
        Json::Integer(i64::try_from(value).unwrap_or(i64::MAX))
    }
}

impl From<f64> for Json {
    fn from(value: f64) -> Json {
        Json::Decimal(value)
    }
}

impl From<&str> for Json {
    fn from(value: &str) -> Json {
        Json::Text(value.to_owned())
    }
}

impl From<String> for Json {
    fn from(value: String) -> Json {
        Json::Text(value)
    }
}

impl<T: Into<Json>> FromIterator<T> for Json {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Json {
        Json::List(values.into_iter().map(Into::into).collect())
    }
}

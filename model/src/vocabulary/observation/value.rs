//! The values of an observation's fields.

use crate::vocabulary::id::{ClientId, SessionId};
use crate::vocabulary::phrase::list;
use crate::vocabulary::zxid::Zxid;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// A field of an observation.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Value {
    /// `None` or `()`.
    Nothing,
    /// A truth value.
    Bool(bool),
    /// A number in the range of `i64` and `u64`.
    Number(i128),
    /// Text.
    Text(Arc<str>),
    /// A zxid, such as a fencing token.
    Zxid(Zxid),
    /// A list, a set or a tuple.
    List(Vec<Value>),
    /// A value with fields of its own.
    Fields(Vec<(Arc<str>, Value)>),
    /// A session id.
    Session(SessionId),
}

impl Value {
    /// Returns this value with each zxid and each session id in it replaced.
    #[must_use]
    pub fn with_ids(
        self,
        zxid: &impl Fn(Zxid) -> Zxid,
        session: &impl Fn(SessionId) -> SessionId,
    ) -> Value {
        match self {
            Value::Zxid(old) => Value::Zxid(zxid(old)),
            Value::Session(old) => Value::Session(session(old)),
            Value::List(values) => {
                let values = values.into_iter();
                Value::List(values.map(|value| value.with_ids(zxid, session)).collect())
            }
            Value::Fields(fields) => {
                let other = |(name, value): (_, Value)| (name, value.with_ids(zxid, session));
                Value::Fields(fields.into_iter().map(other).collect())
            }
            Value::Nothing | Value::Bool(_) | Value::Number(_) | Value::Text(_) => self,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Nothing => f.write_str("nothing"),
            Value::Bool(truth) => truth.fmt(f),
            Value::Number(number) => number.fmt(f),
            Value::Text(text) => write!(f, "\"{text}\""),
            Value::Zxid(zxid) => zxid.fmt(f),
            Value::Session(session) => session.fmt(f),
            Value::List(values) => write!(f, "[{}]", list(values.iter())),
            Value::Fields(fields) => write!(f, "{{{}}}", list(named(fields))),
        }
    }
}

/// Formats each field as `name = value`.
pub(super) fn named(
    fields: &[(Arc<str>, Value)],
) -> impl ExactSizeIterator<Item = String> + use<'_> {
    fields.iter().map(|(name, value)| format!("{name} = {value}"))
}

impl From<Zxid> for Value {
    fn from(value: Zxid) -> Value {
        Value::Zxid(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Value {
        Value::Number(value.into())
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Value {
        Value::Bool(value)
    }
}

impl From<&str> for Value {
    fn from(value: &str) -> Value {
        Value::Text(Arc::from(value))
    }
}

impl From<String> for Value {
    fn from(value: String) -> Value {
        Value::Text(Arc::from(value))
    }
}

impl From<Arc<str>> for Value {
    fn from(value: Arc<str>) -> Value {
        Value::Text(value)
    }
}

impl From<SessionId> for Value {
    fn from(value: SessionId) -> Value {
        Value::Session(value)
    }
}

/// Converts to the client's number, which is also its serialised form.
impl From<ClientId> for Value {
    fn from(value: ClientId) -> Value {
        Value::Number(value.0.into())
    }
}

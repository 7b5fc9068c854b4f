//! What a program said, and its fields: what properties over observations are about.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;
use vivarium_model::event::{Event, Observation, Value};
use vivarium_model::id::{ClientId, SessionId};
use vivarium_model::zxid::Zxid;

/// An observation, as a property is shown it.
///
/// A field that is not there, or not of the type that is asked for, is an error with a sentence: hand
/// it on with `?`, and it is what the property objects with.
#[derive(Clone, Copy, Debug)]
pub struct Said<'a> {
    client: ClientId,
    session: Option<SessionId>,
    observation: &'a Observation,
}

impl<'a> Said<'a> {
    /// Of an event, if it is an observation.
    pub(super) fn of(event: &'a Event) -> Option<Said<'a>> {
        let Event::Observed { client, session, observation, .. } = event else { return None };
        Some(Said { client: *client, session: *session, observation })
    }

    /// Who said it.
    pub fn client(&self) -> ClientId {
        self.client
    }

    /// The session that its client had at that moment.
    pub fn session(&self) -> Option<SessionId> {
        self.session
    }

    /// What it is called: the first argument of `ZooKeeper::custom`.
    pub fn name(&self) -> &'a str {
        self.observation.name()
    }

    /// A field that is a number.
    ///
    /// # Errors
    /// It is none, or not there.
    pub fn number(&self, field: &str) -> Result<i64, String> {
        match self.field(field)? {
            Datum::Number(number) => Ok(number),
            other => Err(self.is_no(field, &other, "a number")),
        }
    }

    /// A field that is a zxid.
    ///
    /// # Errors
    /// It is none, or not there.
    pub fn zxid(&self, field: &str) -> Result<Zxid, String> {
        match self.field(field)? {
            Datum::Zxid(zxid) => Ok(zxid),
            other => Err(self.is_no(field, &other, "a zxid")),
        }
    }

    /// A field that is text.
    ///
    /// # Errors
    /// It is none, or not there.
    pub fn text(&self, field: &str) -> Result<Arc<str>, String> {
        match self.field(field)? {
            Datum::Text(text) => Ok(text),
            other => Err(self.is_no(field, &other, "text")),
        }
    }

    /// A field that is a truth value.
    ///
    /// # Errors
    /// It is none, or not there.
    pub fn flag(&self, field: &str) -> Result<bool, String> {
        match self.field(field)? {
            Datum::Bool(flag) => Ok(flag),
            other => Err(self.is_no(field, &other, "a truth value")),
        }
    }

    /// A field, whatever it is.
    pub(super) fn field(&self, field: &str) -> Result<Datum, String> {
        let all = self.fields();
        let mut named = all.into_iter().filter(|(name, _)| **name == *field);
        match (named.next(), named.next()) {
            (Some((_, value)), None) => Ok(value),
            (None, _) => {
                Err(format!("{self} without the field `{field}`, which is asked for here"))
            }
            (Some(_), Some(_)) => {
                Err(format!("{self} with two fields `{field}`, and one is asked for"))
            }
        }
    }

    /// A field that is of the same type as this value.
    pub(super) fn field_like(&self, field: &str, value: &Datum) -> Result<Datum, String> {
        let is = self.field(field)?;
        match std::mem::discriminant(&is) == std::mem::discriminant(value) {
            true => Ok(is),
            false => Err(self.is_no(field, &is, value.kind())),
        }
    }

    fn is_no(&self, field: &str, is: &Datum, wanted: &str) -> String {
        let kind = is.kind();
        format!("{self}, whose field `{field}` is {kind}, and {wanted} is asked for here")
    }

    /// Those of the observations of recipes are called as they are in [`Observation`].
    fn fields(&self) -> Vec<(Arc<str>, Datum)> {
        let text = |name: &str, value: &Arc<str>| (Arc::from(name), Datum::Text(Arc::clone(value)));
        let zxid = |token: &Zxid| (Arc::from("token"), Datum::Zxid(*token));
        match self.observation {
            Observation::Attempt { lock, attempt } | Observation::GaveUp { lock, attempt } => {
                vec![text("lock", lock), text("attempt", attempt)]
            }
            Observation::NodeKnown { lock, attempt, node } => {
                vec![text("lock", lock), text("attempt", attempt), text("node", node)]
            }
            Observation::Waiting { lock, attempt, on } => {
                vec![text("lock", lock), text("attempt", attempt), text("on", on)]
            }
            Observation::Granted { lock, attempt, node, token } => {
                let (lock, attempt) = (text("lock", lock), text("attempt", attempt));
                vec![lock, attempt, text("node", node), zxid(token)]
            }
            Observation::Lost { lock, token }
            | Observation::Releasing { lock, token }
            | Observation::Released { lock, token } => vec![text("lock", lock), zxid(token)],
            Observation::Custom { fields, .. } => fields
                .iter()
                .map(|(name, value)| (Arc::clone(name), Datum::from(value.clone())))
                .collect(),
        }
    }
}

/// ``client 1 said `counted` (to = 3)``
impl fmt::Display for Said<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} said `{}`", self.client, self.name())?;
        for (at, (name, value)) in self.fields().iter().enumerate() {
            write!(f, "{}{name} = {value}", if at == 0 { " (" } else { ", " })?;
        }
        if self.fields().is_empty() { Ok(()) } else { f.write_str(")") }
    }
}

/// The value of a field, in an order in which it can be a key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Datum {
    Bool(bool),
    Number(i64),
    Text(Arc<str>),
    Zxid(Zxid),
}

impl Datum {
    fn kind(&self) -> &'static str {
        match self {
            Datum::Bool(_) => "a truth value",
            Datum::Number(_) => "a number",
            Datum::Text(_) => "text",
            Datum::Zxid(_) => "a zxid",
        }
    }

    /// A fencing token: a zxid or a number. Text would be compared letter by letter, and `1:11` is no
    /// smaller token than `1:5`.
    pub(super) fn token(self) -> Result<Datum, String> {
        match self {
            Datum::Zxid(_) | Datum::Number(_) => Ok(self),
            other => Err(format!(
                "the token `{other}` is {}, and has to be a zxid or a number, such as `stat.czxid.into()`",
                other.kind()
            )),
        }
    }

    /// Which of two comes first: numbers and zxids by size, text letter by letter.
    pub(super) fn compare(&self, other: &Datum) -> Result<Ordering, String> {
        match (self, other) {
            (Datum::Number(one), Datum::Number(other)) => Ok(one.cmp(other)),
            (Datum::Text(one), Datum::Text(other)) => Ok(one.cmp(other)),
            (Datum::Zxid(one), Datum::Zxid(other)) => Ok(one.cmp(other)),
            (one, other) => Err(format!(
                "{one} is {} and {other} is {}, and neither comes first",
                one.kind(),
                other.kind()
            )),
        }
    }
}

impl From<Value> for Datum {
    fn from(value: Value) -> Datum {
        match value {
            Value::Number(number) => Datum::Number(number),
            Value::Bool(flag) => Datum::Bool(flag),
            Value::Text(text) => Datum::Text(text),
            Value::Zxid(zxid) => Datum::Zxid(zxid),
        }
    }
}

impl fmt::Display for Datum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Datum::Bool(flag) => flag.fmt(f),
            Datum::Number(number) => number.fmt(f),
            Datum::Text(text) => f.write_str(text),
            Datum::Zxid(zxid) => zxid.fmt(f),
        }
    }
}

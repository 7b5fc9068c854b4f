//! A program's observation and its fields, as properties see them.

use std::cmp::Ordering;
use std::fmt;
use std::sync::{Arc, LazyLock};
use vivarium_model::event::Event;
use vivarium_model::id::{ClientId, SessionId};
use vivarium_model::observation::{Custom, Observation, Observed, Value};
use vivarium_model::zxid::Zxid;

/// Name of the observation that a killed program counts as making; a property that names it receives it.
pub const PROGRAM_KILLED: &str = "program killed";

/// Name of the observation that a program counts as making when it finishes.
pub const PROGRAM_FINISHED: &str = "program finished";

static KILLED: LazyLock<Observed> =
    LazyLock::new(|| Observed::new(Custom::new(PROGRAM_KILLED, &[])));
static FINISHED: LazyLock<Observed> =
    LazyLock::new(|| Observed::new(Custom::new(PROGRAM_FINISHED, &[])));

/// Returns true if an observation of this name is the end of a process.
pub(super) fn is_end(name: &str) -> bool {
    name == PROGRAM_KILLED || name == PROGRAM_FINISHED
}

/// An observation as a property sees it.
///
/// A missing field, or one of another type than requested, is an error with a sentence. Return it with `?`: the
/// property then objects with it.
#[derive(Clone, Copy, Debug)]
pub struct Said<'a> {
    client: ClientId,
    session: Option<SessionId>,
    observation: &'a Observed,
}

impl<'a> Said<'a> {
    /// Returns the observation of an event, if the event is an observation or the end of a process.
    pub(super) fn of(event: &'a Event) -> Option<Said<'a>> {
        let end =
            |client: &ClientId, observation| Said { client: *client, session: None, observation };
        match event {
            Event::Observed { client, session, observation, .. } => {
                Some(Said { client: *client, session: *session, observation })
            }
            Event::Killed { client } => Some(end(client, &KILLED)),
            Event::Finished { client, .. } => Some(end(client, &FINISHED)),
            _ => None,
        }
    }

    /// Returns the client that made the observation.
    pub fn client(&self) -> ClientId {
        self.client
    }

    /// Returns the session that the client had at that moment.
    pub fn session(&self) -> Option<SessionId> {
        self.session
    }

    /// Returns the observation's name: the first argument of `ZooKeeper::custom`, or the name that its
    /// [type](vivarium_model::observation) has (`granted` for a variant `Granted`).
    pub fn name(&self) -> &'a str {
        self.observation.name()
    }

    /// Returns the observed value, if it is of this type.
    pub fn read<T: Observation>(&self) -> Option<&'a T> {
        self.observation.read()
    }

    /// Returns a field that is a number.
    ///
    /// # Errors
    /// A sentence, if the field is missing, is no number, or does not fit in an `i64`.
    pub fn number(&self, field: &str) -> Result<i64, String> {
        match self.field(field)? {
            Datum(Value::Number(number)) => i64::try_from(number).map_err(|_| {
                format!(
                    "{self}, but its field `{field}` is above the largest possible value, {}",
                    i64::MAX
                )
            }),
            other => Err(self.is_no(field, &other, "a number")),
        }
    }

    /// Returns a field that is a zxid.
    ///
    /// # Errors
    /// A sentence, if the field is missing or is no zxid.
    pub fn zxid(&self, field: &str) -> Result<Zxid, String> {
        match self.field(field)? {
            Datum(Value::Zxid(zxid)) => Ok(zxid),
            other => Err(self.is_no(field, &other, "a zxid")),
        }
    }

    /// Returns a field that is a session id.
    ///
    /// # Errors
    /// A sentence, if the field is missing or is no session id.
    pub fn session_id(&self, field: &str) -> Result<SessionId, String> {
        match self.field(field)? {
            Datum(Value::Session(session)) => Ok(session),
            other => Err(self.is_no(field, &other, "a session id")),
        }
    }

    /// Returns a field that is text.
    ///
    /// # Errors
    /// A sentence, if the field is missing or is no text.
    pub fn text(&self, field: &str) -> Result<Arc<str>, String> {
        match self.field(field)? {
            Datum(Value::Text(text)) => Ok(text),
            other => Err(self.is_no(field, &other, "text")),
        }
    }

    /// Returns a field that is a truth value.
    ///
    /// # Errors
    /// A sentence, if the field is missing or is no truth value.
    pub fn flag(&self, field: &str) -> Result<bool, String> {
        match self.field(field)? {
            Datum(Value::Bool(flag)) => Ok(flag),
            other => Err(self.is_no(field, &other, "a truth value")),
        }
    }

    /// Returns a field of any type.
    pub(super) fn field(&self, field: &str) -> Result<Datum, String> {
        let fields = self.observation.fields();
        let fields = fields.map_err(|_| {
            format!("{self}, whose observation cannot be serialised, but the property needs its field `{field}`")
        })?;
        let mut named = fields.iter().filter(|(name, _)| **name == *field);
        match (named.next(), named.next()) {
            (Some((_, value)), None) => Ok(Datum(value.clone())),
            (None, _) => {
                Err(format!("{self} without the field `{field}`, which the property needs"))
            }
            (Some(_), Some(_)) => {
                Err(format!("{self} with two fields `{field}`, but the property needs exactly one"))
            }
        }
    }

    /// Returns a field that must have the same type as `value`.
    pub(super) fn field_like(&self, field: &str, value: &Datum) -> Result<Datum, String> {
        let is = self.field(field)?;
        match std::mem::discriminant(&is.0) == std::mem::discriminant(&value.0) {
            true => Ok(is),
            false => Err(self.is_no(field, &is, value.kind())),
        }
    }

    fn is_no(&self, field: &str, is: &Datum, wanted: &str) -> String {
        let kind = is.kind();
        format!("{self}, but its field `{field}` is {kind}, and the property needs {wanted}")
    }
}

/// Displays ``client 1 said `counted` (to = 3)``.
impl fmt::Display for Said<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            PROGRAM_KILLED => return write!(f, "the program of {} was killed", self.client),
            PROGRAM_FINISHED => return write!(f, "the program of {} finished", self.client),
            name => write!(f, "{} said `{name}`", self.client)?,
        }
        let shown =
            |(name, value): &(Arc<str>, Value)| format!("{name} = {}", Datum(value.clone()));
        match self.observation.fields() {
            Ok([]) => Ok(()),
            Ok(fields) => {
                write!(f, " ({})", fields.iter().map(shown).collect::<Vec<_>>().join(", "))
            }
            Err(why) => write!(f, " ({why})"),
        }
    }
}

/// The value of a field, used as a key and in sentences.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Datum(pub(super) Value);

impl Datum {
    fn kind(&self) -> &'static str {
        match self.0 {
            Value::Nothing => "nothing",
            Value::Bool(_) => "a truth value",
            Value::Number(_) => "a number",
            Value::Text(_) => "text",
            Value::Zxid(_) => "a zxid",
            Value::List(_) => "a list",
            Value::Fields(_) => "something with fields of its own",
            Value::Session(_) => "a session id",
        }
    }

    /// Returns the value if it can be a fencing token: a zxid or a number. Text would be compared letter by letter,
    /// so that `1:11` would be smaller than `1:5`.
    pub(super) fn token(self) -> Result<Datum, String> {
        match self {
            Datum(Value::Zxid(_) | Value::Number(_)) => Ok(self),
            other => Err(format!(
                "the token `{other}` is {}, but must be a zxid or a number, such as `stat.czxid.into()`",
                other.kind()
            )),
        }
    }

    /// Compares two values: numbers and zxids by size, text letter by letter. Fails if their types differ or have no
    /// order.
    pub(super) fn compare(&self, other: &Datum) -> Result<Ordering, String> {
        match (&self.0, &other.0) {
            (Value::Number(one), Value::Number(other)) => Ok(one.cmp(other)),
            (Value::Text(one), Value::Text(other)) => Ok(one.cmp(other)),
            (Value::Zxid(one), Value::Zxid(other)) => Ok(one.cmp(other)),
            _ => Err(format!(
                "{self} is {} and {other} is {}, so they cannot be ordered",
                self.kind(),
                other.kind()
            )),
        }
    }
}

/// Displays text without quotes.
impl fmt::Display for Datum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Value::Text(text) => f.write_str(text),
            other => other.fmt(f),
        }
    }
}

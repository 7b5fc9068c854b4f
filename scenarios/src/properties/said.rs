//! What a program said, and its fields: what properties over observations are about.

use std::cmp::Ordering;
use std::fmt;
use std::sync::{Arc, LazyLock};
use vivarium_model::event::Event;
use vivarium_model::id::{ClientId, SessionId};
use vivarium_model::observation::{Custom, Observation, Observed, Value};
use vivarium_model::zxid::Zxid;

/// What a program is taken to say when its process has been killed: a property that names this hears of it.
pub const PROGRAM_KILLED: &str = "program killed";

/// What a program is taken to say when it has finished.
pub const PROGRAM_FINISHED: &str = "program finished";

static KILLED: LazyLock<Observed> =
    LazyLock::new(|| Observed::new(Custom::new(PROGRAM_KILLED, &[])));
static FINISHED: LazyLock<Observed> =
    LazyLock::new(|| Observed::new(Custom::new(PROGRAM_FINISHED, &[])));

/// Whether an observation of this name is the end of a process.
pub(super) fn is_end(name: &str) -> bool {
    name == PROGRAM_KILLED || name == PROGRAM_FINISHED
}

/// An observation, as a property is shown it.
///
/// A field that is not there, or not of the type that is asked for, is an error with a sentence: hand
/// it on with `?`, and it is what the property objects with.
#[derive(Clone, Copy, Debug)]
pub struct Said<'a> {
    client: ClientId,
    session: Option<SessionId>,
    observation: &'a Observed,
}

impl<'a> Said<'a> {
    /// Of an event, if it is an observation or the end of a process.
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

    /// Who said it.
    pub fn client(&self) -> ClientId {
        self.client
    }

    /// The session that its client had at that moment.
    pub fn session(&self) -> Option<SessionId> {
        self.session
    }

    /// What it is called: the first argument of `ZooKeeper::custom`, or as its
    /// [type](vivarium_model::observation) says (`granted` of a variant `Granted`).
    pub fn name(&self) -> &'a str {
        self.observation.name()
    }

    /// What was said, if it is of this type.
    pub fn read<T: Observation>(&self) -> Option<&'a T> {
        self.observation.read()
    }

    /// A field that is a number.
    ///
    /// # Errors
    /// It is none, or not there, or more than fits.
    pub fn number(&self, field: &str) -> Result<i64, String> {
        match self.field(field)? {
            Datum(Value::Number(number)) => i64::try_from(number).map_err(|_| {
                format!(
                    "{self}, whose field `{field}` is more than the {} that fits here",
                    i64::MAX
                )
            }),
            other => Err(self.is_no(field, &other, "a number")),
        }
    }

    /// A field that is a zxid.
    ///
    /// # Errors
    /// It is none, or not there.
    pub fn zxid(&self, field: &str) -> Result<Zxid, String> {
        match self.field(field)? {
            Datum(Value::Zxid(zxid)) => Ok(zxid),
            other => Err(self.is_no(field, &other, "a zxid")),
        }
    }

    /// A field that is a session id.
    ///
    /// # Errors
    /// It is none, or not there.
    pub fn session_id(&self, field: &str) -> Result<SessionId, String> {
        match self.field(field)? {
            Datum(Value::Session(session)) => Ok(session),
            other => Err(self.is_no(field, &other, "a session id")),
        }
    }

    /// A field that is text.
    ///
    /// # Errors
    /// It is none, or not there.
    pub fn text(&self, field: &str) -> Result<Arc<str>, String> {
        match self.field(field)? {
            Datum(Value::Text(text)) => Ok(text),
            other => Err(self.is_no(field, &other, "text")),
        }
    }

    /// A field that is a truth value.
    ///
    /// # Errors
    /// It is none, or not there.
    pub fn flag(&self, field: &str) -> Result<bool, String> {
        match self.field(field)? {
            Datum(Value::Bool(flag)) => Ok(flag),
            other => Err(self.is_no(field, &other, "a truth value")),
        }
    }

    /// A field, whatever it is.
    pub(super) fn field(&self, field: &str) -> Result<Datum, String> {
        let fields = self.observation.fields();
        let fields = fields.map_err(|_| format!("{self}, and `{field}` is asked for here"))?;
        let mut named = fields.iter().filter(|(name, _)| **name == *field);
        match (named.next(), named.next()) {
            (Some((_, value)), None) => Ok(Datum(value.clone())),
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
        match std::mem::discriminant(&is.0) == std::mem::discriminant(&value.0) {
            true => Ok(is),
            false => Err(self.is_no(field, &is, value.kind())),
        }
    }

    fn is_no(&self, field: &str, is: &Datum, wanted: &str) -> String {
        let kind = is.kind();
        format!("{self}, whose field `{field}` is {kind}, and {wanted} is asked for here")
    }
}

/// ``client 1 said `counted` (to = 3)``
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

/// The value of a field, as a key and as it reads in a sentence.
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

    /// A fencing token: a zxid or a number. Text would be compared letter by letter, and `1:11` is no
    /// smaller token than `1:5`.
    pub(super) fn token(self) -> Result<Datum, String> {
        match self {
            Datum(Value::Zxid(_) | Value::Number(_)) => Ok(self),
            other => Err(format!(
                "the token `{other}` is {}, and has to be a zxid or a number, such as `stat.czxid.into()`",
                other.kind()
            )),
        }
    }

    /// Which of two comes first: numbers and zxids by size, text letter by letter.
    pub(super) fn compare(&self, other: &Datum) -> Result<Ordering, String> {
        match (&self.0, &other.0) {
            (Value::Number(one), Value::Number(other)) => Ok(one.cmp(other)),
            (Value::Text(one), Value::Text(other)) => Ok(one.cmp(other)),
            (Value::Zxid(one), Value::Zxid(other)) => Ok(one.cmp(other)),
            _ => Err(format!(
                "{self} is {} and {other} is {}, and neither comes first",
                self.kind(),
                other.kind()
            )),
        }
    }
}

/// Text without quotes.
impl fmt::Display for Datum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Value::Text(text) => f.write_str(text),
            other => other.fmt(f),
        }
    }
}

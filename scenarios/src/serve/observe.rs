//! What programs outside believe: observations by HTTP, which become inputs of the run and are judged there.

use super::core::Core;
use serde::Deserialize;
use serde_json::{Map, Value as Json};
use std::sync::Arc;
use vivarium_model::id::{ClientId, SessionId};
use vivarium_model::observation::{Custom, Value};

/// The most observers of a run.
const OBSERVERS: usize = 1_000;

/// The longest name of an observer, in bytes.
const LONGEST_NAME: usize = 200;

/// The body of `POST /observe`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Observation {
    /// The name of one thread of control, whose observations are made one after the other.
    observer: String,
    /// The session by which it acts.
    session: Option<String>,
    /// The name of the observation.
    says: Option<String>,
    /// Its fields.
    #[serde(default)]
    fields: Map<String, Json>,
    /// True if the observer's program has ended.
    #[serde(default)]
    ends: bool,
}

impl Core {
    /// Takes an observation. Returns the first violation of the run so far.
    ///
    /// # Errors
    /// A sentence if it is none.
    pub(super) fn observe(&mut self, observation: &Observation) -> Result<Option<String>, String> {
        let Observation { observer, session, says, fields, ends } = observation;
        let session = session.as_deref().map(super::command::session).transpose()?;
        match (says, ends) {
            (Some(says), false) => {
                let fields =
                    fields.iter().map(|(name, json)| Ok((Arc::from(&**name), value(json)?)));
                let fields = fields.collect::<Result<_, String>>()?;
                self.says(observer, session, Custom { name: Arc::from(&**says), fields })?;
            }
            (None, true) => {
                if let Some(client) = self.observers.get(observer).copied() {
                    self.arrive();
                    self.served.end_of_program(client);
                }
            }
            _ => return Err("an observation has either `says` or `\"ends\": true`".to_owned()),
        }
        self.turn();
        Ok(self.served.violation().map(ToString::to_string))
    }

    fn says(
        &mut self,
        observer: &str,
        session: Option<SessionId>,
        observation: Custom,
    ) -> Result<(), String> {
        self.arrive();
        let client = self.observer(observer)?;
        self.unobserved.remove(&observation.name);
        self.served.observe(client, observer, session, observation);
        Ok(())
    }

    /// Returns the number of an observer.
    fn observer(&mut self, name: &str) -> Result<ClientId, String> {
        if let Some(client) = self.observers.get(name) {
            return Ok(*client);
        }
        if name.is_empty() || name.len() > LONGEST_NAME {
            return Err(format!("an observer's name has from 1 to {LONGEST_NAME} bytes"));
        }
        if self.observers.len() >= OBSERVERS {
            return Err(format!("there are {OBSERVERS} observers already"));
        }
        let client = self.served.ensemble().next_outside();
        self.observers.insert(name.to_owned(), client);
        Ok(client)
    }
}

/// Returns the value of a field. A text that is a session's id stays text: only `session` says by which one acts.
fn value(json: &Json) -> Result<Value, String> {
    Ok(match json {
        Json::Null => Value::Nothing,
        Json::Bool(truth) => Value::Bool(*truth),
        Json::Number(number) => {
            let whole = number.as_i64().map(i128::from).or(number.as_u64().map(i128::from));
            Value::Number(whole.ok_or_else(|| format!("{number} is no whole number"))?)
        }
        Json::String(text) => Value::Text(Arc::from(&**text)),
        Json::Array(values) => Value::List(values.iter().map(value).collect::<Result<_, _>>()?),
        Json::Object(fields) => {
            let field = |(name, json): (&String, &Json)| Ok((Arc::from(&**name), value(json)?));
            Value::Fields(fields.iter().map(field).collect::<Result<_, String>>()?)
        }
    })
}

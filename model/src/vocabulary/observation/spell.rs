//! A serialiser whose output is a name and a [`Value`].

use super::value::Value;
use crate::vocabulary::id::SessionId;
use crate::vocabulary::zxid::Zxid;
use serde::ser::{
    Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use std::fmt;
use std::sync::Arc;

/// Serialises to a [`Spelled`].
#[derive(Clone, Copy)]
pub(super) enum Speller {
    /// The name and the value.
    Whole,
    /// Only the name of the struct or variant, without its content: fast.
    Name,
}

/// The result of serialising.
pub(super) struct Spelled {
    /// The name of the struct or variant.
    pub(super) name: Option<&'static str>,
    /// True if the name is a variant's, which distinguishes it from other values of the same type.
    is_variant: bool,
    /// `None` if there is no content, as for a variant without fields.
    pub(super) value: Option<Value>,
}

/// Why a value could not be serialised.
#[derive(Debug)]
pub(super) struct Failed(String);

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failed {}

impl serde::ser::Error for Failed {
    fn custom<T: fmt::Display>(message: T) -> Failed {
        Failed(message.to_string())
    }
}

impl Spelled {
    /// Returns a value without a name.
    fn plain(value: Value) -> Result<Spelled, Failed> {
        Ok(Spelled { name: None, is_variant: false, value: Some(value) })
    }

    fn named(name: &'static str, value: Option<Value>) -> Result<Spelled, Failed> {
        Ok(Spelled { name: Some(name), is_variant: false, value })
    }

    fn variant(name: &'static str, value: Option<Value>) -> Result<Spelled, Failed> {
        Ok(Spelled { name: Some(name), is_variant: true, value })
    }

    /// Returns the value as a field or element of another value.
    fn part(self) -> Value {
        match (self.name, self.value) {
            (Some(name), None) if self.is_variant => Value::Text(spaced(name).into()),
            (Some(name), Some(value)) if self.is_variant => {
                Value::Fields(vec![(spaced(name).into(), value)])
            }
            (_, value) => value.unwrap_or(Value::Nothing),
        }
    }
}

fn part<T: Serialize + ?Sized>(value: &T) -> Result<Value, Failed> {
    Ok(value.serialize(Speller::Whole)?.part())
}

fn number(value: impl Into<i128>) -> Result<Spelled, Failed> {
    Spelled::plain(Value::Number(value.into()))
}

fn text(value: impl fmt::Display) -> Result<Spelled, Failed> {
    Spelled::plain(Value::Text(value.to_string().into()))
}

/// Defines the serialiser's methods for plain values.
macro_rules! plain {
    ($($method:ident: $type:ty => $spelled:expr;)*) => {
        $(fn $method(self, value: $type) -> Result<Spelled, Failed> {
            $spelled(value)
        })*
    };
}

impl Serializer for Speller {
    type Ok = Spelled;
    type Error = Failed;
    type SerializeSeq = Parts;
    type SerializeTuple = Parts;
    type SerializeTupleStruct = Named;
    type SerializeTupleVariant = Named;
    type SerializeMap = Map;
    type SerializeStruct = Named;
    type SerializeStructVariant = Named;

    plain! {
        serialize_bool: bool => |value| Spelled::plain(Value::Bool(value));
        serialize_i8: i8 => number;
        serialize_i16: i16 => number;
        serialize_i32: i32 => number;
        serialize_i64: i64 => number;
        serialize_u8: u8 => number;
        serialize_u16: u16 => number;
        serialize_u32: u32 => number;
        serialize_u64: u64 => number;
        serialize_f32: f32 => text;
        serialize_f64: f64 => text;
        serialize_char: char => text;
        serialize_str: &str => text;
    }

    /// Numbers wider than 64 bits become their digits.
    fn serialize_i128(self, value: i128) -> Result<Spelled, Failed> {
        let fits = i64::try_from(value).is_ok() || u64::try_from(value).is_ok();
        if fits { number(value) } else { text(value) }
    }

    fn serialize_u128(self, value: u128) -> Result<Spelled, Failed> {
        u64::try_from(value).map_or_else(|_| text(value), number)
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<Spelled, Failed> {
        bytes.serialize(self)
    }

    fn serialize_none(self) -> Result<Spelled, Failed> {
        Spelled::plain(Value::Nothing)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Spelled, Failed> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<Spelled, Failed> {
        Spelled::plain(Value::Nothing)
    }

    fn serialize_unit_struct(self, name: &'static str) -> Result<Spelled, Failed> {
        Spelled::named(name, None)
    }

    fn serialize_unit_variant(
        self,
        _type: &'static str,
        _index: u32,
        name: &'static str,
    ) -> Result<Spelled, Failed> {
        Spelled::variant(name, None)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<Spelled, Failed> {
        let value = part(value)?;
        match value {
            Value::Number(zxid) if name == Zxid::WRITTEN_AS => {
                let zxid = u64::try_from(zxid).expect("a zxid is written as what it holds");
                Spelled::plain(Value::Zxid(Zxid(zxid)))
            }
            Value::Number(session) if name == SessionId::WRITTEN_AS => {
                let session =
                    u64::try_from(session).expect("a session id is written as its number");
                Spelled::plain(Value::Session(SessionId(session)))
            }
            value => Spelled::named(name, Some(value)),
        }
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _type: &'static str,
        _index: u32,
        name: &'static str,
        value: &T,
    ) -> Result<Spelled, Failed> {
        match self {
            Speller::Whole => Spelled::variant(name, Some(part(value)?)),
            Speller::Name => Spelled::variant(name, None),
        }
    }

    fn serialize_seq(self, _length: Option<usize>) -> Result<Parts, Failed> {
        Ok(Parts(Vec::new()))
    }

    fn serialize_tuple(self, _length: usize) -> Result<Parts, Failed> {
        Ok(Parts(Vec::new()))
    }

    fn serialize_tuple_struct(self, name: &'static str, _length: usize) -> Result<Named, Failed> {
        Ok(Named { name, is_variant: false, with: self, fields: Vec::new() })
    }

    fn serialize_tuple_variant(
        self,
        _type: &'static str,
        _index: u32,
        name: &'static str,
        _length: usize,
    ) -> Result<Named, Failed> {
        Ok(Named { name, is_variant: true, with: self, fields: Vec::new() })
    }

    fn serialize_map(self, _length: Option<usize>) -> Result<Map, Failed> {
        Ok(Map { key: None, entries: Vec::new() })
    }

    fn serialize_struct(self, name: &'static str, _length: usize) -> Result<Named, Failed> {
        Ok(Named { name, is_variant: false, with: self, fields: Vec::new() })
    }

    fn serialize_struct_variant(
        self,
        _type: &'static str,
        _index: u32,
        name: &'static str,
        _length: usize,
    ) -> Result<Named, Failed> {
        Ok(Named { name, is_variant: true, with: self, fields: Vec::new() })
    }
}

/// A sequence or tuple in progress.
pub(super) struct Parts(Vec<Value>);

impl Parts {
    fn push<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failed> {
        self.0.push(part(value)?);
        Ok(())
    }
}

impl SerializeSeq for Parts {
    type Ok = Spelled;
    type Error = Failed;
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failed> {
        self.push(value)
    }
    fn end(self) -> Result<Spelled, Failed> {
        Spelled::plain(Value::List(self.0))
    }
}

impl SerializeTuple for Parts {
    type Ok = Spelled;
    type Error = Failed;
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failed> {
        self.push(value)
    }
    fn end(self) -> Result<Spelled, Failed> {
        Spelled::plain(Value::List(self.0))
    }
}

/// A struct or variant in progress.
pub(super) struct Named {
    name: &'static str,
    is_variant: bool,
    with: Speller,
    fields: Vec<(Arc<str>, Value)>,
}

impl Named {
    fn push<T: Serialize + ?Sized>(&mut self, name: &str, value: &T) -> Result<(), Failed> {
        if let Speller::Whole = self.with {
            self.fields.push((Arc::from(name), part(value)?));
        }
        Ok(())
    }

    /// Unnamed fields are named by their positions.
    fn push_next<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failed> {
        self.push(&self.fields.len().to_string(), value)
    }

    fn finish(self) -> Result<Spelled, Failed> {
        let (name, value) = (Some(self.name), Some(Value::Fields(self.fields)));
        Ok(Spelled { name, is_variant: self.is_variant, value })
    }
}

impl SerializeStruct for Named {
    type Ok = Spelled;
    type Error = Failed;
    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Failed> {
        self.push(name, value)
    }
    fn end(self) -> Result<Spelled, Failed> {
        self.finish()
    }
}

impl SerializeStructVariant for Named {
    type Ok = Spelled;
    type Error = Failed;
    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), Failed> {
        self.push(name, value)
    }
    fn end(self) -> Result<Spelled, Failed> {
        self.finish()
    }
}

impl SerializeTupleStruct for Named {
    type Ok = Spelled;
    type Error = Failed;
    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failed> {
        self.push_next(value)
    }
    fn end(self) -> Result<Spelled, Failed> {
        self.finish()
    }
}

impl SerializeTupleVariant for Named {
    type Ok = Spelled;
    type Error = Failed;
    fn serialize_field<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failed> {
        self.push_next(value)
    }
    fn end(self) -> Result<Spelled, Failed> {
        self.finish()
    }
}

/// A map in progress.
pub(super) struct Map {
    key: Option<Value>,
    entries: Vec<(Value, Value)>,
}

impl SerializeMap for Map {
    type Ok = Spelled;
    type Error = Failed;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Failed> {
        self.key = Some(part(key)?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failed> {
        let key =
            self.key.take().ok_or_else(|| Failed("a map writes a value without a key".into()))?;
        self.entries.push((key, part(value)?));
        Ok(())
    }

    /// Keys that are text become names of fields; other maps become lists of pairs.
    fn end(self) -> Result<Spelled, Failed> {
        let name = |(key, value): &(Value, Value)| match key {
            Value::Text(name) => Some((Arc::clone(name), value.clone())),
            _ => None,
        };
        let fields: Option<Vec<(Arc<str>, Value)>> = self.entries.iter().map(name).collect();
        Spelled::plain(fields.map_or_else(
            || {
                let pair = |(key, value)| Value::List(vec![key, value]);
                Value::List(self.entries.into_iter().map(pair).collect())
            },
            Value::Fields,
        ))
    }
}

/// Converts `NodeKnown` to `node known`: small letters, with a space before each word that begins with a capital.
pub(crate) fn spaced(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    let mut words = String::with_capacity(name.len() + 4);
    for (at, letter) in letters.iter().enumerate() {
        let before = at.checked_sub(1).map(|before| letters[before]);
        let ends_capitals = letters.get(at + 1).is_some_and(|after| after.is_lowercase());
        let begins = before.is_some_and(|before| {
            before.is_lowercase() || before.is_numeric() || before.is_uppercase() && ends_capitals
        });
        if letter.is_uppercase() && begins {
            words.push(' ');
        }
        words.extend(letter.to_lowercase());
    }
    words
}

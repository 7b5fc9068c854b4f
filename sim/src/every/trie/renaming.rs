//! Renames numbers in what a program receives and does: in fields, in paths and in data (in decimal and in hexadecimal);
//! lists of children are sorted again.

use serde_json::Value;
use std::collections::BTreeMap;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::host::Output;
use vivarium_model::id::ClientId;

/// Returns the random number of a client's draw, by the number of earlier draws. A good random number is fresh, so its
/// value is no choice. All numbers have the same length, in decimal and in hexadecimal, so that one can replace another
/// inside a text.
pub(crate) fn random_number(client: ClientId, drawn: u64) -> u64 {
    const LEAST: u64 = 10_u64.pow(19);
    LEAST + Fingerprint::of(&("random", client, drawn)).0 as u64 % (u64::MAX - LEAST)
}

/// Returns two alternatives for a draw, for programs whose behaviour depends on the number. Together with
/// [`random_number`]'s own, they contain an odd and an even number and have all three remainders modulo 3. One is in
/// the upper half of the range, one in the second quarter, and one is small. No other draw of the search gives any of
/// them, because good random numbers of 64 bits are never equal.
pub(crate) fn other_random_numbers(client: ClientId, drawn: u64) -> [u64; 2] {
    let fresh = random_number(client, drawn);
    let own = u64::from(client.0) << 20 | drawn;
    let small = own * 6 + (fresh + 1) % 6;
    let middle = (1 << 62) / 6 * 6 + own * 6 + (fresh + 2) % 6;
    [small, middle]
}

/// A renaming of numbers.
pub(super) struct Renaming {
    numbers: BTreeMap<u64, u64>,
}

impl Renaming {
    /// Creates a renaming of these numbers.
    pub(super) fn to(numbers: BTreeMap<u64, u64>) -> Renaming {
        Renaming { numbers }
    }

    /// Returns the new number for a known number; other numbers are unchanged.
    pub(super) fn number(&self, number: u64) -> u64 {
        self.numbers.get(&number).copied().unwrap_or(number)
    }

    fn renamed(&self, mut value: Value) -> Value {
        self.rename(None, &mut value);
        value
    }

    fn rename(&self, key: Option<&str>, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Number(number) => {
                let Some(old) = number.as_u64() else { return };
                *value = self.number(old).into();
            }
            Value::Array(values) => {
                if let Some(bytes) = bytes_of(values) {
                    let renamed = self.bytes(&bytes);
                    // A text with renamed numbers can have another length.
                    let form = values.first().cloned().expect("data is not empty here");
                    *values = renamed.into_iter().map(|byte| with_byte(&form, byte)).collect();
                    return;
                }
                values.iter_mut().for_each(|value| self.rename(key, value));
                if matches!(key, Some("Children" | "Ephemerals"))
                    && values.iter().all(Value::is_string)
                {
                    values.sort_by(|one, other| one.as_str().cmp(&other.as_str()));
                }
            }
            Value::Object(fields) => {
                fields.iter_mut().for_each(|(key, value)| self.rename(Some(key), value));
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    /// Renames in data: as a text if the data is UTF-8, and as numbers of eight bytes in either byte order.
    pub(super) fn bytes(&self, data: &[u8]) -> Vec<u8> {
        let mut renamed = match std::str::from_utf8(data) {
            Ok(text) => self.text(text).into_bytes(),
            Err(_) => data.to_vec(),
        };
        let mut at = 0;
        while let Some(word) = renamed[at..].first_chunk::<8>().copied() {
            let big = self.numbers.get(&u64::from_be_bytes(word)).map(|other| other.to_be_bytes());
            let little = || self.numbers.get(&u64::from_le_bytes(word)).map(|it| it.to_le_bytes());
            match big.or_else(little) {
                Some(other) => {
                    renamed[at..at + 8].copy_from_slice(&other);
                    at += 8;
                }
                None => at += 1,
            }
        }
        renamed
    }

    /// Renames in a text. A number extends as far as its digits do.
    pub(super) fn text(&self, text: &str) -> String {
        let mut renamed = String::with_capacity(text.len());
        let mut rest = text;
        while !rest.is_empty() {
            let digits = rest.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(rest.len());
            let (word, after) = rest.split_at(digits);
            renamed.push_str(&self.word(word));
            let other = after.find(|c: char| c.is_ascii_hexdigit()).unwrap_or(after.len());
            renamed.push_str(&after[..other]);
            rest = &after[other..];
        }
        renamed
    }

    fn word(&self, word: &str) -> String {
        let other = |number: Option<u64>| self.numbers.get(&number?).copied();
        let width = word.len();
        if let Some(other) = other(word.parse().ok()) {
            let width = if word.starts_with('0') { width } else { 0 };
            return format!("{other:0width$}");
        }
        match other(u64::from_str_radix(word, 16).ok()) {
            Some(other) if word.contains(|c: char| c.is_ascii_uppercase()) => {
                format!("{other:0width$X}")
            }
            Some(other) => format!("{other:0width$x}"),
            None => word.to_owned(),
        }
    }
}

/// Returns the bytes of a list of small numbers, such as data.
fn bytes_of(values: &[Value]) -> Option<Vec<u8>> {
    if values.is_empty() {
        return None;
    }
    let byte = |value: &Value| {
        let number = only(value).unwrap_or(value).as_u64();
        number.and_then(|number| u8::try_from(number).ok())
    };
    values.iter().map(byte).collect()
}

/// Returns the value of an object with a single field: an observation's list stores a type name with each number.
fn only(value: &Value) -> Option<&Value> {
    let fields = value.as_object().filter(|fields| fields.len() == 1)?;
    fields.values().next()
}

/// Returns another byte in the form of this one.
fn with_byte(form: &Value, byte: u8) -> Value {
    match form.as_object().and_then(|fields| fields.keys().next()) {
        Some(kind) => Value::Object([(kind.clone(), byte.into())].into_iter().collect()),
        None => byte.into(),
    }
}

/// Returns true if the serialised outputs are the same under a renaming. Returns false if serialisation cannot decide: an
/// observation may fail to serialise, or may omit part of its content.
pub(super) fn do_the_same(renaming: &Renaming, here: &[Output], there: &[Output]) -> bool {
    let (Ok(here_plain), Ok(there_plain)) =
        (serde_json::to_value(here), serde_json::to_value(there))
    else {
        return false;
    };
    let renamed = renaming.renamed(here_plain.clone());
    renamed == there_plain && (renamed != here_plain || here == there)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Serialize;
    use std::sync::Arc;
    use vivarium_model::observation::{Observation, Observed};

    /// Serialises nothing, or not all of its content.
    #[derive(Debug, PartialEq, Eq, Hash)]
    struct Hides {
        fails: bool,
        hidden: u8,
    }

    impl Serialize for Hides {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            match self.fails {
                true => Err(serde::ser::Error::custom("it is torn")),
                false => serializer.serialize_unit_struct("Hides"),
            }
        }
    }

    impl Observation for Hides {}

    #[test]
    fn what_is_not_written_down_is_not_taken_for_the_same() {
        let renaming = Renaming::to(BTreeMap::new());
        let same = |fails, here, there| {
            let says = |hidden| [Output::Observe(Observed::new(Hides { fails, hidden }))];
            do_the_same(&renaming, &says(here), &says(there))
        };
        assert!(same(false, 1, 1));
        assert!(!same(false, 1, 2), "they are not equal, but serialise alike");
        assert!(!same(true, 1, 1), "nothing is written");
    }

    #[test]
    fn draws_that_are_a_choice_are_of_all_kinds_and_never_equal() {
        let mut all = BTreeMap::new();
        for (client, drawn) in (1..=4).flat_map(|client| (0..50).map(move |drawn| (client, drawn)))
        {
            let client = ClientId(client);
            let [small, middle] = other_random_numbers(client, drawn);
            let three = [random_number(client, drawn), small, middle];
            let kinds =
                |by: u64| three.iter().map(|it| it % by).collect::<std::collections::BTreeSet<_>>();
            assert_eq!((kinds(2).len(), kinds(3).len()), (2, 3));
            assert!(small < 1 << 32 && (1 << 61..1 << 63).contains(&middle) && three[0] >= 1 << 63);
            three.into_iter().for_each(|it| *all.entry(it).or_insert(0) += 1);
        }
        assert!(all.values().all(|times| *times == 1));
    }

    #[test]
    fn names_are_found_wherever_they_stand() {
        let (here, there) = (random_number(ClientId(1), 3), random_number(ClientId(2), 3));
        let renaming = Renaming::to([(here, there), (there, here)].into());
        let text =
            |number: u64| format!("/lock/{number:016x}-lock-0000000001, {number}, {number:X}");
        assert_eq!(renaming.text(&text(here)), text(there));
        assert_eq!(renaming.text(&text(there)), text(here));
        assert_eq!(renaming.text("/lock/member-12"), "/lock/member-12");

        let told = |number: u64| {
            let body: Arc<[u8]> = Arc::from(format!("held by {number}").as_bytes());
            let send = Output::Send { to: ClientId(1), body };
            serde_json::to_value([send]).expect("it can be written down")
        };
        assert_eq!(renaming.renamed(told(here)), told(there));

        let packed =
            |number: u64| [&[7], &number.to_be_bytes()[..], &number.to_le_bytes(), b"x"].concat();
        assert_eq!(renaming.bytes(&packed(here)), packed(there));
        assert_eq!(renaming.bytes(&packed(1)), packed(1));
    }
}

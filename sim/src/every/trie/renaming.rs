//! Checks whether programs distinguish clients: each history is repeated in another client's place.
//!
//! Two clients change places. Their sessions, their random numbers and their names as senders are exchanged everywhere
//! in a program's inputs, including paths and data (in decimal and in hexadecimal); lists of children are sorted again.
//! The other client's program, fed with the renamed history, must do the same things under the same renaming. Programs
//! that pass for all histories are the same for every client, and depend on nothing that the renaming changes.
//!
//! A history that begins with a round starts with a value of the program's own type, in which nothing can be renamed.
//! Such a history is fed to the other client's program unchanged.

use super::node::Origin;
use super::replay::{Way, parted};
use super::{Node, Trie};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeMap;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::handle::Process;
use vivarium_model::host::{Input, Output};
use vivarium_model::id::ClientId;
use vivarium_model::session_order::SessionOrder;

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

/// The number of sessions and of random numbers per client that are recognised in texts.
const KNOWN: u32 = 256;

/// A renaming: of two clients that change places, or of numbers.
pub(super) struct Renaming {
    clients: (ClientId, ClientId),
    numbers: BTreeMap<u64, u64>,
}

impl Renaming {
    /// Creates the renaming in which two clients change places.
    fn of(one: ClientId, other: ClientId, order: &SessionOrder) -> Renaming {
        let mut numbers = BTreeMap::new();
        let mut both = |here: u64, there: u64| {
            numbers.insert(here, there);
            numbers.insert(there, here);
        };
        for number in 0..KNOWN {
            let session = |client| order.session(client, number + 1).0;
            both(session(one), session(other));
            let drawn = number.into();
            both(random_number(one, drawn), random_number(other, drawn));
        }
        Renaming { clients: (one, other), numbers }
    }

    /// Creates a renaming of numbers only.
    pub(super) fn to(numbers: BTreeMap<u64, u64>) -> Renaming {
        Renaming { clients: (ClientId(0), ClientId(0)), numbers }
    }

    /// Returns the new number for a known number; other numbers are unchanged.
    pub(super) fn number(&self, number: u64) -> u64 {
        self.numbers.get(&number).copied().unwrap_or(number)
    }

    /// Returns the client whose program receives the renamed history.
    fn client(&self, client: ClientId) -> ClientId {
        match self.clients {
            (one, other) if client == one => other,
            (one, other) if client == other => one,
            _ => client,
        }
    }

    fn renamed(&self, mut value: Value) -> Value {
        self.rename(None, &mut value);
        value
    }

    fn renamed_back<T: Serialize + DeserializeOwned>(&self, what: &T) -> T {
        let value = self.renamed(plain(what).expect("what a program is told can be written down"));
        serde_json::from_value(value).expect("another name is a name too")
    }

    fn rename(&self, key: Option<&str>, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Number(number) => {
                let Some(old) = number.as_u64() else { return };
                let is_client = matches!(key, Some("from" | "to"));
                let renamed = match is_client {
                    true => u64::from(self.client(ClientId(old as u16)).0),
                    false => self.number(old),
                };
                *value = renamed.into();
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

impl Trie {
    /// From now on, compares what programs do with what they do in other clients' places.
    pub(crate) fn hold_against_each_other(&self, order: &SessionOrder) {
        let clients: Vec<ClientId> = (0..self.clients()).map(ClientId::at).collect();
        let renamings =
            clients.windows(2).map(|pair| Renaming::of(pair[0], pair[1], order)).collect();
        let _ = self.renamings.set(renamings);
    }

    /// Repeats a history and a further input in the place of other clients. Returns `Err` with a sentence that says
    /// which client's program differs.
    pub(super) fn check_renamed(
        &self,
        way: &Way,
        from: &Node,
        input: &Input,
        outputs: &[Output],
    ) -> Result<(), String> {
        for renaming in self.renamings.get().into_iter().flatten() {
            self.check_by(renaming, way, from, input, outputs)?;
        }
        Ok(())
    }

    fn check_by(
        &self,
        renaming: &Renaming,
        way: &Way,
        from: &Node,
        input: &Input,
        outputs: &[Output],
    ) -> Result<(), String> {
        let (client, there) = (from.client, renaming.client(from.client));
        let program = &self.lane(there).program;
        let (mut process, is_round) = match &self.node(way.start).origin {
            Origin::Round(beginning) => {
                let mut process = Process::at(there, program, beginning.state.clone());
                process.feed(Input::Start, &mut Vec::new());
                (process, true)
            }
            _ => (Process::new(there, program), false),
        };
        let inputs = way.edges.iter().map(|edge| &edge.input).chain([input]);
        let mut done = Vec::new();
        for input in inputs {
            if !process.is_running() {
                return Err(self.apart(client, there, input, outputs, &[]));
            }
            done.clear();
            let told = if is_round { input.clone() } else { renaming.renamed_back(input) };
            process.feed(told, &mut done);
        }
        let same = match is_round {
            true => done == outputs,
            false => does_the_same(renaming, client, outputs, &done)?,
        };
        if same { Ok(()) } else { Err(self.apart(client, there, input, outputs, &done)) }
    }

    fn apart(
        &self,
        client: ClientId,
        there: ClientId,
        input: &Input,
        here: &[Output],
        done: &[Output],
    ) -> String {
        let (here, done) = parted(here, done);
        format!(
            "the clients are not interchangeable: after the input \"{input}\", {client}'s program \
             {here}, and {there}'s, after the same input with its own names, {done}"
        )
    }
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

/// Compares the serialised outputs under a renaming. Returns `Err` if serialisation cannot decide: an observation may
/// fail to serialise, or may omit part of its content.
pub(super) fn does_the_same(
    renaming: &Renaming,
    client: ClientId,
    here: &[Output],
    there: &[Output],
) -> Result<bool, String> {
    let untold = |why: String| {
        format!("{client}'s program cannot be compared with other clients' programs: {why}")
    };
    let written = plain(&here).map_err(untold)?;
    let renamed = renaming.renamed(written.clone());
    let same = renamed == plain(&there).map_err(untold)?;
    if same && renamed == written && here != there {
        let (here, there) = parted(here, there);
        return Err(untold(format!(
            "{here} and {there} are not equal, but serialise alike: an observation's `Serialize` must \
             include every field that its `Eq` compares (derive both)"
        )));
    }
    Ok(same)
}

fn plain<T: Serialize + ?Sized>(what: &T) -> Result<Value, String> {
    serde_json::to_value(what).map_err(|why| why.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use vivarium_model::host::Outcome;
    use vivarium_model::id::CallId;
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
        let renaming = Renaming::of(ClientId(1), ClientId(2), &SessionOrder::default());
        let same = |fails, here, there| {
            let says = |hidden| [Output::Observe(Observed::new(Hides { fails, hidden }))];
            does_the_same(&renaming, ClientId(1), &says(here), &says(there))
        };
        assert_eq!(same(false, 1, 1), Ok(true));
        let why = same(false, 1, 2).expect_err("they are not equal");
        assert!(why.contains("are not equal, but serialise alike"), "{why}");
        let why = same(true, 1, 1).expect_err("nothing is written");
        assert!(why.ends_with("cannot be written down: it is torn"), "{why}");
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
        let (one, other) = (ClientId(1), ClientId(2));
        let order = SessionOrder::default();
        let renaming = Renaming::of(one, other, &order);
        let (here, there) = (random_number(one, 3), random_number(other, 3));
        let text =
            |number: u64| format!("/lock/{number:016x}-lock-0000000001, {number}, {number:X}");
        assert_eq!(renaming.text(&text(here)), text(there));
        assert_eq!(renaming.text(&text(there)), text(here));
        assert_eq!(renaming.text("/lock/member-12"), "/lock/member-12");

        let session = |client| order.session(client, 2);
        let told =
            |client| Input::Reply { call: CallId(0), outcome: Outcome::Connected(session(client)) };
        assert_eq!(renaming.renamed_back(&told(one)), told(other));
        let data: Arc<[u8]> = Arc::from(format!("held by {}", session(one).0).as_bytes());
        let sent = Output::Send { to: one, body: data };
        let data: Arc<[u8]> = Arc::from(format!("held by {}", session(other).0).as_bytes());
        let received = plain(&Output::Send { to: other, body: data });
        assert_eq!(plain(&sent).map(|sent| renaming.renamed(sent)), received);

        let packed =
            |number: u64| [&[7], &number.to_be_bytes()[..], &number.to_le_bytes(), b"x"].concat();
        assert_eq!(renaming.bytes(&packed(here)), packed(there));
        assert_eq!(renaming.bytes(&packed(1)), packed(1));
    }
}

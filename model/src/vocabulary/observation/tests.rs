//! Observations are compared by type and content, read typed, and serialised as a name and fields.

use super::{Custom, Observation, Observed, Record, Value};
use crate::vocabulary::event::Event;
use crate::vocabulary::fingerprint::Fingerprint;
use crate::vocabulary::id::{ClientId, SessionId, Xid};
use crate::vocabulary::zxid::Zxid;
use serde::ser::Error as _;
use serde::{Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The observations of a queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
enum QueueSeen {
    Put { job: u32, at: Zxid },
    GaveUp,
}

impl Observation for QueueSeen {}

/// Another type with the same fields.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
enum StackSeen {
    Put { job: u32, at: Zxid },
}

impl Observation for StackSeen {
    fn words(&self) -> String {
        let StackSeen::Put { job, .. } = self;
        format!("lays job {job} on top")
    }
}

fn put(job: u32) -> Observed {
    Observed::new(QueueSeen::Put { job, at: Zxid(5) })
}

/// The name and fields of an observation of any content.
fn spelled<T: Serialize>(value: &T) -> String {
    Record::of(value).map_or_else(|why| why, |record| record.to_string())
}

#[test]
fn equal_by_content_and_not_by_place() {
    assert_eq!(put(1), put(1));
    assert_eq!(Fingerprint::of(&put(1)), Fingerprint::of(&put(1)));
    assert_eq!(put(1), put(1).clone());
    assert_ne!(put(1), put(2));
    assert_ne!(Fingerprint::of(&put(1)), Fingerprint::of(&put(2)));
}

#[test]
fn two_types_with_the_same_content_are_two() {
    let other = Observed::new(StackSeen::Put { job: 1, at: Zxid(5) });
    assert_eq!((other.name(), other.fields()), (put(1).name(), put(1).fields()));
    assert_ne!(other, put(1));
    assert_ne!(Fingerprint::of(&other), Fingerprint::of(&put(1)));
    let fields = [("job", 1.into()), ("at", Zxid(5).into())];
    let custom = Observed::new(Custom::new("put", &fields));
    assert_eq!((custom.name(), custom.fields()), (put(1).name(), put(1).fields()));
    assert_ne!(custom, put(1));
    assert_ne!(Fingerprint::of(&custom), Fingerprint::of(&put(1)));
    let written = |observed: &Observed| serde_json::to_string(observed).expect("it is written");
    assert_ne!(written(&custom), written(&put(1)));
}

#[test]
fn a_hash_takes_in_the_types_name_and_the_content_and_nothing_else() {
    let of_parts = (std::any::type_name::<QueueSeen>(), QueueSeen::Put { job: 1, at: Zxid(5) });
    assert_eq!(Fingerprint::of(&put(1)), Fingerprint::of(&of_parts));
}

#[test]
fn a_reader_that_knows_the_type_gets_the_value() {
    assert_eq!(put(1).read(), Some(&QueueSeen::Put { job: 1, at: Zxid(5) }));
    assert_eq!(put(1).read::<StackSeen>(), None);
    let client = ClientId(2);
    let said = Event::Observed { client, session: None, next_xid: Xid(1), observation: put(1) };
    assert_eq!(said.observed(), Some((client, &QueueSeen::Put { job: 1, at: Zxid(5) })));
    assert_eq!(said.observed::<Custom>(), None);
    assert_eq!(Event::Started { client }.observed::<QueueSeen>(), None);
}

#[test]
fn words_are_the_types_own_or_its_name_and_fields() {
    assert_eq!(put(1).to_string(), "says put: job = 1, at = 0:5");
    assert_eq!(Observed::new(QueueSeen::GaveUp).to_string(), "says gave up");
    let stack = Observed::new(StackSeen::Put { job: 1, at: Zxid(5) });
    assert_eq!(stack.to_string(), "lays job 1 on top");
    assert_eq!(format!("{stack:?}"), format!("{:?}", StackSeen::Put { job: 1, at: Zxid(5) }));
}

#[test]
fn names_are_words() {
    #[derive(Serialize)]
    enum Seen {
        #[serde(rename = "took over")]
        Led,
        TTLPassed,
        Epoch2Begins,
        #[serde(rename = "snake_case")]
        Snake,
    }
    #[derive(Serialize)]
    struct HeadOfLine;
    let names =
        [Seen::Led, Seen::TTLPassed, Seen::Epoch2Begins, Seen::Snake].map(|seen| spelled(&seen));
    assert_eq!(names, ["took over", "ttl passed", "epoch2 begins", "snake_case"]);
    assert_eq!(spelled(&HeadOfLine), "head of line");
    assert_eq!(spelled(&7_u8), "u8: 0 = 7", "what has no name is called as its type");
    assert_eq!(spelled(&Some(Seen::Led)), "took over");
    let custom = Observed::new(Custom::new("As It Is", &[]));
    assert_eq!(custom.name(), "As It Is");
}

#[test]
fn nothing_that_is_written_is_left_out_of_the_fields() {
    #[derive(Serialize)]
    enum Way {
        Straight,
        Around { by: &'static str },
    }
    #[derive(Serialize)]
    struct Tour {
        stops: BTreeSet<u8>,
        ways: (Way, Way),
        seen: BTreeMap<String, Zxid>,
        ranks: BTreeMap<u8, bool>,
        next: Option<i64>,
        last: Option<Arc<str>>,
    }
    let tour = Tour {
        stops: BTreeSet::from([2, 1]),
        ways: (Way::Straight, Way::Around { by: "sea" }),
        seen: BTreeMap::from([("here".into(), Zxid(1 << 32 | 3))]),
        ranks: BTreeMap::from([(1, true)]),
        next: Some(-1),
        last: None,
    };
    let record = Record::of(&tour).expect("it can be written down");
    let fields = record.fields.iter().map(|(name, value)| format!("{name} = {value}"));
    let expected = [
        "stops = [1, 2]",
        "ways = [\"straight\", {around = {by = \"sea\"}}]",
        "seen = {here = 1:3}",
        "ranks = [[1, true]]",
        "next = -1",
        "last = nothing",
    ];
    assert_eq!(fields.collect::<Vec<_>>(), expected);
}

#[test]
fn fields_without_names_are_called_by_their_places_unless_the_one_has_named_ones() {
    #[derive(Serialize)]
    struct Grant {
        token: Zxid,
    }
    #[derive(Serialize)]
    enum Seen {
        Granted(Grant),
        Counted(u64),
        Moved(i8, i8),
        Members(Vec<&'static str>),
    }
    let all = [
        spelled(&Seen::Granted(Grant { token: Zxid(9) })),
        spelled(&Seen::Counted(u64::MAX)),
        spelled(&Seen::Moved(-1, 1)),
        spelled(&Seen::Members(vec!["a", "b"])),
    ];
    let expected = [
        "granted: token = 0:9",
        "counted: 0 = 18446744073709551615",
        "moved: 0 = -1, 1 = 1",
        "members: 0 = [\"a\", \"b\"]",
    ];
    assert_eq!(all, expected);
}

#[test]
fn a_number_too_large_for_a_number_is_its_digits() {
    let field = |value: &dyn Fn() -> Result<Record, String>| {
        value().map(|mut record| record.fields.remove(0).1)
    };
    assert_eq!(field(&|| Record::of(&i128::from(u64::MAX))), Ok(Value::Number(u64::MAX.into())));
    let digits = (i128::from(u64::MAX) + 1).to_string();
    assert_eq!(field(&|| Record::of(&(i128::from(u64::MAX) + 1))), Ok(Value::from(&*digits)));
    assert_eq!(field(&|| Record::of(&u128::from(u64::MAX))), Ok(Value::Number(u64::MAX.into())));
    assert_eq!(field(&|| Record::of(&1.5_f32)), Ok(Value::from("1.5")));
}

#[test]
fn a_number_that_is_no_zxid_is_a_number() {
    /// A type of the same name from elsewhere.
    #[derive(Serialize)]
    struct Zxid(u64);
    assert_eq!(spelled(&Zxid(3)), "zxid: 0 = 3");
    let json =
        |zxid: crate::vocabulary::zxid::Zxid| serde_json::to_string(&zxid).expect("it is written");
    assert_eq!(json(crate::vocabulary::zxid::Zxid(3)), "3");
}

/// Counts how often it is serialised, and can be made to fail.
#[derive(Debug, Default)]
struct Counted(AtomicU32, bool);

impl PartialEq for Counted {
    fn eq(&self, other: &Counted) -> bool {
        self.1 == other.1
    }
}

impl Eq for Counted {}

impl std::hash::Hash for Counted {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.1.hash(state);
    }
}

impl Serialize for Counted {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.fetch_add(1, Ordering::Relaxed);
        match self.1 {
            true => Err(S::Error::custom("it is torn")),
            false => serializer.serialize_unit_struct("Counted"),
        }
    }
}

impl Observation for Counted {}

#[test]
fn it_is_serialised_lazily_once_for_its_name_and_once_for_its_fields() {
    let observed = Observed::new(Counted::default());
    let times = || observed.read::<Counted>().expect("its type").0.load(Ordering::Relaxed);
    let _ = (Fingerprint::of(&observed), observed == observed.clone());
    assert_eq!(times(), 0);
    assert_eq!((observed.name(), observed.clone().name(), times()), ("counted", "counted", 1));
    assert_eq!(
        (observed.fields(), observed.clone().fields(), times()),
        (Ok(&[][..]), Ok(&[][..]), 2)
    );
}

#[test]
fn an_observation_that_cannot_be_serialised_says_so_everywhere() {
    let observed = Observed::new(Counted(AtomicU32::new(0), true));
    let why = "the observation `Counted` cannot be written down: it is torn";
    assert_eq!((observed.name(), observed.fields()), ("counted", Err(why)));
    assert_eq!(observed.to_string(), format!("says {why}"));
    let written = serde_json::to_value(&observed).map_err(|error| error.to_string());
    assert_eq!(written, Err(why.to_string()));
}

/// The name is read without the content, and is the same as that of the record.
#[test]
fn an_observation_with_a_part_that_cannot_be_serialised_has_a_name() {
    #[derive(Debug, PartialEq, Eq, Hash, Serialize)]
    enum Torn<T> {
        NewType(T),
        Pair(T, T),
        WithFields { part: T },
    }
    impl<T: Observation> Observation for Torn<T> {}
    let of = |is_torn| {
        let part = || Counted(AtomicU32::new(0), is_torn);
        let all =
            [Torn::NewType(part()), Torn::Pair(part(), part()), Torn::WithFields { part: part() }];
        all.map(Observed::new)
    };
    for (torn, name) in of(true).iter().zip(["new type", "pair", "with fields"]) {
        assert_eq!((torn.name(), torn.fields().is_err()), (name, true));
    }
    for whole in of(false) {
        let record = whole.read::<Torn<Counted>>().expect("its type").record();
        assert_eq!(record.map(|record| record.name.to_string()).as_deref(), Ok(whole.name()));
    }
}

#[test]
fn a_type_without_a_name_is_called_by_its_kind() {
    let name = |record: Result<Record, String>| record.expect("it is written").name.to_string();
    assert_eq!(name(Record::of(&[1_u8, 2])), "list");
    assert_eq!(name(Record::of(&(1_u8, "two"))), "tuple");
    assert_eq!(name(Record::of(&vec![1_u8])), "vec");
    assert_eq!(Record::name_of(&[Some(1_u8)]), "list");
}

#[test]
fn ids_are_renumbered_wherever_they_stand() {
    let nested = Value::List(vec![
        Value::Fields(vec![("at".into(), Zxid(4).into()), ("by".into(), SessionId(4).into())]),
        4.into(),
    ]);
    let renumbered = nested.with_ids(&|zxid| Zxid(zxid.0 + 1), &|session| SessionId(session.0 + 2));
    assert_eq!(renumbered.to_string(), "[{at = 0:5, by = 0x6}, 4]");
}

/// The session id is the same in a typed observation and in one with a name and fields.
#[test]
fn a_session_id_is_a_value_and_reads_the_same_everywhere() {
    #[derive(Debug, PartialEq, Eq, Hash, Serialize)]
    struct Registered {
        session: SessionId,
        by: ClientId,
    }
    impl Observation for Registered {}
    let (session, by) = (SessionId(0x100_0000_0001), ClientId(2));
    let typed = Observed::new(Registered { session, by });
    let said = Custom::new("registered", &[("session", session.into()), ("by", by.into())]);
    let said = Observed::new(said);
    assert_eq!(typed.fields(), said.fields());
    assert!(said.to_string().contains(&format!("session = {session}")), "{said}");
    assert_eq!(Value::from(session.to_string()), Value::from(&*session.to_string()));
}

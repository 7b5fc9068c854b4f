//! Names of contenders: `<attempt id>-lock-<sequence number>`, and their order. Contenders of a read-write lock have
//! `read` or `write` instead of `lock`, those of a semaphore `lease`.
//!
//! Contenders are ordered by the creates of their znodes. The sequence numbers give this order as long as the
//! directory's counter is not at its end (recipe rule 1.2.6): a directory cannot be deleted, so its counter cannot
//! restart, while a contender is in it. At the counter's end, numbers repeat or become negative, so comparing them as
//! text, integers or serial numbers all fails (`TextOrder`, `IntOrderAtWrap`), and two contenders can be the first. So
//! if the number of any contender is past the end, czxids give the order, which takes a read of each znode.

use crate::helpers::is_exhausted;
use std::sync::Arc;
#[cfg(feature = "checking")]
use vivarium_model::path;
use vivarium_model::zxid::Zxid;

/// The role of a contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Contends for an exclusive lock.
    Exclusive,
    /// Contends to read under a read-write lock.
    Read,
    /// Contends to write under a read-write lock.
    Write,
    /// Contends for one of the permits of a semaphore.
    Lease,
}

impl Kind {
    const ALL: [Kind; 4] = [Kind::Exclusive, Kind::Read, Kind::Write, Kind::Lease];

    /// Returns the text between the attempt's id and the sequence number.
    fn mark(self) -> &'static str {
        match self {
            Kind::Exclusive => "lock-",
            Kind::Read => "read-",
            Kind::Write => "write-",
            Kind::Lease => "lease-",
        }
    }

    /// Returns true if the two cannot hold at the same time: all except readers (recipe rule 2.10.1) and leases, which
    /// are counted (recipe rule 2.14.1).
    pub fn conflicts(self, other: Kind) -> bool {
        !matches!((self, other), (Kind::Read, Kind::Read) | (Kind::Lease, Kind::Lease))
    }
}

/// A child of a lock's directory that contends for the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contender<'a> {
    name: &'a str,
    attempt: Option<&'a str>,
    kind: Kind,
    sequence: i32,
    place: Place,
}

/// A contender's place in the queue. All contenders of one queue have the same kind of place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    /// By its sequence number.
    Number(i32),
    /// By the transaction that created its znode, or that of the writer whose place it has taken.
    Created(Zxid),
}

impl<'a> Contender<'a> {
    /// Parses a child's name; `None` if it is not that of a contender.
    pub fn parse(name: &'a str) -> Option<Contender<'a>> {
        let (kind, (prefix, digits)) =
            Kind::ALL.into_iter().find_map(|kind| Some((kind, name.rsplit_once(kind.mark())?)))?;
        let attempt = match prefix {
            "" => None,
            _ => Some(prefix.strip_suffix('-').filter(|id| !id.is_empty())?),
        };
        let sequence = sequence(digits)?;
        Some(Contender { name, attempt, kind, sequence, place: Place::Number(sequence) })
    }

    /// Parses a full path; `None` if it is not that of a contender in `directory`.
    #[cfg(feature = "checking")]
    pub(crate) fn in_directory(directory: &str, full: &'a str) -> Option<Contender<'a>> {
        if path::parent(full) != Some(directory) {
            return None;
        }
        Contender::parse(path::name(full))
    }

    /// The child's name.
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// Returns the attempt's id; `None` for a znode without one (mutant `NoGuid`).
    pub fn attempt(&self) -> Option<&'a str> {
        self.attempt
    }

    /// Returns the sequence number: the counter at its creation.
    pub fn sequence(&self) -> i32 {
        self.sequence
    }

    /// Returns its role.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Returns the path of a contender of another kind in the same place of the queue: with the same attempt id and
    /// number.
    pub(super) fn as_another(&self, directory: &str, kind: Kind) -> String {
        let number = &self.name
            [self.name.rfind(self.kind.mark()).map_or(0, |at| at + self.kind.mark().len())..];
        format!("{}{number}", prefix(directory, self.attempt, kind))
    }

    /// Returns true if its number gives its place (recipe rule 1.2.6).
    pub(crate) fn is_placed_by_number(&self) -> bool {
        !is_exhausted(self.sequence)
    }

    /// Returns the contender with its place given by the transaction that created its znode. If one contender of a
    /// directory is not [placed by its number](Contender::is_placed_by_number), all must be placed like this.
    #[must_use]
    pub(crate) fn created_at(self, czxid: Zxid) -> Contender<'a> {
        Contender { place: Place::Created(czxid), ..self }
    }

    /// Returns true if it came before the other one.
    pub(crate) fn is_ahead_of(&self, other: &Contender<'_>) -> bool {
        self.place < other.place
    }

    /// Returns the contender that came last.
    pub fn last<'b>(contenders: impl Iterator<Item = Contender<'b>>) -> Option<Contender<'b>> {
        contenders.max_by_key(|contender| contender.place)
    }

    /// Returns the contender that came first.
    pub fn first<'b>(contenders: impl Iterator<Item = Contender<'b>>) -> Option<Contender<'b>> {
        contenders.min_by_key(|contender| contender.place)
    }

    /// Returns the nearest contender before this one that cannot hold together with it: the one to wait for (recipe
    /// rules 2.8.3 and 2.10.2).
    pub fn predecessor<'b>(&self, contenders: &[Contender<'b>]) -> Option<Contender<'b>> {
        let before = contenders
            .iter()
            .filter(|other| other.kind.conflicts(self.kind) && other.is_ahead_of(self));
        Contender::last(before.copied())
    }
}

/// Like [`Contender::predecessor`], as a function.
pub(crate) fn predecessor<'b>(
    mine: &Contender<'_>,
    all: &[Contender<'b>],
) -> Option<Contender<'b>> {
    mine.predecessor(all)
}

/// Returns the path prefix for the create of a contender; the server appends the sequence number.
pub fn prefix(directory: &str, attempt: Option<&str>, kind: Kind) -> String {
    let mark = kind.mark();
    match attempt {
        Some(id) => child(directory, &format!("{id}-{mark}")),
        None => child(directory, mark),
    }
}

/// Returns the full path of a child.
pub fn child(directory: &str, name: &str) -> String {
    format!("{}/{name}", if directory == "/" { "" } else { directory })
}

/// Parses a sequence number as the server writes it, `%010d`: at least ten characters, of which the first may be a
/// minus.
fn sequence(text: &str) -> Option<i32> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let well_formed = text.len() >= 10 && digits.bytes().all(|byte| byte.is_ascii_digit());
    if well_formed { text.parse().ok() } else { None }
}

/// A contender's znode.
#[derive(Debug)]
pub(crate) struct Node {
    /// Full path.
    pub(crate) path: Arc<str>,
    /// The fencing token.
    pub(crate) czxid: Zxid,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn name(sequence: i32) -> String {
        format!("00ff-lock-{sequence:010}")
    }

    #[test]
    fn names_of_contenders_and_of_others() {
        let with_id = Contender::parse("00ff-lock-0000000007").expect("a contender");
        assert_eq!((with_id.attempt(), with_id.place), (Some("00ff"), Place::Number(7)));
        let plain = Contender::parse("lock-0000000000").expect("a contender");
        let (attempt, place) = (None, Place::Number(0));
        assert_eq!((plain.attempt(), plain.place, plain.kind), (attempt, place, Kind::Exclusive));
        let reader = Contender::parse("00ff-read-0000000003").expect("a contender");
        assert_eq!((reader.attempt(), reader.kind), (Some("00ff"), Kind::Read));
        let writer = Contender::parse("00ff-write-0000000003").expect("a contender");
        assert_eq!(writer.as_another("/l", Kind::Read), "/l/00ff-read-0000000003");
        assert_eq!((writer.attempt(), writer.kind), (Some("00ff"), Kind::Write));
        let wrapped = Contender::parse("00ff-lock--2147483648").expect("a contender");
        assert_eq!(wrapped.place, Place::Number(i32::MIN));
        assert!(plain.is_placed_by_number() && !wrapped.is_placed_by_number());
        for other in
            ["", "lock-", "00ff-lock-7", "block-0000000001", "-lock-0000000001", "lock-+000000001"]
        {
            assert_eq!(Contender::parse(other), None, "{other:?}");
        }
        assert!(Contender::in_directory("/l", "/l/lock-0000000001").is_some());
        assert!(Contender::in_directory("/l", "/l/x/lock-0000000001").is_none());
    }

    /// The counter stays at its end, and continues among outstanding creates: the one in the middle came first, and
    /// then the others in the listed order.
    #[test]
    fn past_the_end_of_the_counter_czxids_say_who_came_first() {
        let names = ["b-lock-2147483647", "a-lock-0000000005", "d-lock--2147483648"];
        let names = [&names[..], &["c-lock-2147483647"]].concat();
        let created = [2, 1, 3, 4];
        let all: Vec<Contender<'_>> = names
            .iter()
            .zip(created)
            .filter_map(|(name, created)| Some(Contender::parse(name)?.created_at(Zxid(created))))
            .collect();
        let waits = all.iter().map(|mine| mine.predecessor(&all).map(|other| &other.name[..1]));
        assert_eq!(waits.collect::<Vec<_>>(), [Some("a"), None, Some("b"), Some("d")]);
    }

    #[test]
    fn readers_wait_for_writers_only_and_writers_for_everybody() {
        let names =
            ["a-read-0000000000", "b-write-0000000001", "c-read-0000000002", "d-read-0000000003"];
        let names = [&names[..], &["e-write-0000000004"]].concat();
        let all: Vec<Contender<'_>> =
            names.iter().filter_map(|name| Contender::parse(name)).collect();
        let waits = all.iter().map(|mine| mine.predecessor(&all).map(|other| &other.name[..1]));
        assert_eq!(waits.collect::<Vec<_>>(), [None, Some("a"), Some("b"), Some("b"), Some("d")]);
    }

    proptest! {
        /// Contenders that came one after the other wait in a chain.
        #[test]
        fn contenders_wait_in_order_of_creation(
            start in 0..i32::MAX - 8_000,
            steps in prop::collection::vec(1..1000_i32, 1..8),
        ) {
            let mut at = start;
            let mut sequences = vec![at];
            for step in steps {
                at += step;
                sequences.push(at);
            }
            let names: Vec<String> = sequences.iter().copied().map(name).collect();
            let mut contenders: Vec<Contender<'_>> =
                names.iter().filter_map(|name| Contender::parse(name)).collect();
            let in_order = contenders.clone();
            contenders.sort_by_key(|contender| contender.name());
            for (index, mine) in in_order.iter().enumerate() {
                let expected = index.checked_sub(1).map(|before| in_order[before]);
                prop_assert_eq!(mine.predecessor(&contenders), expected);
            }
        }
    }
}

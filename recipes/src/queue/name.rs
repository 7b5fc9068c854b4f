//! Names of items, `<id>-<mark>-<sequence number>`, and their order.
//!
//! The id is unique to the put: the server's sequence numbers start again when the directory is deleted and created
//! again (recipe rule 1.2.2), so a name without an id could occur twice. The mark is `q` for an item without priority
//! or time, `p` with ten digits for a priority, `d` with twenty digits for the due time in milliseconds.
//!
//! Sequence numbers give the order of the puts until the directory's counter reaches its end (recipe rule 1.2.6). After
//! that, the czxids of the znodes do.

use crate::helpers::is_exhausted;
use std::collections::BTreeMap;
use vivarium_model::zxid::Zxid;

/// The mark of an item, which determines its order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mark {
    /// Neither a priority nor a due time.
    #[default]
    Plain,
    /// Items with a smaller number come first.
    Priority(u32),
    /// Due at this time, in milliseconds.
    Due(u64),
}

/// The parsed name of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ItemName<'a> {
    name: &'a str,
    stem: &'a str,
    /// Its mark.
    pub mark: Mark,
    sequence: i32,
}

/// The prefix of a znode by which a producer declares its end.
pub(crate) const END: &str = "end-";

impl Mark {
    /// The mark as part of a name. Numbers are padded (recipe rule 2.5.1), so that sorting the names as text gives the
    /// right order.
    pub fn text(self) -> String {
        match self {
            Mark::Plain => "q".to_string(),
            Mark::Priority(priority) => format!("p{priority:010}"),
            Mark::Due(due) => format!("d{due:020}"),
        }
    }

    fn parse(text: &str) -> Option<Mark> {
        match text.split_at_checked(1)? {
            ("q", "") => Some(Mark::Plain),
            ("p", digits) => digits.parse().ok().map(Mark::Priority),
            ("d", digits) => digits.parse().ok().map(Mark::Due),
            _ => None,
        }
    }
}

impl<'a> ItemName<'a> {
    /// Parses a child's name; returns `None` if it is not an item's.
    pub fn parse(name: &'a str) -> Option<ItemName<'a>> {
        // The sequence number has ten characters, or eleven of which the first is a minus.
        let digits = name.len().checked_sub(10).filter(|at| name.is_char_boundary(*at))?;
        let negative = name[..digits].ends_with("--");
        let at = if negative { digits - 1 } else { digits };
        let stem = name[..at].strip_suffix('-')?;
        let (_id, mark) = stem.rsplit_once('-')?;
        let sequence = name[at..].parse().ok()?;
        Some(ItemName { name, stem, mark: Mark::parse(mark)?, sequence })
    }

    /// The child's name.
    pub fn name(&self) -> &'a str {
        self.name
    }

    /// The name rebuilt from the number in it, without its padding (`QueueUnpadded`).
    pub(crate) fn unpadded(&self) -> String {
        format!("{}-{}", self.stem, self.sequence)
    }
}

/// The items among these children, in queue order; `None` if their names do not determine the order, so that
/// [`in_order_of_creation`] must be used.
pub fn in_order(names: &[String]) -> Option<Vec<ItemName<'_>>> {
    let mut items: Vec<ItemName<'_>> =
        names.iter().filter_map(|name| ItemName::parse(name)).collect();
    if items.iter().any(|item| is_exhausted(item.sequence)) {
        return None;
    }
    items.sort_by_key(|item| (item.mark, item.sequence));
    Some(items)
}

/// The items among these children whose creation is known, in queue order.
pub fn in_order_of_creation<'a>(
    names: &'a [String],
    created: &BTreeMap<String, Zxid>,
) -> Vec<ItemName<'a>> {
    let placed = names.iter().filter_map(|name| {
        let item = ItemName::parse(name)?;
        Some((item.mark, *created.get(name)?, item))
    });
    let mut placed: Vec<_> = placed.collect();
    placed.sort_by_key(|(mark, czxid, _)| (*mark, *czxid));
    placed.into_iter().map(|(_, _, item)| item).collect()
}

/// The number of producers that have ended.
pub(crate) fn ends(names: &[String]) -> usize {
    names.iter().filter(|name| name.starts_with(END)).count()
}

/// The path prefix to create an item with; the server appends the sequence number.
pub(crate) fn prefix(directory: &str, id: &str, mark: Mark) -> String {
    child(directory, &format!("{id}-{}-", mark.text()))
}

/// The full path of a child.
pub(crate) fn child(directory: &str, name: &str) -> String {
    format!("{}/{name}", if directory == "/" { "" } else { directory })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn name(mark: Mark, sequence: i32) -> String {
        format!("00ff.1-{}-{sequence:010}", mark.text())
    }

    #[test]
    fn names_of_items_and_of_others() {
        for mark in [Mark::Plain, Mark::Priority(7), Mark::Due(1_000)] {
            for sequence in [0, 7, i32::MAX, i32::MIN, -7] {
                let name = name(mark, sequence);
                let item = ItemName::parse(&name).expect("an item");
                assert_eq!((item.mark, item.sequence), (mark, sequence), "{name}");
            }
        }
        for other in
            ["", "end-3", "0000000001", "a-q-1", "q-0000000001", "a-x-0000000001", "a-p-0000000001"]
        {
            assert_eq!(ItemName::parse(other), None, "{other:?}");
        }
        let unpadded = ItemName::parse("00ff.1-q-0000000012").map(|item| item.unpadded());
        assert_eq!(unpadded.as_deref(), Some("00ff.1-q-12"));
    }

    #[test]
    fn past_the_end_of_the_counter_czxids_say_the_order() {
        let names =
            ["b-q-2147483647", "a-q-0000000007", "end-1", "c-q--2147483648", "d-q-2147483647"];
        let names = names.map(str::to_string);
        assert_eq!(in_order(&names), None);
        let created = names.iter().cloned().zip([2, 1, 9, 3, 4].map(Zxid)).collect();
        let ordered = |created: &BTreeMap<String, Zxid>| {
            let items = in_order_of_creation(&names, created);
            items.iter().map(|item| &item.name()[..1]).collect::<String>()
        };
        assert_eq!(ordered(&created), "abcd");
        // One item was taken meanwhile.
        let mut created = created;
        created.remove("b-q-2147483647");
        assert_eq!(ordered(&created), "acd");
    }

    proptest! {
        /// The order is by priority, then by creation.
        #[test]
        fn items_come_by_mark_and_then_in_order_of_creation(
            start in 0..i32::MAX - 8_000,
            steps in prop::collection::vec((1..1000_i32, 0..3_u32), 1..8),
        ) {
            let mut at = start;
            let mut put = Vec::new();
            for (step, priority) in steps {
                at += step;
                put.push((priority, name(Mark::Priority(priority), at)));
            }
            let mut expected = put.clone();
            expected.sort_by_key(|(priority, _)| *priority);
            let mut listed: Vec<String> = put.into_iter().map(|(_, name)| name).collect();
            listed.sort();
            let ordered = in_order(&listed).expect("the numbers say it");
            let ordered: Vec<&str> = ordered.iter().map(ItemName::name).collect();
            let expected: Vec<&str> = expected.iter().map(|(_, name)| name.as_str()).collect();
            prop_assert_eq!(ordered, expected);
        }
    }
}

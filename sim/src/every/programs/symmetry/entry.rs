//! Entries that are compared with their images before they are put into their tables.

use crate::every::intern::{Key, Number, Table, Weighed};

/// An entry that is in its table, or is to be put there after it was compared: other threads take what they find there
/// for related to its images.
pub(super) enum Entry<T> {
    Known(Number),
    New(T),
}

impl<T: Weighed> Entry<T> {
    pub(super) fn of<K: Key>(table: &Table<T, K>, key: K, make: impl FnOnce() -> T) -> Entry<T> {
        table.find(key).map_or_else(|| Entry::New(make()), Entry::Known)
    }

    pub(super) fn get<'a, K: Key>(&'a self, table: &'a Table<T, K>) -> &'a T {
        match self {
            Entry::Known(number) => table.get(*number),
            Entry::New(entry) => entry,
        }
    }
}

/// Returns the entries themselves.
pub(super) fn entries<'a, T: Weighed, K: Key>(
    table: &'a Table<T, K>,
    all: &'a [(K, Entry<T>)],
) -> Vec<&'a T> {
    all.iter().map(|(_, entry)| entry.get(table)).collect()
}

/// Puts entries into their table, and returns the number of the first. Those that do not have a key of their own are only
/// used once, and only the first of them is.
pub(super) fn keep<T: Weighed, K: Key>(
    table: &Table<T, K>,
    all: Vec<(K, Entry<T>)>,
    has_key: impl Fn(&T) -> bool,
) -> Number {
    let put = |(key, entry): (K, Entry<T>)| match entry {
        Entry::Known(number) => number,
        Entry::New(entry) if has_key(&entry) => table.number(key, || entry),
        Entry::New(entry) => table.add(entry),
    };
    let mut all = all.into_iter();
    let first = all.next().expect("there is an entry of the state itself");
    all.filter(|(_, entry)| matches!(entry, Entry::New(entry) if has_key(entry))).for_each(|it| {
        put(it);
    });
    put(first)
}

//! Locks, read-write locks and elections as texts describe them, each shown to go wrong by a way that is proven to be
//! the shortest. (Texts about barriers are in `barriers`.)

use super::exhibit::{Exhibit, KILL, LOST, NO_FAULT, assert_holds, text, two};
use vivarium::catalogue::{Entry, catalogue};

const TEXTS: [Exhibit; 11] = [
    text("published-lock-older-text", LOST, "lock M6 no self-wait", 25),
    text("published-lock-without-recovery", LOST, "lock M6 no self-wait", 25),
    text("published-lock-by-exists", KILL, "progress", 38),
    text("published-lock-by-exists-ephemeral", LOST, "lock M6 no self-wait", 22),
    text("published-lock-node-smaller", NO_FAULT, "progress", 34),
    text("published-lock-connection-is-session", LOST, "progress", 50),
    text("published-rwlock-page", NO_FAULT, "read-write lock RW1 exclusion", 28),
    text("published-rwlock-garbled-reader", NO_FAULT, "progress", 31),
    text("published-election-page", NO_FAULT, "progress", 31),
    text("published-election-page-checked", NO_FAULT, "progress", 34),
    text("published-election-next-node", NO_FAULT, "progress", 31),
];

/// This text goes wrong when the sequence counter wraps, which no search reaches.
const AT_THE_WRAP: &str = "published-lock-text-order";

#[test]
fn every_text_goes_wrong_where_it_says() {
    TEXTS.iter().for_each(Exhibit::assert_found);
}

#[test]
fn every_text_about_locks_and_elections_is_here() {
    let names = catalogue().into_iter().filter(Entry::is_published);
    let about = |name: &str| ["lock", "election"].iter().any(|word| name.contains(word));
    let names = names.map(|entry| entry.name).filter(|name| about(name));
    let missing = names
        .filter(|name| !name.contains("barrier") && *name != AT_THE_WRAP)
        .filter(|name| TEXTS.iter().all(|text| text.scenario != *name));
    assert_eq!(missing.collect::<Vec<_>>(), [""; 0]);
}

#[test]
fn sorting_names_as_text_is_sound_until_the_counter_wraps() {
    assert_holds(AT_THE_WRAP, &two());
}

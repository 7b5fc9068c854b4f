//! The queue's mutants: published mistakes as named switches, off by default (recipe rule 3.4).
//!
//! Each switch is checked at exactly one place in the recipe, where the broken rule is implemented.

use crate::mutants::named;

named! {
    /// A published mistake of a queue.
    pub enum Mutant ("mutant") {
        /// A claiming delete whose reply was lost finds no znode when it is repeated, and the consumer concludes that
        /// another one took the item (kazoo `Queue`, Curator `SimpleDistributedQueue`). Breaks Q1.
        NoNodeMeansOther =>
            "A take whose reply was lost finds the item gone and concludes that another consumer \
             took it, so the item is lost (kazoo Queue, Curator SimpleDistributedQueue).",
        /// A put whose reply was lost is repeated (Curator `SimpleDistributedQueue`). Breaks Q4.
        BlindCreateRetry =>
            "A put whose reply was lost is made again, so that the item is there twice \
             (Curator SimpleDistributedQueue).",
        /// Items are ephemeral, as in ZooKeeper's recipes page: they are deleted with their producer's session. Breaks
        /// Q1.
        QueueEphemeralItems =>
            "Items are ephemeral, so they are deleted with the session of their producer \
             (ZooKeeper's recipes page).",
        /// Consumers do not claim items: a consumer that has read an item uses it (ZooKeeper's recipes page). Breaks
        /// Q2.
        QueueNoClaim =>
            "A consumer that has read an item has it, and deletes it afterwards, so that two \
             consumers have it (ZooKeeper's recipes page).",
        /// An item's path is built from the number in its name, without the padding (ZooKeeper's tutorial). No item is
        /// ever taken.
        QueueUnpadded =>
            "An item's path is made from the number in its name, without padding, so that none \
             is ever found (ZooKeeper's tutorial).",
        /// A waiting consumer ignores that the directory was deleted, and keeps waiting at the deleted one
        /// (CURATOR-308). Loses the wake-up.
        ParentReapedUnderWatch =>
            "A waiting consumer ignores that the directory was reaped and waits at one that is \
             gone (CURATOR-308).",
        /// A consumer whose watch ended with its session never lists again (CURATOR-623). Loses the wake-up.
        NoRecheckOnReconnect =>
            "A consumer whose session ended while it waited never looks again (CURATOR-623).",
        /// A client that creates the directory returns the `NodeExists` that a concurrent creator causes (read in
        /// ZooKeeper's `DistributedQueue`). The program fails.
        RootExistsEscapes =>
            "Two that create the directory at once: the second fails with NodeExists \
             (read in ZooKeeper's DistributedQueue).",
        /// The list is used up before the next one is read, even if a more urgent item was put meanwhile (kazoo
        /// `Queue`). Breaks P1.
        StalePriorityList =>
            "The list is kept until it is used up, so that an urgent item waits for a whole batch \
             (kazoo Queue).",
        /// Priorities are written without padding and sorted as text: 10 before 9. Breaks P1.
        PriorityUnpadded =>
            "Priorities are sorted as text without padding: 10 comes before 9 \
             (a likely mistake).",
    }
}

/// A set of the queue's mutants.
pub type Mutants = crate::mutants::Mutants<Mutant>;

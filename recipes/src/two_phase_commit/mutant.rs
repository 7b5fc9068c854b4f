//! The mutants of two-phase commit: published and likely mistakes as named switches, off by default (recipe rule 3.12).
//!
//! Each switch is checked at exactly one place in the recipe, where the broken rule is implemented.

use crate::mutants::named;

named! {
    /// A published or likely mistake of a two-phase commit.
    pub enum Mutant ("mutant") {
        /// The votes are the sites' own ephemeral znodes, a missing one counts as abort, and each participant decides
        /// by what it reads (the recipes page, and its translations). Breaks TP1.
        TwoPcEphemeralVote =>
            "A vote is its site's ephemeral znode and nothing else is written: one reads commit, a later \
             one finds the vote gone and aborts (the recipes page).",
        /// A site that gives up changes its vote, which others may have read (the recipes page). Breaks TP4.
        TwoPcMutableVote =>
            "A site that gives up overwrites its vote, without a version (the recipes page).",
        /// The sites' znodes are created with a content that reads as a vote (a translation of the recipes page has
        /// lost the \"un\" of \"undefined\"). Breaks TP2.
        TwoPcPrefilledVote =>
            "The sites' znodes are created with content, which is taken for their votes (a translation \
             of the recipes page).",
        /// The transaction is created child by child, and sites take the children that they find for the list. Breaks
        /// TP2.
        TwoPcChildByChild =>
            "The transaction is created child by child: a participant that reads it meanwhile takes a \
             part of the sites for all of them.",
        /// A participant whose decision comes second keeps its own. Breaks TP1.
        TwoPcDecisionIgnored =>
            "A participant that finds another decision already made keeps its own.",
        /// A participant whose decision comes second overwrites the first. Breaks TP3.
        TwoPcDecisionOverwritten =>
            "A participant that finds another decision already made overwrites it with its own.",
        /// A participant takes a decision whose reply was lost for not made. Breaks TP1.
        TwoPcLostReplyIsAbort =>
            "A decision whose reply was lost is taken for not made, and for an abort.",
        /// A site that notices that the coordinator is gone aborts on its own. Breaks TP1.
        TwoPcUnilateralAbort =>
            "A site that finds the coordinator gone aborts for itself, although other sites may have \
             read a commit.",
        /// A second read sets the watch, and its result is ignored. Loses the wake-up.
        TwoPcWatchAfterRead =>
            "The awaited znode is read first and watched afterwards: a change in between is missed.",
    }
}

/// A set of the mutants of two-phase commit.
pub type Mutants = crate::mutants::Mutants<Mutant>;

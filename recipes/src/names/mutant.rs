//! The mutants of the name service: likely mistakes as named switches, off by default (recipe rule 3.21).

use crate::mutants::named;

named! {
    /// A likely mistake of a name service: a named switch, off by default (recipe rule 3.21), asked for at
    /// the one place in the recipe where the rule that it breaks is kept.
    pub enum Mutant ("mutant") {
        /// A name that is there already is taken for somebody else's, also when a lost create of one's own has made
        /// it. Breaks NS1.
        NameExistsMeansOther =>
            "A name that is there already is taken for somebody else's, also after a create of one's own \
             whose reply was lost (as in Curator's queues).",
        /// A name that is there already is overwritten. Breaks NS2.
        NameOverwritten =>
            "A name that is there already is given one's own address, whoever has bound it.",
    }
}

/// A set of the mutants of the name service.
pub type Mutants = crate::mutants::Mutants<Mutant>;

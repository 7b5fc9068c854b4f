//! The mutants of the name service: likely mistakes as named switches, off by default (recipe rule 3.21).

use crate::mutants::named;

named! {
    /// A likely mistake of a name service: a named switch, off by default (recipe rule 3.21), which is checked at the
    /// one place in the recipe where the broken rule is implemented.
    pub enum Mutant ("mutant") {
        /// A name that exists counts as another client's, even if a lost create of the same client has made it. Breaks
        /// NS1.
        NameExistsMeansOther =>
            "A name that exists is taken for another client's, also after a create of the same client \
             whose reply was lost (as in Curator's queues).",
        /// An existing name is overwritten. Breaks NS2.
        NameOverwritten =>
            "A name that exists is overwritten with the client's own address, although another client has bound it.",
    }
}

/// A set of the mutants of the name service.
pub type Mutants = crate::mutants::Mutants<Mutant>;

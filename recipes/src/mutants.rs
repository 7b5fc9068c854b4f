//! The switches of a recipe's published mistakes: off, unless the user wants to see a violation.
//!
//! Every recipe declares its own mistakes by [`named!`](vivarium_model::named!), and checks each switch at the one
//! place where the broken rule is implemented. Without the feature `checking`, no mutant can be switched on, and
//! `no_mutants` replaces this module.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use vivarium_model::named::Named;

pub(crate) use vivarium_model::named;

/// A set of mutants of one recipe.
pub struct Mutants<M> {
    /// One bit for each variant, in the order of their declaration.
    bits: u32,
    of: PhantomData<M>,
}

impl<M: Named + PartialEq> Mutants<M> {
    /// The empty set: the correct recipe.
    pub const NONE: Mutants<M> = Mutants { bits: 0, of: PhantomData };

    /// Returns this set and one more mutant.
    #[must_use]
    pub fn with(self, mutant: M) -> Mutants<M> {
        Mutants { bits: self.bits | Self::bit(mutant), ..self }
    }

    /// Returns true if the mutant is switched on.
    pub fn has(self, mutant: M) -> bool {
        self.bits != 0 && self.bits & Self::bit(mutant) != 0
    }

    /// Returns the mutants that are switched on.
    pub fn iter(self) -> impl Iterator<Item = M> {
        M::VARIANTS.iter().copied().filter(move |mutant| self.has(*mutant))
    }

    /// Returns the mutants with these names; other names are ignored.
    pub fn of_names(names: &[&str]) -> Mutants<M> {
        M::VARIANTS.iter().copied().filter(|mutant| names.contains(&mutant.name())).collect()
    }

    fn bit(mutant: M) -> u32 {
        const { assert!(M::VARIANTS.len() <= u32::BITS as usize, "a bit for each mutant") };
        let at = M::VARIANTS.iter().position(|variant| *variant == mutant);
        1 << at.expect("a variant is one of all variants")
    }
}

impl<M> Clone for Mutants<M> {
    fn clone(&self) -> Mutants<M> {
        *self
    }
}

impl<M> Copy for Mutants<M> {}

impl<M: Named + PartialEq> Default for Mutants<M> {
    fn default() -> Mutants<M> {
        Mutants::NONE
    }
}

impl<M> PartialEq for Mutants<M> {
    fn eq(&self, other: &Mutants<M>) -> bool {
        self.bits == other.bits
    }
}

impl<M> Eq for Mutants<M> {}

impl<M> Hash for Mutants<M> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.bits.hash(state);
    }
}

impl<M: Named + PartialEq> From<M> for Mutants<M> {
    fn from(mutant: M) -> Mutants<M> {
        Mutants::NONE.with(mutant)
    }
}

impl<M: Named + PartialEq> FromIterator<M> for Mutants<M> {
    fn from_iter<I: IntoIterator<Item = M>>(mutants: I) -> Mutants<M> {
        mutants.into_iter().fold(Mutants::NONE, Mutants::with)
    }
}

impl<M: Named + PartialEq> fmt::Debug for Mutants<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(Named::name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::Mutant;

    #[test]
    fn every_mutant_is_its_own_switch() {
        for mutant in Mutant::ALL {
            let set = Mutants::from(mutant);
            assert_eq!(set.iter().collect::<Vec<_>>(), [mutant]);
            assert_eq!(set, Mutants::of_names(&[mutant.name(), "NoSuchMutant"]));
            assert_eq!(mutant.name().parse(), Ok(mutant));
        }
        assert_eq!(Mutants::<Mutant>::NONE.iter().count(), 0);
        let error = "NoSuchMutant".parse::<Mutant>().expect_err("there is none").to_string();
        assert!(error.starts_with("`NoSuchMutant` is not the name of a mutant"), "{error}");
    }
}

//! Replaces `mutants` without the feature `checking`: no mutant has a name or a switch, and each check of a switch is a
//! constant.

use std::marker::PhantomData;

/// Declares the variants, without their texts.
macro_rules! named {
    (
        $(#[$of_enum:meta])* pub enum $enum:ident ($kind:literal) {
            $($(#[$of_variant:meta])* $variant:ident => $summary:literal,)+
        }
    ) => {
        #[allow(dead_code, reason = "only workers ask for some of them")]
        #[allow(clippy::enum_variant_names, reason = "names are those of the command line")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $enum {
            $($variant,)+
        }
    };
}

pub(crate) use named;

/// The empty set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mutants<M>(PhantomData<M>);

impl<M> Mutants<M> {
    /// The correct recipe.
    pub(crate) const NONE: Mutants<M> = Mutants(PhantomData);

    /// Returns false: no mutant is ever on.
    #[inline]
    pub(crate) fn has(self, _mutant: M) -> bool {
        false
    }
}

//! Enums whose variants have names: one declaration gives the list of all variants, their names, and the parser of a
//! name.
//!
//! Users name bugs, mutants, faults, marks and planted flaws on the command line and in case files, and reports list
//! them. [`named!`](crate::named!) declares such an enum, so no variant can be missing from a table, and no two
//! tables can differ.

use std::str::FromStr;

#[doc(hidden)]
pub use serde;

/// No variant has this name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` is not the name of a {kind}; the names are: {known}")]
pub struct UnknownName {
    /// The unknown name.
    pub name: String,
    /// The kind of name that was expected, such as `bug`.
    pub kind: &'static str,
    /// The valid names, separated by commas.
    pub known: String,
}

impl UnknownName {
    /// Returns the error for `name`, given the valid names.
    pub fn new(name: &str, kind: &'static str, known: &[&str]) -> UnknownName {
        UnknownName { name: name.to_string(), kind, known: known.join(", ") }
    }
}

/// An enum that [`named!`](crate::named!) has declared.
pub trait Named: Copy + FromStr<Err = UnknownName> + 'static {
    /// All variants, in the order of their declaration.
    const VARIANTS: &'static [Self];

    /// The noun for one of the variants in a sentence: `bug`, `mark`.
    const KIND: &'static str;

    /// The variant's name.
    fn name(self) -> &'static str;
}

/// An enum that [`named!`](crate::named!) has declared with summaries.
pub trait Summarised: Named {
    /// Returns a one-line description of the variant.
    fn summary(self) -> &'static str;
}

/// Declares an enum whose variants have names.
///
/// The literal in brackets is the noun for a variant in the error for an unknown name. There are three forms:
///
/// * `Variant = "its name",` gives each variant a readable name;
/// * `Variant => "what it does",` uses the identifier as the name and adds a summary of one line;
/// * `Variant,` uses the identifier as the name.
///
/// The enum gets `ALL` (every variant, in the order of declaration) and `name`; `Display`, `FromStr` and serde use
/// the name. It implements [`Named`](crate::named::Named) and, if it has summaries, `summary` and
/// [`Summarised`](crate::named::Summarised).
///
/// ```
/// vivarium_model::named! {
///     /// A mistake of a recipe.
///     pub enum Mutant ("mutant") {
///         /// The znode's name does not carry the attempt's id.
///         NoGuid => "a create whose reply was lost is repeated",
///     }
/// }
///
/// assert_eq!("NoGuid".parse(), Ok(Mutant::NoGuid));
/// assert_eq!(Mutant::NoGuid.summary(), "a create whose reply was lost is repeated");
/// let error = "NoId".parse::<Mutant>().unwrap_err();
/// assert_eq!(error.to_string(), "`NoId` is not the name of a mutant; the names are: NoGuid");
/// ```
#[macro_export]
macro_rules! named {
    (
        $(#[$attribute:meta])* pub enum $enum:ident ($kind:literal) {
            $($(#[$doc:meta])* $variant:ident = $name:literal,)+
        }
    ) => {
        $crate::named! {
            @declare $(#[$attribute])* pub enum $enum ($kind) { $($(#[$doc])* $variant ($name),)+ }
        }
    };
    (
        $(#[$attribute:meta])* pub enum $enum:ident ($kind:literal) {
            $($(#[$doc:meta])* $variant:ident,)+
        }
    ) => {
        $crate::named! {
            @declare $(#[$attribute])* pub enum $enum ($kind) {
                $($(#[$doc])* $variant (stringify!($variant)),)+
            }
        }
    };
    (
        $(#[$attribute:meta])* pub enum $enum:ident ($kind:literal) {
            $($(#[$doc:meta])* $variant:ident => $summary:literal,)+
        }
    ) => {
        $crate::named! {
            $(#[$attribute])* pub enum $enum ($kind) { $($(#[$doc])* $variant,)+ }
        }

        impl $enum {
            /// Returns a one-line description, for listings.
            pub fn summary(self) -> &'static str {
                match self {
                    $($enum::$variant => $summary,)+
                }
            }
        }

        impl $crate::named::Summarised for $enum {
            fn summary(self) -> &'static str {
                $enum::summary(self)
            }
        }
    };
    (
        @declare $(#[$attribute:meta])* pub enum $enum:ident ($kind:literal) {
            $($(#[$doc:meta])* $variant:ident ($name:expr),)+
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $enum {
            $($(#[$doc])* $variant,)+
        }

        impl $enum {
            /// All variants, in the order of declaration.
            pub const ALL: [$enum; [$($name),+].len()] = [$($enum::$variant),+];

            /// Returns the name used in reports and on the command line.
            pub const fn name(self) -> &'static str {
                match self {
                    $($enum::$variant => $name,)+
                }
            }
        }

        impl $crate::named::Named for $enum {
            const VARIANTS: &'static [$enum] = &$enum::ALL;
            const KIND: &'static str = $kind;

            fn name(self) -> &'static str {
                $enum::name(self)
            }
        }

        impl ::std::fmt::Display for $enum {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl ::std::str::FromStr for $enum {
            type Err = $crate::named::UnknownName;

            fn from_str(name: &str) -> Result<$enum, $crate::named::UnknownName> {
                let found = $enum::ALL.into_iter().find(|each| each.name() == name);
                found.ok_or_else(|| {
                    $crate::named::UnknownName::new(name, $kind, &[$($name),+])
                })
            }
        }

        impl $crate::named::serde::Serialize for $enum {
            fn serialize<S: $crate::named::serde::Serializer>(
                &self,
                serializer: S,
            ) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> $crate::named::serde::Deserialize<'de> for $enum {
            fn deserialize<D: $crate::named::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> Result<$enum, D::Error> {
                let name = <String as $crate::named::serde::Deserialize>::deserialize(deserializer)?;
                name.parse().map_err(<D::Error as $crate::named::serde::de::Error>::custom)
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::mark::{Disruption, Mark};
    use crate::vocabulary::release::Bug;
    use std::collections::BTreeSet;
    use std::fmt::{Debug, Display};

    /// Checks the properties of every such enum, whatever its names.
    fn is_identified_by_its_names<T>()
    where
        T: Named + Debug + Display + PartialEq + serde::Serialize + serde::de::DeserializeOwned,
    {
        let mut names = BTreeSet::new();
        for variant in T::VARIANTS {
            assert!(names.insert(variant.name()), "{variant} twice");
            assert_eq!(variant.name().parse(), Ok(*variant));
            assert_eq!(variant.to_string(), variant.name());
            let json = serde_json::to_string(variant).expect("a string");
            assert_eq!(json, format!("{:?}", variant.name()));
            assert_eq!(serde_json::from_str::<T>(&json).expect("the same"), *variant);
        }
        let error = serde_json::from_str::<T>(r#""Nonsense""#).expect_err("no such name");
        let sentence = format!("`Nonsense` is not the name of a {}", T::KIND);
        assert!(error.to_string().starts_with(&sentence), "{error}");
    }

    #[test]
    fn every_name_leads_back_to_its_variant() {
        is_identified_by_its_names::<Bug>();
        is_identified_by_its_names::<Mark>();
        is_identified_by_its_names::<Disruption>();
    }

    #[test]
    fn names_are_keys_of_maps_too() {
        let counts = std::collections::BTreeMap::from([(Mark::SyncByTrunc, 2)]);
        let json = serde_json::to_string(&counts).expect("a map");
        assert_eq!(json, r#"{"sync by TRUNC":2}"#);
        assert_eq!(
            serde_json::from_str::<std::collections::BTreeMap<Mark, u64>>(&json).expect("a map"),
            counts
        );
    }
}

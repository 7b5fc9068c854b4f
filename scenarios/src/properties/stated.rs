//! Properties in words, for command lines and recorded cases: `never-two-at-once granted released per lock`.

use super::property::{Hears, Keyed, Property};
use super::{agree, at_most_once, grows, never_two_at_once, same_order};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use vivarium_model::property::Monitor;

/// The words of each property, for help and messages. An observation or field whose name has spaces is written with `_`.
pub const STATED: &str = "never-two-at-once BEGINS ENDS [token FIELD] [strictly], at-most-once NAME FIELD, \
    agree NAME FIELD, grows NAME FIELD [or-stays], same-order FIRST THEN FIELD [ranked-by FIELD]; \
    each with [per FIELD].. [per-client] [with FIELD TEXT]..";

/// The beginning of the names of parameters that are properties.
const PROPERTY: &str = "property ";

/// A property in words.
///
/// ```
/// use vivarium::properties::Stated;
///
/// let property: Stated = "never-two-at-once granted released per lock token token".parse()?;
/// assert_eq!(property.monitor().name(), "never two at once");
/// assert!("never-two-at-once granted".parse::<Stated>().is_err());
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stated {
    words: String,
}

impl Stated {
    /// Returns the property's monitor, before its first event.
    ///
    /// # Panics
    /// Never: the words were checked when they were read.
    pub fn monitor(&self) -> Box<dyn Monitor> {
        monitor(&self.words).expect("the words were checked")
    }
}

impl FromStr for Stated {
    type Err = String;

    fn from_str(words: &str) -> Result<Stated, String> {
        let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
        monitor(&words)?;
        Ok(Stated { words })
    }
}

impl fmt::Display for Stated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

/// Returns the parameters by which a case names the properties that judge its run.
pub fn stated_parameters(properties: &[Stated]) -> impl Iterator<Item = (String, String)> + '_ {
    let parameter = |(number, property): (u32, &Stated)| {
        (format!("{PROPERTY}{number:03}"), property.to_string())
    };
    (1..).zip(properties).map(parameter)
}

/// Returns the properties that a case's parameters name, in their order.
///
/// # Errors
/// A sentence about the first that is none.
pub fn stated_properties(parameters: &BTreeMap<String, String>) -> Result<Vec<Stated>, String> {
    let named = parameters.iter().filter(|(name, _)| name.starts_with(PROPERTY));
    named.map(|(_, words)| words.parse()).collect()
}

/// Names have spaces where an enum's variant has several words (`node known`), and a word of a line has none.
fn name(word: &str) -> String {
    word.replace('_', " ")
}

fn monitor(line: &str) -> Result<Box<dyn Monitor>, String> {
    let words: Vec<&str> = line.split(' ').collect();
    let wrong = || format!("`{line}` is no property; the properties are {STATED}");
    match *words.as_slice() {
        ["never-two-at-once", begins, ends, ref options @ ..] => {
            let property = never_two_at_once(&name(begins), &name(ends));
            with(property, options, |property, options| match *options {
                ["token", field, ref rest @ ..] => Some((property.token(field), rest)),
                ["strictly", ref rest @ ..] => Some((property.strictly(), rest)),
                _ => None,
            })
        }
        ["at-most-once", said, field, ref options @ ..] => {
            with(at_most_once(&name(said), field), options, |_, _| None)
        }
        ["agree", said, field, ref options @ ..] => {
            with(agree(&name(said), field), options, |_, _| None)
        }
        ["grows", said, field, ref options @ ..] => {
            with(grows(&name(said), field), options, |property, options| match *options {
                ["or-stays", ref rest @ ..] => Some((property.or_stays(), rest)),
                _ => None,
            })
        }
        ["same-order", first, then, field, ref options @ ..] => {
            let property = same_order(&name(first), &name(then), field);
            with(property, options, |property, options| match *options {
                ["ranked-by", field, ref rest @ ..] => Some((property.ranked_by(field), rest)),
                _ => None,
            })
        }
        _ => None,
    }
    .ok_or_else(wrong)
}

/// What a property makes of its own options: itself with the first of them, and the rest.
type Took<'a, 'b, R> = Option<(Property<R>, &'a [&'b str])>;

/// Reads the options of a property; `None` if one is unknown. `own` reads those that only this property has.
fn with<'b, R: Hears + Keyed>(
    mut property: Property<R>,
    mut options: &[&'b str],
    own: impl for<'a> Fn(Property<R>, &'a [&'b str]) -> Took<'a, 'b, R>,
) -> Option<Box<dyn Monitor>>
where
    Property<R>: Monitor,
{
    while !options.is_empty() {
        (property, options) = match *options {
            ["per", field, ref rest @ ..] => (property.per(field), rest),
            ["per-client", ref rest @ ..] => (property.per_client(), rest),
            ["with", field, value, ref rest @ ..] => (property.with(field, value), rest),
            _ => own(property, options)?,
        };
    }
    Some(Box::new(property))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_property_is_written_as_it_is_read() {
        for words in [
            "never-two-at-once granted released",
            "never-two-at-once granted released per lock token token strictly",
            "at-most-once taken item per queue with kind job",
            "agree decided outcome per transaction",
            "grows counted to per-client or-stays",
            "same-order produced consumed job ranked-by czxid per queue",
        ] {
            assert_eq!(words.parse::<Stated>().map(|it| it.to_string()), Ok(words.to_owned()));
        }
        assert_eq!(
            "  agree a\tb ".parse::<Stated>().map(|it| it.to_string()),
            Ok("agree a b".to_owned())
        );
    }

    #[test]
    fn what_is_no_property_is_refused_with_the_list() {
        for words in [
            "",
            "agree",
            "agree a",
            "agree a b token c",
            "grows a b per",
            "twice a b",
            "agree a b strictly",
        ] {
            let refused = words.parse::<Stated>().expect_err(words);
            assert!(refused.contains("is no property; the properties are never-two"), "{refused}");
        }
    }
}

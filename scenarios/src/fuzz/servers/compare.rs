//! Compares all searches of a case.

use super::super::compare::{Compared, by_strategy};
use super::super::difference::{Difference, Expected};
use super::case::Case;
use super::commuting::commuting;
use super::reach::{Reach, model, reach};
use vivarium_sim::every::servers::{Flaw, Reductions};

/// One reduction, to be used alone or left out.
type Part = (&'static str, fn(&mut Reductions) -> &mut bool);

const PARTS: [Part; 11] = [
    ("appends", |all| &mut all.appends),
    ("fsyncs", |all| &mut all.fsyncs),
    ("writes", |all| &mut all.writes),
    ("packets", |all| &mut all.packets),
    ("ends", |all| &mut all.ends),
    ("acks", |all| &mut all.acks),
    ("streams", |all| &mut all.streams),
    ("starts", |all| &mut all.starts),
    ("mail", |all| &mut all.mail),
    ("breaks", |all| &mut all.breaks),
    ("quorums", |all| &mut all.quorums),
];

/// Returns the reductions that are compared in this turn: all, one alone, and all but one.
fn ways(turn: u64) -> [(String, Reductions); 3] {
    let part = |turn: u64| PARTS[(turn % PARTS.len() as u64) as usize];
    let (one, field) = part(turn);
    let mut alone = Reductions::NONE;
    *field(&mut alone) = true;
    let (other, field) = part(turn / PARTS.len() as u64);
    let mut without = Reductions::ALL;
    *field(&mut without) = false;
    [
        ("all reductions".to_string(), Reductions::ALL),
        (format!("{one} alone"), alone),
        (format!("all but {other}"), without),
    ]
}

/// Compares the searches of a case. `turn` selects which of the rarer ones take part.
pub fn compare(case: &Case, flaw: Option<Flaw>, most: usize, turn: u64) -> Compared {
    let Some(plain) = reach(case, Reductions::NONE, None, most, None) else {
        return Compared::TooLarge;
    };
    if let Some(difference) = commuting(case, flaw) {
        return Compared::Differ(difference);
    }
    let mut reduced = 0;
    for (at, (search, reductions)) in ways(turn).into_iter().enumerate() {
        let Some(other) = reach(case, reductions, flaw, most, None) else {
            let what = format!("more than {most} states, where {} are enough", plain.states);
            return Compared::Differ(Difference { search, what });
        };
        if at == 0 {
            reduced = other.states;
        }
        if let Some(what) = differs(case, &plain, (&other, reductions, flaw), most) {
            return Compared::Differ(Difference { search, what });
        }
    }
    let expected = Expected {
        withheld: plain.withheld,
        states: reduced,
        bad: plain.objections.first(),
        is_known: &|objection| plain.objections.contains(objection),
    };
    let all = || model(case, Reductions::ALL, flaw);
    if let Some(difference) = by_strategy(&all, &expected, turn) {
        return Compared::Differ(difference);
    }
    let outcomes = plain.outcomes.len() + plain.objections.len();
    Compared::Agree { plain: plain.states, reduced, outcomes, interpreted: None }
}

fn differs(
    case: &Case,
    plain: &Reach,
    (other, reductions, flaw): (&Reach, Reductions, Option<Flaw>),
    most: usize,
) -> Option<String> {
    if let Some(missed) = plain.objections.difference(&other.objections).next() {
        return Some(format!("never objects that `{missed}`"));
    }
    if let Some(made_up) = other.objections.difference(&plain.objections).next() {
        return Some(format!("objects that `{made_up}`, which cannot be"));
    }
    let in_words = |reductions, flaw, what| {
        let again = reach(case, reductions, flaw, most, Some(what));
        again.and_then(|reach| reach.told).unwrap_or_else(|| format!("{what:?}"))
    };
    let may_miss = !plain.objections.is_empty();
    let missed = plain.outcomes.difference(&other.outcomes).next().filter(|_| !may_miss);
    if let Some(missed) = missed {
        return Some(format!("never comes to {}", in_words(Reductions::NONE, None, *missed)));
    }
    if let Some(made_up) = other.outcomes.difference(&plain.outcomes).next() {
        let words = in_words(reductions, flaw, *made_up);
        return Some(format!("comes to what cannot be, {words}"));
    }
    match (plain.withheld, other.withheld) {
        (true, false) => Some("does not say that something was withheld".to_string()),
        (false, true) => Some("says that something was withheld, and nothing was".to_string()),
        _ => None,
    }
}

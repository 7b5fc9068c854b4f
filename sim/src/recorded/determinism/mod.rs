//! Checks that a run is a function of its seed: runs it several times, under each host and from its own recording,
//! and reports the first step that differs, with both versions.

use crate::run::difference::{Difference, Side, Way};
use crate::run::record::{Closed, Keep};
use crate::run::{HostKind, RunReport};
use std::ops::Range;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::step::Step;
use vivarium_model::time::Time;

/// Makes a run in the given way. The second argument is the first run, if there is one (to replay it), the third what
/// to keep.
pub(crate) type GetRun<'a> = dyn Fn(Way, Option<&RunReport>, Keep) -> Closed + 'a;

/// Compares the run under the first host with a second one, with those under the other hosts, and with a replay of
/// its own recording.
///
/// # Errors
/// The first difference.
pub(crate) fn compare(
    seed: u64,
    hosts: &[HostKind],
    get: &GetRun<'_>,
) -> Result<Closed, Box<Difference>> {
    let first = *hosts.first().expect("at least one host");
    let way = Way::Seed { host: first, time: 1 };
    let one = get(way, None, everything(0..0));
    let again = Way::Seed { host: first, time: 2 };
    let others = hosts[1..].iter().map(|host| Way::Seed { host: *host, time: 1 });
    let recording = hosts.last().map(|host| Way::Recording(*host));
    for other_way in [again].into_iter().chain(others).chain(recording) {
        let other = get(other_way, Some(&one.report), everything(0..0));
        if let Some(at) = first_difference(&one, &other) {
            let look = |way, closed: &Closed| look_again(way, closed, at, &one, get);
            return Err(Box::new(Difference {
                seed,
                step: at as u64 + 1,
                one: look(way, &one),
                other: look(other_way, &other),
            }));
        }
    }
    Ok(one)
}

/// Compares a run with a second one of the same seed, including the words of an objection; `get` repeats it for the
/// text. (The objection of a replay can have other words, because it knows less about the end of the run.)
///
/// # Errors
/// The first difference.
pub(crate) fn repeated(
    one: &Closed,
    again: &Closed,
    host: HostKind,
    get: &GetRun<'_>,
) -> Result<(), Box<Difference>> {
    let end = || (one.report.violation != again.report.violation).then_some(one.hashes.len());
    let Some(at) = first_difference(one, again).or_else(end) else { return Ok(()) };
    let look = |time, closed: &Closed| look_again(Way::Seed { host, time }, closed, at, one, get);
    let (seed, step) = (one.report.seed, at as u64 + 1);
    Err(Box::new(Difference { seed, step, one: look(1, one), other: look(2, again) }))
}

fn everything(texts: Range<u64>) -> Keep {
    Keep { steps: true, hashes: true, texts, ..Keep::default() }
}

/// Returns the position of the first step that differs in its time, in itself, or in the hash after it.
fn first_difference(one: &Closed, other: &Closed) -> Option<usize> {
    let steps = one.hashes.len().max(other.hashes.len());
    let differing = (0..steps).find(|at| step_at(one, *at) != step_at(other, *at));
    // All steps are equal, but not what preceded the first or followed the last one.
    let unequal = one.report.hash != other.report.hash
        || one.report.violation.is_some() != other.report.violation.is_some();
    differing.or(unequal.then_some(steps))
}

fn step_at(closed: &Closed, at: usize) -> Option<(Time, Step, Fingerprint)> {
    let (time, step) = *closed.report.recorded.get(at)?;
    Some((time, step, *closed.hashes.get(at)?))
}

/// Repeats a run for the text of one step.
fn look_again(way: Way, closed: &Closed, at: usize, first: &Closed, get: &GetRun<'_>) -> Side {
    let step = step_at(closed, at);
    let wanted = at as u64..at as u64 + 1;
    let again = get(way, Some(&first.report), everything(wanted));
    let same = step.is_some() && step_at(&again, at) == step;
    let caused = if same { again.texts.into_iter().next() } else { None };
    Side { way, step, caused }
}

#[cfg(test)]
mod tests;

//! Raises the number of sleeps and timeouts that may end early, if a search is inconclusive because of it.

use super::super::Answer;
use super::{Question, symmetry};
use std::time::Instant;
use vivarium_model::verdict::Verdict;
use vivarium_sim::budget::Account;
use vivarium_sim::every::Observer;
use vivarium_sim::every::programs::TIMERS_KEPT;

/// The numbers that are tried, one after the other, if none is given. Each takes a search of its own, and a number
/// that is larger than needed gives the same answer; so the numbers grow faster than by one.
const TRIED: [u8; 7] = [1, 2, 3, 4, 6, 8, 12];
const MOST: u8 = TRIED[TRIED.len() - 1];

/// To find the number that would suffice, a search may take `WORTH` times the states of the requested search, plus
/// `WORTH_ANYWAY`.
const WORTH: u64 = 10;
const WORTH_ANYWAY: u64 = 100_000;

/// Searches, and searches again with more early timers as long as the bound on them kept the search from a verdict.
/// `begins` is called with each question before its search.
///
/// If no number was given, returns the first answer that this bound does not limit. If a number was given, returns
/// the answer for it, with the number that would suffice. The time limit covers all searches together.
pub(super) fn raised(
    question: Question,
    observer: &dyn Observer,
    begins: &dyn Fn(&Question),
) -> Answer {
    let asked = question.exploration.clone();
    let said = asked.said(Account::Timers);
    let (mut question, mut answer) = symmetry::settled(question, observer, begins);
    for timers in TRIED.into_iter().filter(|tried| *tried > said.unwrap_or(0)) {
        if !is_wanting(&answer) {
            return answer;
        }
        // Several processes must decide alike. Their next search ends at once if the time of one of them is over.
        let is_alone = question.exploration.processes() == 1;
        if is_alone && asked.options.until().is_some_and(|until| Instant::now() >= until) {
            return answer;
        }
        let mut options = asked.options.clone();
        if said.is_some() {
            let worth = WORTH * answer.report.figures.distinct + WORTH_ANYWAY;
            options.max_states = Some(options.max_states.map_or(worth, |most| most.min(worth)));
        }
        question = question.with_timers(timers, options);
        begins(&question);
        let next;
        (question, next) = symmetry::settled(question, observer, begins);
        if said.is_none() {
            answer = next;
        } else if !is_wanting(&next) {
            match &next.report.verdict {
                Verdict::Exhausted { .. } => {
                    tell(&mut answer, &format!("{timers} would be enough"))
                }
                Verdict::Violated(_) => {
                    tell(&mut answer, &format!("with {timers} a property is violated"))
                }
                _ => {}
            }
            return answer;
        }
    }
    if is_wanting(&answer) {
        let most = MOST.max(said.unwrap_or(0));
        tell(&mut answer, &format!("{most} are not enough"));
    }
    answer
}

/// Returns true if there were too few early timers.
fn is_wanting(answer: &Answer) -> bool {
    matches!(&answer.report.verdict, Verdict::Bounded { by, .. } if by == TIMERS_KEPT)
}

/// Adds to the bound's description how many timers would suffice.
fn tell(answer: &mut Answer, enough: &str) {
    if let Verdict::Bounded { by, .. } = &mut answer.report.verdict {
        *by = format!("{TIMERS_KEPT} ({enough})");
    }
}

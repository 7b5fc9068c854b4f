//! How many sleeps and timeouts may end early, where a search is inconclusive for want of them.

use super::super::Answer;
use super::Question;
use std::time::Instant;
use vivarium_model::verdict::Verdict;
use vivarium_sim::budget::Account;
use vivarium_sim::every::Observer;
use vivarium_sim::every::programs::TIMERS_KEPT;

/// So many are tried, one after the other, where nobody says how many. Each takes a search of its own, and one
/// that needs fewer than it may have comes to the same: so the numbers grow faster than by one.
const TRIED: [u8; 7] = [1, 2, 3, 4, 6, 8, 12];
const MOST: u8 = TRIED[TRIED.len() - 1];

/// To tell which number would be enough is worth a search with so many times the states of the one that was
/// asked for, and this many more.
const WORTH: u64 = 10;
const WORTH_ANYWAY: u64 = 100_000;

/// Searches, and where timers had to be kept from ending early, again with more that may; `begins` is
/// told of each question before it is searched.
///
/// Who has not said how many may gets the first answer that is none for want of them. Who has said it gets
/// the answer to that, with the number that would be enough. All of it together keeps within the time.
pub(super) fn raised(
    question: Question,
    observer: &dyn Observer,
    begins: &dyn Fn(&Question),
) -> Answer {
    let asked = question.exploration.clone();
    let said = asked.said(Account::Timers);
    let mut answer = question.answer(observer);
    let mut question = question;
    for timers in TRIED.into_iter().filter(|tried| *tried > said.unwrap_or(0)) {
        if !is_wanting(&answer) {
            return answer;
        }
        if asked.options.until().is_some_and(|until| Instant::now() >= until) {
            return answer;
        }
        let mut options = asked.options.clone();
        if said.is_some() {
            let worth = WORTH * answer.report.figures.distinct + WORTH_ANYWAY;
            options.max_states = Some(options.max_states.map_or(worth, |most| most.min(worth)));
        }
        question = question.with_timers(timers, options);
        begins(&question);
        let next = question.answer(observer);
        if said.is_none() {
            answer = next;
        } else if !is_wanting(&next) {
            match &next.report.verdict {
                Verdict::Exhausted { .. } => {
                    tell(&mut answer, &format!("{timers} would be enough"))
                }
                Verdict::Violated(_) => {
                    tell(&mut answer, &format!("with {timers} a property falls"))
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

/// Whether there were too few.
fn is_wanting(answer: &Answer) -> bool {
    matches!(&answer.report.verdict, Verdict::Bounded { by, .. } if by == TIMERS_KEPT)
}

/// Adds to what bounds the search how many it would take.
fn tell(answer: &mut Answer, enough: &str) {
    if let Verdict::Bounded { by, .. } = &mut answer.report.verdict {
        *by = format!("{TIMERS_KEPT} ({enough})");
    }
}

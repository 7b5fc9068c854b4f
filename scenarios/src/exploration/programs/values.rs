//! Values that a search does not vary: random numbers, session ids, and the times of znodes.
//!
//! Histories of programs are replayed with other values ([`vivarium_sim::every::trie::ToldAgain`]). If a program
//! depends on random numbers or on session ids, the search is repeated with several numbers for each draw, and once
//! for each order of the ids. If a program depends on the times of znodes, the verdict is inconclusive, because a
//! search has no clocks of servers.

use super::super::Answer;
use super::super::varied::Varied;
use super::{Question, timers};
use vivarium_model::session_order::SessionOrder;
use vivarium_model::verdict::Verdict;
use vivarium_reports::exploration::{Dimension, Figures};
use vivarium_sim::every::Observer;
use vivarium_sim::every::trie::{Activity, ToldAgain, Valued};

/// Searches, and searches again for the values that programs depend on; `begins` is called with each question before
/// its search. The time limit covers all searches together.
pub(super) fn raised(
    question: Question,
    observer: &dyn Observer,
    begins: &dyn Fn(&Question),
) -> Answer {
    let mut asking = Asking { asked: question.anew(), observer, begins };
    let mut varied = Varied::default();
    let mut answer = timers::raised(question, observer, begins);
    loop {
        let goes_by = |kind| answer.told_again.goes_by.contains_key(&kind);
        let stays = answer.report.verdict.violation().is_some() || answer.is_stopped;
        if stays {
            break;
        }
        if goes_by(Valued::RandomNumbers) && !varied.draws {
            varied.draws = true;
        } else if goes_by(Valued::SessionIds) && varied.order.is_none() {
            varied.order = Some(SessionOrder::default());
        } else {
            break;
        }
        varied.because.extend(answer.told_again.goes_by.clone());
        answer = match varied.order {
            None => asking.once(&varied),
            Some(_) => asking.in_each_order(&varied),
        };
    }
    if let (Some(sentence), Verdict::Exhausted { states, .. }) =
        (answer.told_again.goes_by.get(&Valued::ZnodeTimes), &answer.report.verdict)
    {
        let by = format!(
            "a program that depends on the times of znodes (ctime, mtime), which a search does not vary but a sweep \
             does: {sentence}"
        );
        answer.report.verdict = Verdict::Bounded { by, states: *states, frontier: 0 };
    }
    answer
}

/// A question that is searched again.
struct Asking<'a> {
    asked: Question,
    observer: &'a dyn Observer,
    begins: &'a dyn Fn(&Question),
}

impl Asking<'_> {
    fn once(&mut self, varied: &Varied) -> Answer {
        let question = self.asked.with_values(varied.clone());
        (self.begins)(&question);
        timers::raised(question, self.observer, self.begins)
    }

    /// Makes one search for each order of the session ids. Returns the first answer that is not "held"; otherwise,
    /// the sum of all answers.
    fn in_each_order(&mut self, varied: &Varied) -> Answer {
        let mut whole: Option<Answer> = None;
        for order in SessionOrder::all(self.asked.run.clients()) {
            let varied = Varied { order: Some(order), ..varied.clone() };
            let mut answer = self.once(&varied);
            if let Some(before) = whole {
                answer.take_in(before);
            }
            let goes_on = matches!(answer.report.verdict, Verdict::Exhausted { .. })
                && !answer.told_again.goes_by.keys().any(|kind| *kind != Valued::ZnodeTimes);
            if !goes_on {
                return answer;
            }
            whole = Some(answer);
        }
        whole.expect("there is at least one order")
    }
}

impl Answer {
    /// Adds the figures of another search of the same question.
    fn take_in(&mut self, before: Answer) {
        let (now, then) = (&mut self.report.figures, before.report.figures);
        *now = Figures {
            generated: now.generated + then.generated,
            distinct: now.distinct + then.distinct,
            // Only the last search can have been stopped.
            in_all: now.in_all.map(|in_all| in_all.after(then.distinct)),
            depth: now.depth.max(then.depth),
            peak_frontier: now.peak_frontier.max(then.peak_frontier),
            visited_bytes: now.visited_bytes.max(then.visited_bytes),
            pieces_bytes: now.pieces_bytes.max(then.pieces_bytes),
            programs: now.programs.zip(then.programs).map(|(now, then)| now + then),
            wall: now.wall + then.wall,
        };
        if let Verdict::Exhausted { states, depth } = &mut self.report.verdict {
            (*states, *depth) = (now.distinct, now.depth);
        }
        for (kind, sentence) in before.told_again.goes_by {
            self.told_again.goes_by.entry(kind).or_insert(sentence);
        }
    }
}

/// Returns the rows of the report about these values.
pub(super) fn dimensions(
    varied: &Varied,
    clients: u8,
    did: &Activity,
    told: &ToldAgain,
) -> [Dimension; 3] {
    let same = |kind: Valued, values: &str| match told.goes_by.contains_key(&kind) {
        true => format!("{values}; a program depends on them: {}", told.goes_by[&kind]),
        false => {
            format!("{values}; with other values, programs did the same along {}", along(told))
        }
    };
    let because = |kind: Valued, values: &str| match varied.because.get(&kind) {
        Some(sentence) => format!("{values}, because a program depends on the value: {sentence}"),
        None => values.to_string(),
    };
    let random = match varied.draws {
        _ if !did.draws => Dimension::new("random numbers", true, "no program draws one"),
        true => {
            let several =
                "each draw gives one of three numbers: odd and even ones, small and large";
            Dimension::new("random numbers", true, because(Valued::RandomNumbers, several))
        }
        false => {
            let own = "each draw gives a number of its own";
            Dimension::new("random numbers", false, same(Valued::RandomNumbers, own))
        }
    };
    let sessions = match varied.order {
        Some(_) => {
            let orders = SessionOrder::count(clients);
            let all =
                format!("{orders} orders: of any two ids, each is the larger one in some of them");
            Dimension::new("session ids", true, because(Valued::SessionIds, &all))
        }
        None => {
            let one = "in the order of the clients, later ones above";
            Dimension::new("session ids", false, same(Valued::SessionIds, one))
        }
    };
    let times = same(Valued::ZnodeTimes, "ctime and mtime are 0");
    [random, sessions, Dimension::new("times of znodes", false, times)]
}

/// Returns the claim that a verdict rests on if values were not varied.
pub(super) fn claim(told: &ToldAgain) -> String {
    format!(
        "if no property depends on the values of random numbers, session ids or times of znodes, and no program does \
         so other than along {}",
        along(told)
    )
}

fn along(told: &ToldAgain) -> String {
    use vivarium_reports::numbers::grouped;
    match told.histories == told.of {
        true => format!("all {} of their histories", grouped(told.of)),
        false => format!("{} of their {} histories", grouped(told.histories), grouped(told.of)),
    }
}

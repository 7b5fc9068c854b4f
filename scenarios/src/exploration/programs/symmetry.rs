//! Clients that are taken for each other, until the search finds that they can be told apart.

use super::super::{Answer, Exploration};
use super::Question;
use vivarium_model::id::ClientId;
use vivarium_model::verdict::Verdict;
use vivarium_sim::Scenario;
use vivarium_sim::every::Observer;
use vivarium_sim::every::programs::Apart;

/// Returns the classes of clients that a search takes for each other.
pub(super) fn classes(
    scenario: &Scenario,
    clients: u8,
    exploration: &Exploration,
) -> Vec<Vec<ClientId>> {
    if !exploration.symmetry || !exploration.reductions {
        return Vec::new();
    }
    let mut classes = scenario.settings.classes(clients);
    for Apart { clients: (one, other), .. } in &exploration.apart {
        // Often the first client has a part of its own.
        let alone = one.min(other);
        classes.iter_mut().for_each(|class| class.retain(|client| client != alone));
    }
    classes.retain(|class| class.len() > 1);
    classes
}

/// Searches, and searches again as long as clients can be told apart that were taken for each other. `begins` is called
/// with each further question before its search. Returns the last question and its answer.
pub(super) fn settled(
    mut question: Question,
    observer: &dyn Observer,
    begins: &dyn Fn(&Question),
) -> (Question, Answer) {
    loop {
        let answer = question.answer(observer);
        let Some(apart) = answer.apart.clone() else {
            let apart = question.exploration.apart.clone();
            return (question, doubted(answer, &apart));
        };
        question = question.telling_apart(apart);
        begins(&question);
    }
}

/// Returns the answer without "held" if a property objected before clients were told apart, and not afterwards: then it is
/// not always the same.
fn doubted(mut answer: Answer, apart: &[Apart]) -> Answer {
    let objected = apart.iter().find_map(|apart| apart.objection.as_ref());
    if let (Some(objection), Verdict::Exhausted { states, .. }) = (objected, &answer.report.verdict)
    {
        let by = format!(
            "a property that objected once, and not when the same was searched again ({objection})"
        );
        answer.report.verdict = Verdict::Bounded { by, states: *states, frontier: 0 };
    }
    answer
}

/// Returns what the report says about the order of clients, after their number.
pub(super) fn in_words(classes: &[Vec<ClientId>], apart: &[Apart]) -> String {
    let mut says = String::new();
    if !classes.is_empty() {
        let class = |class: &Vec<ClientId>| {
            let numbers: Vec<String> = class.iter().map(|client| client.0.to_string()).collect();
            let (last, others) = numbers.split_last().expect("a class has two");
            format!("clients {} and {last}", others.join(", "))
        };
        let all: Vec<String> = classes.iter().map(class).collect();
        says = format!(
            "; states that differ only in which of {} is which count as one",
            all.join(", or which of ")
        );
    }
    if let Some(Apart { clients: (one, other), how, .. }) = apart.first() {
        says.push_str(&format!("; {one} and {other} can be told apart: {how}"));
    }
    says
}

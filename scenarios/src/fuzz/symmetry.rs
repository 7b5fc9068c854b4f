//! Compares searches that take clients for each other with searches that do not: every state of the latter must be an
//! image of a state of the former, and all outcomes must be the same.

use super::case::{Case, Statement, Watched};
use super::difference::Difference;
use super::reach::{Reach, model_with, weighed};
use super::record::Ends;
use std::collections::BTreeSet;
use vivarium_model::event::Event;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::id::ClientId;
use vivarium_model::property::{Asked, Monitor, Objection, View};
use vivarium_model::txn::TxnBody;
use vivarium_sim::every::programs::{Flaw, Reductions};

/// A property that may go by the numbers of clients.
#[derive(Clone, Copy, Hash)]
struct Numbered {
    by: By,
    heard: u16,
}

#[derive(Clone, Copy, Hash, PartialEq)]
enum By {
    /// Objects if the second client observes something twice in a row.
    Objection,
    /// Counts what the first client observes.
    State,
    /// Objects at the end if the second client had the first session.
    End,
}

impl Monitor for Numbered {
    fn name(&self) -> &'static str {
        "numbered"
    }

    fn asked(&self) -> Asked {
        Asked::Everywhere
    }

    fn concerns(&self, event: &Event) -> bool {
        match self.by {
            By::End => begins(event).is_some(),
            By::Objection | By::State => matches!(event, Event::Observed { .. }),
        }
    }

    fn minds_order(&self, event: &Event) -> bool {
        self.concerns(event)
    }

    fn event(&mut self, _view: View<'_>, event: &Event) -> Result<(), Objection> {
        if let (By::End, 0, Some(client)) = (self.by, self.heard, begins(event)) {
            self.heard = client.0;
        }
        let Event::Observed { client, .. } = event else { return Ok(()) };
        match self.by {
            By::Objection => {
                let before = std::mem::replace(&mut self.heard, client.0);
                if (before, client.0) == (2, 2) {
                    return Err(Objection::new(self.name(), "again"));
                }
            }
            By::State if *client == ClientId(1) => self.heard += 1,
            By::State | By::End => {}
        }
        Ok(())
    }

    fn end(&mut self, _view: View<'_>) -> Result<(), Objection> {
        match self.by == By::End && self.heard == 2 {
            true => Err(Objection::new(self.name(), "first")),
            false => Ok(()),
        }
    }
}

/// Returns the client of a session that begins.
fn begins(event: &Event) -> Option<ClientId> {
    let Event::Committed { txn, .. } = event else { return None };
    matches!(txn.body, TxnBody::CreateSession { .. }).then(|| txn.session.client())
}

/// Returns how a search that takes clients for each other differs. `turn` selects whether all clients have the same
/// program or the last one has a slightly different one, and whether a property goes by their numbers.
pub(super) fn symmetry(
    case: &Case,
    flaw: Option<Flaw>,
    most: usize,
    turn: u64,
) -> Option<Difference> {
    let mut case = Case { chroot: false, deletes: false, ..case.clone() };
    let others: Vec<Statement> = case.programs[1..].concat();
    let first = case.programs[0].clone();
    case.programs.iter_mut().for_each(|program| program.clone_from(&first));
    if turn.is_multiple_of(3) {
        let last = case.programs.last_mut().expect("there is one");
        differ(last, &others, turn / 3);
    }
    let by = [None, Some(By::Objection), None, Some(By::State), None, Some(By::End)];
    let by = by[(turn / 3 % 6) as usize];
    if by.is_some() {
        // Such a property has nothing to go by if nothing is observed in an order.
        case.watched = Watched::Order;
    }
    if by == Some(By::End) {
        // Where there are few ends, it is not likely that each of them is reached with the clients in both orders.
        case.programs.iter_mut().for_each(|program| program.truncate(1));
    }
    let reductions = if turn.is_multiple_of(2) { Reductions::NONE } else { Reductions::ALL };
    let ends = || (Ends::default(), by.map(|by| Numbered { by, heard: 0 }));
    let made = |(ends, numbered): &(Ends, Option<Numbered>)| {
        let monitors = numbered.iter().map(|numbered| Box::new(*numbered) as Box<dyn Monitor>);
        model_with(&case, reductions, flaw, ends, monitors)
    };
    let (plain, reduced) = (ends(), ends());
    let model = made(&plain);
    let (all, _) = weighed(&model, &plain.0, most, |_| 1)?;
    let clients: Vec<ClientId> = (0..case.programs.len()).map(ClientId::at).collect();
    let model = made(&reduced).symmetric(&[clients]);
    let images = |state: &_| model.distinct_images(state) as u64;
    let (fewer, _) = weighed(&model, &reduced.0, most, images)?;
    // A search without symmetry follows.
    if model.apart().is_some() {
        return None;
    }
    let what = differs(&all, &fewer)?;
    let search = format!("with clients taken for each other (turn {turn})");
    Some(Difference { search, what })
}

/// Makes a program differ in one place from that of the other clients.
fn differ(program: &mut Vec<Statement>, others: &[Statement], turn: u64) {
    let draw = Fingerprint::of(&("differ", turn)).0 as usize;
    let other = others.get(draw / 64 % others.len().max(1)).cloned();
    match (other, program.len()) {
        (Some(other), length) if length > 0 && !draw.is_multiple_of(4) => {
            program[draw / 4 % length] = other
        }
        (_, 2..) => drop(program.pop()),
        (other, _) => program.extend(other),
    }
}

fn differs(all: &Reach, fewer: &Reach) -> Option<String> {
    if fewer.states != all.states {
        return Some(format!(
            "{} states with all images, and {} without",
            fewer.states, all.states
        ));
    }
    let outcomes = |reach: &Reach| {
        reach.outcomes.iter().map(|outcome| unnumbered(outcome)).collect::<BTreeSet<_>>()
    };
    let (one, other) = (outcomes(all), outcomes(fewer));
    match one.symmetric_difference(&other).next() {
        Some(outcome) => Some(format!("only one of the two reaches `{outcome}`")),
        None => (all.withheld != fewer.withheld).then(|| "withholds otherwise".to_string()),
    }
}

/// Returns an outcome as it is, or an objection without the numbers of clients in it: one of its images is enough.
fn unnumbered(outcome: &str) -> String {
    match outcome.starts_with("[[") {
        true => outcome.to_string(),
        false => outcome.chars().filter(|letter| !letter.is_ascii_digit()).collect(),
    }
}

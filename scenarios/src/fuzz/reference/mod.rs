//! The rules of the service grain again, in their plainest form.
//!
//! A baseline for the explorer that shares nothing with it except the words of a case and the names of errors: no
//! handle, client machine, tree, watch table or log of the model. Programs are interpreted instead of run. A state is
//! written out in full, only equal states are merged, and every step is tried everywhere. So this search is slow, and
//! suits only the smallest cases.
//!
//! | File | Content |
//! |---|---|
//! | `tree` | znodes, the effect of writes on them, and the watches that these fire |
//! | `client` | a session at its client: requests, connection, watches, losses |
//! | `program` | statements, taken one by one |
//! | `world` | servers, the enabled steps, and faults |
//! | this file | the search |
//!
//! ACLs and identities, resources, persistent watches, the removal of watches, and chroots are not supported:
//! [`is_covered`] tells whether a case is.

mod client;
mod program;
mod task;
mod tree;
mod world;

use super::case::{Call, Case, Statement, Watching};
use std::collections::{BTreeSet, HashSet, VecDeque};
use std::sync::Arc;
use world::World;

/// What a case can reach, in the words of the explorer's outcomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The ends of runs, stuck states and violations.
    pub outcomes: BTreeSet<String>,
    /// Whether a timer was withheld somewhere.
    pub withheld: bool,
    /// Distinct states.
    pub states: u64,
}

/// Returns true if the reference supports the whole case.
pub fn is_covered(case: &Case) -> bool {
    let call = |call: &Call| {
        !matches!(
            call,
            Call::CountAll(_)
                | Call::GetAcl(_)
                | Call::SetAcl(_)
                | Call::Resource
                | Call::Auth
                | Call::WrongAuth
        )
    };
    let statement = |statement: &Statement| match statement {
        Statement::Do(one)
        | Statement::Retry(one)
        | Statement::Timeout(one)
        | Statement::Cancellable(one)
        | Statement::Spawn(one)
        | Statement::AwaitOr(one) => call(one),
        Statement::Join(one, other) | Statement::Race(one, other) => call(one) && call(other),
        Statement::Watch(how, _) => {
            matches!(how, Watching::Exists | Watching::Data | Watching::Children)
        }
        Statement::Unwatch(_) => false,
        _ => true,
    };
    !case.chroot && case.programs.iter().flatten().all(statement)
}

/// Searches everything that can happen. Returns `None` if there are more than `most` states.
pub fn reference(case: &Case, most: usize) -> Option<Reference> {
    let (mut seen, mut open) = (HashSet::new(), VecDeque::new());
    let mut found = Reference { outcomes: BTreeSet::new(), withheld: false, states: 0 };
    let beginning = Arc::new(World::of(case));
    seen.insert(Arc::clone(&beginning));
    open.push_back(beginning);
    while let Some(world) = open.pop_front() {
        let steps = world.steps(&mut found);
        for (client, step) in steps {
            let mut next = World::clone(&world);
            next.take(case, client, step);
            let next = Arc::new(next);
            if seen.insert(Arc::clone(&next)) {
                open.push_back(next);
            }
        }
        if seen.len() > most {
            return None;
        }
    }
    found.states = seen.len() as u64;
    Some(found)
}

/// Translates an outcome of the explorer into the words of the reference, which says of a stuck state only which
/// clients wait.
pub(super) fn in_its_words(outcome: &str) -> String {
    let Some(waiting) = outcome.strip_prefix("progress: nothing can happen any more, but ") else {
        return outcome.to_string();
    };
    let clients = (1..=9).map(|client| format!("client {client}"));
    let waits = clients.filter(|client| waiting.contains(&format!("{client} waits for")));
    format!("standstill of {}", waits.collect::<Vec<_>>().join(", "))
}

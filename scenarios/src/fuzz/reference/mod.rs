//! The rules of the service grain once more, as plainly as they can be said.
//!
//! A measure for the explorer that shares nothing with it but the words of a case and the names of
//! errors: no handle, no client machine, no tree, no watch table, no log of the model; programs are
//! not run but interpreted. A state is written out in full, two states are one if they are equal, and
//! every step is tried everywhere. So it is slow, and for the smallest cases only.
//!
//! | File | What |
//! |---|---|
//! | `tree` | znodes, what writes do to them, which watches that fires |
//! | `client` | a session at its client: requests, connection, watches, losses |
//! | `program` | statements, taken one by one |
//! | `world` | servers, what can happen next, and faults |
//! | here | the search |
//!
//! Left out are ACLs and identities, resources, persistent watches, the removal of
//! watches, and paths that begin elsewhere: [`is_covered`] says so of a case.

mod client;
mod program;
mod task;
mod tree;
mod world;

use super::case::{Call, Case, Statement, Watching};
use std::collections::{BTreeSet, HashSet, VecDeque};
use std::sync::Arc;
use world::World;

/// All that a case can come to, in the words of the explorer's outcomes; `None` if that takes more than
/// so many states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The ends of runs, standstills and violations.
    pub outcomes: BTreeSet<String>,
    /// Whether a timer had to be kept from ending somewhere.
    pub withheld: bool,
    /// Distinct states.
    pub states: u64,
}

/// Whether the reference knows all that a case asks for.
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

/// Searches all that can happen.
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

/// An outcome of the explorer in the words of the reference: of a standstill only who waits.
pub(super) fn in_its_words(outcome: &str) -> String {
    let Some(waiting) = outcome.strip_prefix("progress: nothing can happen any more, but ") else {
        return outcome.to_string();
    };
    let clients = (1..=9).map(|client| format!("client {client}"));
    let waits = clients.filter(|client| waiting.contains(&format!("{client} waits for")));
    format!("standstill of {}", waits.collect::<Vec<_>>().join(", "))
}

//! `published-commit-…`: two-phase commit as ZooKeeper's recipes page and its translations describe it.
//!
//! Each is expected to violate a property, which the program's module names.

use super::{Entry, Group, Switches, recipe};
use std::sync::Arc;
use vivarium_model::setup::Setup;
use vivarium_model::time::Duration;
use vivarium_recipes::published::two_phase_commit::{PublishedCommit, Text, published_commit};
use vivarium_recipes::two_phase_commit;
use vivarium_sim::random::{Random, Ratio, Seeds};
use vivarium_sim::{Choice, Explored, Run, Scenario};

/// The parent of the transaction.
const DIRECTORY: &str = "/commit";

/// The version in which votes may be rewritten.
pub(super) fn rewritable() -> Entry {
    Entry {
        name: "published-commit-rewritable",
        summary: "two-phase commit of the recipes page: a vote may be written again",
        group: Group::Published,
        seeds: 1_000,
        mutants: Vec::new(),
        build: |switches| build(&rewritable(), switches, Text::Rewritable),
    }
}

/// The version in which votes are ephemeral.
pub(super) fn ephemeral() -> Entry {
    Entry {
        name: "published-commit-ephemeral",
        summary: "two-phase commit of the recipes page: a vote goes with its site",
        group: Group::Published,
        seeds: 1_000,
        mutants: Vec::new(),
        build: |switches| build(&ephemeral(), switches, Text::Ephemeral),
    }
}

/// The version in which votes have content from the start.
pub(super) fn prefilled() -> Entry {
    Entry {
        name: "published-commit-prefilled",
        summary: "two-phase commit of a translation: votes have a content from the start",
        group: Group::Published,
        seeds: 1_000,
        mutants: Vec::new(),
        build: |switches| build(&prefilled(), switches, Text::Prefilled),
    }
}

fn build(entry: &Entry, switches: &Switches, text: Text) -> Scenario {
    let programs = move |run: &Run| {
        let work = (1..=run.clients()).map(|client| work(run, client, text));
        work.map(published_commit).collect()
    };
    let monitors = |_drawn: &Run| two_phase_commit::monitors(DIRECTORY);
    Scenario {
        rounds: Choice::from(1),
        explored: Explored::Programs { setup: Setup::of([DIRECTORY]).expect("it is a znode") },
        ..recipe::scenario(entry, switches, programs, monitors)
    }
}

/// Returns the work of a client. The last client is also the coordinator.
fn work(run: &Run, client: u8, text: Text) -> PublishedCommit {
    let site = |client: u8| -> Arc<str> { client.to_string().into() };
    let lean = PublishedCommit {
        text,
        transaction: format!("{DIRECTORY}/0").into(),
        sites: (1..=run.clients()).map(site).collect(),
        site: site(client),
        coordinates: client == run.clients(),
        patience: None,
        cancel: run.search.is_some_and(|search| search.cancels > 0),
        close: false,
    };
    if run.is_explored() {
        return lean;
    }
    let random: &mut Random = &mut Seeds::new(run.seed).stream("commit work", client.into());
    let impatient = random.chance(Ratio::one_in(3));
    let patience = random.span(Duration::from_millis(200), Duration::from_secs(5));
    PublishedCommit { patience: impatient.then_some(patience), close: true, ..lean }
}

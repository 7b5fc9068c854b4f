//! `two-phase-commit`: sites vote on transactions, one after the other, and obey one decision, under all faults.
//!
//! There are three entries for three protocols: all-to-all, where every client is a site and the last one begins; and
//! with a coordinator, the last client, which is no site, without and with detection of failures. Some clients are
//! impatient or can be cancelled, and then propose to abort.
//!
//! A search has one transaction, for which all sites vote, in a directory that exists already. The faults decide
//! whether it is committed everywhere or aborted everywhere.

use super::{Entry, Group, Mutant, Switches, recipe};
use std::sync::Arc;
use vivarium_model::setup::Setup;
use vivarium_model::time::Duration;
use vivarium_recipes::two_phase_commit::{
    self, CommitWork, Decision, Mutant as CommitMutant, Mutants, Part, Way, commit_worker,
};
use vivarium_sim::random::{Random, Ratio, Seeds};
use vivarium_sim::{Choice, Explored, Run, Scenario};

/// The parent of the transactions.
const DIRECTORY: &str = "/commit";

/// The mutants of the all-to-all protocol.
const OF_ALL: [CommitMutant; 7] = [
    CommitMutant::TwoPcMutableVote,
    CommitMutant::TwoPcPrefilledVote,
    CommitMutant::TwoPcChildByChild,
    CommitMutant::TwoPcDecisionIgnored,
    CommitMutant::TwoPcDecisionOverwritten,
    CommitMutant::TwoPcLostReplyIsAbort,
    CommitMutant::TwoPcWatchAfterRead,
];

/// The mutants of the protocol with a coordinator, which has its own list.
const OF_COORDINATOR: [CommitMutant; 6] = [
    CommitMutant::TwoPcMutableVote,
    CommitMutant::TwoPcPrefilledVote,
    CommitMutant::TwoPcDecisionIgnored,
    CommitMutant::TwoPcDecisionOverwritten,
    CommitMutant::TwoPcLostReplyIsAbort,
    CommitMutant::TwoPcWatchAfterRead,
];

/// The mutants of the protocol with detection.
const OF_DETECTION: [CommitMutant; 4] = [
    CommitMutant::TwoPcEphemeralVote,
    CommitMutant::TwoPcUnilateralAbort,
    CommitMutant::TwoPcDecisionIgnored,
    CommitMutant::TwoPcDecisionOverwritten,
];

fn listed(mutants: &[CommitMutant]) -> Vec<Mutant> {
    let row = |mutant: &CommitMutant| Mutant { name: mutant.name(), summary: mutant.summary() };
    mutants.iter().map(row).collect()
}

/// The entry in which every site counts the votes.
pub(super) fn all_to_all() -> Entry {
    Entry {
        name: "two-phase-commit",
        summary: "sites vote, and each counts the votes itself",
        group: Group::Recipe,
        seeds: 500,
        mutants: listed(&OF_ALL),
        build: |switches| build(&all_to_all(), switches, Way::AllToAll),
    }
}

/// The entry in which the coordinator counts the votes.
pub(super) fn coordinator() -> Entry {
    Entry {
        name: "two-phase-commit-coordinator",
        summary: "sites vote, and a coordinator counts",
        group: Group::Recipe,
        seeds: 500,
        mutants: listed(&OF_COORDINATOR),
        build: |switches| build(&coordinator(), switches, Way::Coordinator),
    }
}

/// The entry in which the coordinator counts the votes and detects failed sites.
pub(super) fn detection() -> Entry {
    Entry {
        name: "two-phase-commit-detection",
        summary: "sites vote, a coordinator counts, and a participant that dies is replaced",
        group: Group::Recipe,
        seeds: 500,
        mutants: listed(&OF_DETECTION),
        build: |switches| build(&detection(), switches, Way::Detecting),
    }
}

fn build(entry: &Entry, switches: &Switches, way: Way) -> Scenario {
    let mutants = Mutants::of_names(&switches.mutants);
    let programs = move |run: &Run| {
        let work = (1..=run.clients()).map(|client| work(run, client, way, mutants));
        work.map(commit_worker).collect()
    };
    let monitors = |_drawn: &Run| two_phase_commit::monitors(DIRECTORY);
    Scenario {
        rounds: Choice::from(1..=4),
        explored: Explored::Programs {
            setup: Setup::NONE.containers([DIRECTORY]).expect("it is a znode"),
        },
        ..recipe::scenario(entry, switches, programs, monitors)
    }
}

/// Returns the work of a client. The last client begins.
fn work(run: &Run, client: u8, way: Way, mutants: Mutants) -> CommitWork {
    let is_last = client == run.clients();
    let last_site = if way == Way::AllToAll { run.clients() } else { run.clients() - 1 };
    let sites = (1..=last_site).map(site).collect();
    let random: &mut Random = &mut Seeds::new(run.seed).stream("commit work", client.into());
    let part = |votes| match (way, is_last) {
        (Way::AllToAll, true) => Part::First(site(client), votes),
        (_, true) => Part::Coordinator,
        (_, false) => Part::Site(site(client), votes),
    };
    if let Some(search) = run.search {
        let lean = CommitWork::lean(DIRECTORY, sites, part(Vec::new()), way);
        return CommitWork {
            transactions: run.rounds,
            cancel: search.cancels > 0,
            mutants,
            ..lean
        };
    }
    let votes = (0..run.rounds).map(|_| match random.chance(Ratio::one_in(6)) {
        true => Decision::Abort,
        false => Decision::Commit,
    });
    let part = part(votes.collect());
    // A site that votes by an ephemeral has no way to give up.
    let can_give_up = !mutants.has(CommitMutant::TwoPcEphemeralVote);
    let impatient = random.chance(Ratio::one_in(3)) && can_give_up;
    let patience = random.span(Duration::from_millis(200), Duration::from_secs(5));
    CommitWork {
        transactions: run.rounds,
        patience: impatient.then_some(patience),
        cancel: random.chance(Ratio::one_in(3)) && can_give_up,
        close: true,
        mutants,
        ..CommitWork::lean(DIRECTORY, sites, part, way)
    }
}

fn site(client: u8) -> Arc<str> {
    client.to_string().into()
}

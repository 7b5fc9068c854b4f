//! What distinguishes faults whose headlines are equal.

use vivarium_model::step::{OldEpochs, Step, Tail, Unwritten};
use vivarium_model::words::plural;

/// Returns the details of a fault as sentences. Empty for a step whose headline says everything.
pub(super) fn details(step: &Step) -> Vec<String> {
    match *step {
        Step::Crash { tail, .. } => of_tail(tail),
        Step::BreakClient { to_server, to_client, .. } => {
            arrivals([(to_server, "to the server"), (to_client, "to the client")])
        }
        Step::BreakLearner { to_leader, to_learner, .. } => {
            arrivals([(to_leader, "to the leader"), (to_learner, "to the learner")])
        }
        Step::FsyncError { survive, rest, .. } => {
            let rest = match rest {
                Unwritten::Lost => None,
                Unwritten::Torn => Some("half of the next transaction is in the file"),
                Unwritten::Buffered => Some("the next write to the log writes the others too"),
            };
            survivors(survive).into_iter().chain(rest.map(str::to_owned)).collect()
        }
        _ => Vec::new(),
    }
}

fn of_tail(tail: Tail) -> Vec<String> {
    let epochs = match tail.epochs {
        OldEpochs::Neither => None,
        OldEpochs::Accepted => Some("acceptedEpoch reverts to its last content"),
        OldEpochs::Current => Some("currentEpoch reverts to its last content"),
        OldEpochs::Both => Some("acceptedEpoch and currentEpoch revert to their last content"),
    };
    let snapshots = tail.snapshots.then_some("the snapshot that is not yet durable survives");
    let cuts = tail.cuts.then_some("truncations that are not yet durable are undone");
    let words = [snapshots, cuts, epochs].into_iter().flatten().map(str::to_owned);
    survivors(tail.survive).into_iter().chain(words).collect()
}

fn survivors(survive: u8) -> Option<String> {
    let count = plural(usize::from(survive), "unsynced transaction");
    (survive > 0).then(|| format!("{count} had reached the disk"))
}

fn arrivals(counts: [(u8, &str); 2]) -> Vec<String> {
    let arriving = counts.into_iter().filter(|(count, _)| *count > 0);
    arriving
        .map(|(count, to)| {
            format!("{} {to} can still be read", plural(usize::from(count), "packet"))
        })
        .collect()
}

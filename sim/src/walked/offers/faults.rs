//! Faults at the ensemble grain, and their ends.

use super::{clients, none_or_all};
use vivarium_model::ensemble::Ensemble;
use vivarium_model::id::{Machine, ServerId};
use vivarium_model::portrait::Portrait;
use vivarium_model::release::Bug;
use vivarium_model::step::{OldEpochs, Step, Tail, Unwritten};

/// The most machines of a run whose links are offered to be cut. Their number grows with the square of that of machines,
/// and a list of thousands helps no reader.
const MOST_CUT: usize = 12;

/// Returns the faults that may strike now.
pub(super) fn all(ensemble: &Ensemble) -> Vec<Step> {
    let mut steps = Vec::new();
    for server in ensemble.config().server_ids().filter(|server| ensemble.is_up(*server)) {
        crashes(ensemble, server, &mut steps);
        steps.push(Step::Rejoin(server));
        fsync_errors(ensemble, server, &mut steps);
    }
    breaks(ensemble, &mut steps);
    for client in clients(ensemble) {
        steps.extend([Step::Pause(client), Step::Kill(client), Step::Cancel(client)]);
    }
    let leader = ensemble.leader().and_then(|leader| ensemble.server(leader));
    let sessions = leader.into_iter().flat_map(|leader| leader.tree().sessions().keys());
    steps.extend(sessions.map(|session| Step::Expire(*session)));
    cuts(ensemble, &mut steps);
    steps
}

/// Returns the ends of the faults that last.
pub(super) fn ends(ensemble: &Ensemble) -> Vec<Step> {
    let down = ensemble.config().server_ids().filter(|server| !ensemble.is_up(*server));
    let mut steps: Vec<Step> = down.map(Step::Restart).collect();
    for client in clients(ensemble) {
        // A program that was killed starts again; one that runs does not.
        steps.extend([Step::Resume(client), Step::Start(client)]);
    }
    let cut = links(ensemble).into_iter().filter(|(from, to)| ensemble.is_cut(*from, *to));
    steps.extend(cut.map(|(from, to)| Step::Heal { from, to }));
    steps
}

/// Adds crashes that keep none or all of the unsynced log, with and without what else the disk may lose or undo.
fn crashes(ensemble: &Ensemble, server: ServerId, steps: &mut Vec<Step>) {
    let disk = ensemble.disk(server);
    let lost = disk.snapshots().iter().any(|snapshot| !snapshot.durable);
    let undone = |epochs: &OldEpochs| {
        (!epochs.has_accepted() || disk.may_undo_accepted_epoch())
            && (!epochs.has_current() || disk.may_undo_current_epoch())
    };
    for survive in none_or_all(disk.unsynced()) {
        for snapshots in [false, true].into_iter().filter(|survive| lost || !survive) {
            for cuts in [false, true].into_iter().filter(|undone| disk.may_undo_cuts() || !undone) {
                for epochs in OldEpochs::ALL.into_iter().filter(undone) {
                    let tail = Tail { survive, snapshots, cuts, epochs, ..Tail::LOST };
                    steps.push(Step::Crash { server, tail });
                }
            }
        }
    }
}

/// Adds fsync errors that keep none or all of the unsynced log.
fn fsync_errors(ensemble: &Ensemble, server: ServerId, steps: &mut Vec<Step>) {
    let bugs = ensemble.config().bugs;
    let mut rests = vec![Unwritten::Lost];
    let further = [
        (Bug::TornRecordHidesLog, Unwritten::Torn),
        (Bug::FailedWriteComesLater, Unwritten::Buffered),
    ];
    rests.extend(further.into_iter().filter(|(bug, _)| bugs.has(*bug)).map(|(_, rest)| rest));
    for survive in none_or_all(ensemble.disk(server).unsynced()) {
        steps.extend(rests.iter().map(|rest| Step::FsyncError { server, survive, rest: *rest }));
    }
}

/// Adds broken connections from which none or all of the packets under way still arrive.
fn breaks(ensemble: &Ensemble, steps: &mut Vec<Step>) {
    for machine in ensemble.machines() {
        let Machine::Client(client) = machine else { continue };
        for connection in ensemble.open_connections(client) {
            let (up, down) = ensemble.under_way(connection);
            for to_server in none_or_all(up) {
                for to_client in none_or_all(down) {
                    steps.push(Step::BreakClient { connection, to_server, to_client });
                }
            }
        }
    }
    for connection in ensemble.breakable_connections() {
        let (up, down) = ensemble.under_way_learner(connection);
        for to_leader in none_or_all(up) {
            for to_learner in none_or_all(down) {
                steps.push(Step::BreakLearner { connection, to_leader, to_learner });
            }
        }
    }
}

fn cuts(ensemble: &Ensemble, steps: &mut Vec<Step>) {
    // Where there is no clock, nothing notices a link that is cut.
    if ensemble.config().has_clients() && ensemble.machines().len() <= MOST_CUT {
        let open = links(ensemble).into_iter().filter(|(from, to)| !ensemble.is_cut(*from, *to));
        steps.extend(open.map(|(from, to)| Step::Cut { from, to }));
    }
}

/// Returns the links in each direction: between servers, and between clients and servers.
fn links(ensemble: &Ensemble) -> Vec<(Machine, Machine)> {
    let machines = ensemble.machines();
    let is_server = |machine: &Machine| matches!(machine, Machine::Server(_));
    let pairs = machines.iter().flat_map(|from| machines.iter().map(move |to| (*from, *to)));
    pairs.filter(|(from, to)| from != to && (is_server(from) || is_server(to))).collect()
}

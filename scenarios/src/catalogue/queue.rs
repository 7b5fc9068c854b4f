//! `queue` and `priority-queue`: producers and consumers of one queue, under all faults.
//!
//! Each client puts items, or takes items until no more will come, or does both. A killed client starts again, with
//! items of its own. Some takes are cancelled, and some producers first delete the directory if it is empty, as a
//! container manager might.
//!
//! In a search, the first client puts one item, and all take; with priorities, the first client puts three and the
//! others take. If the search kills, two items are enough: a killed client puts its items again, so there can be four.
//! If it cancels, the first client deletes the directory before.

use super::{Entry, Group, Mutant, Switches, recipe};
use vivarium_model::mark::Mark;
use vivarium_model::setup::Setup;
use vivarium_model::time::Duration;
use vivarium_recipes::queue::{self, Mutants, QueueWork, queue_worker};
use vivarium_sim::random::{Random, Ratio, Seeds};
use vivarium_sim::{Choice, Explored, Run, Scenario};

/// The queue's directory.
pub(super) const QUEUE: &str = "/queue";

/// The marks that a sweep must reach: every possible result of a write whose reply was lost.
pub(super) const MARKS: [Mark; 4] = [
    Mark::LostReplyApplied,
    Mark::LostReplyNeverApplied,
    Mark::LostReplyPending,
    Mark::SessionExpired,
];

/// The mutants that concern priorities.
const OF_PRIORITIES: [queue::Mutant; 2] =
    [queue::Mutant::StalePriorityList, queue::Mutant::PriorityUnpadded];

/// The entry of the queue without priorities.
pub(super) fn entry() -> Entry {
    let is_fifo = |mutant: &queue::Mutant| !OF_PRIORITIES.contains(mutant);
    Entry {
        name: "queue",
        summary: "producers and consumers at a queue, first in, first out",
        group: Group::Recipe,
        seeds: 500,
        mutants: mutants(queue::Mutant::ALL.into_iter().filter(is_fifo)),
        build: |switches| build(&entry(), switches, false),
    }
}

/// The entry of the queue with priorities.
pub(super) fn priority() -> Entry {
    Entry {
        name: "priority-queue",
        summary: "producers and consumers at a queue with priorities",
        group: Group::Recipe,
        seeds: 500,
        mutants: mutants(OF_PRIORITIES.into_iter()),
        build: |switches| build(&priority(), switches, true),
    }
}

fn mutants(of: impl Iterator<Item = queue::Mutant>) -> Vec<Mutant> {
    of.map(|mutant| Mutant { name: mutant.name(), summary: mutant.summary() }).collect()
}

fn build(entry: &Entry, switches: &Switches, priorities: bool) -> Scenario {
    let mutants = Mutants::of_names(&switches.mutants);
    let programs = move |run: &Run| {
        let clients: Vec<QueueWork> =
            (1..=run.clients()).map(|client| work(run, client, priorities, mutants)).collect();
        let producers = clients.iter().filter(|work| work.puts.is_some()).count();
        clients.into_iter().map(|work| queue_worker(QueueWork { producers, ..work })).collect()
    };
    let monitors = move |_drawn: &Run| match priorities {
        true => queue::priority_monitors(QUEUE),
        false => queue::monitors(QUEUE),
    };
    let setup = Setup::of([queue::ledgers(QUEUE)]).and_then(|setup| setup.containers([QUEUE]));
    Scenario {
        rounds: Choice::from(1..=4),
        marks: MARKS.to_vec(),
        explored: Explored::Programs { setup: setup.expect("they are znodes") },
        ..recipe::scenario(entry, switches, programs, monitors)
    }
}

/// Returns the work of a client: drawn from a stream of its own, or minimal in a search.
fn work(run: &Run, client: u8, priorities: bool, mutants: Mutants) -> QueueWork {
    let work = QueueWork { mutants, ..QueueWork::new(QUEUE) };
    if let Some(search) = run.search {
        let items: Vec<u32> = match (priorities, search.kills > 0) {
            (false, _) => Vec::new(),
            (true, false) => vec![10, 10, 9],
            (true, true) => vec![10, 9],
        };
        return QueueWork {
            puts: (client == 1).then_some(items.len().max(1) as u32),
            priorities: items,
            takes: client != 1 || !priorities,
            cancel: search.cancels > 0,
            reap: search.cancels > 0 && !priorities,
            ..work
        };
    }
    let random: &mut Random = &mut Seeds::new(run.seed).stream("queue work", client.into());
    let draws = [random.between(0, 2), random.between(0, 9), random.between(0, 9)];
    let produces = client == 1 || client > 2 && draws[0] > 0;
    let consumes = client == 2 || draws[0] < 2;
    QueueWork {
        puts: produces.then_some(run.rounds),
        priorities: if priorities {
            vec![10, draws[1] as u32, 9, draws[2] as u32]
        } else {
            Vec::new()
        },
        takes: consumes,
        reap: random.chance(Ratio::one_in(2)),
        cancel: random.chance(Ratio::one_in(3)),
        pause: random.span(Duration::ZERO, Duration::from_millis(800)),
        close: random.chance(Ratio::one_in(2)),
        ..work
    }
}

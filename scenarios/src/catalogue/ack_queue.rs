//! `ack-queue`: producers and consumers of a queue whose items are claimed and acknowledged, under all faults.
//!
//! Each client puts items, or works on items until no more will come, or does both. The work is a write outside of
//! ZooKeeper under the claim's token. Some claims are cancelled, requeued or released.
//!
//! In a search, the first client puts one item and all clients work on it. The third client and later ones requeue the
//! first item that they claim, which multiplies the states.

use super::queue::{MARKS, QUEUE};
use super::{Entry, Group, Mutant, Switches, recipe};
use vivarium_model::setup::Setup;
use vivarium_model::time::Duration;
use vivarium_recipes::ack_queue::{self, AckWork, Mutants, ack_worker};
use vivarium_recipes::queue;
use vivarium_sim::random::{Random, Ratio, Seeds};
use vivarium_sim::{Choice, Explored, Run, Scenario};

/// The entry of the catalogue.
pub(super) fn entry() -> Entry {
    Entry {
        name: "ack-queue",
        summary: "producers and consumers use a queue whose items are acknowledged",
        group: Group::Recipe,
        seeds: 500,
        mutants: Mutant::all_of::<ack_queue::Mutant>(),
        build,
    }
}

fn build(switches: &Switches) -> Scenario {
    let mutants = Mutants::of_names(&switches.mutants);
    let programs = move |run: &Run| {
        let clients: Vec<AckWork> =
            (1..=run.clients()).map(|client| work(run, client, mutants)).collect();
        let producers = clients.iter().filter(|work| work.puts.is_some()).count();
        clients.into_iter().map(|work| ack_worker(AckWork { producers, ..work })).collect()
    };
    let monitors = |_drawn: &Run| ack_queue::monitors(QUEUE);
    let containers = [QUEUE, &ack_queue::claims(QUEUE)];
    let setup = Setup::of([queue::ledgers(QUEUE)]).and_then(|setup| setup.containers(containers));
    Scenario {
        rounds: Choice::from(1..=4),
        marks: MARKS.to_vec(),
        explored: Explored::Programs { setup: setup.expect("they are znodes") },
        ..recipe::scenario(&entry(), switches, programs, monitors)
    }
}

/// Returns the work of a client: drawn from a stream of its own, or minimal in a search, where the first client puts
/// and all work.
fn work(run: &Run, client: u8, mutants: Mutants) -> AckWork {
    let work = AckWork { mutants, ..AckWork::new(QUEUE) };
    if let Some(search) = run.search {
        return AckWork {
            puts: (client == 1).then_some(1),
            requeues: u32::from(client > 2),
            cancel: search.cancels > 0,
            close: search.cancels > 0,
            ..work
        };
    }
    let random: &mut Random = &mut Seeds::new(run.seed).stream("ack-queue work", client.into());
    let role = random.between(0, 2);
    AckWork {
        puts: (client == 1 || client > 2 && role > 0).then_some(run.rounds),
        takes: client == 2 || role < 2,
        requeues: random.between(0, 2) as u32,
        releases: random.between(0, 4) as u32,
        guard_watch: random.chance(Ratio::one_in(2)),
        cancel: random.chance(Ratio::one_in(2)),
        pause: random.span(Duration::ZERO, Duration::from_millis(800)),
        close: true,
        ..work
    }
}

//! `delay-queue`: producers and consumers of a queue whose items become due at some time, under all faults.
//!
//! In a search, the first client puts one item, and all clients take.

use super::queue::{MARKS, QUEUE};
use super::{Entry, Group, Mutant, Switches, recipe};
use vivarium_model::setup::Setup;
use vivarium_model::time::Duration;
use vivarium_recipes::delay_queue::{self, DelayWork, Mutants, delay_worker};
use vivarium_recipes::queue;
use vivarium_sim::random::{Random, Ratio, Seeds};
use vivarium_sim::{Choice, Explored, Run, Scenario};

/// The entry of the catalogue.
pub(super) fn entry() -> Entry {
    Entry {
        name: "delay-queue",
        summary: "producers and consumers at a queue whose items are due at some time",
        group: Group::Recipe,
        seeds: 500,
        mutants: Mutant::all_of::<delay_queue::Mutant>(),
        build,
    }
}

fn build(switches: &Switches) -> Scenario {
    let mutants = Mutants::of_names(&switches.mutants);
    let programs = move |run: &Run| {
        let clients: Vec<DelayWork> =
            (1..=run.clients()).map(|client| work(run, client, mutants)).collect();
        let producers = clients.iter().filter(|work| work.puts.is_some()).count();
        clients.into_iter().map(|work| delay_worker(DelayWork { producers, ..work })).collect()
    };
    let monitors = |_drawn: &Run| delay_queue::monitors(QUEUE);
    let setup = Setup::of([queue::ledgers(QUEUE)]).and_then(|setup| setup.containers([QUEUE]));
    Scenario {
        rounds: Choice::from(1..=4),
        marks: MARKS.to_vec(),
        explored: Explored::Programs { setup: setup.expect("they are znodes") },
        ..recipe::scenario(&entry(), switches, programs, monitors)
    }
}

/// Returns the work of a client: drawn from a stream of its own, or minimal in a search, where the first client puts
/// and all take.
fn work(run: &Run, client: u8, mutants: Mutants) -> DelayWork {
    let mut work = DelayWork {
        directory: QUEUE.into(),
        puts: (client == 1).then(|| vec![Duration::from_millis(500)]),
        takes: true,
        producers: 1,
        cancel: run.search.is_some_and(|search| search.cancels > 0),
        pause: Duration::ZERO,
        mutants,
    };
    if run.is_explored() {
        return work;
    }
    let random: &mut Random = &mut Seeds::new(run.seed).stream("delay-queue work", client.into());
    let role = random.between(0, 2);
    let delays = (0..run.rounds).map(|_| random.span(Duration::ZERO, Duration::from_secs(4)));
    let delays: Vec<Duration> = delays.collect();
    work.puts = (client == 1 || client > 2 && role > 0).then_some(delays);
    work.takes = client == 2 || role < 2;
    work.cancel = random.chance(Ratio::one_in(3));
    work.pause = random.span(Duration::ZERO, Duration::from_millis(800));
    work
}

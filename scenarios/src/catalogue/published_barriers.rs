//! `published-…`: barriers as published texts print them. None needs a fault of a server to violate a property, so
//! there is none: only speeds and the order of clients are drawn. (One needs the crash of a program, and has it.)

use super::{Entry, Group, Switches, recipe};
use std::sync::Arc;
use vivarium_model::handle::Program;
use vivarium_model::id::ClientId;
use vivarium_model::property::Monitor;
use vivarium_model::setup::Setup;
use vivarium_model::time::Duration;
use vivarium_recipes::barrier::{self, BarrierWork, barrier_owner};
use vivarium_recipes::double_barrier;
use vivarium_recipes::published::barrier_as_lock::locking_waiter;
use vivarium_recipes::published::barrier_chapter::chapter_waiter;
use vivarium_recipes::published::barrier_same_view::same_view_waiter;
use vivarium_recipes::published::double_barrier::Party;
use vivarium_recipes::published::double_barrier_any_leaves::any_leaves_party;
use vivarium_recipes::published::double_barrier_chain_exit::chain_party;
use vivarium_recipes::published::double_barrier_chapter::chapter_party;
use vivarium_recipes::published::double_barrier_page::page_party;
use vivarium_recipes::published::double_barrier_tutorial::tutorial_party;
use vivarium_sim::random::{Random, Seeds};
use vivarium_sim::{Choice, Explored, Fault, FaultSet, Run, Scenario};

/// The directory of the barriers, and the double barrier's znode.
const BARRIERS: &str = "/barriers";

/// All entries.
pub(super) fn entries() -> [Entry; 8] {
    [
        entry(
            "published-barrier-chapter",
            "a chapter's barrier, whose last look has its answer the wrong way round",
            barrier_chapter,
        ),
        entry(
            "published-barrier-as-lock",
            "an article's barrier, which is a lock of a persistent znode",
            barrier_as_lock,
        ),
        entry(
            "published-barrier-same-view",
            "an overview's consistency: what one server says, all say",
            barrier_same_view,
        ),
        entry(
            "published-double-barrier-page",
            "the recipes page's double barrier, whose `ready` is never removed",
            page,
        ),
        entry(
            "published-double-barrier-tutorial",
            "the tutorial's double barrier, which counts again",
            tutorial,
        ),
        entry(
            "published-double-barrier-chapter",
            "a chapter's double barrier, which waits for `ready` to leave",
            chapter,
        ),
        entry(
            "published-double-barrier-chain-exit",
            "a chapter's exit in a row, which is no barrier",
            chain_exit,
        ),
        entry(
            "published-double-barrier-any-leaves",
            "a translation's double barrier, from which any member goes",
            any_leaves,
        ),
    ]
}

fn entry(name: &'static str, summary: &'static str, build: fn(&Switches) -> Scenario) -> Entry {
    Entry { name, summary, group: Group::Published, seeds: 200, mutants: Vec::new(), build }
}

fn scenario(
    name: &'static str,
    switches: &Switches,
    programs: impl Fn(&Run) -> Vec<Program> + Send + Sync + 'static,
    monitors: impl Fn(&Run) -> Vec<Box<dyn Monitor>> + Send + Sync + 'static,
) -> Scenario {
    let mut entries = entries().into_iter();
    let entry = entries.find(|entry| entry.name == name).expect("it is one of them");
    Scenario {
        rounds: Choice::from(1),
        faults: FaultSet::INTERLEAVINGS,
        explored: Explored::Programs { setup: Setup::of([BARRIERS]).expect("it is a znode") },
        ..recipe::scenario(&entry, switches, programs, monitors)
    }
}

/// Returns how long to hold something; no time in a search.
fn hold(run: &Run, client: u8) -> Duration {
    let random: &mut Random = &mut Seeds::new(run.seed).stream("published hold", client.into());
    let hold = random.span(Duration::ZERO, Duration::from_secs(1));
    if run.is_explored() { Duration::ZERO } else { hold }
}

fn barrier_chapter(switches: &Switches) -> Scenario {
    told("published-barrier-chapter", switches, chapter_waiter)
}

fn barrier_same_view(switches: &Switches) -> Scenario {
    told("published-barrier-same-view", switches, same_view_waiter)
}

/// Builds a scenario in which the first client owns the barriers and announces each to the others.
fn told(name: &'static str, switches: &Switches, waiter: fn(BarrierWork) -> Program) -> Scenario {
    let programs = move |run: &Run| {
        let work = |client: u8| BarrierWork {
            hold: hold(run, client),
            ..BarrierWork::new(
                BARRIERS,
                (1..run.clients()).map(|client| ClientId::at(client.into())).collect(),
            )
        };
        let owner = std::iter::once(barrier_owner(work(0)));
        owner.chain((1..run.clients()).map(|client| waiter(work(client)))).collect()
    };
    let monitors = |_drawn: &Run| barrier::monitors(BARRIERS);
    scenario(name, switches, programs, monitors)
}

fn barrier_as_lock(switches: &Switches) -> Scenario {
    let programs = |run: &Run| {
        let node: Arc<str> = "/barrier".into();
        let client = |client| locking_waiter(Arc::clone(&node), hold(run, client));
        (0..run.clients()).map(client).collect()
    };
    let monitors = |_drawn: &Run| barrier::monitors("/");
    let scenario = scenario("published-barrier-as-lock", switches, programs, monitors);
    Scenario { faults: scenario.faults.with(Fault::ProgramCrash), ..scenario }
}

fn double(name: &'static str, switches: &Switches, program: fn(Party) -> Program) -> Scenario {
    let programs = move |run: &Run| {
        let party = |client: u8| Party {
            barrier: BARRIERS.into(),
            party: char::from(b'a' + client).to_string().into(),
            parties: usize::from(run.clients()),
            generations: 1,
            hold: hold(run, client),
            prepare: !run.is_explored(),
        };
        (0..run.clients()).map(|client| program(party(client))).collect()
    };
    let monitors = |run: &Run| double_barrier::monitors(BARRIERS, usize::from(run.clients()));
    scenario(name, switches, programs, monitors)
}

fn page(switches: &Switches) -> Scenario {
    double("published-double-barrier-page", switches, page_party)
}

fn tutorial(switches: &Switches) -> Scenario {
    double("published-double-barrier-tutorial", switches, tutorial_party)
}

fn chapter(switches: &Switches) -> Scenario {
    double("published-double-barrier-chapter", switches, chapter_party)
}

fn chain_exit(switches: &Switches) -> Scenario {
    double("published-double-barrier-chain-exit", switches, chain_party)
}

fn any_leaves(switches: &Switches) -> Scenario {
    double("published-double-barrier-any-leaves", switches, any_leaves_party)
}

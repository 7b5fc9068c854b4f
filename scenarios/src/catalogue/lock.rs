//! `lock`: clients contend for one exclusive lock, under all faults.
//!
//! Each client acquires the lock several times, writes under it (inside ZooKeeper with a check of its znode, outside
//! with its fencing token) and releases it. Some clients are impatient, some can be cancelled. At the end, each stays
//! connected for long enough to show that it left nothing behind.
//!
//! In a search, each client does this once, with directories that exist already. Up to two clients do the whole work:
//! they watch their lock while they hold it, and write inside ZooKeeper, which M2 and M4 are about. With three and
//! more, each does the least that uses the lock ([`LockWork::lean`]), because the work under the lock multiplies the
//! states and does not change how clients queue. If a search cancels, programs stay for a while at the end, so that
//! there is a moment at which only time can pass and nothing may be left behind; then they close their sessions.

use super::recipe::{self, calm_bound};
use super::{Entry, Group, Mutant, Switches};
use vivarium_model::mark::Mark;
use vivarium_model::setup::Setup;
use vivarium_model::time::Duration;
use vivarium_recipes::lock::{self, LockWork, Mutants, lock_worker};
use vivarium_sim::budget::programs::Budget;
use vivarium_sim::random::{Random, Ratio, Seeds};
use vivarium_sim::{Choice, Explored, Run, Scenario, Settings};

/// The lock's directory.
const LOCK: &str = "/lock";

/// The znode that is written to under the lock.
const COUNTER: &str = "/counter";

/// The marks that a sweep must reach: every way to synchronise a learner, every possible result of a create whose reply
/// was lost, and the faults of sessions, leaders and logs.
const MARKS: [Mark; 10] = [
    Mark::SyncByDiff,
    Mark::SyncByTrunc,
    Mark::SyncBySnap,
    Mark::LostReplyApplied,
    Mark::LostReplyNeverApplied,
    Mark::LostReplyPending,
    Mark::SessionMoved,
    Mark::SessionExpired,
    Mark::ElectionWithDeadLeader,
    Mark::UnsyncedTailLost,
];

/// The entry of the catalogue.
pub(super) fn entry() -> Entry {
    Entry {
        name: "lock",
        summary: "clients fight over an exclusive lock",
        group: Group::Recipe,
        seeds: 4_000,
        mutants: Mutant::all_of::<lock::Mutant>(),
        build,
    }
}

fn build(switches: &Switches) -> Scenario {
    let mutants = Mutants::of_names(&switches.mutants);
    let programs = move |run: &Run| {
        let work = (0..run.clients()).map(|client| work(run, client, mutants));
        work.map(lock_worker).collect()
    };
    let monitors = |run: &Run| lock::monitors(LOCK, calm_bound(run));
    let setup = Setup::of([COUNTER]).and_then(|setup| setup.containers([LOCK]));
    let mut settings = Settings::default();
    // By default, a leader makes a session's sync wait for what the session has sent through a learner (rule 4.5.7).
    settings.servers.forward_learner_requests_to_commit_processor_disabled =
        mutants.has(lock::Mutant::RecoverBySync);
    Scenario {
        settings,
        rounds: Choice::from(1..=4),
        marks: MARKS.to_vec(),
        explored: Explored::Programs { setup: setup.expect("they are znodes") },
        ..recipe::scenario(&entry(), switches, programs, monitors)
    }
}

/// Returns the work of a client: drawn from a stream of its own, or minimal in a search.
fn work(run: &Run, client: u8, mutants: Mutants) -> LockWork {
    let lock = LockWork { counter: Some(COUNTER.into()), mutants, ..LockWork::new(LOCK) };
    if let Some(search) = run.search {
        return explored_work(run, search, lock);
    }
    let random: &mut Random = &mut Seeds::new(run.seed).stream("lock work", client.into());
    let impatient = random.chance(Ratio::one_in(3));
    let patience = random.span(Duration::from_millis(200), Duration::from_secs(5));
    LockWork {
        rounds: run.rounds,
        hold: random.span(Duration::ZERO, Duration::from_millis(400)),
        patience: impatient.then_some(patience),
        cancel: random.chance(Ratio::one_in(2)),
        linger: calm_bound(run) + run.config.tick,
        ..lock
    }
}

/// The most clients that can do the whole work in a search.
const WHOLE_WORK: u8 = 2;

/// Returns the work of a client in a search.
fn explored_work(run: &Run, search: Budget, whole: LockWork) -> LockWork {
    let lean = LockWork { mutants: whole.mutants, ..LockWork::lean(LOCK) };
    let work = if run.clients() <= WHOLE_WORK {
        LockWork { counter: whole.counter, guard_watch: true, ..lean }
    } else {
        lean
    };
    // A client that can be cancelled leaves tasks to the background, which end with the program.
    let cancel = search.cancels > 0;
    let linger = if cancel { run.config.tick } else { Duration::ZERO };
    LockWork { rounds: run.rounds, cancel, linger, close: cancel, ..work }
}

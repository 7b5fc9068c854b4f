//! `published-lock-…`, `published-rwlock-…`, `published-election-…`: locks and elections as published texts print them,
//! judged by the properties of `lock`, `rwlock` and `leader`.
//!
//! Each has only the faults that it needs to violate a property; most need none.

use super::recipe::calm_bound;
use super::{Entry, Group, Switches, recipe};
use vivarium_model::handle::Program;
use vivarium_model::property::Monitor;
use vivarium_model::setup::Setup;
use vivarium_model::time::Duration;
use vivarium_recipes::published::connection_is_session::socket_believer;
use vivarium_recipes::published::election_next_node::next_node_candidate;
use vivarium_recipes::published::election_page::{AtTheStart, page_candidate};
use vivarium_recipes::published::lock::Locker;
use vivarium_recipes::published::lock_by_exists::{Lives, locker_by_exists};
use vivarium_recipes::published::lock_node_smaller::node_smaller_locker;
use vivarium_recipes::published::lock_older_text::older_text_locker;
use vivarium_recipes::published::lock_text_order::text_order_locker;
use vivarium_recipes::published::lock_without_recovery::locker_without_recovery;
use vivarium_recipes::published::rw_lock_by_prefix::{reader_by_prefix, writer_by_prefix};
use vivarium_recipes::published::rw_lock_garbled_reader::{garbled_reader, plain_writer};
use vivarium_recipes::{election, lock, rwlock};
use vivarium_sim::random::{Random, Seeds};
use vivarium_sim::{Explored, Fault, FaultSet, Rate, Run, Scenario};

/// The lock's znode, and the election's.
const LOCK: &str = "/lock";

/// Different speeds, and no other faults.
const NONE: FaultSet = FaultSet::INTERLEAVINGS;

/// Every possible result of a write whose reply is lost.
const LOST_REPLIES: FaultSet = NONE
    .with(Fault::LostReplyApplied)
    .with(Fault::LostReplyNeverApplied)
    .with(Fault::LostReplyPending);

/// All entries.
pub(super) fn entries() -> [Entry; 12] {
    [
        entry(
            "published-lock-older-text",
            "the recipes page's lock as it was before ids were put into names",
            |switches| {
                locks("published-lock-older-text", switches, LOST_REPLIES, older_text_locker)
            },
        ),
        entry(
            "published-lock-without-recovery",
            "a translation's lock, whose ids no client looks for",
            |switches| {
                let name = "published-lock-without-recovery";
                locks(name, switches, LOST_REPLIES, locker_without_recovery)
            },
        ),
        entry(
            "published-lock-by-exists",
            "an overview's first lock, of one persistent znode",
            |switches| {
                let faults = NONE.with(Fault::ProgramCrash);
                locks("published-lock-by-exists", switches, faults, |work| {
                    locker_by_exists(work, Lives::Persistent)
                })
            },
        ),
        entry(
            "published-lock-by-exists-ephemeral",
            "the same of one ephemeral znode",
            |switches| {
                locks("published-lock-by-exists-ephemeral", switches, LOST_REPLIES, |work| {
                    locker_by_exists(work, Lives::Ephemeral)
                })
            },
        ),
        entry(
            "published-lock-node-smaller",
            "an overview's second lock, which waits for a node that has gone",
            |switches| locks("published-lock-node-smaller", switches, NONE, node_smaller_locker),
        ),
        entry(
            "published-lock-text-order",
            "an overview's sequence numbers, sorted as text",
            |switches| {
                let faults = NONE.with_rate(Fault::CounterWrap, Rate::ALWAYS);
                locks("published-lock-text-order", switches, faults, text_order_locker)
            },
        ),
        entry(
            "published-lock-connection-is-session",
            "an overview's sessions, which end with their connection",
            |switches| {
                let faults = NONE.with(Fault::ClientReset);
                locks("published-lock-connection-is-session", switches, faults, socket_believer)
            },
        ),
        entry(
            "published-rwlock-page",
            "the recipes page's read-write lock, whose readers look for names by their beginning",
            |switches| {
                let name = "published-rwlock-page";
                read_write_locks(name, switches, reader_by_prefix, writer_by_prefix)
            },
        ),
        entry(
            "published-rwlock-garbled-reader",
            "a translation's read-write lock, whose reader needs one before it",
            |switches| {
                let name = "published-rwlock-garbled-reader";
                read_write_locks(name, switches, garbled_reader, plain_writer)
            },
        ),
        entry(
            "published-election-page",
            "the recipes page's election, whose first candidate never asks",
            |switches| {
                elections("published-election-page", switches, |work| {
                    page_candidate(work, AtTheStart::Unchecked)
                })
            },
        ),
        entry(
            "published-election-page-checked",
            "the same, whose candidates ask at the start",
            |switches| {
                elections("published-election-page-checked", switches, |work| {
                    page_candidate(work, AtTheStart::Checked)
                })
            },
        ),
        entry(
            "published-election-next-node",
            "a translation's election, whose candidates watch the one after them",
            |switches| elections("published-election-next-node", switches, next_node_candidate),
        ),
    ]
}

fn entry(name: &'static str, summary: &'static str, build: fn(&Switches) -> Scenario) -> Entry {
    Entry { name, summary, group: Group::Published, seeds: 200, mutants: Vec::new(), build }
}

fn locks(
    name: &'static str,
    switches: &Switches,
    faults: FaultSet,
    program: fn(Locker) -> Program,
) -> Scenario {
    let programs = move |run: &Run, client| program(work(run, client));
    let monitors = |run: &Run| lock::monitors(LOCK, calm_bound(run));
    scenario(name, switches, faults, programs, monitors)
}

/// Builds a scenario in which the first client writes and the others read.
fn read_write_locks(
    name: &'static str,
    switches: &Switches,
    reader: fn(Locker) -> Program,
    writer: fn(Locker) -> Program,
) -> Scenario {
    let programs = move |run: &Run, client| match client {
        0 => writer(work(run, client)),
        _ => reader(work(run, client)),
    };
    let monitors = |run: &Run| rwlock::monitors(LOCK, calm_bound(run));
    scenario(name, switches, NONE, programs, monitors)
}

fn elections(
    name: &'static str,
    switches: &Switches,
    candidate: fn(Locker) -> Program,
) -> Scenario {
    let programs = move |run: &Run, client| candidate(work(run, client));
    let monitors = |run: &Run| election::monitors(LOCK, calm_bound(run));
    scenario(name, switches, NONE, programs, monitors)
}

fn scenario(
    name: &'static str,
    switches: &Switches,
    faults: FaultSet,
    program: impl Fn(&Run, u8) -> Program + Send + Sync + 'static,
    monitors: impl Fn(&Run) -> Vec<Box<dyn Monitor>> + Send + Sync + 'static,
) -> Scenario {
    let mut entries = entries().into_iter();
    let entry = entries.find(|entry| entry.name == name).expect("it is one of them");
    let programs = move |run: &Run| (0..run.clients()).map(|client| program(run, client)).collect();
    Scenario {
        faults,
        explored: Explored::Programs {
            setup: Setup::NONE.containers([LOCK]).expect("it is a znode"),
        },
        ..recipe::scenario(&entry, switches, programs, monitors)
    }
}

/// Returns the work of a client; in a search, it holds the lock for no time.
fn work(run: &Run, client: u8) -> Locker {
    let random: &mut Random = &mut Seeds::new(run.seed).stream("published hold", client.into());
    let hold = random.span(Duration::ZERO, Duration::from_secs(1));
    Locker {
        directory: LOCK.into(),
        rounds: run.rounds,
        hold: if run.is_explored() { Duration::ZERO } else { hold },
        prepare: !run.is_explored(),
    }
}

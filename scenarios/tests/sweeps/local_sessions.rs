//! Sweeps of `churn` over servers with `localSessionsEnabled` and `localSessionsUpgradingEnabled`, which no entry of
//! the catalogue switches on; with every monitor, including the bridge.

use crate::entry;
use crate::recorded;

use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use vivarium::catalogue::Switches;
use vivarium_model::history::History;
use vivarium_model::property::{Bridge, Monitor, View};
use vivarium_sim::{Drawn, HostKind, RunOptions, Scenario, SweepOptions, sweep};

/// The seeds of the sweep.
const SEEDS: Range<u64> = 0..500;

/// In these runs a local session begins at a server that lags behind everything that any client has seen. (The
/// bridge's own tests say what this requires of the bridge; the runs of these seeds can change.)
const BEHIND: [u64; 3] = [1090, 4177, 4667];

fn churn() -> Scenario {
    let mut scenario = (entry("churn").build)(&Switches::default());
    scenario.settings.servers.local_sessions = true;
    scenario.settings.servers.local_sessions_upgrading = true;
    scenario
}

fn options() -> RunOptions {
    RunOptions { host: HostKind::Direct, ..RunOptions::default() }
}

fn holds(seeds: Range<u64>) {
    let seeds = SweepOptions { seeds, jobs: 2, keep_going: false };
    let report = sweep(&churn(), &seeds, &options(), &mut |_totals| ControlFlow::Continue(()));
    let violated = report.first_violation.map(|run| (run.seed, run.violation));
    assert!(violated.is_none(), "{violated:#?}");
}

#[test]
fn churn_holds_with_local_sessions_and_upgrading() {
    holds(SEEDS);
    for seed in BEHIND {
        holds(seed..seed + 1);
    }
}

/// The sweep covers its subject: sessions begin local, become global, and see older states; and the bridge compares
/// each of their connections.
#[test]
fn sessions_begin_local_and_are_upgraded_and_compared() {
    let mut totals: BTreeMap<&str, u64> = BTreeMap::new();
    for seed in (0..40).chain(BEHIND) {
        for (name, count) in judge(seed).compared() {
            *totals.entry(name).or_default() += count;
        }
    }
    for met in ["local sessions begun", "local sessions upgraded", "of these, below the log's end"]
    {
        assert!(totals.get(met).is_some_and(|count| *count > 0), "{met}: none ({totals:?})");
    }
    assert_eq!(totals["connections of sessions older than what is remembered"], 0, "{totals:?}");
}

/// Returns the bridge after the run of a seed.
fn judge(seed: u64) -> Bridge {
    let (mut bridge, history) = (Bridge::new(), History::new());
    bridge.begin(&Arc::new(Drawn::draw(&churn(), seed).run.config));
    let (events, objection) = recorded::record(churn(), seed);
    assert_eq!(objection, None, "seed {seed}");
    for (at, event) in events {
        if !Bridge::new().concerns(&event) {
            continue;
        }
        let judged = bridge.event(View::new(at, &history), &event);
        assert_eq!(judged, Ok(()), "seed {seed}");
    }
    bridge
}

//! The bridge between the grains detects violations: it accepts real simulated runs, and rejects each of them after
//! one change, as by a faulty ensemble, with a sentence that names the deviation.

use crate::entry;
use crate::planted::{Plant, table};
use crate::recorded;
use std::collections::BTreeMap;
use std::sync::OnceLock;
use vivarium::catalogue::Switches;
use vivarium_model::event::Event;
use vivarium_model::history::History;
use vivarium_model::property::{Bridge, Monitor, Objection, View};
use vivarium_model::time::Time;
use vivarium_sim::{Fault, Scenario};

/// The number of runs of each scenario in which a deviation can be planted.
const RUNS: u64 = 200;

/// Returns the events of some runs. In runs of `churn` clients do everything, but rarely wait for a watch; in runs of
/// `lock` most of them do.
fn runs() -> &'static [Vec<Event>] {
    static ALL: OnceLock<Vec<Vec<Event>>> = OnceLock::new();
    ALL.get_or_init(|| {
        let of = |name| (0..RUNS).map(move |seed| record(name, seed));
        of("churn").chain(of("lock")).collect()
    })
}

fn record(name: &str, seed: u64) -> Vec<Event> {
    let scenario = (entry(name).build)(&Switches::default());
    // The bridge does not know the setup here.
    let faults = scenario.faults.without(Fault::ContainerDeletion).without(Fault::CounterWrap);
    let (events, objection) = recorded::record(Scenario { faults, ..scenario }, seed);
    assert_eq!(objection, None, "{name}, seed {seed}");
    events.into_iter().map(|(_at, event)| event).collect()
}

/// Returns the bridge's verdict on a run, and the bridge with its counts.
fn judge(events: &[Event]) -> (Result<(), (usize, Objection)>, Bridge) {
    let mut bridge = Bridge::new();
    let history = History::new();
    let view = View::new(Time::ZERO, &history);
    for (at, event) in events.iter().enumerate().filter(|(_, event)| bridge_hears(event)) {
        if let Err(objection) = bridge.event(view, event) {
            return (Err((at, objection)), bridge);
        }
    }
    (Ok(()), bridge)
}

fn bridge_hears(event: &Event) -> bool {
    Bridge::new().concerns(event)
}

#[test]
fn real_runs_are_accepted_and_meet_what_can_be_compared() {
    let mut totals: BTreeMap<&str, u64> = BTreeMap::new();
    for (number, events) in runs().iter().enumerate() {
        let (verdict, bridge) = judge(events);
        assert_eq!(verdict, Ok(()), "run {number}");
        for (name, count) in bridge.compared() {
            *totals.entry(name).or_default() += count;
        }
    }
    for met in [
        "writes decided alike",
        "of these, failed alike",
        "lost writes committed after the loss",
        "lost writes committed after the session was accepted again",
        "reads answered alike",
        "of these, below the log's end",
        "notifications of watches that fired",
        "notifications made up by SetWatches",
        "sessions accepted",
    ] {
        assert!(totals[met] > 0, "{met}: none in all runs ({totals:?})");
    }
}

#[test]
fn each_planted_deviation_is_rejected() {
    let mut sentences = String::new();
    for Plant { name, plant } in table() {
        let planted = runs().iter().find_map(|events| plant(events));
        let planted = planted.unwrap_or_else(|| panic!("no run to plant this in: {name}"));
        let (verdict, _) = judge(&planted.events);
        let Err((at, objection)) = verdict else { panic!("accepted: {name}") };
        assert!(at >= planted.at, "{name}: objected before anything was planted: {objection}");
        sentences.push_str(&format!("{name}\n  {objection}\n"));
    }
    insta::assert_snapshot!(sentences);
}

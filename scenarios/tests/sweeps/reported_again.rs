//! A deposed leader that reads a late acknowledgement reports the commit of a transaction that its successor has
//! committed long before. The report is legal and nothing new, so it must not change any monitor: neither violate it,
//! nor change its state, which could hide later violations.

use crate::entry;
use crate::recorded::{self, Events};

use std::sync::Arc;
use vivarium::catalogue::{Entry, Switches};
use vivarium_model::config::Config;
use vivarium_model::event::Event;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::history::History;
use vivarium_model::property::{Monitor, Objection, View};
use vivarium_sim::Drawn;
use vivarium_sim::random::{Random, Seeds};

/// A run, with the monitors of its scenario.
struct Recorded {
    events: Events,
    config: Arc<Config>,
    monitors: Vec<Box<dyn Monitor>>,
}

fn record(entry: &Entry, switches: &Switches, seed: u64) -> Recorded {
    let scenario = (entry.build)(switches);
    let run = Drawn::draw(&scenario, seed).run;
    let monitors = (scenario.monitors)(&run);
    let (events, _) = recorded::record(scenario, seed);
    Recorded { events, config: Arc::new(run.config), monitors }
}

/// Returns the same run with repeated reports of commits at random places.
fn with_reports(events: &Events, random: &mut Random) -> (Events, u64) {
    let (mut committed, mut told, mut reports) = (Vec::new(), Events::new(), 0);
    for (at, event) in events {
        told.push((*at, event.clone()));
        if let Event::Committed { .. } = event {
            committed.push(event.clone());
        }
        // The same transaction may be reported more than once, old ones and the newest.
        while !committed.is_empty() && random.below(10) == 0 {
            let again = &committed[random.below(committed.len() as u64) as usize];
            told.push((*at, again.clone()));
            reports += 1;
        }
    }
    (told, reports)
}

/// Returns a monitor's first objection, and the fingerprint of its final state.
fn judge(
    monitor: &dyn Monitor,
    config: &Arc<Config>,
    events: &Events,
) -> (Option<Objection>, Fingerprint) {
    let mut monitor = monitor.clone_box();
    monitor.begin(config);
    let mut history = History::beginning_with(config.setup.tree());
    let mut objection = None;
    for (at, event) in events {
        let is_new = match event {
            Event::Committed { txn, .. } if txn.zxid > history.last() => {
                history.commit(Arc::clone(txn));
                true
            }
            _ => false,
        };
        let view = View::new(*at, &history);
        let view = if is_new { View::of_new(*at, &history) } else { view };
        if !monitor.concerns(event) {
            continue;
        }
        objection =
            monitor.event(view.within(monitor.looks_back()).asked(monitor.asked()), event).err();
        if objection.is_some() {
            break;
        }
    }
    (objection, Fingerprint::of(&monitor))
}

/// This monitor numbers events to know their order, so its state has other numbers.
const NUMBERS: &str = "bridge";

/// S2 is about the order in which leaders report commits.
const MINDS: &str = "S2 committed prefix agreement";

fn agrees(entry: &Entry, switches: &Switches, seeds: std::ops::Range<u64>) -> (u64, u64) {
    let (mut all, mut objections) = (0, 0);
    for seed in seeds {
        let Recorded { events, config, monitors } = record(entry, switches, seed);
        let random = &mut Seeds::new(seed).stream("reported again", 0);
        let (told, reports) = with_reports(&events, random);
        all += reports;
        for monitor in monitors.iter().filter(|monitor| monitor.name() != MINDS) {
            let plain = judge(&**monitor, &config, &events);
            objections += u64::from(plain.0.is_some());
            let mut again = judge(&**monitor, &config, &told);
            if monitor.name() == NUMBERS {
                again.1 = plain.1;
            }
            assert_eq!(plain, again, "{}, seed {seed}: {}", entry.name, monitor.name());
        }
    }
    (all, objections)
}

#[test]
fn no_monitor_makes_anything_of_a_commit_that_is_reported_again() {
    for name in ["lock", "churn", "watches"] {
        let (reports, objections) = agrees(&entry(name), &Switches::default(), 0..25);
        assert!(reports > 1_000, "{name}: only {reports}");
        assert_eq!(objections, 0, "{name}");
    }
}

/// The same for monitors that are violated: they object at the same place and in the same words.
#[test]
fn nor_does_it_hide_a_violation() {
    let lock = entry("lock");
    let mut objections = 0;
    for mutant in ["NoGuid", "BeliefSurvivesExpiry", "RecreateOnBlip", "LeakOnCancel"] {
        let switches = lock.switches(&[mutant.to_string()]).expect("it is a switch of the lock");
        objections += agrees(&lock, &switches, 0..40).1;
    }
    assert!(objections > 5, "only {objections}");
}

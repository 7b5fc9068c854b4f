//! How much it takes to find each planted mistake if every seed has a random half of the kinds of faults (swarm testing:
//! Groce et al. 2012), and if every seed has all of them: `cargo bench -p vivarium-zk --bench swarm`.
//!
//! For each mutant of a recipe, each defect of the servers that `churn` shows, and each of both ways, several ranges of
//! seeds are run up to the first violation. The figures are the mean numbers of steps until then, since a run with more
//! faults takes more steps. `RANGES` sets the number of ranges (5), `SEEDS` the most seeds of each (1,000); a range without
//! a violation counts with all its steps.

use std::env;
use std::ops::ControlFlow;
use vivarium::catalogue::{Group, Switches, catalogue};
use vivarium_model::release::{Bug, Bugs};
use vivarium_sim::{
    FaultSet, HostKind, Rate, RunOptions, Scenario, SweepOptions, on_fresh_thread, sweep,
};

/// The mean cost of a violation.
struct Cost {
    steps: f64,
    /// How many ranges had a violation.
    found: u64,
}

fn number(name: &str, usual: u64) -> u64 {
    let said = env::var(name).ok();
    said.map_or(usual, |text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

fn cost(scenario: &Scenario, ranges: u64, seeds: u64) -> Cost {
    let (mut steps, mut found) = (0, 0);
    for range in 0..ranges {
        // Far apart, so that no range continues another one.
        let from = range * 1_000_000;
        let which = SweepOptions { seeds: from..from + seeds, jobs: 2, keep_going: false };
        let options = RunOptions { host: HostKind::Direct, ..RunOptions::default() };
        let report = on_fresh_thread(|| {
            sweep(scenario, &which, &options, &mut |_| ControlFlow::Continue(()))
        });
        steps += report.totals.steps;
        found += u64::from(report.first_violation.is_some());
    }
    Cost { steps: steps as f64 / ranges as f64, found }
}

/// Returns the scenario with all its kinds of faults in every seed.
fn all_on(scenario: &Scenario) -> Scenario {
    let with = |set: FaultSet, kind| set.with_rate(kind, Rate::ALWAYS);
    Scenario { faults: scenario.faults.iter().fold(FaultSet::NONE, with), ..scenario.clone() }
}

fn main() {
    let (ranges, seeds) = (number("RANGES", 5), number("SEEDS", 1_000));
    let mut mistakes: Vec<(String, Scenario)> = Vec::new();
    for entry in catalogue() {
        for mutant in entry.mutants.iter().filter(|_| entry.group == Group::Recipe) {
            let switches = Switches { mutants: vec![mutant.name], ..Switches::default() };
            mistakes.push((format!("{} {}", entry.name, mutant.name), (entry.build)(&switches)));
        }
        for bug in Bug::ALL.into_iter().filter(|_| entry.name == "churn") {
            let switches = Switches { bugs: Bugs::NONE.with(bug), ..Switches::default() };
            mistakes.push((format!("churn {}", bug.name()), (entry.build)(&switches)));
        }
    }
    println!("{:<52} {:>12} {:>12} {:>7}", "mistake", "swarm", "all on", "ratio");
    let (mut logarithms, mut quicker, mut only) = (Vec::new(), 0, [0, 0]);
    for (name, scenario) in &mistakes {
        let swarm = cost(scenario, ranges, seeds);
        let all = cost(&all_on(scenario), ranges, seeds);
        if swarm.found + all.found == 0 {
            continue;
        }
        only[0] += u32::from(swarm.found > all.found);
        only[1] += u32::from(all.found > swarm.found);
        let ratio = all.steps / swarm.steps;
        logarithms.push(ratio.ln());
        quicker += usize::from(ratio > 1.0);
        let (swarm, all) = (swarm.steps, all.steps);
        println!("{name:<52} {swarm:>12.0} {all:>12.0} {ratio:>7.2}");
    }
    let count = logarithms.len();
    let mean = (logarithms.iter().sum::<f64>() / count.max(1) as f64).exp();
    logarithms.sort_by(f64::total_cmp);
    let median = logarithms.get(count / 2).map_or(1.0, |median| median.exp());
    println!(
        "\n{count} mistakes; swarm takes fewer steps for {quicker}; steps all on / swarm: geometric mean {mean:.2}, \
         median {median:.2}; found in more ranges by swarm {}, by all on {}",
        only[0], only[1]
    );
}

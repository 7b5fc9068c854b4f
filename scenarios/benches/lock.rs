//! How fast `lock` runs under chaos on one core, with every monitor on: `cargo bench -p vivarium`.
//!
//! The workload is the catalogue's scenario, seeds from 0; what it amounts to per run (steps, lock
//! rounds, faults) is printed with the figures. The host's share is measured by a stopwatch around
//! each input, in runs of its own, since the stopwatch itself takes time. `SEEDS` sets the number of
//! seeds (2,000).

use std::time::{Duration, Instant};
use vivarium::catalogue::catalogue;
use vivarium_sim::{HostKind, RunOptions, Scenario, run, run_timed};

/// Sums over the seeds of one host.
#[derive(Default)]
struct Sum {
    seeds: u64,
    steps: u64,
    rounds: u64,
    faults: u64,
    simulated: Duration,
    real: Duration,
    host: Duration,
    timed: Duration,
}

fn measure(scenario: &Scenario, host: HostKind, seeds: u64) -> Sum {
    let mut sum = Sum { seeds, ..Sum::default() };
    let options = RunOptions { host, ..RunOptions::default() };
    let begun = Instant::now();
    for seed in 0..seeds {
        let report = run(scenario, seed, &options);
        assert!(report.violation.is_none(), "seed {seed} violates a property");
        let rounds: u64 = report.parameters["rounds"].parse().expect("a number of rounds");
        sum.steps += report.steps;
        sum.rounds += rounds * report.config.clients.len() as u64;
        sum.faults += report.struck.values().sum::<u64>();
        sum.simulated += report.simulated;
    }
    sum.real = begun.elapsed();
    let begun = Instant::now();
    for seed in 0..seeds / 4 {
        sum.host += run_timed(scenario, seed, host).1;
    }
    sum.timed = begun.elapsed();
    sum
}

fn main() {
    let seeds = std::env::var("SEEDS").ok().and_then(|it| it.parse().ok()).unwrap_or(2_000);
    let catalogue = catalogue();
    let entry = catalogue.iter().find(|entry| entry.name == "lock").expect("lock is there");
    let scenario = (entry.build)(&Default::default());
    let hosts = [HostKind::Direct, HostKind::Madsim];
    for host in hosts.into_iter().filter(|host| host.is_available()) {
        measure(&scenario, host, seeds / 10);
        let sum = measure(&scenario, host, seeds);
        let per_seed = |count: u64| count as f64 / sum.seeds as f64;
        let seconds = sum.real.as_secs_f64();
        println!(
            "{host:6}  {:.2} M steps/s  {:.0} seeds/s  {:.0} simulated s/s  host {:.0} % of the time",
            sum.steps as f64 / seconds / 1e6,
            sum.seeds as f64 / seconds,
            sum.simulated.as_secs_f64() / seconds,
            100.0 * sum.host.as_secs_f64() / sum.timed.as_secs_f64(),
        );
        println!(
            "        {} seeds: per run {:.0} steps, {:.1} lock rounds, {:.1} faults, {:.1} s simulated",
            sum.seeds,
            per_seed(sum.steps),
            per_seed(sum.rounds),
            per_seed(sum.faults),
            sum.simulated.as_secs_f64() / sum.seeds as f64,
        );
    }
}

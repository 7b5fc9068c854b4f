//! Measures the explorer on the ensemble grain: a ladder of budgets, each with and without reductions.
//!
//! ```text
//! cargo run --release -p vivarium-zk-sim --features explore --example ladder -- [options]
//!   --rung N/T/C[/B[/O[/F[/U]]]]   servers, transactions, crashes, breaks, timeouts, fsync errors, upsets
//!                          (repeatable)
//!   --seconds S            limit for each search (60)
//!   --threads T            (2)
//!   --only on|off          with or without reductions only
//!   --bug NAME             one of the servers' bugs (repeatable); --head: all of them
//!   --fast                 the election of the code instead of the oracle's
//!   --any                  any member of a quorum is elected, instead of the oracle's choice
//!   --steps                print the steps to a violation
//! ```

use stateright::Model as _;
use std::num::NonZeroUsize;
use std::time::Duration;
use vivarium_model::config::Config;
use vivarium_model::property;
use vivarium_model::release::{Bug, Bugs, Release};
use vivarium_sim::every::servers::{Budget, Election, EnsembleModel};
use vivarium_sim::every::{Ending, Options, Silent, Strategy, search};

const LADDER: [&str; 8] =
    ["2/1/1", "2/2/2", "3/1/1", "3/2/0", "3/2/1", "2/2/1/1", "3/1/1/1", "3/1/1/0/1"];

struct Arguments {
    rungs: Vec<Budget>,
    seconds: u64,
    threads: usize,
    reductions: Vec<bool>,
    bugs: Bugs,
    election: Election,
    steps: bool,
}

fn budget(text: &str) -> Budget {
    let mut budget = Budget::default();
    for (account, number) in Budget::ACCOUNTS.into_iter().zip(text.split('/')) {
        budget[account] = number.parse().expect("numbers between slashes");
    }
    budget
}

fn arguments() -> Arguments {
    let mut found = Arguments {
        rungs: Vec::new(),
        seconds: 60,
        threads: 2,
        reductions: vec![true, false],
        bugs: Bugs::NONE,
        election: Election::Oracle,
        steps: false,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().expect("an option's value");
        match word.as_str() {
            "--rung" => found.rungs.push(budget(&value())),
            "--seconds" => found.seconds = value().parse().expect("seconds"),
            "--threads" => found.threads = value().parse().expect("threads"),
            "--only" => found.reductions = vec![value() == "on"],
            "--head" => found.bugs = Release::Head.bugs(),
            "--bug" => {
                let bug: Bug = value().parse().expect("the name of a bug");
                found.bugs = found.bugs.with(bug);
            }
            "--fast" => found.election = Election::Fast,
            "--any" => found.election = Election::Any,
            "--steps" => found.steps = true,
            word => panic!("what is {word}?"),
        }
    }
    if found.rungs.is_empty() {
        found.rungs = LADDER.iter().map(|text| budget(text)).collect();
    }
    found
}

fn main() {
    let arguments = arguments();
    for rung in &arguments.rungs {
        for reductions in &arguments.reductions {
            measure(*rung, *reductions, &arguments);
        }
    }
}

fn measure(budget: Budget, reductions: bool, arguments: &Arguments) {
    let mut config = Config::new(budget.servers, 0);
    config.bugs = arguments.bugs;
    let monitors = property::servers();
    let model = EnsembleModel::new(config, budget, arguments.election, reductions, monitors);
    let mut options = Options::new(Strategy::BreadthFirst);
    options.threads = NonZeroUsize::new(arguments.threads).expect("at least one thread");
    options.max_time = Some(Duration::from_secs(arguments.seconds));
    options.max_memory = Some(8 << 30);
    let outcome = search(&model, &options, &Silent);
    let figures = &outcome.statistics;
    let rung: Vec<String> = budget.each().map(|(_, number)| number.to_string()).collect();
    let rung = rung.join("/");
    let verdict = match &outcome.ending {
        Ending::Exhausted { .. } => "exhausted".to_owned(),
        Ending::Bounded { by, .. } => format!("bounded by {by}"),
        Ending::Violated(found) => {
            format!("violated after {} steps: {}", found.length, found.objection)
        }
    };
    println!(
        "{rung} {:7} {:>11} generated {:>10} distinct depth {:>3} \
         {:>7.2} s {:>8.0}/s {:>4.0}+{:.0} B/state  {verdict}",
        if reductions { "reduced" } else { "plain" },
        figures.generated,
        figures.distinct,
        figures.depth,
        figures.elapsed.as_secs_f64(),
        figures.generated_per_second(),
        figures.bytes_per_state(),
        figures.peak_frontier_bytes as f64 / figures.peak_frontier.max(1) as f64,
    );
    println!(
        "    pieces at most {} MiB, renewed {} times; at first {:?}",
        figures.peak_pieces_bytes >> 20,
        figures.renewals,
        model.pieces()
    );
    if let (Ending::Violated(found), true) = (&outcome.ending, arguments.steps) {
        let mut state = model.init_states().swap_remove(found.initial);
        for action in &found.path {
            for step in model.steps(&state, action) {
                println!("    {step}");
            }
            state = model.next_state(&state, *action).expect("it led on before");
        }
        println!("{}", model.describe(&state));
    }
}

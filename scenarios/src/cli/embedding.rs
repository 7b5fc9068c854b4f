//! `vivarium run --check-embedding`: checks that every run of servers is also a run of the service grain.

use super::each_seed::each_seed;
use super::guard;
use super::output::emit;
use super::plan::Plan;
use super::progress::Meter;
use super::select::Selected;
use std::fmt::Write;
use std::sync::Mutex;
use vivarium_sim::budget::Account;
use vivarium_sim::embed::{Cost, Embedded, NotEmbedded, Why, check_embedding};

/// Runs the command and returns the exit code.
pub(super) fn check(plan: &Plan<'_>) -> Result<u8, String> {
    let (mut text, mut code) = (String::new(), 0);
    for selected in &plan.selection {
        let sum = guard::guarded(|| of_scenario(selected, plan))?;
        code = code.max(u8::from(sum.failure.is_some()));
        sum.report(&selected.scenario.name, &mut text);
    }
    Ok(emit(&text, code))
}

/// The accounts that a run can need, in the order of the report.
const COUNTED: [Account; 6] = [
    Account::Lost,
    Account::Expiries,
    Account::Kills,
    Account::Cancels,
    Account::Timers,
    Account::Deletions,
];

/// The result of a scenario's seeds.
#[derive(Default)]
struct Sum {
    seeds: u64,
    steps: (u64, u64),
    events: u64,
    /// The most of each fault that a single run needed.
    most: Cost,
    failure: Option<Box<NotEmbedded>>,
}

fn of_scenario(selected: &Selected<'_>, plan: &Plan<'_>) -> Sum {
    let seeds = plan.seeds_of(selected.entry);
    let meter = Meter::new(selected.entry.name.to_string(), seeds.len());
    let sum = Mutex::new(Sum::default());
    let check = |seed| {
        let embedded = check_embedding(&selected.scenario, seed)?;
        sum.lock().expect("no thread panics while it holds the lock").add(&embedded);
        Ok(())
    };
    let (done, failure) = each_seed(seeds.range(), plan.jobs, &meter, &check);
    let sum = sum.into_inner().expect("no thread panics while it holds the lock");
    Sum { seeds: done, failure: failure.map(|(_, failure)| failure), ..sum }
}

impl Sum {
    fn add(&mut self, embedded: &Embedded) {
        let Embedded { cost, steps, events } = embedded;
        self.steps.0 += steps.0;
        self.steps.1 += steps.1;
        self.events += events;
        for account in Account::ALL {
            self.most[account] = self.most[account].max(cost[account]);
        }
    }

    fn report(&self, name: &str, text: &mut String) {
        let Sum { seeds, steps, events, most, failure } = self;
        let _ = writeln!(text, "{name}");
        if let Some(failure) = failure {
            let seed = failure.seed;
            let says = match failure.why {
                Why::Differs => {
                    "NOT EMBEDDED: the servers behaved in a way that no search at the service grain covers"
                }
                Why::Violates => {
                    "VIOLATED: a run is embedded up to the step at which it violates a property"
                }
                Why::NotOffered => {
                    "NOT EMBEDDED: the scenario uses something that the service grain does not have"
                }
            };
            let _ = writeln!(
                text,
                "  {says}\n  {failure}\n  again     vivarium run {name} --check-embedding --seeds {seed}..{}",
                seed + 1
            );
            return;
        }
        let _ = writeln!(text, "  runs embedded in the service grain  {seeds}");
        let _ = writeln!(text, "  steps of servers and clients        {}", steps.0);
        let _ = writeln!(text, "  steps of the service grain          {}", steps.1);
        let _ = writeln!(text, "  events of clients, all the same     {events}");
        let most = COUNTED.map(|account| format!("{} {account}", most[account])).join(", ");
        let _ = writeln!(text, "  the most that one run needed        {most}");
    }
}

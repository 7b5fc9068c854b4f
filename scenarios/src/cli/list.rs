//! `vivarium list`: what there is to run.

use crate::catalogue::{Entry, Switches};
use std::fmt::Write as _;
use vivarium_model::release::Bug;

/// All scenarios with their mutants, faults and marks, then the defects of the servers.
pub(super) fn listing(entries: &[Entry]) -> String {
    let mut text = String::new();
    let mut line = |line: String| writeln!(text, "{line}").expect("strings take all");
    for entry in entries {
        let scenario = (entry.build)(&Switches::default());
        line(format!("{}: {}", entry.name, entry.summary));
        let marks: Vec<String> = scenario.marks.iter().map(ToString::to_string).collect();
        let faults: Vec<String> = scenario.faults.iter().map(|kind| kind.to_string()).collect();
        for (name, items) in [("faults", faults), ("marks", marks)] {
            if !items.is_empty() {
                line(format!("  {name:<8} {}", items.join(", ")));
            }
        }
        for mutant in &entry.mutants {
            line(format!("  --bug {:<26} {}", mutant.name, mutant.summary));
        }
        line(String::new());
    }
    line("Defects of the servers, for every scenario:".to_string());
    for bug in Bug::ALL {
        line(format!("  --bug {:<26} {}", bug.name(), bug.summary()));
    }
    text
}

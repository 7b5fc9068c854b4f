//! The command line: `run`, `merge`, `explore`, `replay`, `walk`, `explain`, `coverage`, `conform`, `live`, `serve`,
//! `fuzz-explorer`, `recipes`, `mutants`, `published`, `findings`, `museum`, `watch` and `list`.
//!
//! Exit codes: 0 held, 1 violated, 2 inconclusive, 3 error. An invalid input is reported in one sentence on standard
//! error, with a suggestion, and ends with code 3. Reports go to standard output, progress to standard error.

mod arguments;
mod budget;
mod cases;
mod commands;
mod conform;
mod coverage;
mod distinct;
mod each_seed;
mod embedding;
mod explain;
mod explore;
mod findings;
mod fuzz;
mod guard;
mod list;
mod live;
mod merge;
mod minimise;
mod museum;
mod numbers;
mod output;
mod outputs;
mod pictures;
mod plan;
mod processes;
mod progress;
mod regressions;
mod releases;
mod replay;
mod run;
mod select;
mod serve;
mod switches;
mod tables;
mod walk;
mod watch;

use crate::catalogue::{Entry, catalogue};
use arguments::{Command, RunArguments};
use output::Failure;
use std::ffi::OsString;
use std::process::ExitCode;

/// The exit code of every error.
const ERROR: u8 = 3;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    guard::install();
    let code = guard::guarded(|| run_command_line(std::env::args_os().collect(), &catalogue()));
    ExitCode::from(code.unwrap_or_else(|panic| complain(&panic)))
}

/// Runs a command line with a catalogue and returns the exit code.
fn run_command_line(words: Vec<OsString>, entries: &[Entry]) -> u8 {
    let arguments = match arguments::parse(words, entries) {
        Ok(arguments) => arguments,
        Err(Failure::Help(text)) => return output::emit(&text, 0),
        Err(Failure::Sentence(sentence)) => return complain(&sentence),
    };
    let outcome = match arguments.command {
        None => run::run(&RunArguments::default(), entries),
        Some(Command::Run(arguments)) => run::run(&arguments, entries),
        Some(Command::Merge(arguments)) => merge::run(&arguments),
        Some(Command::Explore(arguments)) => explore::explore(&arguments, entries),
        Some(Command::Replay(arguments)) => replay::replay(&arguments, entries),
        Some(Command::Walk(arguments)) => walk::walk(&arguments, entries),
        Some(Command::Explain(arguments)) => explain::explain(&arguments, entries),
        Some(Command::Coverage(arguments)) => coverage::coverage(&arguments, entries),
        Some(Command::Conform(arguments)) => conform::conform(&arguments),
        Some(Command::Live(arguments)) => live::live(&arguments, entries),
        Some(Command::Serve(arguments)) => serve::serve(&arguments),
        Some(Command::FuzzExplorer(arguments)) => fuzz::fuzz(&arguments),
        Some(Command::Recipes(arguments)) => tables::recipes(&arguments, entries),
        Some(Command::Mutants(arguments)) => tables::mutants(&arguments, entries),
        Some(Command::Published(arguments)) => tables::published(&arguments, entries),
        Some(Command::Findings(arguments)) => findings::findings(&arguments),
        Some(Command::Museum(arguments)) => museum::museum(&arguments, entries),
        Some(Command::Watch(arguments)) => watch::watch(&arguments),
        Some(Command::List(arguments)) => list::list(arguments.name.as_deref(), entries),
    };
    outcome.unwrap_or_else(|sentence| complain(&sentence))
}

fn complain(sentence: &str) -> u8 {
    output::to_stderr(&format!("error: {sentence}"));
    ERROR
}

//! The command line's arguments, and one sentence for each invalid one.

use super::budget::BudgetArguments;
use super::coverage::CoverageArguments;
use super::explain::ExplainArguments;
use super::merge::MergeArguments;
use super::museum::MuseumArguments;
use super::output::Failure;
use super::outputs::OutputArguments;
use super::pictures::PictureArguments;
use super::select::nearest;
use super::switches::SwitchArguments;
use super::walk::WalkArguments;
use crate::catalogue::Entry;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, Parser, Subcommand};
use std::ffi::OsString;
use std::path::PathBuf;

/// Runs ZooKeeper ensembles and recipes under thousands of seeds, or explores every reachable state,
/// with faults, and reports which properties held.
///
/// Without a command: runs the whole catalogue.
#[derive(Debug, Parser)]
#[command(name = "vivarium", version, disable_help_subcommand = true)]
#[command(after_help = "Exit codes: 0 held, 1 violated, 2 inconclusive, 3 error.")]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub(super) command: Option<Command>,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run scenarios under many seeds
    Run(RunArguments),
    /// Merge the JSON reports of shards into that of the whole
    Merge(MergeArguments),
    /// Replay one run, by its seed or from a case file
    Replay(ReplayArguments),
    /// Walk through a run in a browser: choose every step, and see every state in full
    Walk(WalkArguments),
    /// Show when a violation became inevitable: how often runs that go on from each step violate the property
    Explain(ExplainArguments),
    /// Count what the runs of scenarios reach: awaits of programs and how they ended, marks, faults, events
    Coverage(CoverageArguments),
    /// Try every order of events within a budget of faults
    Explore(Box<ExploreArguments>),
    /// Compare the model with a real ZooKeeper, answer by answer
    Conform(ConformArguments),
    /// Run a scenario's programs on real servers, at real speed, with faults
    Live(LiveArguments),
    /// Serve the modelled ensemble on sockets, for programs in any language, with faults on demand
    Serve(ServeArguments),
    /// Compare searches of generated programs, to check that no search misses a state
    FuzzExplorer(FuzzArguments),
    /// Sweep and search every recipe, and report how far its properties hold
    Recipes(RecipesArguments),
    /// Sweep and search every mutant of every recipe, and report what detects it
    Mutants(TableArguments),
    /// Run the recipes of published texts as they are written, and report which properties they violate
    Published(TableArguments),
    /// Defects of today's ZooKeeper: found by the model, and shown by real servers
    Findings(FindingsArguments),
    /// The known defects of ZooKeeper and wrong versions of recipes: which releases have each, and what finds it
    Museum(MuseumArguments),
    /// Run a command again whenever a source file changes
    Watch(WatchArguments),
    /// List the scenarios; with a name, that scenario's mutants, faults and marks
    List(ListArguments),
}

#[derive(Args, Debug)]
pub(super) struct WatchArguments {
    /// The folder whose `.rs` and `.toml` files are watched
    #[arg(value_name = "FOLDER", default_value = ".")]
    pub(super) folder: PathBuf,
    /// The command [default: cargo test]
    #[arg(last = true, value_name = "COMMAND")]
    pub(super) command: Vec<String>,
}

#[derive(Args, Debug)]
pub(super) struct ListArguments {
    /// A scenario, a release, `defects` for those of the servers, or `releases` [default: an overview]
    #[arg(value_name = "NAME")]
    pub(super) name: Option<String>,
}

#[derive(Args, Debug)]
pub(super) struct FindingsArguments {
    /// Which one to run, in the model and on real servers [default: a list of all]
    #[arg(value_name = "NAME")]
    pub(super) name: Option<String>,
    /// Java's class path with another ZooKeeper than Debian's, as '/opt/zookeeper/lib/*'
    #[arg(long, value_name = "PATHS", conflicts_with = "zookeeper")]
    pub(super) class_path: Option<String>,
    /// Which ZooKeeper to run: 3.8.0 (Debian's), or 3.4.14, 3.6.3 or 3.9.5, once downloaded with --get [default: 3.8.0]
    #[arg(long, value_name = "RELEASE")]
    pub(super) zookeeper: Option<String>,
    /// Download this release of ZooKeeper into the user's cache folder, by pip, and exit
    #[arg(long, value_name = "RELEASE", conflicts_with_all = ["name", "class_path", "zookeeper"])]
    pub(super) get: Option<String>,
}

// All values are text here, and are validated where their error messages are written.
#[derive(Args, Debug)]
pub(super) struct TableArguments {
    /// Which scenarios [default: all of the table]
    #[arg(value_name = "SCENARIO")]
    pub(super) scenarios: Vec<String>,
    /// How many seeds, or which ones (the end is excluded), for each [default: 5000 for recipes, 2500 for
    /// mutants, 1000 for published]
    #[arg(long, value_name = "N | A..B", allow_hyphen_values = true)]
    pub(super) seeds: Option<String>,
    /// How many seeds at a time, and how many threads for a search [default: one per core]
    #[arg(long, value_name = "J", allow_hyphen_values = true)]
    pub(super) jobs: Option<String>,
    /// Stop a search when there are more distinct states [default: 2,000,000]
    #[arg(long, value_name = "S", allow_hyphen_values = true)]
    pub(super) max_states: Option<String>,
    /// Stop a search after this time
    #[arg(long, value_name = "SECONDS", allow_hyphen_values = true)]
    pub(super) max_time: Option<String>,
}

/// The arguments of `vivarium recipes`: those of all tables, and some of its own.
#[derive(Args, Debug)]
pub(super) struct RecipesArguments {
    #[command(flatten)]
    pub(super) table: TableArguments,
    /// Run on a release with its defects (see `vivarium list releases`) and report which defects violate properties,
    /// and how often [default: repaired]
    #[arg(long, value_name = "RELEASE")]
    pub(super) release: Option<String>,
    /// Like --max-states, for searches with 3 clients, which seldom finish [default: --max-states]
    #[arg(long, value_name = "S", allow_hyphen_values = true)]
    pub(super) max_states_of_three: Option<String>,
    /// Also write the results to DIR/NAME.md, for the recipes' documentation
    #[arg(long, value_name = "DIR")]
    pub(super) write: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(super) struct FuzzArguments {
    /// Cases over servers (`explore broadcast`, `election`) instead of programs
    #[arg(long)]
    pub(super) servers: bool,
    /// How many cases, or which ones (the end is excluded) [default: 1000]
    #[arg(long, value_name = "N | A..B", allow_hyphen_values = true)]
    pub(super) cases: Option<String>,
    /// The seed that the cases are drawn from [default: 1]
    #[arg(long, value_name = "S", allow_hyphen_values = true)]
    pub(super) seed: Option<String>,
    /// Leave out a case with more states than this [default: 20,000]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(super) max_states: Option<String>,
    /// Plant a mistake in a reduction's condition; `all` plants one after the other
    #[arg(long, value_name = "NAME")]
    pub(super) flaw: Option<String>,
}

// All values are text here, and are validated where their error messages are written.
#[derive(Args, Debug, Default)]
pub(super) struct RunArguments {
    /// Which scenarios [default: all]
    #[arg(value_name = "SCENARIO")]
    pub(super) scenarios: Vec<String>,
    /// How many seeds, or which ones (the end is excluded); decimal or 0x…
    #[arg(long, value_name = "N | A..B", allow_hyphen_values = true)]
    pub(super) seeds: Option<String>,
    /// How many seeds at a time [default: one per core]
    #[arg(long, value_name = "J", allow_hyphen_values = true)]
    pub(super) jobs: Option<String>,
    /// What drives the programs: madsim or direct [default: madsim where it is built in]
    #[arg(long, value_name = "HOST")]
    pub(super) host: Option<String>,
    #[command(flatten)]
    pub(super) switches: SwitchArguments,
    /// Run all seeds even after a violation, and count the violating ones
    #[arg(long, conflicts_with = "check_determinism")]
    pub(super) keep_going: bool,
    /// Run only this part of each scenario's seeds, e.g. 3/8 for the third of eight; `vivarium merge` puts the JSON
    /// reports of all parts together, and decides what they cannot: which marks no run reached
    #[arg(long, value_name = "I/N", allow_hyphen_values = true)]
    #[arg(conflicts_with_all = ["check_determinism", "check_embedding"])]
    pub(super) shard: Option<String>,
    #[command(flatten)]
    pub(super) outputs: OutputArguments,
    /// Run each seed in several ways and name the first step that differs
    #[arg(long, conflicts_with_all = ["tables", "junit", "markdown", "annotations"])]
    pub(super) check_determinism: bool,
    /// Look for the smallest run that violates the same property, for at most this long; 0: not at all [default: 10]
    #[arg(long, value_name = "SECONDS")]
    pub(super) minimise: Option<String>,
    /// Replay each run at the grain of `explore`, step by step: a search must cover everything that
    /// servers do to clients
    #[arg(long, conflicts_with_all = ["check_determinism", "keep_going", "host", "tables", "json", "junit"])]
    #[arg(conflicts_with_all = ["markdown", "annotations"])]
    pub(super) check_embedding: bool,
    #[command(flatten)]
    pub(super) pictures: PictureArguments,
}

#[derive(Args, Debug)]
pub(super) struct ReplayArguments {
    /// A scenario (with --seed) or a case file
    #[arg(value_name = "SCENARIO | CASE")]
    pub(super) target: Option<String>,
    /// The seed to replay
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(super) seed: Option<String>,
    #[command(flatten)]
    pub(super) switches: SwitchArguments,
    /// Show the last steps: N of them, or all [default: 60, or all that a search has found]
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "")]
    pub(super) timeline: Option<String>,
    /// Look for the smallest run that violates the same property, for at most this long [default: 10]
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, conflicts_with = "timeline")]
    #[arg(default_missing_value = "")]
    pub(super) minimise: Option<String>,
    #[command(flatten)]
    pub(super) pictures: PictureArguments,
}

#[derive(Args, Debug)]
pub(super) struct ConformArguments {
    /// The least number of operations [default: 20000]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(super) ops: Option<String>,
    /// The seed that the operations are drawn from [default: 1]
    #[arg(long, value_name = "S", allow_hyphen_values = true)]
    pub(super) seed: Option<String>,
    /// A server that runs already, set up as `vivarium conform --setup` says [default: one of the
    /// installed package is started]
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "ensemble")]
    pub(super) server: Option<String>,
    /// Which ZooKeeper to start, or which one that server is: 3.8.0 (Debian's), or 3.4.14, 3.6.3 or 3.9.5, once downloaded by
    /// `vivarium findings --get 3.9.5` [default: 3.8.0]
    #[arg(long, value_name = "RELEASE")]
    pub(super) zookeeper: Option<String>,
    /// Three servers, a session that moves between them, and the kill and restart of one
    #[arg(long)]
    pub(super) ensemble: bool,
    /// How many observers the ensemble has in addition [default: 0]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(super) observers: Option<String>,
    /// Plant a deviation in the model, which must then be found
    #[arg(long = "bug", value_name = "NAME")]
    pub(super) bugs: Vec<String>,
    /// Write the model's run into this case file, for `vivarium replay FILE --timeline`
    #[arg(long, value_name = "FILE")]
    pub(super) record: Option<PathBuf>,
    /// Say how a server must be set up for --server
    #[arg(long)]
    pub(super) setup: bool,
}

#[derive(Args, Debug)]
pub(super) struct LiveArguments {
    /// Which scenario
    #[arg(value_name = "SCENARIO")]
    pub(super) scenario: Option<String>,
    /// The seeds A up to B, B left out, or N seeds from 0; each names its faults, and real time decides the rest
    /// [default: 3]
    #[arg(long, value_name = "A..B", allow_hyphen_values = true)]
    pub(super) seeds: Option<String>,
    /// Work on servers that exist, below this znode, as in 'zk1:2181,zk2:2181/vivarium': they are not harmed, and only what
    /// programs return is judged
    #[arg(long, value_name = "HOSTS", conflicts_with_all = ["ensemble", "class_path", "zookeeper"])]
    pub(super) connect: Option<String>,
    /// How many servers each seed starts [default: 3]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(super) ensemble: Option<String>,
    /// How many seconds the faults last [default: 10]
    #[arg(long, value_name = "SECONDS", allow_hyphen_values = true)]
    pub(super) faults_for: Option<String>,
    /// Switch on a mutant of the scenario, which real servers must then show to be wrong
    #[arg(long = "bug", value_name = "NAME")]
    pub(super) bugs: Vec<String>,
    /// Java's class path with another ZooKeeper than Debian's, as '/opt/zookeeper/lib/*'
    #[arg(long, value_name = "PATHS", conflicts_with = "zookeeper")]
    pub(super) class_path: Option<String>,
    /// Which ZooKeeper to start, once downloaded by `vivarium findings --get RELEASE` [default: 3.8.0, Debian's]
    #[arg(long, value_name = "RELEASE")]
    pub(super) zookeeper: Option<String>,
    /// Refused: real servers have the defects of their own release
    #[arg(long, value_name = "RELEASE", hide = true)]
    pub(super) release: Option<String>,
    /// Try the other seeds after a violation too
    #[arg(long)]
    pub(super) keep_going: bool,
}

#[derive(Args, Debug)]
pub(super) struct ServeArguments {
    /// How many servers [default: 3]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(super) servers: Option<String>,
    /// The port of the first server; the others have the next ones, and with 0 each has a free one [default: 2181]
    #[arg(long, value_name = "PORT", allow_hyphen_values = true)]
    pub(super) port: Option<String>,
    /// The address to listen at [default: 127.0.0.1]
    #[arg(long, value_name = "ADDRESS")]
    pub(super) listen: Option<String>,
    /// Let the faults of this seed happen, and print each as a line
    #[arg(long, value_name = "SEED", allow_hyphen_values = true)]
    pub(super) chaos: Option<String>,
    /// Draw only these faults with --chaos, such as crash,next-reply [default: all]
    #[arg(long, value_name = "FAULTS", value_delimiter = ',', requires = "chaos")]
    pub(super) faults: Vec<String>,
    /// Judge what programs observe by this property, such as `never-two-at-once granted released per lock`
    #[arg(long = "property", value_name = "PROPERTY")]
    pub(super) properties: Vec<String>,
    /// Take commands and show servers, trees, logs and watches by HTTP at this port too [default: not]
    #[arg(long, value_name = "PORT", allow_hyphen_values = true)]
    pub(super) http: Option<String>,
    /// The release whose defects the servers have (see `vivarium list releases`) [default: repaired]
    #[arg(long, value_name = "RELEASE")]
    pub(super) release: Option<String>,
    /// Switch on a defect of the servers, besides those of the release
    #[arg(long = "bug", value_name = "NAME")]
    pub(super) bugs: Vec<String>,
    /// Serve reads without a leader to clients that allow it (readonlymode.enabled)
    #[arg(long)]
    pub(super) read_only_mode: bool,
    /// Open sessions that only their server knows (localSessionsEnabled), and upgrade them for ephemerals
    #[arg(long)]
    pub(super) local_sessions: bool,
    /// The `user:digest` that has all permissions (zookeeper.DigestAuthenticationProvider.superDigest)
    #[arg(long, value_name = "DIGEST")]
    pub(super) super_digest: Option<String>,
    /// Create znodes with a time to live (zookeeper.extendedTypesEnabled)
    #[arg(long)]
    pub(super) extended_types: bool,
    /// Refuse what exceeds a quota (zookeeper.enforceQuota)
    #[arg(long)]
    pub(super) enforce_quota: bool,
    /// What latencies, elections and faults are drawn from [default: 0]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(super) seed: Option<String>,
    /// Record the run into this case file, for `vivarium replay FILE --timeline`
    #[arg(long, value_name = "FILE")]
    pub(super) record: Option<String>,
    /// How many times as fast as real time the ensemble's time goes: timeouts end so much earlier [default: 1]
    #[arg(long, value_name = "X", allow_hyphen_values = true)]
    pub(super) speed: Option<String>,
    /// Let time stand still while clients ask, and pass at once while they are all idle
    #[arg(long = "virtual", conflicts_with_all = ["speed", "chaos"])]
    pub(super) virtual_time: bool,
    /// The length of a tick in milliseconds; session timeouts are from 2 to 20 ticks [default: 2000]
    #[arg(long, value_name = "MILLISECONDS", allow_hyphen_values = true)]
    pub(super) tick: Option<String>,
}

#[derive(Args, Debug)]
pub(super) struct ExploreArguments {
    /// Which scenario
    #[arg(value_name = "SCENARIO")]
    pub(super) scenario: Option<String>,
    /// Over which grain: service or ensemble [default: the scenario's]
    #[arg(long, value_name = "GRAIN")]
    pub(super) grain: Option<String>,
    /// How many clients [default: the fewest of the scenario]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(super) clients: Option<String>,
    #[command(flatten)]
    pub(super) budget: BudgetArguments,
    /// How leaders are elected: oracle, the largest vote of each quorum; fast, as in the code; any, each server that
    /// a quorum could be made to follow [default: the scenario's]
    #[arg(long, value_name = "ELECTION")]
    pub(super) election: Option<String>,
    /// Make one step of two, which makes a search smaller and leaves something out; commit-apply: a server applies
    /// what is committed as soon as it learns of it
    #[arg(long, value_name = "STEPS")]
    pub(super) coarse: Option<String>,
    #[command(flatten)]
    pub(super) switches: SwitchArguments,
    /// How many threads [default: one per core]
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    pub(super) threads: Option<String>,
    /// Search in this many processes together: on this machine, or on those of `--hosts`
    #[arg(long, value_name = "P", allow_hyphen_values = true)]
    pub(super) processes: Option<String>,
    /// The processes' addresses, one `host:port` on each line. Give each process the same command, with its `--process`
    #[arg(long, value_name = "FILE")]
    pub(super) hosts: Option<PathBuf>,
    /// Which of the processes of `--hosts` this is, from 0. Process 0 reports
    #[arg(long, value_name = "I", allow_hyphen_values = true)]
    pub(super) process: Option<String>,
    /// Stop when there are more distinct states
    #[arg(long, value_name = "S", allow_hyphen_values = true)]
    pub(super) max_states: Option<String>,
    /// Stop when more memory is used, e.g. 4G [default: three quarters of the machine's]
    #[arg(long, value_name = "M", allow_hyphen_values = true)]
    pub(super) max_memory: Option<String>,
    /// Stop after this time
    #[arg(long, value_name = "SECONDS", allow_hyphen_values = true)]
    pub(super) max_time: Option<String>,
    /// Write a checkpoint to this file, every ten minutes and when a bound, Ctrl-C or SIGTERM stops the search
    #[arg(long, value_name = "FILE")]
    pub(super) checkpoint: Option<PathBuf>,
    /// The time between two checkpoints [default: 600]
    #[arg(long, value_name = "SECONDS", allow_hyphen_values = true)]
    pub(super) checkpoint_every: Option<String>,
    /// Go on from this checkpoint, and keep writing to it if `--checkpoint` names no other
    #[arg(long, value_name = "FILE")]
    pub(super) resume: Option<PathBuf>,
    /// Go depth first: takes less memory
    #[arg(long)]
    pub(super) depth_first: bool,
    /// Search without reductions: many more states, the same verdict
    #[arg(long)]
    pub(super) no_reduction: bool,
    /// Search also states that differ only in which client is which: more states, the same verdict
    #[arg(long)]
    pub(super) no_symmetry: bool,
    /// Report as JSON
    #[arg(long)]
    pub(super) json: bool,
    /// Also write a JUnit report to this file
    #[arg(long, value_name = "FILE")]
    pub(super) junit: Option<PathBuf>,
    /// Walk through the states in a browser instead, step by step, e.g. at localhost:3000
    #[arg(
        long,
        value_name = "ADDRESS",
        conflicts_with_all = ["json", "junit", "checkpoint", "checkpoint_every", "resume", "processes", "hosts", "process"]
    )]
    pub(super) serve: Option<String>,
    #[command(flatten)]
    pub(super) pictures: PictureArguments,
}

/// Parses the words of a command line, of which the first is the program's name.
pub(super) fn parse(words: Vec<OsString>, entries: &[Entry]) -> Result<Arguments, Failure> {
    Arguments::try_parse_from(words).map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            Failure::Help(error.render().to_string())
        }
        _ => Failure::Sentence(sentence(&error, entries)),
    })
}

/// Describes the error in one sentence with a suggestion.
fn sentence(error: &clap::Error, entries: &[Entry]) -> String {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        Some(ContextValue::Strings(texts)) => texts.first().cloned(),
        _ => None,
    };
    let argument = context(ContextKind::InvalidArg).unwrap_or_default();
    let flag = argument.split([' ', '=']).next().unwrap_or_default();
    match error.kind() {
        ErrorKind::UnknownArgument => unknown_argument(flag),
        ErrorKind::InvalidSubcommand => {
            unknown_command(&context(ContextKind::InvalidSubcommand).unwrap_or_default(), entries)
        }
        ErrorKind::ArgumentConflict => match context(ContextKind::PriorArg) {
            Some(prior) if prior.split(' ').next() != Some(flag) => {
                format!("`{flag}` and `{prior}` do not go together: leave out one of them")
            }
            _ => format!("`{flag}` is given twice: leave out one of them"),
        },
        ErrorKind::InvalidUtf8 => "an argument is not valid UTF-8 text".to_string(),
        _ if context(ContextKind::InvalidValue).is_some_and(|value| value.is_empty()) => {
            format!("`{flag}` needs a value: `{argument}`")
        }
        _ => {
            let text = error.render().to_string();
            let line = text.lines().next().unwrap_or_default();
            let line = line.strip_prefix("error: ").unwrap_or(line);
            format!("{line}; `vivarium --help` lists what there is")
        }
    }
}

fn unknown_argument(word: &str) -> String {
    if !word.starts_with('-') {
        return format!("unexpected argument `{word}`; `vivarium --help` lists what there is");
    }
    let command = Arguments::command();
    let flags: Vec<(String, String)> = command
        .get_subcommands()
        .flat_map(|sub| sub.get_arguments().map(move |argument| (sub.get_name(), argument)))
        .filter_map(|(sub, argument)| {
            argument.get_long().map(|long| (sub.to_string(), format!("--{long}")))
        })
        .collect();
    if let Some((sub, flag)) = flags.iter().find(|(_, flag)| flag == word) {
        return format!("`{flag}` belongs to the command `{sub}`: write `vivarium {sub} {flag} …`");
    }
    match nearest(word, flags.iter().map(|(_, flag)| flag.as_str())) {
        Some(flag) => format!("unknown flag `{word}`: did you mean `{flag}`?"),
        None => format!("unknown flag `{word}`: `vivarium run --help` lists the flags"),
    }
}

fn unknown_command(word: &str, entries: &[Entry]) -> String {
    if entries.iter().any(|entry| entry.name == word) {
        return format!("`{word}` is a scenario: did you mean `vivarium run {word}`?");
    }
    let command = Arguments::command();
    let names: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
    match nearest(word, names.iter().copied()) {
        Some(command) => format!("unknown command `{word}`: did you mean `{command}`?"),
        None => format!("unknown command `{word}`: the commands are {}", names.join(", ")),
    }
}

//! The commands that show a run again, as they can be typed where this process was started.

use super::switches::flags;

/// Returns the command that replays a seed, as it can be typed where this process was started.
pub(super) fn replay_of_seed(scenario: &str, seed: u64, bugs: &[String]) -> String {
    format!("{} replay {scenario} --seed {seed}{}", program(), flags(bugs))
}

/// Returns the command that started this process. Cargo sets the variable `CARGO` for the processes that it runs.
pub(super) fn program() -> String {
    match std::env::var_os("CARGO") {
        Some(_) if cfg!(debug_assertions) => "cargo run --".to_string(),
        Some(_) => "cargo run --release --".to_string(),
        None => std::env::args().next().unwrap_or_else(|| "vivarium".to_string()),
    }
}

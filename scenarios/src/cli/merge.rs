//! `vivarium merge`: merges JSON reports of shards, or of ranges of seeds that adjoin.

use super::outputs::{self, OutputArguments};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;
use vivarium_model::words::plural;
use vivarium_reports::merging::merge;
use vivarium_reports::numbers::span;
use vivarium_reports::reading::{ReadReport, load};

#[derive(Args, Debug)]
pub(super) struct MergeArguments {
    /// Reports of `vivarium run --json`: all shards of one run, or ranges of seeds that adjoin
    #[arg(value_name = "FILE")]
    pub(super) reports: Vec<PathBuf>,
    #[command(flatten)]
    pub(super) outputs: OutputArguments,
}

/// Runs the command and returns the exit code.
pub(super) fn run(arguments: &MergeArguments) -> Result<u8, String> {
    if arguments.reports.is_empty() {
        return Err("`merge` needs the JSON reports of all shards, such as \
             `vivarium merge reports/*.json`"
            .to_string());
    }
    let read: Result<Vec<ReadReport>, String> = arguments
        .reports
        .iter()
        .map(|path| load(path).map_err(|error| error.to_string()))
        .collect();
    let read = read?;
    let reports = merge(&read).map_err(|error| error.to_string())?;
    let walls = reports.iter().map(|report| report.wall);
    let wall = walls.fold(Duration::ZERO, Duration::saturating_add);
    let mut hosts: Vec<&str> = reports.iter().map(|report| report.host.as_str()).collect();
    hosts.dedup();
    let (wall, from) = (span(wall), plural(read.len(), "report"));
    let ending = format!("{wall} of real time in {from}, host {}", hosts.join(" and "));
    outputs::emit_reports(&reports, &arguments.outputs, &ending)
}

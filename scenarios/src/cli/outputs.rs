//! What `vivarium run` and `vivarium merge` print and write: the same reports in the same forms.

use super::output::{emit, to_stderr};
use crate::sweeping::shard::Shard;
use clap::Args;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::verdict::Verdict;
use vivarium_reports::annotations::annotations;
use vivarium_reports::json::json_report;
use vivarium_reports::junit::junit_report;
use vivarium_reports::markdown::markdown_report;
use vivarium_reports::numbers::grouped;
use vivarium_reports::summary::ScenarioReport;
use vivarium_reports::table::{WIDTH, conclusion, count_tables, overview};
use vivarium_reports::violation::violation_report;

/// How `run` and `merge` report.
#[derive(Args, Debug, Default)]
pub(super) struct OutputArguments {
    /// Also show how often each kind of fault struck, which marks were reached, what was measured, and the hash of each
    /// scenario
    #[arg(long, conflicts_with = "json")]
    pub(super) tables: bool,
    /// Report as JSON
    #[arg(long)]
    pub(super) json: bool,
    /// Also write a JUnit report to this file
    #[arg(long, value_name = "FILE")]
    pub(super) junit: Option<PathBuf>,
    /// Also append a summary in Markdown to this file, such as "$GITHUB_STEP_SUMMARY"
    #[arg(long, value_name = "FILE")]
    pub(super) markdown: Option<PathBuf>,
    /// Also write a line `::error …` to standard error for each violation and error, and `::warning …` for each
    /// inconclusive result: GitHub Actions shows them as annotations
    #[arg(long)]
    pub(super) annotations: bool,
}

/// Parses the argument of `--shard`.
pub(super) fn shard(text: &str) -> Result<Shard, String> {
    Shard::parse(text).map_err(|error| error.to_string())
}

/// Prints the reports, writes the files that were asked for, and returns the exit code. `ending` follows the number of
/// seeds in the last line.
pub(super) fn emit_reports(
    reports: &[ScenarioReport],
    outputs: &OutputArguments,
    ending: &str,
) -> Result<u8, String> {
    if let Some(path) = &outputs.junit {
        fs::write(path, junit_report(reports)).map_err(|error| {
            format!("the JUnit report `{}` cannot be written: {error}", path.display())
        })?;
    }
    if let Some(path) = &outputs.markdown {
        append(path, &markdown_report(reports)).map_err(|error| {
            format!("the summary `{}` cannot be written: {error}", path.display())
        })?;
    }
    if outputs.annotations {
        // Standard output may be a JSON document. The runner reads both.
        let lines = annotations(reports);
        if !lines.is_empty() {
            to_stderr(lines.trim_end());
        }
    }
    let code = Verdict::exit_code_of_all(reports.iter().map(|report| &report.verdict));
    let text = match outputs.json {
        true => json_report(reports),
        false => human_report(reports, outputs.tables, ending),
    };
    Ok(emit(&text, code))
}

/// Appends to a file, because one step of a CI job may run several commands with the same summary.
fn append(path: &Path, text: &str) -> std::io::Result<()> {
    OpenOptions::new().create(true).append(true).open(path)?.write_all(text.as_bytes())
}

fn human_report(reports: &[ScenarioReport], with_tables: bool, ending: &str) -> String {
    let findings = reports.iter().filter_map(|report| report.finding.as_ref());
    let mut text: String = findings.map(|finding| violation_report(finding) + "\n").collect();
    let swept = || reports.iter().filter(|report| report.seeds > 0);
    if with_tables {
        text.push_str(&count_tables(reports, WIDTH));
        for report in swept() {
            text.push_str(&format!("hash of all runs of {}: {}\n", report.title(), report.hash));
        }
        text.push('\n');
    }
    text.push_str(&overview(reports, WIDTH));
    let mut hash = Fingerprint::default();
    swept().for_each(|report| hash.add(report.hash));
    let seeds = grouped(swept().map(|report| report.seeds).sum());
    text.push_str(&format!(
        "\nhash of all runs: {hash}\n{}, {seeds} seeds, {ending}\n",
        conclusion(reports)
    ));
    text
}

//! `--html`, `--perfetto`, `--shiviz`: writes the picture of a run to files.

use super::cases;
use super::output::to_stderr;
use super::select::{self, Selected};
use crate::catalogue::Entry;
use crate::exploration;
use crate::picturing::{About, known, picture};
use crate::properties::{Stated, stated_properties};
use crate::replaying;
use clap::Args;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use vivarium_model::case::Case;
use vivarium_reports::picture::Picture;
use vivarium_reports::picture::page::page;
use vivarium_reports::picture::perfetto::trace_events;
use vivarium_reports::picture::shiviz::shiviz;
use vivarium_reports::run_page::run_page;
use vivarium_reports::summary::{Finding, ScenarioReport, Shorter};
use vivarium_sim::film::{Film, film, film_of_servers_outside};
use vivarium_sim::{HostKind, replica};

/// The files to write.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct PictureArguments {
    /// Write the run as a page for a browser: a space-time diagram with the state of every machine after each step
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write the run as trace events, for ui.perfetto.dev
    #[arg(long, value_name = "FILE")]
    perfetto: Option<PathBuf>,
    /// Write the run as a log with vector clocks, for ShiViz
    #[arg(long, value_name = "FILE")]
    shiviz: Option<PathBuf>,
}

impl PictureArguments {
    /// Returns the first flag that is given.
    pub(super) fn flag(&self) -> Option<&'static str> {
        let flags =
            [("--html", &self.html), ("--perfetto", &self.perfetto), ("--shiviz", &self.shiviz)];
        flags.into_iter().find(|(_, file)| file.is_some()).map(|(flag, _)| flag)
    }

    /// Makes the picture, if a file is asked for, and writes the files. Names each on standard error.
    ///
    /// # Errors
    /// One sentence if the picture cannot be made or a file cannot be written.
    pub(super) fn write(
        &self,
        picture: impl FnOnce() -> Result<Picture, String>,
    ) -> Result<(), String> {
        if self.flag().is_none() {
            return Ok(());
        }
        let picture = picture()?;
        save(self.html.as_deref(), "page of the run", || Ok(page(&picture)))?;
        save(self.perfetto.as_deref(), "trace of the run", || Ok(trace_events(&picture)))?;
        save(self.shiviz.as_deref(), "log of the run", || Ok(shiviz(&picture)))
    }

    /// Writes the reports of a sweep as one page, and beside it a page for each scenario's first violation; trace events and
    /// a log with vector clocks are those of the first violation.
    ///
    /// # Errors
    /// Those of [`PictureArguments::write`].
    pub(super) fn write_run(
        &self,
        reports: &[ScenarioReport],
        entries: &[Entry],
    ) -> Result<(), String> {
        let first = reports.iter().find_map(|report| report.finding.as_ref());
        PictureArguments { html: None, ..self.clone() }.write_finding(first, entries)?;
        let Some(path) = &self.html else { return Ok(()) };
        let mut pictures = BTreeMap::new();
        for report in reports {
            let Some(finding) = &report.finding else { continue };
            let file = beside(path, report);
            let picture = match of_finding(finding, entries) {
                Ok(picture) => picture,
                Err(sentence) => {
                    to_stderr(&format!("{} has no picture: {sentence}", report.title()));
                    continue;
                }
            };
            save(Some(&file), "page of the run", || Ok(page(&picture)))?;
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            pictures.insert(report.title(), name);
        }
        save(Some(path), "report", || Ok(run_page(reports, &pictures)))
    }

    /// Writes the picture of a violation that was found: of the smaller run, if there is one. Without a violation,
    /// says that there is nothing to show.
    ///
    /// # Errors
    /// Those of [`PictureArguments::write`].
    pub(super) fn write_finding(
        &self,
        finding: Option<&Finding>,
        entries: &[Entry],
    ) -> Result<(), String> {
        let Some(flag) = self.flag() else { return Ok(()) };
        let Some(finding) = finding else {
            to_stderr(&format!("no property was violated, so `{flag}` has no run to show"));
            return Ok(());
        };
        self.write(|| of_finding(finding, entries))
    }
}

fn save(
    path: Option<&Path>,
    what: &str,
    text: impl FnOnce() -> Result<String, String>,
) -> Result<(), String> {
    let Some(path) = path else { return Ok(()) };
    let text = text()?;
    fs::write(path, &text).map_err(|error| {
        format!("the {what} cannot be written to `{}`: {error}", path.display())
    })?;
    let kilobytes = text.len().div_ceil(1_000);
    to_stderr(&format!("wrote the {what} to {} ({kilobytes} kB)", path.display()));
    Ok(())
}

/// Returns the path of a violation's page beside the page of its run: `report-lock-42.html` beside `report.html`.
fn beside(path: &Path, report: &ScenarioReport) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let seed = report.finding.as_ref().and_then(|finding| finding.violation.seed);
    let seed = seed.map(|seed| format!("-{seed}")).unwrap_or_default();
    path.with_file_name(format!("{stem}-{}{seed}.html", report.scenario))
}

/// Makes the picture of a violation that was found, from the case file of the smaller run or its own.
fn of_finding(finding: &Finding, entries: &[Entry]) -> Result<Picture, String> {
    let Some(shown) = smaller(finding).or_else(|| saved(finding).map(|_| finding)) else {
        return Err("there is no case file, from which the picture would be made".to_string());
    };
    let path = saved(shown).expect("it was chosen for it");
    let case = cases::load(Path::new(path))?;
    let mut picture = of_case(&case, &shown.replay, entries)?;
    picture.facts.push(("case file".to_string(), path.to_string()));
    if !std::ptr::eq(shown, finding) {
        let found = format!("{} --html FILE", finding.replay);
        picture.facts.push(("the run as found".to_string(), found));
    }
    Ok(picture)
}

/// Makes the picture of the smaller run of a finding, or of this case if there is none.
///
/// # Errors
/// One sentence about what is wrong with the case.
pub(super) fn of_smaller(
    finding: &Finding,
    case: &Case,
    entries: &[Entry],
) -> Result<Picture, String> {
    match smaller(finding) {
        Some(_) => of_finding(finding, entries),
        None => of_case(case, &finding.replay, entries),
    }
}

/// Returns the smaller run of a finding, if it has a case file.
fn smaller(finding: &Finding) -> Option<&Finding> {
    match &finding.shorter {
        Some(Shorter::Found(minimal)) => Some(&minimal.finding).filter(|it| saved(it).is_some()),
        _ => None,
    }
}

fn saved(finding: &Finding) -> Option<&str> {
    finding.case_file.as_ref()?.as_deref().ok()
}

/// Makes the picture of a case file. `replay` is the command that replays it.
///
/// # Errors
/// One sentence about what is wrong with the case.
pub(super) fn of_file(
    target: &str,
    case: &Case,
    replay: &str,
    entries: &[Entry],
) -> Result<Picture, String> {
    let mut picture = of_case(case, replay, entries)?;
    picture.facts.push(("case file".to_string(), target.to_string()));
    Ok(picture)
}

/// Makes the picture of a case. `replay` is the command that replays it.
///
/// # Errors
/// One sentence about what is wrong with the case.
pub(super) fn of_case(case: &Case, replay: &str, entries: &[Entry]) -> Result<Picture, String> {
    let (film, about) = filmed(case, replay, entries)?;
    Ok(picture(&film, about))
}

/// Films a case at its grain.
fn filmed(case: &Case, replay: &str, entries: &[Entry]) -> Result<(Film, About), String> {
    let title = replaying::title(&case.scenario, &case.bugs);
    if case.scenario == replica::SCENARIO {
        let properties = stated_properties(&case.parameters)?;
        let further = properties.iter().map(Stated::monitor).collect();
        let replayed = replica::replay_judged(case, further)?;
        let film = film_of_servers_outside(case, replayed.taken.len() as u64)?;
        return Ok((film, known::of_steps(title, case, &replayed, replay)));
    }
    let entry = select::entry(&case.scenario, entries)?;
    let Selected { scenario, .. } = select::selected(entry, &case.bugs)?;
    let host = HostKind::default();
    if let Some(replayed) = exploration::replay(&scenario, case)? {
        let film = film(&scenario, case, host, replayed.taken.len() as u64)?;
        return Ok((film, known::of_steps(title, case, &replayed, replay)));
    }
    let run = replaying::replayed(&scenario, case, 0)?.report;
    let film = vivarium_sim::on_fresh_thread(|| film(&scenario, case, host, run.steps))?;
    Ok((film, known::of_swept(title, &run, replay)))
}

//! Environment variables for tests: other seeds, a replay of one run, more output, or a browser.

use crate::minimising;
use crate::sweeping::LAST_STEPS;
use crate::sweeping::seeds::{SeedRange, parse_seed};
use crate::sweeping::shard::Shard;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use vivarium_model::case::{Case, GrainKind};
use vivarium_reports::case_file;
use vivarium_reports::folding::fold;
use vivarium_reports::json::json_report;
use vivarium_reports::summary::ScenarioReport;

/// The folder of the regression cases in a crate.
const REGRESSIONS: &str = "vivarium-regressions";

/// The variables as read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Environment {
    /// `VIVARIUM_SEEDS`.
    pub(crate) seeds: Option<String>,
    /// `VIVARIUM_SEED`.
    pub(crate) seed: Option<String>,
    /// `VIVARIUM_SHARD`.
    pub(crate) shard: Option<String>,
    /// `VIVARIUM_REPORTS`.
    pub(crate) reports: Option<PathBuf>,
    /// `VIVARIUM_CASE`.
    pub(crate) case: Option<PathBuf>,
    /// `VIVARIUM_TIMELINE`.
    pub(crate) timeline: Option<String>,
    /// `VIVARIUM_REGRESSIONS`.
    pub(crate) regressions: Option<PathBuf>,
    /// `VIVARIUM_MINIMISE`.
    pub(crate) minimise: Option<String>,
    /// `VIVARIUM_SERVE`.
    #[cfg_attr(not(feature = "explore"), allow(dead_code, reason = "only states are served"))]
    pub(crate) serve: Option<String>,
}

impl Environment {
    /// Reads the variables.
    pub(crate) fn read() -> Environment {
        let text =
            |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        Environment {
            seeds: text("VIVARIUM_SEEDS"),
            seed: text("VIVARIUM_SEED"),
            shard: text("VIVARIUM_SHARD"),
            reports: std::env::var_os("VIVARIUM_REPORTS").map(PathBuf::from),
            case: std::env::var_os("VIVARIUM_CASE").map(PathBuf::from),
            timeline: text("VIVARIUM_TIMELINE"),
            minimise: text("VIVARIUM_MINIMISE"),
            regressions: std::env::var_os("VIVARIUM_REGRESSIONS").map(PathBuf::from),
            serve: text("VIVARIUM_SERVE"),
        }
    }

    /// Returns the seeds to run: `VIVARIUM_SEED`, else `VIVARIUM_SEEDS`, else the test's own count.
    pub(crate) fn seeds(&self, own: u64) -> Result<SeedRange, String> {
        if let Some(text) = &self.seed {
            return match parse_seed(text) {
                Ok(seed) => Ok(SeedRange::only(seed)),
                Err(error) => Err(format!("VIVARIUM_SEED: {error}")),
            };
        }
        match &self.seeds {
            Some(text) => {
                SeedRange::parse(text).map_err(|error| format!("VIVARIUM_SEEDS: {error}"))
            }
            None => SeedRange::count(own).map_err(|error| format!("seeds: {error}")),
        }
    }

    /// Returns for how long a violating run is minimised. One that is asked for by its seed or with a timeline is not,
    /// unless `VIVARIUM_MINIMISE` says so.
    pub(crate) fn minimises_for(&self) -> Result<Duration, String> {
        match &self.minimise {
            Some(text) => {
                minimising::seconds(text).map_err(|why| format!("VIVARIUM_MINIMISE: {why}"))
            }
            None if self.seed.is_some() || self.timeline()?.is_some() => Ok(Duration::ZERO),
            None => Ok(minimising::TIME),
        }
    }

    /// Returns the part of the seeds to run; `None` for all, and for `VIVARIUM_SEED`, which asks for one run.
    pub(crate) fn shard(&self) -> Result<Option<Shard>, String> {
        match &self.shard {
            Some(text) if self.seed.is_none() => {
                Shard::parse(text).map(Some).map_err(|error| format!("VIVARIUM_SHARD: {error}"))
            }
            _ => Ok(None),
        }
    }

    /// Returns the folder of the regression cases: `VIVARIUM_REGRESSIONS`, else `vivarium-regressions` in the directory of
    /// the crate under test. Returns `None` if the variable is `off`, if one run is asked for, or outside of Cargo.
    pub(crate) fn regressions(&self) -> Option<PathBuf> {
        if self.case.is_some() || self.seed.is_some() {
            return None;
        }
        match &self.regressions {
            Some(folder) if folder.as_os_str() == "off" => None,
            Some(folder) => Some(folder.clone()),
            None => std::env::var_os("CARGO_MANIFEST_DIR")
                .map(|of_crate| PathBuf::from(of_crate).join(REGRESSIONS)),
        }
    }

    /// Returns how many of a run's last steps to show, if the variable is set.
    pub(crate) fn timeline(&self) -> Result<Option<usize>, String> {
        match self.timeline.as_deref().map(str::trim) {
            None | Some("" | "0") => Ok(None),
            Some("1") => Ok(Some(LAST_STEPS)),
            Some("all") => Ok(Some(usize::MAX)),
            Some(text) => text.parse().map(Some).map_err(|_error| {
                format!(
                    "VIVARIUM_TIMELINE: `{text}` is not a number of steps: write `100` or `all`"
                )
            }),
        }
    }

    /// Loads the case to replay, if its grain is `grain`. (A case of the other grain belongs to the test's other
    /// engine.)
    pub(crate) fn case(&self, test: &str, grain: GrainKind) -> Result<Option<Again>, String> {
        let Some(path) = &self.case else { return Ok(None) };
        let case = case_file::load(path).map_err(|error| format!("VIVARIUM_CASE: {error}"))?;
        if case.scenario != test {
            return Err(format!(
                "VIVARIUM_CASE: `{}` is of the test `{}`, and this one is `{test}`",
                path.display(),
                case.scenario
            ));
        }
        if let [switch, ..] = &case.bugs[..] {
            return Err(format!(
                "VIVARIUM_CASE: `{}` was recorded with `{switch}` switched on, and a test has no switches",
                path.display()
            ));
        }
        let file = path.display().to_string();
        Ok((case.grain == grain).then_some(Again { case, file }))
    }
}

/// Writes a test's JSON report into the folder, which is created.
///
/// # Errors
/// Returns one sentence if the file cannot be written, or exists: two tests of one name would be taken for one.
pub(crate) fn write_report(folder: &Path, report: &ScenarioReport) -> Result<(), String> {
    let part = match report.shard {
        Some(shard) => format!("-{}-of-{}", shard.index, shard.count),
        None => String::new(),
    };
    let path = folder.join(format!("{}{part}.json", file_name(&report.scenario)));
    let write = || {
        fs::create_dir_all(folder)?;
        let text = json_report(std::slice::from_ref(report));
        File::create_new(&path)?.write_all(text.as_bytes())
    };
    write().map_err(|error| format!("VIVARIUM_REPORTS: `{}`: {error}", path.display()))
}

/// Returns a test's name as part of a file's name.
pub(super) fn file_name(test: &str) -> String {
    let safe = |letter: char| if letter.is_alphanumeric() { letter } else { '-' };
    test.chars().map(safe).collect()
}

/// Wraps lines that are wider than the variable `COLUMNS`, if it is set.
pub(crate) fn fitted(text: String) -> String {
    let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok());
    match columns {
        Some(columns) => fold(&text, columns),
        None => text,
    }
}

/// A case to replay.
pub(crate) struct Again {
    pub(crate) case: Case,
    pub(crate) file: String,
}

/// Writes a test's case. Returns its path, or a sentence that says why it could not be written.
pub(crate) fn save(case: &Case, which: &str) -> Result<String, String> {
    let name = file_name(&case.scenario);
    let path = directory().join(format!("{name}-{which}.json"));
    case_file::save(&path, case).map_err(|error| error.to_string())?;
    Ok(path.display().to_string())
}

/// Returns the directory for cases: `vivarium` in the build directory, whose content is not under version control, else
/// `cases` in the current directory.
fn directory() -> PathBuf {
    let program = std::env::current_exe().ok();
    let deps = program.as_deref().and_then(Path::parent).filter(|path| path.ends_with("deps"));
    let target = deps.and_then(Path::parent).and_then(Path::parent);
    target.map_or_else(|| PathBuf::from("cases"), |target| target.join("vivarium"))
}

/// Returns the command that runs this test again. The test harness names its threads after the tests. If it runs tests
/// on the main thread, the name is unknown and the command runs all tests.
pub(crate) fn cargo_test() -> String {
    of_thread(std::thread::current().name())
}

fn of_thread(name: Option<&str>) -> String {
    match name {
        Some(name) if name != "main" => format!("cargo test {name}"),
        _ => "cargo test".to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Option<String> {
        Some(text.to_string())
    }

    fn chosen(seeds: Option<String>, seed: Option<String>) -> Result<SeedRange, String> {
        Environment { seeds, seed, ..Environment::default() }.seeds(7)
    }

    #[test]
    fn the_environment_overrides_the_source_and_one_seed_overrides_a_range() {
        let chosen = |seeds, seed| chosen(seeds, seed).map(|seeds| seeds.range());
        assert_eq!(chosen(None, None), Ok(0..7));
        assert_eq!(chosen(text("20"), None), Ok(0..20));
        assert_eq!(chosen(text("20..30"), None), Ok(20..30));
        assert_eq!(chosen(text("20..30"), text("0x2a")), Ok(42..43));
    }

    #[test]
    fn a_malformed_variable_is_named() {
        let refused = |seeds, seed| chosen(seeds, seed).expect_err("it is malformed");
        assert_eq!(
            refused(None, text("forty")),
            "VIVARIUM_SEED: `forty` is not a seed: write a number, such as `42` or `0x2a`"
        );
        assert_eq!(
            refused(text("9..3"), None),
            "VIVARIUM_SEEDS: the seed range `9..3` is reversed: did you mean `3..9`?"
        );
        let shard = |shard, seed| Environment { shard, seed, ..Environment::default() }.shard();
        assert_eq!(
            shard(text("8"), None),
            Err("VIVARIUM_SHARD: `8` is not a shard: write e.g. `3/8` for the third of eight"
                .to_string())
        );
        assert_eq!(shard(text("8"), text("3")), Ok(None), "one seed is no range");
        assert!(refused(text(""), None).starts_with("VIVARIUM_SEEDS: the seed range is empty"));
        let timeline = Environment { timeline: text("much"), ..Environment::default() }.timeline();
        let sentence = "VIVARIUM_TIMELINE: `much` is not a number of steps: write `100` or `all`";
        assert_eq!(timeline, Err(sentence.to_string()));
    }

    #[test]
    fn a_timeline_is_as_long_as_is_said() {
        let timeline =
            |said: &str| Environment { timeline: text(said), ..Environment::default() }.timeline();
        assert_eq!(timeline("1"), Ok(Some(LAST_STEPS)));
        assert_eq!(timeline("250"), Ok(Some(250)));
        assert_eq!(timeline("all"), Ok(Some(usize::MAX)));
        assert_eq!(timeline("0"), Ok(None));
    }

    #[test]
    fn the_command_names_the_test_where_it_is_known() {
        assert_eq!(of_thread(Some("a::b")), "cargo test a::b");
        assert_eq!(of_thread(Some("main")), "cargo test");
        assert_eq!(of_thread(None), "cargo test");
    }
}

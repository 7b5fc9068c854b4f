//! Case files: their paths, and how they are loaded.

use super::select::nearest;
use std::path::{Path, PathBuf};
use vivarium_model::case::Case;
use vivarium_model::release::Bug;
use vivarium_reports::case_file::{self, CaseFileError};

/// The directory of case files, in the current directory.
pub(super) const CASES: &str = "cases";

/// Returns the path for a case of a scenario with these bugs; `which` distinguishes its cases.
pub(super) fn path(scenario: &str, bugs: &[String], which: &str) -> PathBuf {
    let mut name = scenario.to_string();
    for bug in bugs {
        name.push('-');
        name.push_str(bug);
    }
    Path::new(CASES).join(format!("{name}-{which}.json"))
}

/// Loads a case file.
///
/// # Errors
/// Says why it was not loaded; suggests the nearest name for an unknown bug.
pub(super) fn load(path: &Path) -> Result<Case, String> {
    case_file::load(path).map_err(|error| {
        let meant = match &error {
            CaseFileError::UnknownBug { name, .. } => nearest(name, Bug::ALL.map(Bug::name)),
            _ => None,
        };
        meant.map_or(error.to_string(), |meant| format!("{error}: did you mean `{meant}`?"))
    })
}

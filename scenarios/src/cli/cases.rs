//! The paths of case files.

use std::path::{Path, PathBuf};

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

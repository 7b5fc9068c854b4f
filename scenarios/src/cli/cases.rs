//! Where case files go.

use std::path::{Path, PathBuf};

/// The directory, in the current one.
const CASES: &str = "cases";

/// The file of a scenario with these bugs; `which` tells apart what was found there.
pub(super) fn path(scenario: &str, bugs: &[String], which: &str) -> PathBuf {
    let mut name = scenario.to_string();
    for bug in bugs {
        name.push('-');
        name.push_str(bug);
    }
    Path::new(CASES).join(format!("{name}-{which}.json"))
}

//! Cases that are kept as regressions: each is replayed before any seed runs.

use super::Told;
use std::fs;
use std::path::{Path, PathBuf};
use vivarium_model::case::Case;
use vivarium_reports::case_file;
use vivarium_reports::numbers::grouped;

/// What became of a case.
pub(crate) enum Became {
    /// It violates a property: the report of the replay.
    Violates(String),
    /// It violates nothing: what to do with it, in a sentence.
    Holds(String),
}

/// Returns the case files of a folder whose names begin like this, in the order of their names; those that could not be
/// read with the reason. A folder that does not exist has none.
pub(crate) fn cases_in(folder: &Path, begin: &str) -> Vec<(PathBuf, Result<Case, String>)> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let is_case = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(begin) && name.ends_with(".json")
    };
    let mut files: Vec<PathBuf> =
        entries.filter_map(Result::ok).map(|entry| entry.path()).filter(is_case).collect();
    files.sort();
    let load = |path: PathBuf| {
        let case = case_file::load(&path).map_err(|error| error.to_string());
        (path, case)
    };
    files.into_iter().map(load).collect()
}

/// Says what became of a case that was replayed.
pub(crate) fn became(file: &Path, case: &Case, told: Told) -> Became {
    let file = file.display();
    let property = case.violation.as_ref().map_or("any property", |it| it.property.as_str());
    match told.by_old_times {
        Some(other) if other != property => {
            return Became::Holds(format!(
                "regression {file}: stale: this build does not give the recorded run, and its replay violates only \
                 {other}, which judges times that a replay of old steps does not have. Record it anew, or delete it."
            ));
        }
        _ if told.code == 1 => return Became::Violates(told.text),
        _ => {}
    }
    let (skipped, all) = (told.skipped, case.steps.len());
    let steps = format!("{} of its {} steps", grouped(skipped as u64), grouped(all as u64));
    Became::Holds(if 2 * skipped > all {
        format!(
            "regression {file}: stale: {steps} are not possible any more, so it shows nothing. Record it anew, or \
             delete it."
        )
    } else if skipped > 0 {
        format!(
            "regression {file}: no longer violates {property}, but {steps} are not possible any more. Keep it as a \
             regression while most are."
        )
    } else {
        format!("regression {file}: no longer violates {property}. Keep it: it is replayed first.")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use vivarium_model::case::GrainKind;
    use vivarium_model::config::Config;
    use vivarium_model::fingerprint::Fingerprint;
    use vivarium_model::id::ClientId;
    use vivarium_model::property::Objection;
    use vivarium_model::step::Step;
    use vivarium_model::time::Time;

    fn case() -> Case {
        Case {
            version: Case::VERSION,
            scenario: "lock".to_string(),
            grain: GrainKind::Ensemble,
            parameters: BTreeMap::new(),
            seed: Some(1),
            bugs: Vec::new(),
            config: Config::new(1, 1),
            outside: Vec::new(),
            steps: Vec::new(),
            hash: Fingerprint::default(),
            violation: None,
        }
    }

    fn holds(skipped: usize, code: u8) -> String {
        let mut case = case();
        case.steps = vec![(Time::ZERO, Step::Start(ClientId(1))); 4];
        let told = Told { text: "told".to_string(), code, skipped, by_old_times: None };
        match became(Path::new("a.json"), &case, told) {
            Became::Violates(text) => format!("violates: {text}"),
            Became::Holds(sentence) => sentence,
        }
    }

    /// A record of other code has no times of its own. If it was recorded for such a property, it is still judged.
    #[test]
    fn a_case_that_is_no_run_any_more_is_not_judged_by_its_times() {
        let by_times = |recorded: &str| {
            let mut case = case();
            case.violation = Some(Objection::new(recorded, "saw"));
            let by_old_times = Some("H16 a client machine keeps its times".to_string());
            let told = Told { text: "told".to_string(), code: 1, skipped: 0, by_old_times };
            matches!(became(Path::new("a.json"), &case, told), Became::Violates(_))
        };
        assert!(!by_times("progress"));
        assert!(by_times("H16 a client machine keeps its times"));
    }

    #[test]
    fn a_case_is_judged_by_the_steps_that_are_still_possible() {
        assert_eq!(holds(0, 1), "violates: told");
        assert!(holds(0, 0).contains("no longer violates"));
        assert!(holds(2, 2).contains("2 of its 4 steps are not possible any more. Keep"));
        assert!(holds(3, 2).contains("stale: 3 of its 4 steps"));
    }
}

//! `vivarium list releases`: the releases of ZooKeeper, and which of them have which defect.

use vivarium_model::release::{Bug, CHANGES, Change, Release, ReleaseNumber};
use vivarium_reports::table::{WIDTH, of_rows};

/// Lists the releases, and all of their defects with the first releases that have and that repair them.
pub(super) fn releases() -> String {
    let count = |release: Release| [release.to_string(), defects(release).count().to_string()];
    let releases = of_rows(["--release", "defects"], Release::ALL.into_iter().map(count), 1, WIDTH);
    let changes = of_rows(HEADER, CHANGES.iter().map(row), HEADER.len(), WIDTH);
    format!(
        "Releases of ZooKeeper whose defects the servers can have. head is the master branch; repaired, the default, is \
         head\nwithout its defects. `vivarium list RELEASE` names those of one release.\n{releases}\n\n\
         {changes}\n\n\
         Both lists have the first release of each line. Later lines are like the last one; an older line that is not \
         named has\nneither the defect nor the repair. They are about defects only: a modelled server of any release has all \
         operations of\nhead, also those that the real release lacks.\n"
    )
}

/// Returns the defects of a release.
pub(super) fn defects(release: Release) -> impl Iterator<Item = Bug> {
    release.bugs().iter()
}

const HEADER: [&str; 4] = ["defect", "ZOOKEEPER-", "from", "repaired in"];

fn row(change: &Change) -> [String; 4] {
    let list = |numbers: &[ReleaseNumber], none: &str| match numbers {
        [] => none.to_string(),
        numbers => numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    };
    [
        change.bug.name().to_string(),
        change.tracker.map_or_else(|| "-".to_string(), |number| number.to_string()),
        list(change.begins, "always"),
        list(change.ends, "-"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_every_release_and_every_defect() {
        let list = releases();
        for release in Release::ALL {
            let begins = |line: &str| line.trim_start().starts_with(&release.to_string());
            assert!(list.lines().any(begins), "{release}");
        }
        for Change { bug, .. } in CHANGES {
            let begins = |line: &str| line.trim_start().starts_with(bug.name());
            assert!(list.lines().any(begins), "{bug} in full:\n{list}");
        }
    }
}

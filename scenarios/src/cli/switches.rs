//! The flags that switch defects on: a release, mutants of the scenario, single defects of the servers.

use super::select;
use clap::Args;
use vivarium_model::release::Release;

/// What is switched on in a command.
#[derive(Args, Debug, Default)]
pub(super) struct SwitchArguments {
    /// The release whose defects the servers have (see `vivarium list releases`) [default: repaired]
    #[arg(long, value_name = "RELEASE")]
    pub(super) release: Option<String>,
    /// Switch on a mutant of the scenario or a defect of the servers (see `vivarium list NAME`)
    #[arg(long = "bug", value_name = "NAME")]
    pub(super) bugs: Vec<String>,
}

impl SwitchArguments {
    /// Returns the names of everything that is switched on, with the release first if it has defects.
    ///
    /// # Errors
    /// Fails if there is no such release.
    pub(super) fn names(&self) -> Result<Vec<String>, String> {
        let release = select::release(self.release.as_deref())?;
        let named = (release != Release::Repaired).then(|| release.to_string());
        Ok(named.into_iter().chain(self.bugs.iter().cloned()).collect())
    }

    /// Returns true if no flag is given.
    pub(super) fn is_empty(&self) -> bool {
        self.release.is_none() && self.bugs.is_empty()
    }
}

/// The answer to these flags beside a case file.
pub(super) const NAMED_BY_CASE: &str = "a case file names its bugs itself: leave out `--bug` and `--release`, or give `--seed N` with a scenario";

/// Returns the flags that switch these on, each with a space before it.
pub(super) fn flags(names: &[String]) -> String {
    let flag = |name: &String| match Release::named(name) {
        Some(_) => format!(" --release {name}"),
        None => format!(" --bug {name}"),
    };
    names.iter().map(flag).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_switched_on_is_written_as_it_was_asked_for() {
        let bugs = vec!["NoGuid".to_owned()];
        let asked = SwitchArguments { release: Some("3.8.0".to_owned()), bugs };
        let names = asked.names().expect("there is this release");
        assert_eq!(names, ["3.8.0", "NoGuid"]);
        assert_eq!(flags(&names), " --release 3.8.0 --bug NoGuid");
    }

    #[test]
    fn repaired_servers_have_nothing_switched_on() {
        for release in [None, Some("repaired".to_owned())] {
            let asked = SwitchArguments { release, bugs: Vec::new() };
            assert!(asked.names().expect("it is known").is_empty());
        }
    }
}

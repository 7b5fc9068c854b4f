//! Looks up scenarios, bugs and hosts by name. For an unknown name, the nearest known one is suggested.

use crate::catalogue::Entry;
use vivarium_model::config::Election;
use vivarium_model::file_system::Metadata;
use vivarium_model::release::{Bug, Release};
use vivarium_sim::{HostKind, Scenario};

/// A scenario of the catalogue with its switches set.
pub(super) struct Selected<'a> {
    pub(super) entry: &'a Entry,
    pub(super) scenario: Scenario,
}

/// Returns the name that the user may have mistyped as `word`.
pub(super) fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let lower = word.to_lowercase();
    names
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&lower, &name.to_lowercase()), name))
        .filter(|(distance, name)| *distance <= 1 + name.chars().count() / 4)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Returns `did you mean X?`, or all names to choose from.
fn suggestion<'a>(
    word: &str,
    names: impl IntoIterator<Item = &'a str, IntoIter: Clone>,
    what: &str,
) -> String {
    let names = names.into_iter();
    match nearest(word, names.clone()) {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("{what} {}", names.collect::<Vec<_>>().join(", ")),
    }
}

/// Returns the scenario with this name.
pub(super) fn entry<'a>(name: &str, entries: &'a [Entry]) -> Result<&'a Entry, String> {
    entries.iter().find(|entry| entry.name == name).ok_or_else(|| {
        let names = entries.iter().map(|entry| entry.name);
        format!("unknown scenario `{name}`: {}", suggestion(name, names, "the scenarios are"))
    })
}

/// Returns the scenario with these bugs.
pub(super) fn selected<'a>(entry: &'a Entry, bugs: &[String]) -> Result<Selected<'a>, String> {
    let switches = entry
        .switches(bugs)
        .map_err(|bug| unknown_bug(bug, &format!(" of scenario `{}`", entry.name), &[entry]))?;
    Ok(Selected { entry, scenario: entry.scenario(&switches) })
}

/// Returns the scenarios of a `run`, each once; without names, all that have the bugs.
pub(super) fn selection<'a>(
    names: &[String],
    bugs: &[String],
    entries: &'a [Entry],
) -> Result<Vec<Selected<'a>>, String> {
    let mut chosen: Vec<&Entry> = Vec::new();
    for name in names {
        let found = entry(name, entries)?;
        has_seeds(found)?;
        if !chosen.iter().any(|already| already.name == found.name) {
            chosen.push(found);
        }
    }
    if names.is_empty() {
        let is_run = |entry: &&Entry| entry.is_swept() && !entry.is_published();
        let all: Vec<&Entry> = entries.iter().filter(is_run).collect();
        if let Some(bug) = bugs.iter().find(|bug| !all.iter().any(|entry| knows(entry, bug))) {
            return Err(unknown_bug(bug, "", &all));
        }
        chosen = all.into_iter().filter(|entry| entry.switches(bugs).is_ok()).collect();
        if chosen.is_empty() {
            return Err(format!("no scenario has all of the bugs {}", bugs.join(", ")));
        }
    }
    let selected = chosen.into_iter().map(|entry| selected(entry, bugs));
    let mut selected: Vec<Selected<'a>> = selected.collect::<Result<_, _>>()?;
    for need in &NEEDS {
        let Some(bug) = need.of(bugs) else { continue };
        if names.is_empty() {
            selected.retain(|selected| (need.is_met)(&selected.scenario));
        } else if let Some(without) = selected.iter().find(|it| !(need.is_met)(&it.scenario)) {
            let (without, Need { what, shown, .. }) = (without.entry.name, need);
            return Err(format!(
                "`{bug}` needs {what}, and `{without}` has none: run `vivarium {shown} --bug {bug}`"
            ));
        }
    }
    if names.is_empty() {
        selected.retain(|selected| selected.scenario.settings.servers.missing().is_none());
    }
    Ok(selected)
}

/// What some defects need to show.
struct Need {
    bugs: &'static [Bug],
    what: &'static str,
    /// The command that shows them, without `--bug`.
    shown: &'static str,
    is_met: fn(&Scenario) -> bool,
}

const NEEDS: [Need; 7] = [
    Need {
        bugs: &Bug::OF_OBSERVERS,
        what: "observers",
        shown: "run observers",
        is_met: |scenario| scenario.observers.range().is_some_and(|(_, most)| most > 0),
    },
    // Before the others of reconfigurations: few sweeps show it, if any.
    Need {
        bugs: &[Bug::JoinerKeepsVote],
        what: "reconfigurations",
        shown: "explore broadcast --servers 2 --txns 0 --reconfigs 1 --crashes 1",
        is_met: |scenario| scenario.settings.servers.reconfig_enabled,
    },
    Need {
        bugs: &[Bug::UnloggedObserverVotes],
        what: "observers without a log that become voters",
        shown: "run unlogged-observers",
        is_met: |scenario| {
            let servers = &scenario.settings.servers;
            servers.reconfig_enabled && !servers.observer_sync_enabled
        },
    },
    Need {
        bugs: &Bug::OF_OBSERVER_MASTERS,
        what: "observer masters",
        shown: "run observer-masters",
        is_met: |scenario| scenario.settings.servers.observer_masters,
    },
    Need {
        bugs: &[Bug::OldQuorumStillNeeded, Bug::PlantedNoWeightLeads],
        what: "reconfigurations of several servers or of groups",
        shown: "run groups",
        is_met: |scenario| scenario.settings.servers.hierarchy.is_some(),
    },
    Need {
        bugs: &Bug::OF_RECONFIGURATION,
        what: "reconfigurations",
        shown: "run reconfig",
        is_met: |scenario| scenario.settings.servers.reconfig_enabled,
    },
    Need {
        bugs: &[Bug::CounterWraps],
        what: "an exhausted zxid counter",
        shown: "run rollover",
        is_met: |scenario| scenario.settings.servers.largest_counter < u32::MAX,
    },
];

impl Need {
    /// Returns the first of these bugs that has the need.
    fn of<'a>(&self, bugs: &'a [String]) -> Option<&'a String> {
        bugs.iter().find(|name| self.bugs.iter().any(|bug| bug.name() == *name))
    }
}

fn knows(entry: &Entry, bug: &String) -> bool {
    entry.switches(std::slice::from_ref(bug)) != Err(bug)
}

fn unknown_bug(bug: &str, of: &str, entries: &[&Entry]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for name in entries.iter().flat_map(|entry| entry.switch_names()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }

    format!("unknown bug `{bug}`{of}: {}", suggestion(bug, names, "there are"))
}

/// Returns the release with this name; without a name, HEAD repaired.
pub(super) fn release(name: Option<&str>) -> Result<Release, String> {
    let Some(name) = name else { return Ok(Release::Repaired) };
    Release::named(name).ok_or_else(|| {
        let names = Release::ALL.map(|release| release.to_string());
        let names = names.iter().map(String::as_str);
        format!("unknown release `{name}`: {}", suggestion(name, names, "the releases are"))
    })
}

/// Returns the host with this name; without a name, the default one.
pub(super) fn host(name: Option<&str>) -> Result<HostKind, String> {
    match name {
        None => Ok(HostKind::default()),
        Some("direct") => Ok(HostKind::Direct),
        Some("madsim") if HostKind::Madsim.is_available() => Ok(HostKind::Madsim),
        Some("madsim") => Err("this build has no madsim host, because it was not compiled with \
             `--cfg madsim` (an environment variable RUSTFLAGS replaces the checked-in \
             `.cargo/config.toml`): unset RUSTFLAGS and build again, or take `--host direct`"
            .to_string()),
        Some(other) => {
            let suggestion = suggestion(other, ["madsim", "direct"], "the hosts are");
            Err(format!("unknown host `{other}`: {suggestion}"))
        }
    }
}

/// Parses the kind of election.
pub(super) fn election(name: &str) -> Result<Election, String> {
    match name {
        "oracle" => Ok(Election::Oracle),
        "fast" => Ok(Election::Fast),
        "any" => Ok(Election::Any),
        other => {
            let suggestion = suggestion(other, ["oracle", "fast", "any"], "there are");
            Err(format!("unknown election `{other}`: {suggestion}"))
        }
    }
}

/// Parses the order in which metadata become durable.
pub(super) fn metadata(name: &str) -> Result<Metadata, String> {
    match name {
        "unordered" => Ok(Metadata::Unordered),
        "ordered" => Ok(Metadata::Ordered),
        other => {
            let suggestion = suggestion(other, ["unordered", "ordered"], "there are");
            Err(format!("unknown order of metadata `{other}`: {suggestion}"))
        }
    }
}

/// Checks the name of the pair of steps that is combined; there is only one so far.
pub(super) fn coarse(name: &str) -> Result<(), String> {
    match name {
        "commit-apply" => Ok(()),
        other => {
            let suggestion = suggestion(other, ["commit-apply"], "there is");
            Err(format!("`--coarse {other}` is unknown: {suggestion}"))
        }
    }
}

/// Fails for a scenario that can only be explored and so has no seeds.
pub(super) fn has_seeds(entry: &Entry) -> Result<(), String> {
    let name = entry.name;
    match entry.is_swept() {
        true => Ok(()),
        false => Err(format!(
            "`{name}` has no programs, so there is nothing to sweep: write `vivarium explore {name}`"
        )),
    }
}

/// Returns the error for an unknown grain.
pub(super) fn unknown_grain(name: &str) -> String {
    format!(
        "unknown grain `{name}`: {}",
        suggestion(name, ["service", "ensemble"], "the grains are")
    )
}

/// Returns the hosts of this build, the default one first.
pub(super) fn available_hosts() -> Vec<HostKind> {
    let hosts = [HostKind::Madsim, HostKind::Direct];
    hosts.into_iter().filter(|host| host.is_available()).collect()
}

/// Parses the number of threads; the default is the number of cores.
pub(super) fn jobs(text: Option<&str>) -> Result<usize, String> {
    let Some(text) = text else {
        return Ok(crate::sweeping::all_cores());
    };
    match text.parse::<usize>() {
        Ok(0) => Err("`--jobs 0` would run nothing: give at least 1".to_string()),
        Ok(jobs) if jobs <= MOST_JOBS => Ok(jobs),
        Ok(_) => Err(format!("`--jobs {text}` is too many: give at most {MOST_JOBS}")),
        Err(_) => Err(format!("`--jobs {text}` is not a number of threads: write e.g. `--jobs 2`")),
    }
}

/// Larger numbers are typing errors.
const MOST_JOBS: usize = 1_024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typing_error_finds_the_name_that_was_meant() {
        let names = ["lock", "election", "NoGuid", "LeakOnCancel"];
        let found = |word| nearest(word, names);
        assert_eq!(found("lokc"), Some("lock"));
        assert_eq!(found("Lock"), Some("lock"));
        assert_eq!(found("noguid"), Some("NoGuid"));
        assert_eq!(found("LeakOnCancell"), Some("LeakOnCancel"));
        assert_eq!(found("barrier"), None);
        assert_eq!(found(""), None);
    }

    #[test]
    fn jobs_are_a_positive_number() {
        assert_eq!(jobs(Some("3")), Ok(3));
        assert!(jobs(None).is_ok_and(|jobs| jobs >= 1));
        for text in ["0", "-1", "two", "", "99999", "99999999999999999999999"] {
            assert!(jobs(Some(text)).is_err_and(|sentence| sentence.contains(text)), "{text}");
        }
    }
}

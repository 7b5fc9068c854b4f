//! `vivarium live`: a scenario's programs on real servers.

use super::arguments::LiveArguments;
use super::output::emit;
use super::progress::Meter;
use super::select;
use crate::catalogue::Entry;
use crate::conform::Installation;
use crate::live::{LivePlan, Place, report, run};
use crate::sweeping::seeds::SeedRange;
use std::net::ToSocketAddrs;
use std::time::Duration;
use vivarium_model::path::ZnodePath;
use vivarium_model::release::{Bug, Release};
use vivarium_sim::Scenario;

/// The default number of seeds.
const SEEDS: u64 = 3;

/// The default number of servers, and the most.
const SERVERS: u64 = 3;
const MOST_SERVERS: u64 = 9;

/// The default duration of the faults, in seconds, and the longest.
const FAULTS_FOR: u64 = 10;
const LONGEST: u64 = 3_600;

/// The time that programs have to finish after the faults.
const FINISH_WITHIN: Duration = Duration::from_secs(120);

pub(super) fn live(arguments: &LiveArguments, entries: &[Entry]) -> Result<u8, String> {
    let Some(scenario) = &arguments.scenario else {
        return Err("`live` needs a scenario, such as `vivarium live lock`".to_owned());
    };
    let entry = select::entry(scenario, entries)?;
    select::has_seeds(entry)?;
    has_no_modelled_defect(entry, arguments)?;
    let scenario = select::selected(entry, &arguments.bugs)?.scenario;
    has_no_reconfigurations(&scenario)?;
    let seeds = match &arguments.seeds {
        None => SeedRange::count(SEEDS),
        Some(seeds) => SeedRange::parse(seeds),
    };
    let seeds = seeds.map_err(|error| error.to_string())?;
    let faults = number("--faults-for", arguments.faults_for.as_deref(), FAULTS_FOR, LONGEST)?;
    let plan = LivePlan {
        place: place(arguments)?,
        faults_for: Duration::from_secs(faults),
        finish_within: FINISH_WITHIN,
    };
    let meter = Meter::new(format!("{} on real servers", entry.name), seeds.len());
    let mut runs = Vec::new();
    for seed in seeds.range() {
        let ended = run(&scenario, seed, &plan).map_err(|error| format!("seed {seed}: {error}"))?;
        let is_violated = ended.violation.is_some();
        runs.push((seed, ended));
        meter.update(runs.len() as u64);
        if is_violated && !arguments.keep_going {
            break;
        }
    }
    meter.finish();
    let code = u8::from(runs.iter().any(|(_, ended)| ended.violation.is_some()));
    Ok(emit(&report(entry.name, &runs, |seed| again(entry.name, arguments, seed)), code))
}

/// Fails if a defect of the model is switched on: in a real server it would change nothing, and a run would seem to hold
/// with it. Mutants of the scenario are programs, which run here as they are.
fn has_no_modelled_defect(entry: &Entry, arguments: &LiveArguments) -> Result<(), String> {
    let is_mutant = |name: &&String| entry.mutants.iter().any(|mutant| mutant.name == *name);
    let others = || arguments.bugs.iter().filter(|name| !is_mutant(name));
    if let Some(bug) = others().find(|name| Bug::ALL.iter().any(|bug| bug.name() == *name)) {
        let entry = entry.name;
        return Err(format!(
            "`{bug}` is a defect of the model, and real servers have only their own: leave it out, or write `vivarium run \
             {entry} --bug {bug}`"
        ));
    }
    let named = arguments.bugs.iter().find(|name| Release::named(name).is_some());
    match arguments.release.as_ref().or(named) {
        Some(release) => Err(format!(
            "`--release {release}` gives its defects to modelled servers, and real ones have those of their own release: \
             choose that by `--zookeeper RELEASE`"
        )),
        None => Ok(()),
    }
}

/// Fails if the scenario changes the ensemble's members: the servers that are started here have `reconfigEnabled` off, and
/// their addresses are not those that the program writes.
fn has_no_reconfigurations(scenario: &Scenario) -> Result<(), String> {
    match scenario.settings.servers.reconfig_enabled {
        true => Err(format!(
            "`{}` changes the members of an ensemble, which the real servers of `vivarium live` do not allow: sweep it by \
             `vivarium run {0}`",
            scenario.name
        )),
        false => Ok(()),
    }
}

fn place(arguments: &LiveArguments) -> Result<Place, String> {
    if let Some(hosts) = &arguments.connect {
        return existing(hosts);
    }
    let servers = number("--ensemble", arguments.ensemble.as_deref(), SERVERS, MOST_SERVERS)?;
    let servers = usize::try_from(servers).expect("a few servers");
    Ok(Place::Started { servers, installation: installation(arguments)? })
}

/// Reads a connect string whose servers exist. All seeds work below its path.
fn existing(hosts: &str) -> Result<Place, String> {
    let (servers, root) = hosts.find('/').map_or((hosts, ""), |at| hosts.split_at(at));
    if ZnodePath::new(root).is_err() || root == "/" {
        return Err(format!(
            "`--connect {hosts}` names no znode to work below, as `zk1:2181/vivarium` does"
        ));
    }
    let mut addresses = Vec::new();
    for server in servers.split(',') {
        let found = server.to_socket_addrs().ok().and_then(|mut found| found.next());
        addresses.push(found.ok_or_else(|| {
            format!("`{server}` is not the address of a server, such as `zk1:2181`")
        })?);
    }
    Ok(Place::Existing { addresses, root: root.to_owned() })
}

fn installation(arguments: &LiveArguments) -> Result<Option<Installation>, String> {
    let installation = match (&arguments.class_path, &arguments.zookeeper) {
        (Some(class_path), _) => Installation::with_class_path(class_path),
        (None, Some(release)) => Installation::of_release(release),
        (None, None) => return Ok(None),
    };
    installation.map(Some).map_err(|error| error.to_string())
}

fn number(option: &str, text: Option<&str>, default: u64, most: u64) -> Result<u64, String> {
    let Some(text) = text else { return Ok(default) };
    match text.parse() {
        Ok(number) if (1..=most).contains(&number) => Ok(number),
        _ => Err(format!("{option} needs a number from 1 to {most}, not `{text}`")),
    }
}

/// Returns the command that repeats a seed.
fn again(entry: &str, arguments: &LiveArguments, seed: u64) -> String {
    let mut words = vec!["vivarium live".to_owned(), entry.to_owned()];
    words.extend(arguments.bugs.iter().map(|bug| format!("--bug {bug}")));
    words.push(format!("--seeds {seed}..{}", seed + 1));
    let options = [
        ("--connect", &arguments.connect),
        ("--ensemble", &arguments.ensemble),
        ("--faults-for", &arguments.faults_for),
        ("--class-path", &arguments.class_path),
        ("--zookeeper", &arguments.zookeeper),
    ];
    for (option, value) in options {
        words.extend(value.iter().map(|value| format!("{option} '{value}'")));
    }
    words.join(" ")
}

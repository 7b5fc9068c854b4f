//! `vivarium conform`: compares the model with a real ZooKeeper.

use super::arguments::ConformArguments;
use super::output::emit;
use super::progress::Meter;
use super::select::nearest;
use crate::conform::{Plan, report, run, setup};
use std::net::{SocketAddr, ToSocketAddrs};
use vivarium_model::release::Bug;
use vivarium_reports::case_file;
use vivarium_reports::table::WIDTH;

/// The default number of operations.
const OPERATIONS: u64 = 20_000;

pub(super) fn conform(arguments: &ConformArguments) -> Result<u8, String> {
    if arguments.setup {
        return Ok(emit(&setup(), 0));
    }
    let plan = Plan {
        operations: number("--ops", arguments.ops.as_deref(), OPERATIONS)?,
        seed: number("--seed", arguments.seed.as_deref(), 1)?,
        server: arguments.server.as_deref().map(address).transpose()?,
        zookeeper: arguments.zookeeper.clone(),
        ensemble: arguments.ensemble,
        observers: observers(arguments)?,
        planted: arguments.bugs.iter().map(|name| planted(name)).collect::<Result<_, _>>()?,
    };
    let meter = Meter::of_operations("conform".to_owned(), plan.operations);
    let outcome = run(&plan, &mut |done| meter.update(done));
    meter.finish();
    let outcome = outcome.map_err(|error| error.to_string())?;
    if let Some(path) = &arguments.record {
        case_file::save(path, &outcome.model).map_err(|error| error.to_string())?;
    }
    let code = match &outcome.finding {
        None => 0,
        Some(finding) if finding.is_inconclusive(&plan) => 2,
        Some(_) => 1,
    };
    Ok(emit(&report::report(&plan, &outcome, WIDTH), code))
}

/// The most observers.
const OBSERVERS: u8 = 4;

fn observers(arguments: &ConformArguments) -> Result<u8, String> {
    let Some(text) = &arguments.observers else { return Ok(0) };
    if !arguments.ensemble {
        return Err("`--observers` needs `--ensemble`: one server alone has none".to_owned());
    }
    match text.parse() {
        Ok(observers) if observers <= OBSERVERS => Ok(observers),
        _ => Err(format!("--observers needs a number from 0 to {OBSERVERS}, not `{text}`")),
    }
}

fn number(option: &str, text: Option<&str>, default: u64) -> Result<u64, String> {
    let Some(text) = text else { return Ok(default) };
    text.parse().map_err(|_| format!("{option} needs a number, not `{text}`"))
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let mut found = text
        .to_socket_addrs()
        .map_err(|error| format!("--server needs HOST:PORT, not `{text}`: {error}"))?;
    found.next().ok_or_else(|| format!("`{text}` has no address"))
}

fn planted(name: &str) -> Result<Bug, String> {
    let found = Bug::PLANTED.into_iter().find(|bug| bug.name() == name);
    found.ok_or_else(|| {
        let names = Bug::PLANTED.into_iter().map(Bug::name);
        let hint =
            nearest(name, names).map_or(String::new(), |name| format!("; did you mean `{name}`?"));
        format!("`{name}` is no deviation that can be planted{hint}")
    })
}

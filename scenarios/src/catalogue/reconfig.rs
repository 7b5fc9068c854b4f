//! `reconfig`: an operator changes the ensemble's members under all faults, while plain clients keep it busy (`churn`).
//!
//! Servers join that were in no configuration, voters become observers and come back, leaders are removed. The operator reads
//! the configuration after a `sync` and fails if a later answer names an older one than an earlier answer did.

use super::{Entry, Switches, churn};
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::config::ServerOptions;
use vivarium_model::error::Error;
use vivarium_model::handle::{ZooKeeper, program};
use vivarium_model::id::ServerId;
use vivarium_model::mark::Mark;
use vivarium_model::quorum::QuorumVerifier;
use vivarium_model::reconfiguration::Reconfiguration;
use vivarium_model::time::Duration;
use vivarium_model::zxid::Zxid;
use vivarium_sim::{Choice, Scenario, Settings};

/// The marks that a sweep must reach, beside those of `churn`.
const MARKS: [Mark; 7] = [
    Mark::Reconfigured,
    Mark::ConfigurationCompleted,
    Mark::LeaderDesignated,
    Mark::ServerJoined,
    Mark::VoterObserves,
    Mark::ReconfigInProgress,
    Mark::NewConfigNoQuorum,
];

/// `zookeeper.skipACL` lets the operator write the configuration without an identity.
fn settings() -> Settings {
    let servers =
        ServerOptions { reconfig_enabled: true, skip_acl: true, ..ServerOptions::default() };
    Settings { servers, ..Settings::default() }
}

/// The entry of the catalogue.
pub(super) fn entry() -> Entry {
    Entry::of_zookeeper(
        "reconfig",
        "an operator changes the members of a busy ensemble",
        3_000,
        build,
    )
}

fn build(switches: &Switches) -> Scenario {
    scenario(&entry(), switches, Changes::Members)
}

/// What the operator changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Changes {
    /// The role of one server; a majority is a quorum.
    Members,
    /// The role of one server, and the groups and weights of all of them.
    Groups,
}

/// Returns the scenario of an entry.
pub(super) fn scenario(entry: &Entry, switches: &Switches, changes: Changes) -> Scenario {
    let churn = churn::scenario(entry, switches);
    Scenario {
        observers: Choice::from(0..=1),
        joiners: Choice::from(0..=2),
        marks: churn.marks.iter().copied().chain(MARKS).collect(),
        settings: settings(),
        programs: Arc::new(move |run| {
            let (rounds, servers) = (run.rounds, run.config.servers);
            let operator =
                program(move |zookeeper| operate(zookeeper, rounds / 2, servers, changes));
            let client = || program(move |zookeeper| churn::churn(zookeeper, rounds));
            std::iter::once(operator).chain((1..run.clients()).map(|_client| client())).collect()
        }),
        ..churn
    }
}

/// Changes the members `rounds` times, one after the other.
async fn operate(
    zookeeper: ZooKeeper,
    rounds: u32,
    servers: u8,
    changes: Changes,
) -> Result<(), String> {
    let mut answered = Zxid::ZERO;
    for _round in 0..rounds {
        zookeeper.connect().await;
        match change(&zookeeper, servers, changes, &mut answered).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) if is_expected(error) => {}
            Ok(Err(error)) => {
                return Err(format!("an error that no reconfiguration meets: {error}"));
            }
            Err(why) => return Err(why),
        }
        let pause = Duration::from_millis(zookeeper.random().await % 800);
        zookeeper.sleep(pause).await;
    }
    Ok(())
}

/// Returns true for the errors that an operator must expect: of faults, and of members that are not there.
fn is_expected(error: Error) -> bool {
    matches!(
        error,
        Error::ConnectionLoss
            | Error::SessionExpired
            | Error::ReconfigInProgress
            | Error::NewConfigNoQuorum
            | Error::BadVersion
            | Error::BadArguments
    )
}

/// Reads the configuration, and changes the role of one server in it. The outer error is a broken promise.
async fn change(
    zookeeper: &ZooKeeper,
    servers: u8,
    changes: Changes,
    answered: &mut Zxid,
) -> Result<Result<(), Error>, String> {
    if let Err(error) = zookeeper.sync("/").await {
        return Ok(Err(error));
    }
    let present = match zookeeper.get_config().await {
        Ok((text, _)) => read(&text)?,
        Err(error) => return Ok(Err(error)),
    };
    not_older(present, *answered)?;
    if zookeeper.random().await % 4 == 0 {
        // Of two at once, the leader refuses the later one.
        let (own, other) = (zookeeper.clone(), draw(zookeeper, servers, changes, present).await);
        zookeeper.spawn(async move {
            let _ = own.reconfig(other).await;
        });
    }
    let asked = draw(zookeeper, servers, changes, present).await;
    match zookeeper.reconfig(asked).await {
        Ok((text, stat)) => {
            not_older(read(&text)?, stat.mzxid)?;
            *answered = stat.mzxid;
            Ok(Ok(()))
        }
        Err(error) => Ok(Err(error)),
    }
}

fn read(text: &[u8]) -> Result<QuorumVerifier, String> {
    let text = String::from_utf8_lossy(text);
    QuorumVerifier::read(&text).ok_or_else(|| format!("no configuration: {text:?}"))
}

fn not_older(present: QuorumVerifier, answered: Zxid) -> Result<(), String> {
    match present.version() >= answered {
        true => Ok(()),
        false => Err(format!(
            "the configuration of {answered} was answered, and now it is that of {}",
            present.version()
        )),
    }
}

/// Draws another role for one server, and the form of the request.
async fn draw(
    zookeeper: &ZooKeeper,
    servers: u8,
    changes: Changes,
    present: QuorumVerifier,
) -> Reconfiguration {
    let server = ServerId(1 + (zookeeper.random().await % u64::from(servers)) as u8);
    let is_voter = present.voters().contains(server);
    let leaves = present.has_member(server) && zookeeper.random().await % 2 == 0;
    let line = QuorumVerifier::line(server, is_voter);
    let change = match leaves {
        true => Reconfiguration::incremental([], [server.0]),
        false => Reconfiguration::incremental([line.as_str()], []),
    };
    match zookeeper.random().await % 3 {
        0 => change,
        1 => change.of_version(present.version()),
        _ if changes == Changes::Groups => groups(zookeeper, &change, present).await,
        _ => {
            let next = change.of(present, Zxid::ZERO).expect("it is well formed");
            whole(next, present, Vec::new())
        }
    }
}

/// Returns the same change as a whole configuration, one time in two with another role for a second server: one time in four
/// of a majority, otherwise with drawn groups and weights.
async fn groups(
    zookeeper: &ZooKeeper,
    change: &Reconfiguration,
    present: QuorumVerifier,
) -> Reconfiguration {
    let sound = "it is well formed";
    let mut next = change.of(present.with_hierarchy(None), Zxid::ZERO).expect(sound);
    if zookeeper.random().await % 2 == 0 {
        let servers = next.voters().iter().chain(next.observers().iter()).collect::<Vec<_>>();
        let second = servers[(zookeeper.random().await % servers.len() as u64) as usize];
        let line = QuorumVerifier::line(second, next.voters().contains(second));
        next = Reconfiguration::incremental([line.as_str()], []).of(next, Zxid::ZERO).expect(sound);
    }
    let (mut groups, mut lines) = (BTreeMap::<u64, Vec<String>>::new(), Vec::new());
    if zookeeper.random().await % 4 > 0 {
        for server in next.voters().iter() {
            let (group, weight) = (zookeeper.random().await % 3, zookeeper.random().await % 3);
            groups.entry(group + 1).or_default().push(server.0.to_string());
            lines.push(format!("weight.{}={weight}", server.0));
        }
    }
    lines.extend(groups.iter().map(|(group, all)| format!("group.{group}={}", all.join(":"))));
    whole(next, present, lines)
}

/// Returns the change of the present configuration to these members, with these lines for their groups.
fn whole(next: QuorumVerifier, present: QuorumVerifier, groups: Vec<String>) -> Reconfiguration {
    let voters = next.voters().iter().map(|server| QuorumVerifier::line(server, false));
    let observers = next.observers().iter().map(|server| QuorumVerifier::line(server, true));
    let lines: Vec<String> = voters.chain(observers).chain(groups).collect();
    Reconfiguration::whole(lines.iter().map(String::as_str)).of_version(present.version())
}

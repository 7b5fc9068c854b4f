//! The state of a run after all faults have ended.
//!
//! * **Servers left down** ([`Fault::LeftDown`]): a minority of the servers never restarts. Servers that need all of
//!   the others, or count a quorum wrongly, serve if every server restarts, and do not here.
//! * **Servers left cut off** ([`Fault::LeftCutOff`]): a minority keeps running, but is cut off for ever. No
//!   connection ends by itself, so a machine without a timeout waits for these servers for ever. Together with those
//!   left down they are a minority.
//! * **The ends of sessions are awaited**, in one seed of eight of a scenario with `awaits_expiry`: all programs have
//!   ended, some without closing their session, and a leader must expire each of those sessions.
//!
//! A case stores all of this, because its replay checks what the run checked.

use crate::random::{Ratio, Seeds};
use crate::scenario::Scenario;
use crate::scenario::faults::{Fault, purpose};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use vivarium_model::config::{Config, Election};
use vivarium_model::id::{Machine, ServerId};
use vivarium_model::time::Duration;

/// The names of the parameters of a case.
const LEFT_DOWN: &str = "left_down";
const LEFT_CUT_OFF: &str = "left_cut_off";
const AWAITS_EXPIRY: &str = "awaits_expiry";

/// The state of one run after its faults.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aftermath {
    /// Servers left down: a minority, and not all servers that any client knows.
    pub left_down: Vec<ServerId>,
    /// Servers left cut off: none of those left down, and together with them a minority.
    pub left_cut_off: Vec<ServerId>,
    /// Whether the run continues until every session has ended.
    pub awaits_expiry: bool,
}

impl Aftermath {
    /// Draws the aftermath. Each part has a random stream of its own.
    pub fn draw(scenario: &Scenario, config: &Config, seeds: &Seeds) -> Aftermath {
        let one_in_eight = seeds.stream("ends of sessions", 0).chance(Ratio::one_in(8));
        // A service keeps its session alive.
        let awaits_expiry = scenario.awaits_expiry && one_in_eight && !config.has_services();
        let left_down = left(Fault::LeftDown, &[], scenario, config, seeds);
        let left_cut_off = left(Fault::LeftCutOff, &left_down, scenario, config, seeds);
        Aftermath { left_down, left_cut_off, awaits_expiry }
    }

    /// Returns true if this server no longer serves.
    pub(crate) fn is_gone(&self, server: ServerId) -> bool {
        self.left_down.contains(&server) || self.left_cut_off.contains(&server)
    }

    /// Returns true if the link between two machines stays cut.
    pub(crate) fn stays_cut(&self, from: Machine, to: Machine) -> bool {
        let is_cut_off = |machine| matches!(machine, Machine::Server(server) if self.left_cut_off.contains(&server));
        is_cut_off(from) || is_cut_off(to)
    }

    /// Returns the kinds of faults in this run.
    pub fn kinds(&self) -> impl Iterator<Item = Fault> {
        let down = (!self.left_down.is_empty()).then_some(Fault::LeftDown);
        let cut_off = (!self.left_cut_off.is_empty()).then_some(Fault::LeftCutOff);
        down.into_iter().chain(cut_off)
    }

    /// Returns the parameters of a case, by name, without default values.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = (String, String)> {
        let numbers = |name: &str, servers: &[ServerId]| {
            let numbers: Vec<String> = servers.iter().map(|it| it.0.to_string()).collect();
            (!numbers.is_empty()).then(|| (name.to_string(), numbers.join(",")))
        };
        let left_down = numbers(LEFT_DOWN, &self.left_down);
        let left_cut_off = numbers(LEFT_CUT_OFF, &self.left_cut_off);
        let awaits_expiry = self.awaits_expiry.then(|| (AWAITS_EXPIRY.into(), "1".into()));
        left_down.into_iter().chain(left_cut_off).chain(awaits_expiry)
    }

    /// Reads the parameters of a case with this configuration.
    ///
    /// # Errors
    /// A clause that names a value that is not a server, or says that no quorum is left.
    pub(crate) fn read(
        parameters: &BTreeMap<String, String>,
        config: &Config,
    ) -> Result<Aftermath, String> {
        let servers = config.servers;
        let named = |name: &str| -> Result<Vec<ServerId>, String> {
            let said = parameters.get(name).map_or("", String::as_str);
            let number = |text: &str| match text.parse() {
                Ok(number) if (1..=servers).contains(&number) => Ok(ServerId(number)),
                _ => Err(format!("its `{name}` names `{text}`, and it has servers 1 to {servers}")),
            };
            said.split(',').filter(|text| !text.is_empty()).map(number).collect()
        };
        let (left_down, left_cut_off) = (named(LEFT_DOWN)?, named(LEFT_CUT_OFF)?);
        let gone: BTreeSet<&ServerId> = left_down.iter().chain(&left_cut_off).collect();
        let stay = config.server_ids().filter(|server| !gone.contains(server));
        if !config.quorum_verifier().contains_quorum(stay.collect()) && !gone.is_empty() {
            return Err(format!(
                "its `{LEFT_DOWN}` and `{LEFT_CUT_OFF}` leave no quorum of servers 1 to {servers}"
            ));
        }
        let awaits_expiry = parameters.get(AWAITS_EXPIRY).is_some_and(|said| said != "0");
        Ok(Aftermath { left_down, left_cut_off, awaits_expiry })
    }

    /// Returns the longest time that a session can live after all programs have ended. A leader that is elected
    /// meanwhile restarts each session's timeout (rule 2.3.3).
    pub(crate) fn expiry_bound(config: &Config) -> Duration {
        let timeouts = config.clients.iter().map(|client| config.negotiate(client.session_timeout));
        let elections = config.tick * (config.init_limit + config.sync_limit);
        2 * (timeouts.max().unwrap_or_default() + elections) + 4 * config.tick + failed_lots(config)
    }
}

/// Returns the time that elections by lot can fail before one succeeds; none for other elections.
///
/// An election by lot fails if it chooses a server that the others cannot follow. That server notices it after
/// initLimit ticks. Meanwhile the others double the intervals of their notifications, so the next election can need
/// twice as long again. Of three servers that are left, at least one can be followed: this number of failures in a
/// row is rarer than one in three thousand such ends.
pub(crate) fn failed_lots(config: &Config) -> Duration {
    const FAILURES: u32 = 20;
    match config.election {
        Election::ByLot => FAILURES * 3 * config.init_limit * config.tick,
        Election::Fast | Election::Oracle | Election::Any => Duration::ZERO,
    }
}

/// Draws the servers that are left in one way; `others` are left in another.
fn left(
    kind: Fault,
    others: &[ServerId],
    scenario: &Scenario,
    config: &Config,
    seeds: &Seeds,
) -> Vec<ServerId> {
    let mut random = seeds.stream(&purpose(kind), 0);
    let on = random.chance(scenario.faults.rate(kind).share(kind));
    let voters = config.quorum_verifier().voters().len() as u64;
    let minority = voters.saturating_sub(1) / 2 - others.len() as u64;
    // Which servers are no quorum is not known before the reconfigurations are.
    let is_known = !config.options.reconfig_enabled;
    if !on || !scenario.faults.has(kind) || minority == 0 || !is_known {
        return Vec::new();
    }
    let wanted = random.between(1, minority);
    let mut rest: Vec<ServerId> = config
        .quorum_verifier()
        .voters()
        .iter()
        .filter(|server| !others.contains(server))
        .collect();
    let mut chosen = Vec::new();
    while (chosen.len() as u64) < wanted && !rest.is_empty() {
        let server = rest.swap_remove(random.below(rest.len() as u64) as usize);
        let is_there =
            |it: &ServerId| *it != server && !chosen.contains(it) && !others.contains(it);
        if config.clients.iter().all(|client| client.servers.iter().any(is_there)) {
            chosen.push(server);
        }
    }
    chosen.sort();
    chosen
}

impl fmt::Display for Aftermath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (fault, servers) in
            [(Fault::LeftDown, &self.left_down), (Fault::LeftCutOff, &self.left_cut_off)]
        {
            let names: Vec<String> = servers.iter().map(ToString::to_string).collect();
            if !names.is_empty() {
                writeln!(f, "fault              {fault}: {}", names.join(", "))?;
            }
        }
        if self.awaits_expiry {
            writeln!(f, "in the end         every session must be over")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::faults::{FaultSet, Rate};
    use vivarium_model::config::ClientConfig;

    /// The aftermath of a run with five servers, of which the client knows these.
    fn drawn(servers: &[u8], faults: FaultSet, seed: u64) -> Aftermath {
        let mut scenario = crate::seeded::mock::scenario(faults);
        scenario.faults = faults;
        let known = servers.iter().map(|server| ServerId(*server)).collect();
        let client = ClientConfig { servers: known, ..Config::new(5, 1).clients[0].clone() };
        let config = Config { clients: vec![client], ..Config::new(5, 1) };
        Aftermath::draw(&scenario, &config, &Seeds::new(seed))
    }

    #[test]
    fn a_minority_is_left_down_and_no_client_alone() {
        let faults = FaultSet::NONE.with_rate(Fault::LeftDown, Rate::ALWAYS);
        let mut sizes = [0; 3];
        for seed in 0..200 {
            let down = drawn(&[1, 2, 3, 4, 5], faults, seed).left_down;
            sizes[down.len()] += 1;
            assert!(!drawn(&[4], faults, seed).left_down.contains(&ServerId(4)));
            assert_eq!(drawn(&[1, 2], FaultSet::NONE, seed).left_down, []);
        }
        assert!(sizes[0] == 0 && sizes[1] > 50 && sizes[2] > 50, "{sizes:?}");
    }

    #[test]
    fn both_together_are_a_minority_and_no_client_is_left_alone() {
        let faults = FaultSet::NONE
            .with_rate(Fault::LeftDown, Rate::in_seeds(1, 2))
            .with_rate(Fault::LeftCutOff, Rate::ALWAYS);
        let mut sizes = BTreeMap::new();
        for seed in 0..200 {
            let Aftermath { left_down, left_cut_off, .. } = drawn(&[1, 2, 3], faults, seed);
            *sizes.entry((left_down.len(), left_cut_off.len())).or_insert(0) += 1;
            assert!(left_down.iter().all(|server| !left_cut_off.contains(server)));
            assert!((1..=3).any(|server| {
                let server = ServerId(server);
                !left_down.contains(&server) && !left_cut_off.contains(&server)
            }));
        }
        let sizes: Vec<(usize, usize)> = sizes.into_keys().collect();
        assert_eq!(sizes, [(0, 1), (0, 2), (1, 1), (2, 0)]);
    }

    #[test]
    fn a_case_says_it_and_is_read() {
        let all = Aftermath {
            left_down: vec![ServerId(1), ServerId(4)],
            left_cut_off: vec![ServerId(2)],
            awaits_expiry: true,
        };
        for aftermath in [Aftermath::default(), all] {
            let parameters: BTreeMap<_, _> = aftermath.parameters().collect();
            assert_eq!(Aftermath::read(&parameters, &Config::new(7, 0)), Ok(aftermath));
        }
        let wrong = |text: &str| {
            let parameters = BTreeMap::from([(LEFT_DOWN.to_string(), text.to_string())]);
            Aftermath::read(&parameters, &Config::new(3, 0)).expect_err("no such server")
        };
        assert_eq!(wrong("1,9"), "its `left_down` names `9`, and it has servers 1 to 3");
        let no_quorum = "its `left_down` and `left_cut_off` leave no quorum of servers 1 to 3";
        assert_eq!(wrong("1,3"), no_quorum);
        assert_eq!(wrong("all"), "its `left_down` names `all`, and it has servers 1 to 3");
    }

    /// A bug of the harness, once: of two servers that were left, the lot chose the one that lags four times in a
    /// row, and the run ended before a leader could expire anything.
    #[test]
    fn an_end_leaves_time_for_lots_that_fail() {
        let fast = Config::new(3, 1);
        let by_lot = Config { election: Election::ByLot, ..fast.clone() };
        let more = Aftermath::expiry_bound(&by_lot) - Aftermath::expiry_bound(&fast);
        assert!(more >= 20 * fast.init_limit * fast.tick, "{more:?}");
        assert_eq!(failed_lots(&fast), Duration::ZERO);
    }

    #[test]
    fn some_runs_await_the_ends_of_sessions() {
        let awaiting = (0..800).filter(|seed| drawn(&[1], FaultSet::NONE, *seed).awaits_expiry);
        assert!((60..140).contains(&awaiting.count()));
    }
}

//! What a run is like when all faults have ended.
//!
//! * **Servers left down** ([`Fault::LeftDown`]): a minority of the servers never comes back. Servers that need all of
//!   the others, or count a quorum wrongly, serve where everybody comes back, and do not here.
//! * **The ends of sessions are awaited**, in one seed of eight of a scenario that says so: all programs have ended,
//!   some without closing their session, and a leader has to expire each of those.
//!
//! A case says both, since its replay demands what the run did.

use crate::scenario::Scenario;
use crate::seeded::faults::Fault;
use crate::seeded::plan::purpose;
use crate::seeded::random::{Ratio, Seeds};
use std::collections::BTreeMap;
use std::fmt;
use vivarium_model::config::Config;
use vivarium_model::id::ServerId;
use vivarium_model::time::Duration;

/// The names of what a case says.
const LEFT_DOWN: &str = "left_down";
const AWAITS_EXPIRY: &str = "awaits_expiry";

/// What one run is like then.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Aftermath {
    /// Servers that are down then, and stay so: a minority, and for no client all that it knows of.
    pub left_down: Vec<ServerId>,
    /// Whether the run goes on until every session is over.
    pub awaits_expiry: bool,
}

impl Aftermath {
    /// Draws it. Each of the two has a stream of its own.
    pub fn draw(scenario: &Scenario, config: &Config, seeds: &Seeds) -> Aftermath {
        let one_in_eight = seeds.stream("ends of sessions", 0).chance(Ratio::one_in(8));
        let awaits_expiry = scenario.awaits_expiry && one_in_eight;
        Aftermath { left_down: left_down(scenario, config, seeds), awaits_expiry }
    }

    /// The kinds of faults that this run has.
    pub fn kinds(&self) -> impl Iterator<Item = Fault> {
        (!self.left_down.is_empty()).then_some(Fault::LeftDown).into_iter()
    }

    /// What a case says of it, by name; nothing of what is as usual.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = (String, String)> {
        let numbers: Vec<String> = self.left_down.iter().map(|it| it.0.to_string()).collect();
        let left_down = (!numbers.is_empty()).then(|| (LEFT_DOWN.into(), numbers.join(",")));
        let awaits_expiry = self.awaits_expiry.then(|| (AWAITS_EXPIRY.into(), "1".into()));
        left_down.into_iter().chain(awaits_expiry)
    }

    /// Reads what a case of so many servers says of it.
    ///
    /// # Errors
    /// What is no server, in half a sentence.
    pub(crate) fn read(
        parameters: &BTreeMap<String, String>,
        servers: u8,
    ) -> Result<Aftermath, String> {
        let said = parameters.get(LEFT_DOWN).map_or("", String::as_str);
        let number = |text: &str| match text.parse() {
            Ok(number) if (1..=servers).contains(&number) => Ok(ServerId(number)),
            _ => {
                Err(format!("its `{LEFT_DOWN}` names `{text}`, and it has servers 1 to {servers}"))
            }
        };
        let left_down = said.split(',').filter(|text| !text.is_empty()).map(number);
        let awaits_expiry = parameters.get(AWAITS_EXPIRY).is_some_and(|said| said != "0");
        Ok(Aftermath { left_down: left_down.collect::<Result<_, _>>()?, awaits_expiry })
    }

    /// Nobody's process is left that could keep its session alive: how long that can live on. A
    /// leader that is elected meanwhile gives each its time anew (rule 2.3.3).
    pub(crate) fn expiry_bound(config: &Config) -> Duration {
        let timeouts = config.clients.iter().map(|client| config.negotiate(client.session_timeout));
        let elections = config.tick * (config.init_limit + config.sync_limit);
        2 * (timeouts.max().unwrap_or_default() + elections) + 4 * config.tick
    }
}

fn left_down(scenario: &Scenario, config: &Config, seeds: &Seeds) -> Vec<ServerId> {
    let kind = Fault::LeftDown;
    let mut random = seeds.stream(&purpose(kind), 0);
    let on = random.chance(scenario.faults.rate(kind).share(kind));
    let minority = u64::from(config.servers.saturating_sub(1) / 2);
    if !on || !scenario.faults.has(kind) || minority == 0 {
        return Vec::new();
    }
    let wanted = random.between(1, minority);
    let (mut others, mut down): (Vec<ServerId>, _) = (config.server_ids().collect(), Vec::new());
    while (down.len() as u64) < wanted && !others.is_empty() {
        let server = others.swap_remove(random.below(others.len() as u64) as usize);
        let is_left = |it: &ServerId| *it != server && !down.contains(it);
        if config.clients.iter().all(|client| client.servers.iter().any(is_left)) {
            down.push(server);
        }
    }
    down.sort();
    down
}

impl fmt::Display for Aftermath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.left_down.is_empty() {
            let names: Vec<String> = self.left_down.iter().map(ToString::to_string).collect();
            writeln!(f, "fault              {}: {}", Fault::LeftDown, names.join(", "))?;
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
    use crate::seeded::faults::{FaultSet, Rate};
    use vivarium_model::config::ClientConfig;

    /// Five servers; the client knows of these.
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
    fn a_case_says_it_and_is_read() {
        let both = Aftermath { left_down: vec![ServerId(1), ServerId(4)], awaits_expiry: true };
        for aftermath in [Aftermath::default(), both] {
            let parameters: BTreeMap<_, _> = aftermath.parameters().collect();
            assert_eq!(Aftermath::read(&parameters, 5), Ok(aftermath));
        }
        let wrong = |text: &str| {
            let parameters = BTreeMap::from([(LEFT_DOWN.to_string(), text.to_string())]);
            Aftermath::read(&parameters, 3).expect_err("no such server")
        };
        assert_eq!(wrong("1,9"), "its `left_down` names `9`, and it has servers 1 to 3");
        assert_eq!(wrong("all"), "its `left_down` names `all`, and it has servers 1 to 3");
    }

    #[test]
    fn some_runs_await_the_ends_of_sessions() {
        let awaiting = (0..800).filter(|seed| drawn(&[1], FaultSet::NONE, *seed).awaits_expiry);
        assert!((60..140).contains(&awaiting.count()));
    }
}

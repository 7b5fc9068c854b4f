//! A scenario: the size of the world, its programs, the possible faults, and the properties that must hold all the
//! same. A [`Run`] is one run of it.

pub mod aftermath;
pub mod bounds;
pub mod faults;
pub mod run;
pub mod script;
pub(crate) mod settings;

use crate::budget::servers::Budget;
use crate::random::Random;
use crate::scenario::faults::{Fault, FaultSet, Rate};
use crate::scenario::run::Run;
use crate::scenario::settings::Settings;
use script::Script;
use std::fmt;
use std::sync::Arc;
use vivarium_model::bounds::{SWEPT_CLIENTS, SWEPT_SERVERS};
use vivarium_model::config::Election;
use vivarium_model::handle::Program;
use vivarium_model::id::ServerSet;
use vivarium_model::mark::Mark;
use vivarium_model::property::AskedOfServers;
use vivarium_model::property::Monitor;
use vivarium_model::release::Bugs;
use vivarium_model::setup::Setup;
use vivarium_model::time::Duration;

/// Creates the programs of a run, one per client machine.
pub type MakePrograms = Arc<dyn Fn(&Run) -> Vec<Program> + Send + Sync>;

/// Creates the monitors of a run.
pub type MakeMonitors = Arc<dyn Fn(&Run) -> Vec<Box<dyn Monitor>> + Send + Sync>;

/// A scenario: the input of a sweep or of a search.
#[derive(Clone)]
pub struct Scenario {
    /// The scenario's name on the command line.
    pub name: String,
    /// One line for listings.
    pub summary: String,
    /// The number of servers that vote; at least 1.
    pub servers: Choice,
    /// The number of observers, which come in addition and have the highest ids. A search has none.
    pub observers: Choice,
    /// The number of servers that no configuration names at first, and that a `reconfig` can make members (rule 5.8.2). They
    /// have the highest ids of all. A search has none.
    pub joiners: Choice,
    /// The number of client machines.
    pub clients: Choice,
    /// How often each program repeats its task.
    pub rounds: Choice,
    /// The range of the servers' limits.
    pub limits: Limits,
    /// The content of every server's database at the start.
    pub setup: Setup,
    /// The settings of clients and servers that no seed changes.
    pub settings: Settings,
    /// The programs, one per client machine.
    pub programs: MakePrograms,
    /// The monitors of the properties.
    pub monitors: MakeMonitors,
    /// The properties of servers that a sweep checks besides its monitors (S3, S6, S7, S15 and S17). None if the
    /// scenario examines how a defect of the servers affects their clients.
    pub of_servers: AskedOfServers,
    /// Whether one run in eight continues, after all programs have ended, until every session is over. False if a
    /// property checks what sessions leave behind, such as an ephemeral of a program that has ended.
    pub awaits_expiry: bool,
    /// The marks that a sweep must reach. The verdict `held` says little about a sweep that missed some.
    pub marks: Vec<Mark>,
    /// The faults that can happen.
    pub faults: FaultSet,
    /// Faults that happen in every run, by rules.
    pub script: Script,
    /// The defects of the servers.
    pub bugs: Bugs,
    /// The duration of the faults, in virtual time. A run whose programs finish earlier ends earlier.
    pub chaos: Duration,
    /// The duration after the faults, in virtual time, within which every program must finish and every server must
    /// serve.
    pub progress_bound: Duration,
    /// Whether and how the scenario can be explored.
    pub explored: Explored,
}

/// Whether and how a scenario can be explored: a search tries every order of events instead of those that seeds draw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Explored {
    /// A search of the programs at the service grain ([`vivarium_model::service`]).
    Programs {
        /// Znodes that exist from the start in addition to the scenario's [`setup`](Scenario::setup).
        setup: Setup,
    },
    /// A search of the servers alone at the ensemble grain. The scenario has no programs, so it cannot be swept.
    Servers(Servers),
    /// The scenario cannot be explored. The text says why, as a clause to follow the scenario's name.
    No(String),
}

/// The default sizes of a search of servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Servers {
    /// The number of servers and of the steps that are counted. Upsets are not counted here.
    pub budget: Budget,
    /// How leaders are elected.
    pub election: Election,
}

impl Scenario {
    /// Checks that the scenario's numbers are valid.
    ///
    /// # Errors
    /// Returns one sentence about the first invalid number.
    pub fn check(&self) -> Result<(), String> {
        if matches!(self.explored, Explored::Servers(_)) {
            return Ok(());
        }
        bounds::choice("servers", &self.servers, 1, SWEPT_SERVERS.into())?;
        let most = |choice: &Choice| choice.range().map_or(u32::MAX, |(_, most)| most);
        let voters = most(&self.servers);
        bounds::choice("observers", &self.observers, 0, u32::from(SWEPT_SERVERS) - voters)?;
        let members = voters + most(&self.observers);
        bounds::choice("joiners", &self.joiners, 0, u32::from(SWEPT_SERVERS) - members)?;
        if most(&self.joiners) > 0 && !self.settings.servers.reconfig_enabled {
            return Err("joiners: without `reconfig_enabled` no server can join".to_string());
        }
        self.has_groups_of_all_voters()?;
        bounds::choice("clients", &self.clients, 1, SWEPT_CLIENTS.into())?;
        self.settings.check()?;
        bounds::choice("rounds", &self.rounds, 1, u32::MAX)?;
        bounds::some_time("finishes_within", self.progress_bound)?;
        self.faults.check()?;
        self.has_what_faults_need()?;
        let servers = members + most(&self.joiners);
        self.script.check(servers, most(&self.clients), self.chaos)?;
        match self.faults == FaultSet::NONE && self.script == Script::default() {
            true => Ok(()),
            false => Ok(bounds::some_time("chaos", self.chaos)?),
        }
    }
}

impl Scenario {
    /// Checks that each voter is in a group, if there are groups: a real server does not start otherwise (rule 5.8.11). Without
    /// any weight no servers are a quorum, and none would ever serve.
    fn has_groups_of_all_voters(&self) -> Result<(), String> {
        let Some(groups) = self.settings.servers.hierarchy else { return Ok(()) };
        let Some((fewest, most)) = self.servers.range() else { return Ok(()) };
        let voters = ServerSet::first(u8::try_from(most).unwrap_or(SWEPT_SERVERS));
        let without = voters.difference(groups.servers());
        match without.iter().next() {
            Some(server) => Err(format!("hierarchy: {server} votes and is in no group")),
            None if !groups.contains_quorum(voters) => {
                Err("hierarchy: no voter has weight, so no servers are a quorum".to_string())
            }
            None if fewest < most => Err(format!(
                "hierarchy: groups need a fixed number of servers, and there are {}",
                self.servers
            )),
            None => Ok(()),
        }
    }

    /// Checks that each fault with an explicit rate can strike: those of containers need a container in the setup.
    fn has_what_faults_need(&self) -> Result<(), String> {
        if self.setup_of_search().znodes().iter().any(|znode| znode.container.is_some()) {
            return Ok(());
        }
        let said = |kind: &Fault| self.faults.rate(*kind) != Rate::USUAL;
        match [Fault::CounterWrap, Fault::ContainerDeletion].iter().find(|kind| said(kind)) {
            Some(kind) => Err(format!(
                "{kind}: no znode of the setup is a container, so this fault never strikes: add \
                 `container(..)`, or leave out its rate"
            )),
            None => Ok(()),
        }
    }

    /// Returns the znodes at the start of a search: the scenario's setup, and what only searches need.
    pub(crate) fn setup_of_search(&self) -> Setup {
        match &self.explored {
            Explored::Programs { setup } => self.setup.clone().and(setup),
            Explored::Servers(_) | Explored::No(_) => self.setup.clone(),
        }
    }

    /// Checks that a swept run can have this number of clients, which comes from a case.
    pub(crate) fn takes_clients(&self, clients: usize) -> Result<(), String> {
        self.settings.takes_clients(&self.name, clients)?;
        let range = self.clients.range().unwrap_or_default();
        match u32::try_from(clients).is_ok_and(|clients| (range.0..=range.1).contains(&clients)) {
            true => Ok(()),
            false => {
                Err(format!("it has {clients} clients, and `{}` has {}", self.name, self.clients))
            }
        }
    }
}

impl fmt::Debug for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scenario").field("name", &self.name).finish_non_exhaustive()
    }
}

/// How the servers' limits are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limits {
    /// Limits from very small values to those of production.
    #[default]
    Varied,
    /// Very small limits: almost no transaction is kept for DIFF, snapshots are frequent and written in many pieces,
    /// and ticks are short.
    Tight,
    /// Like [`Limits::Tight`], and the latencies of packets and disks vary little except by faults. So the servers'
    /// behaviour without faults can be predicted to the millisecond.
    Steady,
}

/// A set of numbers, from which a seed picks one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Always this number.
    Exactly(u32),
    /// A number from the first to the second, both included (in either order).
    Between(u32, u32),
    /// One of these numbers. (A sweep refuses an empty list; a draw from it returns 0.)
    OneOf(Vec<u32>),
}

impl Choice {
    /// Returns the smallest and the largest number; `None` if the set is empty.
    pub fn range(&self) -> Option<(u32, u32)> {
        match self {
            Choice::Exactly(number) => Some((*number, *number)),
            Choice::Between(low, high) => Some((*low.min(high), *low.max(high))),
            Choice::OneOf(numbers) => Some((*numbers.iter().min()?, *numbers.iter().max()?)),
        }
    }

    /// Picks a number. Every choice takes exactly one random number.
    pub fn draw(&self, random: &mut Random) -> u32 {
        let from = |random: &mut Random, low: u32, high: u32| {
            random.between(u64::from(low.min(high)), u64::from(low.max(high))) as u32
        };
        match self {
            Choice::Exactly(number) => from(random, *number, *number),
            Choice::Between(low, high) => from(random, *low, *high),
            Choice::OneOf(numbers) => random.choose(numbers).unwrap_or(0),
        }
    }

    /// Picks a number that is clamped to `least..=u8::MAX`.
    pub(crate) fn draw_small(&self, random: &mut Random, least: u8) -> u8 {
        u8::try_from(self.draw(random)).unwrap_or(u8::MAX).max(least)
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Choice::Exactly(number) => number.fmt(f),
            Choice::Between(low, high) => write!(f, "{low}..={high}"),
            Choice::OneOf(numbers) => {
                let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
                f.write_str(&numbers.join(" or "))
            }
        }
    }
}

impl From<u32> for Choice {
    fn from(number: u32) -> Choice {
        Choice::Exactly(number)
    }
}

impl From<std::ops::RangeInclusive<u32>> for Choice {
    fn from(range: std::ops::RangeInclusive<u32>) -> Choice {
        Choice::Between(*range.start(), *range.end())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Seeds;

    #[test]
    fn a_choice_stays_within_itself() {
        let mut random = Seeds::new(1).stream("choice", 0);
        for _ in 0..100 {
            assert_eq!(Choice::from(3).draw(&mut random), 3);
            assert!((3..=5).contains(&Choice::from(3..=5).draw(&mut random)));
            assert!((3..=5).contains(&Choice::Between(5, 3).draw(&mut random)));
            assert!([3, 5].contains(&Choice::OneOf(vec![3, 5]).draw(&mut random)));
        }
        assert_eq!(Choice::OneOf(Vec::new()).draw(&mut random), 0);
        assert_eq!(Choice::from(0).draw_small(&mut random, 1), 1);
        assert_eq!(Choice::from(1_000).draw_small(&mut random, 1), 255);
    }
}

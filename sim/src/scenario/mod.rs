//! A scenario: how large the world may be, which programs run in it, what may go wrong, and what
//! must hold all the same. A seed picks one run out of it ([`Drawn`]).

pub mod bounds;
pub(crate) mod drawn;
pub(crate) mod settings;

use crate::budget::servers::Budget;
use crate::scenario::drawn::Drawn;
use crate::scenario::settings::Settings;
use crate::seeded::containers;
use crate::seeded::faults::{Fault, FaultSet, Rate};
use crate::seeded::random::Random;
use std::fmt;
use std::sync::Arc;
use vivarium_model::bounds::{SWEPT_CLIENTS, SWEPT_SERVERS};
use vivarium_model::config::Election;
use vivarium_model::handle::Program;
use vivarium_model::mark::Mark;
use vivarium_model::property::AskedOfServers;
use vivarium_model::property::Monitor;
use vivarium_model::release::Bugs;
use vivarium_model::setup::Setup;
use vivarium_model::time::Duration;

/// Makes the programs of a run, one per client machine.
pub type MakePrograms = Arc<dyn Fn(&Drawn) -> Vec<Program> + Send + Sync>;

/// Makes the monitors of a run.
pub type MakeMonitors = Arc<dyn Fn(&Drawn) -> Vec<Box<dyn Monitor>> + Send + Sync>;

/// What is asked of a simulation.
#[derive(Clone)]
pub struct Scenario {
    /// Its name on the command line.
    pub name: String,
    /// One line for listings.
    pub summary: String,
    /// How many servers the ensemble has; at least 1.
    pub servers: Choice,
    /// How many client machines there are.
    pub clients: Choice,
    /// How often each program does what it does.
    pub rounds: Choice,
    /// How the servers' limits are drawn.
    pub limits: Limits,
    /// What is in every server's database from the start.
    pub setup: Setup,
    /// What is said of clients and servers beside what each seed draws.
    pub settings: Settings,
    /// The programs, one per client machine.
    pub programs: MakePrograms,
    /// What must hold.
    pub monitors: MakeMonitors,
    /// What a sweep asks of servers beside its monitors (S3, S6, S7, S15 and S17). Nothing where the question is what a
    /// defect of the servers does to their clients.
    pub of_servers: AskedOfServers,
    /// Whether one run of eight goes on, when all programs have ended, until every session is over. Not where a
    /// property asks for what sessions leave behind at the end, such as an ephemeral of a program that has ended.
    pub awaits_expiry: bool,
    /// What a sweep must have seen before its `held` says much.
    pub marks: Vec<Mark>,
    /// What may go wrong.
    pub faults: FaultSet,
    /// Which defects the servers have.
    pub bugs: Bugs,
    /// For how long (virtual time) faults happen. A run whose programs finish earlier ends earlier.
    pub chaos: Duration,
    /// How long after that (virtual time) every program must have finished and every server serve.
    pub progress_bound: Duration,
    /// Whether it can be explored.
    pub explored: Explored,
}

/// Whether and how a scenario can be explored: every order of events instead of those of seeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Explored {
    /// Its programs, over the service grain ([`vivarium_model::service`]).
    Programs {
        /// What is there from the start beside the scenario's [`setup`](Scenario::setup).
        setup: Setup,
    },
    /// Its servers alone, over the ensemble grain: there are no programs, so it cannot be swept.
    Servers(Servers),
    /// It cannot: why, as a clause behind its name.
    No(String),
}

/// What a search over servers looks at where nobody says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Servers {
    /// How many there are, and what may happen to them. Upsets are not counted here.
    pub budget: Budget,
    /// How leaders are elected.
    pub election: Election,
}

impl Scenario {
    /// Whether its numbers make sense.
    ///
    /// # Errors
    /// One sentence about the first that does not.
    pub fn check(&self) -> Result<(), String> {
        if matches!(self.explored, Explored::Servers(_)) {
            return Ok(());
        }
        bounds::choice("servers", &self.servers, 1, SWEPT_SERVERS.into())?;
        bounds::choice("clients", &self.clients, 1, SWEPT_CLIENTS.into())?;
        self.settings.check()?;
        bounds::choice("rounds", &self.rounds, 1, u32::MAX)?;
        bounds::some_time("finishes_within", self.progress_bound)?;
        self.faults.check()?;
        self.has_what_faults_need()?;
        match self.faults == FaultSet::NONE {
            true => Ok(()),
            false => Ok(bounds::some_time("chaos", self.chaos)?),
        }
    }
}

impl Scenario {
    /// A kind of fault whose rate is said can strike: those of containers need one.
    fn has_what_faults_need(&self) -> Result<(), String> {
        if containers::beginning(self).znodes().iter().any(|znode| znode.container.is_some()) {
            return Ok(());
        }
        let said = |kind: &Fault| self.faults.rate(*kind) != Rate::USUAL;
        match [Fault::CounterWrap, Fault::ContainerDeletion].iter().find(|kind| said(kind)) {
            Some(kind) => Err(format!(
                "{kind}: no znode of the setup is a container, so this never strikes: say \
                 `container(..)`, or leave its rate out"
            )),
            None => Ok(()),
        }
    }

    /// Whether a swept run can have so many clients, as a case says that it had.
    pub(crate) fn takes_clients(&self, clients: usize) -> Result<(), String> {
        self.settings.takes_clients(&self.name, clients)?;
        let range = self.clients.range().unwrap_or_default();
        match u32::try_from(clients).is_ok_and(|clients| (range.0..=range.1).contains(&clients)) {
            true => Ok(()),
            false => Err(format!(
                "the case cannot be replayed: it has {clients} clients, and `{}` has {}",
                self.name, self.clients
            )),
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
    /// From very small to those of production.
    #[default]
    Varied,
    /// Very small ones: hardly a transaction is kept for DIFF, snapshots are frequent and written in
    /// many pieces, and ticks are short.
    Tight,
    /// As [`Limits::Tight`], and no packet and no disk operation takes much longer than others but by a fault: what
    /// servers do when there is none can be told to the millisecond.
    Steady,
}

/// Numbers that a seed picks one of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Always this one.
    Exactly(u32),
    /// From the first to the second, both included (in either order).
    Between(u32, u32),
    /// One of these. (An empty list is refused before a sweep; to draw from it gives 0.)
    OneOf(Vec<u32>),
}

impl Choice {
    /// The smallest and the largest; `None` where there is none to pick.
    pub fn range(&self) -> Option<(u32, u32)> {
        match self {
            Choice::Exactly(number) => Some((*number, *number)),
            Choice::Between(low, high) => Some((*low.min(high), *low.max(high))),
            Choice::OneOf(numbers) => Some((*numbers.iter().min()?, *numbers.iter().max()?)),
        }
    }

    /// Picks one. Takes one random number, whatever the choice.
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

    /// Picks one that a `u8` holds and that is at least `least`.
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
    use crate::seeded::random::Seeds;

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

//! The catalogue: every scenario of the command line, with its mutants.

mod access;
mod ack_queue;
mod barrier;
mod broadcast;
mod cache;
mod calm;
mod churn;
mod configuration;
mod counter;
mod delay_queue;
mod double_barrier;
mod election;
mod groups;
mod leader;
mod lock;
mod membership;
mod multilock;
mod names;
mod observer_masters;
mod observers;
mod partitioner;
mod persistent_node;
mod published_barriers;
mod published_locks;
mod published_queues;
mod published_revocable_lock;
mod published_two_phase_commit;
mod queue;
mod recipe;
mod reconfig;
mod revocable_lock;
mod rollover;
mod rwlock;
mod semaphore;
mod shared_value;
mod two_phase_commit;
mod unlogged_observers;
mod watches;

use std::sync::Arc;
use vivarium_model::named::Summarised;
use vivarium_model::property;
use vivarium_model::property::AskedOfServers;
use vivarium_model::release::{Bug, Bugs, Release};
use vivarium_model::setup::Setup;
use vivarium_model::time::Duration;
use vivarium_sim::scenario::script::Script;
use vivarium_sim::{Choice, Explored, FaultSet, Limits, Scenario, Servers, Settings};

/// One scenario of the catalogue.
pub struct Entry {
    /// The name on the command line.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
    /// The subject.
    pub group: Group,
    /// The number of seeds of a run without `--seeds`: a few tens of seconds at most. 0 for servers without programs
    /// ([`Entry::is_swept`]).
    pub seeds: u64,
    /// The wrong versions of its recipe, each a published or likely mistake, by name.
    pub mutants: Vec<Mutant>,
    /// Builds the scenario, with the defects and mutants of the switches ([`Entry::scenario`]).
    pub build: fn(&Switches) -> Scenario,
}

/// The subject of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// ZooKeeper itself: its servers, or everything that clients can do.
    ZooKeeper,
    /// A correct recipe.
    Recipe,
    /// A recipe as published, which violates a property.
    Published,
}

/// A wrong version of a recipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mutant {
    /// The name on the command line.
    pub name: &'static str,
    /// One line for listings.
    pub summary: &'static str,
}

impl Mutant {
    /// Returns all mutants of a recipe.
    fn all_of<M: Summarised>() -> Vec<Mutant> {
        let mutant = |it: &M| Mutant { name: it.name(), summary: it.summary() };
        M::VARIANTS.iter().map(mutant).collect()
    }
}

/// The switches of a scenario; none, unless the user wants to see a violation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// Defects of the servers.
    pub bugs: Bugs,
    /// The release whose operations the servers know; all operations without one.
    pub release: Option<Release>,
    /// Names of the scenario's mutants.
    pub mutants: Vec<&'static str>,
}

impl Entry {
    /// Returns the entry of a scenario about ZooKeeper itself, which no recipe can get wrong.
    const fn of_zookeeper(
        name: &'static str,
        summary: &'static str,
        seeds: u64,
        build: fn(&Switches) -> Scenario,
    ) -> Entry {
        Entry { name, summary, group: Group::ZooKeeper, seeds, mutants: Vec::new(), build }
    }

    /// Returns the switches with these names; that of a release stands for its operations and all of its defects.
    ///
    /// # Errors
    /// Returns the first name that is neither a mutant of this scenario nor a defect of the servers nor a release.
    pub fn switches<'a>(&self, names: &'a [String]) -> Result<Switches, &'a str> {
        let mut switches = Switches::default();
        for name in names {
            let mutant = self.mutants.iter().find(|mutant| mutant.name == name);
            let bug = Bug::ALL.into_iter().find(|bug| bug.name() == name);
            match (mutant, bug, Release::named(name)) {
                (Some(mutant), ..) => switches.mutants.push(mutant.name),
                (None, Some(bug), _) => switches.bugs = switches.bugs.with(bug),
                (None, None, Some(release)) => {
                    switches.bugs = switches.bugs.and(release.bugs());
                    switches.release = Some(release);
                }
                (None, None, None) => return Err(name),
            }
        }
        Ok(switches)
    }

    /// Builds the scenario with these switches on.
    pub fn scenario(&self, switches: &Switches) -> Scenario {
        let mut scenario = (self.build)(switches);
        if let Some(release) = switches.release {
            scenario.settings.servers.operations_of = release;
        }
        scenario
    }

    /// Returns true if the scenario can be swept; servers without programs can only be explored.
    pub fn is_swept(&self) -> bool {
        !matches!((self.build)(&Switches::default()).explored, Explored::Servers(_))
    }

    /// Returns true if this is a published text. Such scenarios violate a property, so they run only if they are named.
    pub fn is_published(&self) -> bool {
        self.group == Group::Published
    }

    /// Returns the names that [`Entry::switches`] accepts: the scenario's mutants, then the servers' defects.
    pub fn switch_names(&self) -> impl Iterator<Item = &'static str> {
        let mutants = self.mutants.iter().map(|mutant| mutant.name);
        mutants.chain(Bug::ALL.into_iter().map(Bug::name))
    }
}

/// Returns all scenarios, in the order in which they run.
pub fn catalogue() -> Vec<Entry> {
    let mut entries = vec![
        lock::entry(),
        rwlock::entry(),
        multilock::entry(),
        revocable_lock::entry(),
        revocable_lock::by_force(),
        semaphore::entry(),
        leader::entry(),
        barrier::entry(),
        double_barrier::entry(),
        queue::entry(),
        queue::priority(),
        ack_queue::entry(),
        delay_queue::entry(),
        counter::entry(),
        shared_value::entry(),
        two_phase_commit::all_to_all(),
        two_phase_commit::coordinator(),
        two_phase_commit::detection(),
        membership::entry(),
        partitioner::entry(),
        configuration::entry(),
        cache::node(),
        cache::children(),
        cache::tree(),
        names::entry(),
        persistent_node::entry(),
        churn::entry(),
        observers::entry(),
        rollover::entry(),
        observer_masters::entry(),
        reconfig::entry(),
        unlogged_observers::entry(),
        groups::entry(),
        watches::entry(),
        calm::entry(),
        access::entry(),
        broadcast::entry(),
        election::entry(),
    ];
    entries.extend(published_locks::entries());
    entries.extend(published_barriers::entries());
    entries.extend([
        published_queues::page(),
        published_queues::tutorial(),
        published_queues::padded_tutorial(),
        published_revocable_lock::page(),
        published_revocable_lock::translation(),
        published_two_phase_commit::rewritable(),
        published_two_phase_commit::ephemeral(),
        published_two_phase_commit::prefilled(),
    ]);
    entries
}

/// Returns the number of observers where they are not the subject: a quarter of the seeds have one or two.
fn some_observers() -> Choice {
    Choice::OneOf(vec![0, 0, 0, 0, 0, 0, 1, 2])
}

/// Builds a scenario of servers without programs.
fn servers_alone(entry: &Entry, smallest: Servers, switches: &Switches) -> Scenario {
    Scenario {
        name: entry.name.to_string(),
        summary: entry.summary.to_string(),
        servers: Choice::from(u32::from(smallest.budget.servers)),
        observers: Choice::from(0),
        joiners: Choice::from(0),
        clients: Choice::from(0),
        rounds: Choice::from(0),
        limits: Limits::Varied,
        setup: Setup::NONE,
        settings: Settings::default(),
        programs: Arc::new(|_drawn| Vec::new()),
        monitors: Arc::new(|_drawn| property::servers()),
        of_servers: AskedOfServers::ALL,
        awaits_expiry: true,
        marks: Vec::new(),
        script: Script::default(),
        faults: FaultSet::NONE,
        bugs: switches.bugs,
        chaos: Duration::ZERO,
        progress_bound: Duration::ZERO,
        explored: Explored::Servers(smallest),
    }
}

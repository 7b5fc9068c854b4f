//! A recorded run: everything needed to take the same steps again.
//!
//! A seed identifies a run only for one build of Vivarium. A case lists the run's steps, so it is exact as long as
//! they are enabled. A replay skips and reports a step that is not, and the hash shows whether the run is still the
//! recorded one.

use crate::property::Objection;
use crate::vocabulary::bounds::{SEARCHED_CLIENTS, SEARCHED_SERVERS, SWEPT_CLIENTS, SWEPT_SERVERS};
use crate::vocabulary::config::Config;
use crate::vocabulary::fingerprint::Fingerprint;
use crate::vocabulary::id::{ClientId, Machine, ServerId};
use crate::vocabulary::outside::Outside;
use crate::vocabulary::path::ZnodePath;
use crate::vocabulary::step::Step;
use crate::vocabulary::time::Time;
use crate::vocabulary::timer::{ServerTimer, Timer};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// The grain at which a run models ZooKeeper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum GrainKind {
    /// Servers, disks and links ([`crate::ensemble`]).
    #[default]
    Ensemble,
    /// One log, and the part of it that each session may have seen ([`crate::service`]).
    Service,
}

impl fmt::Display for GrainKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            GrainKind::Ensemble => "ensemble",
            GrainKind::Service => "service",
        })
    }
}

/// A recorded run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    /// Version of the file format: [`Case::VERSION`]. Older files are converted when they are read.
    pub version: u32,
    /// The scenario's name.
    pub scenario: String,
    /// The grain of the run; version 1 had only the ensemble grain.
    #[serde(default)]
    pub grain: GrainKind,
    /// The scenario's parameters, by name, as text.
    pub parameters: BTreeMap<String, String>,
    /// The seed that the steps were drawn from, if any.
    pub seed: Option<u64>,
    /// Names of the enabled bugs and mutants.
    pub bugs: Vec<String>,
    /// Configuration of the ensemble and its clients.
    pub config: Config,
    /// The inputs from clients outside of the run. [`Step::Outside`] names one by its index.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<Outside>,
    /// The steps with their virtual times.
    pub steps: Vec<(Time, Step)>,
    /// The run's rolling hash after the last step.
    pub hash: Fingerprint,
    /// The objection of a monitor at the last step, if there was one.
    pub violation: Option<Objection>,
}

impl Case {
    /// The version that this build writes, and the newest that it reads. Version 1 had only one grain; up to version
    /// 2 the servers' defects were numbered, since then they are named.
    pub const VERSION: u32 = 3;

    /// Checks that a replay is meaningful: that the configuration has the machines that steps name, and that time
    /// does not run backwards. Call this before a replay, because a file can contain anything.
    ///
    /// # Errors
    /// The first error, as a clause: `step 7 names server 9, but the ensemble has 3 servers`.
    pub fn check(&self) -> Result<(), String> {
        self.check_config()?;
        let mut last = Time::ZERO;
        for (number, (at, step)) in (1u64..).zip(&self.steps) {
            if *at < last {
                return Err(format!("step {number} at {at} is earlier than the one before it"));
            }
            last = *at;
            for machine in machines(step).into_iter().flatten() {
                let checked = match machine {
                    Machine::Client(client) if may_be_outside(step) => self.check_client(client),
                    _ => self.check_machine(machine),
                };
                checked.map_err(|why| format!("step {number} names {why}"))?;
            }
            if let Step::Outside(input) = step
                && self.outside.get(*input as usize).is_none()
            {
                let count = self.outside.len();
                return Err(format!(
                    "step {number} names input {input} from outside, and there are {count}"
                ));
            }
        }
        Ok(())
    }

    fn check_config(&self) -> Result<(), String> {
        if self.config.servers == 0 {
            return Err("its ensemble has no servers".to_string());
        }
        let voters = self.config.servers.checked_sub(self.config.observers);
        if voters.and_then(|rest| rest.checked_sub(self.config.joiners)).is_none_or(|it| it == 0) {
            return Err(
                "its ensemble has no voters: all of its servers are observers, or are to join"
                    .to_string(),
            );
        }
        self.check_sizes()?;
        for (index, client) in self.config.clients.iter().enumerate() {
            let client_id = ClientId::at(index);
            if client.servers.is_empty() {
                return Err(format!("{client_id} has an empty list of servers"));
            }
            if !matches!(&*client.chroot, "" | "/") && ZnodePath::new(&*client.chroot).is_err() {
                return Err(format!(
                    "{client_id}'s chroot {:?} is not a valid path",
                    client.chroot
                ));
            }
            for server in &client.servers {
                self.check_machine(Machine::Server(*server))
                    .map_err(|why| format!("{client_id}'s list names {why}"))?;
            }
        }
        Ok(())
    }

    /// Checks that the case is within the bounds of its recorder. At the ensemble grain, only a search has no
    /// clients.
    fn check_sizes(&self) -> Result<(), String> {
        let (servers, clients) = (usize::from(self.config.servers), self.config.clients.len());
        let (of, most_servers, most_clients) = match self.grain {
            GrainKind::Service => {
                ("a search over the service grain", SWEPT_SERVERS, SEARCHED_CLIENTS)
            }
            GrainKind::Ensemble if !self.config.has_clients() => {
                ("a search over the ensemble grain", SEARCHED_SERVERS, 0)
            }
            GrainKind::Ensemble => ("a sweep", SWEPT_SERVERS, SWEPT_CLIENTS),
        };
        let sizes = [(servers, most_servers, "servers"), (clients, most_clients, "clients")];
        match sizes.iter().find(|(number, most, _what)| *number > usize::from(*most)) {
            Some((number, most, what)) => {
                Err(format!("it has {number} {what}, and {of} takes at most {most}"))
            }
            None => Ok(()),
        }
    }

    /// Checks a client that may be outside of the run. There are no more such clients than inputs.
    fn check_client(&self, client: ClientId) -> Result<(), String> {
        let most = self.config.clients.len() + self.outside.len();
        match self.config.outside && client.0 > 0 && usize::from(client.0) <= most {
            true => Ok(()),
            false => self.check_machine(Machine::Client(client)),
        }
    }

    fn check_machine(&self, machine: Machine) -> Result<(), String> {
        let (number, count, kind) = match machine {
            Machine::Server(ServerId(number)) => {
                (number.into(), self.config.servers.into(), "servers")
            }
            Machine::Client(ClientId(number)) => (number, self.config.clients.len(), "clients"),
        };
        if number == 0 || usize::from(number) > count {
            return Err(format!("{machine}, but the configuration has {count} {kind}"));
        }
        Ok(())
    }
}

/// Returns true if the client of a step may be outside of the run. Such a client has connections, and no machine or
/// program.
fn may_be_outside(step: &Step) -> bool {
    matches!(
        step,
        Step::ToServer(_)
            | Step::ToClient(_)
            | Step::BreakClient { .. }
            | Step::Cut { .. }
            | Step::Heal { .. }
    )
}

/// Returns the machines that a step names (at most two).
fn machines(step: &Step) -> [Option<Machine>; 2] {
    let one = |machine| [Some(machine), None];
    let server = |server: ServerId| one(Machine::Server(server));
    let client = |client: ClientId| one(Machine::Client(client));
    match *step {
        Step::ToServer(connection) | Step::ToClient(connection) => client(connection.client),
        Step::ToLeader(connection) | Step::ToLearner(connection) | Step::Stream(connection) => {
            server(connection.learner)
        }
        Step::Vote { from, to } => [Some(Machine::Server(from)), Some(Machine::Server(to))],
        Step::Append(id)
        | Step::Fsync(id)
        | Step::Apply(id)
        | Step::MissWakeUp(id)
        | Step::ApplyRest(id)
        | Step::Write(id)
        | Step::Snapshot(id)
        | Step::Restart(id)
        | Step::Rejoin(id)
        | Step::Propose(id)
        | Step::Reconfigure { leader: id, .. }
        | Step::FsyncError { server: id, .. }
        | Step::Crash { server: id, .. } => server(id),
        Step::Fire(Timer::Server(
            id,
            ServerTimer::LearnerSilent(connection)
            | ServerTimer::AckDeadline(connection)
            | ServerTimer::Unacknowledged(connection, _),
        )) => [Some(Machine::Server(id)), Some(Machine::Server(connection.learner))],
        Step::Fire(Timer::Server(id, ServerTimer::ConnectMaster(voter))) => {
            [Some(Machine::Server(id)), Some(Machine::Server(voter))]
        }
        Step::Fire(Timer::Server(id, _)) => server(id),
        Step::Fire(Timer::Client(id, _) | Timer::Sleep(id, _)) => client(id),
        Step::Start(id)
        | Step::Input(id)
        | Step::Random { client: id, .. }
        | Step::Clock { client: id, .. }
        | Step::Resource { client: id, .. }
        | Step::Kill(id)
        | Step::Pause(id)
        | Step::Resume(id)
        | Step::Cancel(id) => client(id),
        Step::Message { from, to } => [Some(Machine::Client(from)), Some(Machine::Client(to))],
        Step::BreakClient { connection, .. } => client(connection.client),
        Step::BreakLearner { connection, .. } => server(connection.learner),
        Step::Cut { from, to } | Step::Heal { from, to } => [Some(from), Some(to)],
        Step::Serve { client: id, .. } | Step::Notify(id) => client(id),
        Step::Expire(_)
        | Step::Late(_)
        | Step::CloseSession(_)
        | Step::DeleteContainer(_)
        | Step::Outside(_) => [None, None],
        // Of the others, the largest will do: they are only looked up among the servers.
        Step::Elect { leader, followers } => {
            [Some(Machine::Server(leader)), followers.iter().last().map(Machine::Server)]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(steps: Vec<(Time, Step)>) -> Case {
        Case {
            version: Case::VERSION,
            scenario: "lock".into(),
            grain: GrainKind::Ensemble,
            parameters: BTreeMap::new(),
            seed: Some(1),
            bugs: Vec::new(),
            config: Config::new(3, 2),
            outside: Vec::new(),
            steps,
            hash: Fingerprint(0),
            violation: None,
        }
    }

    #[test]
    fn a_sound_case_passes() {
        let steps = vec![
            (Time(1), Step::Vote { from: ServerId(1), to: ServerId(3) }),
            (Time(1), Step::Start(ClientId(2))),
            (Time(2), Step::Fsync(ServerId(2))),
        ];
        assert_eq!(case(steps).check(), Ok(()));
    }

    #[test]
    fn an_ensemble_without_voters_is_refused() {
        for (observers, joiners) in [(3, 0), (0, 3), (1, 2), (2, 2), (255, 1), (1, 255)] {
            let mut without = case(Vec::new());
            (without.config.observers, without.config.joiners) = (observers, joiners);
            assert_eq!(
                without.check().unwrap_err(),
                "its ensemble has no voters: all of its servers are observers, or are to join"
            );
        }
    }

    #[test]
    fn machines_that_do_not_exist_are_named() {
        let found = case(vec![(Time(1), Step::Fsync(ServerId(4)))]).check();
        assert_eq!(
            found.unwrap_err(),
            "step 1 names server 4, but the configuration has 3 servers"
        );
        let found = case(vec![(Time(1), Step::Restart(ServerId(0)))]).check();
        assert_eq!(
            found.unwrap_err(),
            "step 1 names server 0, but the configuration has 3 servers"
        );
        let cut =
            Step::Cut { from: Machine::Server(ServerId(1)), to: Machine::Client(ClientId(3)) };
        let found = case(vec![(Time(1), cut)]).check();
        assert_eq!(
            found.unwrap_err(),
            "step 1 names client 3, but the configuration has 2 clients"
        );
    }

    #[test]
    fn a_configuration_that_cannot_run_is_named() {
        let mut broken = case(Vec::new());
        broken.config.clients[1].servers = vec![ServerId(9)];
        let found = broken.check().unwrap_err();
        assert_eq!(found, "client 2's list names server 9, but the configuration has 3 servers");
        broken.config.clients[1].chroot = "/app/".into();
        let found = broken.check().unwrap_err();
        assert_eq!(found, "client 2's chroot \"/app/\" is not a valid path");
        broken.config.clients[1].servers.clear();
        assert_eq!(broken.check().unwrap_err(), "client 2 has an empty list of servers");
        broken.config.servers = 0;
        assert_eq!(broken.check().unwrap_err(), "its ensemble has no servers");
    }

    #[test]
    fn a_case_is_as_large_as_its_recorder_can_make_it() {
        let with = |grain, servers, clients: u8| {
            let config = Config::new(servers, clients);
            Case { grain, config, ..case(Vec::new()) }.check()
        };
        let refused = |sizes: &str, of: &str, most: u8| {
            Err(format!("it has {sizes}, and {of} takes at most {most}"))
        };
        use GrainKind::{Ensemble, Service};
        assert_eq!(with(Service, 1, SEARCHED_CLIENTS), Ok(()));
        let too_many = refused("9 clients", "a search over the service grain", 8);
        assert_eq!(with(Service, 1, SEARCHED_CLIENTS + 1), too_many);
        assert_eq!(with(Ensemble, SEARCHED_SERVERS, 0), Ok(()));
        let too_many = refused("6 servers", "a search over the ensemble grain", 5);
        assert_eq!(with(Ensemble, SEARCHED_SERVERS + 1, 0), too_many);
        assert_eq!(with(Ensemble, SWEPT_SERVERS, SWEPT_CLIENTS), Ok(()));
        let too_many = refused("64 servers", "a sweep", 63);
        assert_eq!(with(Ensemble, SWEPT_SERVERS + 1, SWEPT_CLIENTS), too_many);
        let mut crowded = case(Vec::new());
        crowded.config.clients = vec![crowded.config.clients[0].clone(); 256];
        assert_eq!(crowded.check(), refused("256 clients", "a sweep", 255));
    }

    #[test]
    fn time_must_not_run_backwards() {
        let steps = vec![(Time(5), Step::Start(ClientId(1))), (Time(4), Step::Start(ClientId(2)))];
        let found = case(steps).check().unwrap_err();
        assert_eq!(found, "step 2 at 0.000004s is earlier than the one before it");
    }
}

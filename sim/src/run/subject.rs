//! The interface between a driver and the world that it drives.

use crate::host::DirectHost;
#[cfg(madsim)]
use crate::host::MadsimHost;
use crate::host::timed::TimedHost;
use crate::run::HostKind;
use crate::run::demands::asserted;
use crate::run::look::Look;
use crate::scenario::Scenario;
use crate::scenario::run::Run;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use vivarium_model::config::Config;
use vivarium_model::effect::{Effects, Status};
use vivarium_model::ensemble::Ensemble;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::history::History;
use vivarium_model::host::Host;
use vivarium_model::id::{
    ClientConnection, ClientId, LearnerConnection, Machine, ServerId, SessionId,
};
use vivarium_model::machines::ProgramState;
use vivarium_model::property::AskedOfServers;
use vivarium_model::property::disks::Disks;
use vivarium_model::property::elections::Elections;
use vivarium_model::property::repeated_votes::RepeatedVotes;
use vivarium_model::property::{Measure, Monitor, Objection, Telling, told_timeout};
use vivarium_model::quorum::QuorumVerifier;
use vivarium_model::step::Step;
use vivarium_model::time::{Duration, Time};
use vivarium_model::world::World;

/// A world that a driver drives.
pub(crate) trait Subject: Look {
    /// Prepares the world before the first step; the effects then contain what is due from the start.
    fn begin(&mut self, effects: &mut Effects);

    /// Takes a step.
    ///
    /// # Errors
    /// Returns a monitor's objection.
    fn apply(&mut self, at: Time, step: &Step, effects: &mut Effects) -> Result<Status, Objection>;

    /// Takes a step, and turns a panic into an objection. Such a panic can only be a failed assertion of the model or
    /// of a monitor, because hosts catch the panics of programs; it can be replayed from the seed.
    ///
    /// # Errors
    /// Returns the objection of a monitor, or that of a failed assertion.
    fn step(&mut self, at: Time, step: &Step, effects: &mut Effects) -> Result<Status, Objection> {
        asserted(|| self.apply(at, step, effects)).and_then(|applied| applied)
    }

    /// Runs the final checks after the last step.
    ///
    /// # Errors
    /// Returns a monitor's objection.
    fn end(&mut self, at: Time) -> Result<(), Objection>;

    fn history(&self) -> &History;

    /// Returns how a step would end if it were taken now.
    fn allows(&self, step: &Step) -> Result<(), Status>;

    /// Adds details of the difference to an objection to a server's tree (S5).
    fn explained(&self, objection: Objection) -> Objection {
        objection
    }

    /// Returns the monitors' measurements.
    fn measured(&self) -> Vec<Measure>;

    fn tell(&mut self, telling: Telling);

    /// Returns each monitor's name and the fingerprint of its state.
    fn monitors(&self) -> Vec<(String, Fingerprint)>;

    fn is_serving(&self, server: ServerId) -> bool;

    /// Says in words what a client's program waits for.
    fn waits_for(&self, client: ClientId) -> String;

    /// Says in words what a server is doing.
    fn state_of(&self, server: ServerId) -> String;
}

/// A function of a world that is generic over the world's host. (Closures cannot be generic.)
pub(crate) trait WithSubject {
    type Result;

    fn run<S: Subject>(self, subject: S) -> Self::Result;
}

/// Builds the world of `run`, with this host, and passes it to `with`. The world stays on this thread,
/// because madsim's tasks cannot move.
///
/// # Panics
/// Panics if this build has no such host. A caller that takes the host from a user checks [`HostKind::is_available`]
/// first.
pub(crate) fn with_world<W: WithSubject>(
    scenario: &Scenario,
    run: &Run,
    host: HostKind,
    with: W,
) -> W::Result {
    with_timed_world(scenario, run, host, None, with)
}

/// Like [`with_world`]; adds the real time spent in the host to `spent`.
pub(crate) fn with_timed_world<W: WithSubject>(
    scenario: &Scenario,
    run: &Run,
    host: HostKind,
    spent: Option<Rc<Cell<Duration>>>,
    with: W,
) -> W::Result {
    let programs = (scenario.programs)(run);
    let clients = run.config.clients.len();
    assert_eq!(programs.len(), clients, "scenario {} has one program per client", scenario.name);
    let monitors = (scenario.monitors)(run);
    let config = Arc::new(run.config.clone());
    let parts = Parts { config, monitors, of_servers: scenario.of_servers, spent, with };
    match host {
        HostKind::Direct => parts.under(DirectHost::new(programs)),
        #[cfg(madsim)]
        HostKind::Madsim => parts.under(MadsimHost::new(programs, run.seed)),
        #[cfg(not(madsim))]
        HostKind::Madsim => panic!("this build has no madsim host"),
    }
}

/// Everything that a world needs except its host.
struct Parts<W> {
    config: Arc<Config>,
    monitors: Vec<Box<dyn Monitor>>,
    of_servers: AskedOfServers,
    spent: Option<Rc<Cell<Duration>>>,
    with: W,
}

impl<W: WithSubject> Parts<W> {
    fn under<H: Host>(self, host: H) -> W::Result {
        match self.spent {
            None => self.with.run(Watched::new(self.config, host, self.monitors, self.of_servers)),
            Some(spent) => {
                let host = TimedHost::new(host, spent);
                self.with.run(Watched::new(self.config, host, self.monitors, self.of_servers))
            }
        }
    }
}

/// A world with the checks of its servers' disks and elections, which are no monitors because monitors see only events.
struct Watched<H> {
    world: World<H>,
    disks: Option<Disks>,
    elections: Option<Elections>,
    votes: Option<RepeatedVotes>,
    of_servers: AskedOfServers,
}

impl<H: Host> Watched<H> {
    fn new(
        config: Arc<Config>,
        host: H,
        monitors: Vec<Box<dyn Monitor>>,
        of_servers: AskedOfServers,
    ) -> Watched<H> {
        let world = World::new(config, host, monitors);
        let is_asked = of_servers != AskedOfServers::NONE;
        let disks = is_asked.then(|| Disks::new(world.ensemble(), of_servers));
        let elections = of_servers.elections.then(|| Elections::new(world.ensemble().config()));
        let votes = of_servers.votes.then(RepeatedVotes::default);
        Watched { world, disks, elections, votes, of_servers }
    }

    fn ensemble(&self) -> &Ensemble {
        self.world.ensemble()
    }
}

impl<H: Host> Subject for Watched<H> {
    fn begin(&mut self, effects: &mut Effects) {
        self.world.begin(effects);
    }

    fn apply(&mut self, at: Time, step: &Step, effects: &mut Effects) -> Result<Status, Objection> {
        if let Some(elections) = &mut self.elections {
            elections.before(step, self.world.ensemble());
        }
        if let Some(votes) = &mut self.votes {
            votes.before(step, self.world.ensemble());
        }
        let status = self.world.apply(at, step, effects)?;
        if let (Status::Done, Some(elections)) = (status, &mut self.elections) {
            elections.casts(step, &effects.events, self.world.ensemble());
            elections.after(&effects.events, self.world.ensemble().config())?;
        }
        if let (Status::Done, Some(votes)) = (status, &mut self.votes) {
            votes.after(&effects.events)?;
        }
        if let (Status::Done, Some(disks)) = (status, &mut self.disks) {
            disks.after(step, self.world.ensemble(), self.world.history())?;
            if self.of_servers.timeout && matches!(step, Step::ToClient(_)) {
                told_timeout(&effects.events, self.world.ensemble())?;
            }
        }
        Ok(status)
    }

    fn end(&mut self, at: Time) -> Result<(), Objection> {
        self.world.end(at)?;
        match &self.disks {
            Some(disks) => disks.end(self.world.ensemble(), self.world.history()),
            None => Ok(()),
        }
    }

    fn explained(&self, objection: Objection) -> Objection {
        if !objection.property.starts_with("S5") {
            return objection;
        }
        match self.world.ensemble().phantom(self.world.history().txns()) {
            Some(words) => Objection { saw: format!("{} {words}", objection.saw), ..objection },
            None => objection,
        }
    }

    fn history(&self) -> &History {
        self.world.history()
    }

    fn allows(&self, step: &Step) -> Result<(), Status> {
        self.ensemble().allows(step)
    }

    fn measured(&self) -> Vec<Measure> {
        self.world.monitors().measured()
    }

    fn tell(&mut self, telling: Telling) {
        self.world.tell(telling);
    }

    fn monitors(&self) -> Vec<(String, Fingerprint)> {
        self.world.monitors().states()
    }

    fn is_serving(&self, server: ServerId) -> bool {
        self.ensemble().is_serving(server)
    }

    fn waits_for(&self, client: ClientId) -> String {
        self.world.waits_for(client)
    }

    fn state_of(&self, server: ServerId) -> String {
        self.ensemble().state_of(server)
    }
}

impl<H: Host> Look for Watched<H> {
    fn servers(&self) -> u8 {
        self.ensemble().config().servers
    }

    fn quorum_verifier(&self) -> QuorumVerifier {
        self.ensemble().config().quorum_verifier()
    }

    fn clients(&self) -> u8 {
        self.ensemble().config().clients.len() as u8
    }

    fn is_up(&self, server: ServerId) -> bool {
        self.ensemble().is_up(server)
    }

    fn leader(&self) -> Option<ServerId> {
        self.ensemble().leader()
    }

    fn client_connection(&self, client: ClientId) -> Option<ClientConnection> {
        self.ensemble().client_connection(client)
    }

    fn attached_to(&self, client: ClientId) -> Option<ServerId> {
        self.ensemble().attached_to(client)
    }

    fn learner_connection(&self, server: ServerId) -> Option<LearnerConnection> {
        self.ensemble().learner_connection(server)
    }

    fn under_way(&self, connection: ClientConnection) -> (usize, usize) {
        self.ensemble().under_way(connection)
    }

    fn under_way_learner(&self, connection: LearnerConnection) -> (usize, usize) {
        self.ensemble().under_way_learner(connection)
    }

    fn unsynced(&self, server: ServerId) -> usize {
        self.ensemble().unsynced(server)
    }

    fn session(&self, client: ClientId) -> Option<SessionId> {
        self.ensemble().session(client)
    }

    fn is_cut(&self, from: Machine, to: Machine) -> bool {
        self.ensemble().is_cut(from, to)
    }

    fn is_running(&self, client: ClientId) -> bool {
        self.ensemble().program(client) == ProgramState::Running
    }

    fn is_paused(&self, client: ClientId) -> bool {
        self.ensemble().is_paused(client)
    }

    fn can_cancel(&self, client: ClientId) -> bool {
        self.ensemble().can_cancel(client)
    }
}

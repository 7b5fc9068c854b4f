//! What a driver drives: all that the simulator asks of a world, in one place.

use crate::host::DirectHost;
#[cfg(madsim)]
use crate::host::MadsimHost;
use crate::host::timed::TimedHost;
use crate::run::HostKind;
use crate::run::demands::asserted;
use crate::scenario::Scenario;
use crate::scenario::drawn::Drawn;
use crate::seeded::faults::Look;
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
use vivarium_model::property::{Measure, Monitor, Objection, Telling, told_timeout};
use vivarium_model::quorum::QuorumVerifier;
use vivarium_model::step::Step;
use vivarium_model::time::{Duration, Time};
use vivarium_model::world::World;

/// A world under a driver.
pub(crate) trait Subject: Look {
    /// Before the first step: what is due from the start.
    fn begin(&mut self, effects: &mut Effects);

    /// Takes a step.
    ///
    /// # Errors
    /// A monitor's objection.
    fn apply(&mut self, at: Time, step: &Step, effects: &mut Effects) -> Result<Status, Objection>;

    /// Takes a step. A panic, which can only be an assertion in the model or in a monitor (those of
    /// programs end in their hosts), is an objection too: it has a seed and can be replayed.
    ///
    /// # Errors
    /// An objection.
    fn step(&mut self, at: Time, step: &Step, effects: &mut Effects) -> Result<Status, Objection> {
        asserted(|| self.apply(at, step, effects)).and_then(|applied| applied)
    }

    /// After the last step.
    ///
    /// # Errors
    /// A monitor's objection.
    fn end(&mut self, at: Time) -> Result<(), Objection>;

    /// The committed history.
    fn history(&self) -> &History;

    /// An objection to a server's tree (S5) says what is wrong with it.
    fn explained(&self, objection: Objection) -> Objection {
        objection
    }

    /// What its monitors measured.
    fn measured(&self) -> Vec<Measure>;

    /// Chooses which monitors receive the events that follow.
    fn tell(&mut self, telling: Telling);

    /// The name of each of its monitors and the fingerprint of its state.
    fn monitors(&self) -> Vec<(String, Fingerprint)>;

    /// Whether a server serves clients.
    fn is_serving(&self, server: ServerId) -> bool;

    /// In words: what a client's program waits for.
    fn waits_for(&self, client: ClientId) -> String;

    /// In words: what a server is doing.
    fn state_of(&self, server: ServerId) -> String;
}

/// Something to be done with a world, whatever its host.
pub(crate) trait WithSubject {
    /// What comes of it.
    type Result;

    /// Does it.
    fn run<S: Subject>(self, subject: S) -> Self::Result;
}

/// Builds the world that `drawn` describes under this host, and hands it over. The world never
/// leaves this thread: madsim's tasks cannot.
///
/// # Panics
/// If this build has no such host; whoever takes a host from a user must have asked
/// [`HostKind::is_available`].
pub(crate) fn with_world<W: WithSubject>(
    scenario: &Scenario,
    drawn: &Drawn,
    host: HostKind,
    with: W,
) -> W::Result {
    with_timed_world(scenario, drawn, host, None, with)
}

/// [`with_world`], with the real time that the host takes added to `spent`.
pub(crate) fn with_timed_world<W: WithSubject>(
    scenario: &Scenario,
    drawn: &Drawn,
    host: HostKind,
    spent: Option<Rc<Cell<Duration>>>,
    with: W,
) -> W::Result {
    let programs = (scenario.programs)(drawn);
    let clients = drawn.config.clients.len();
    assert_eq!(programs.len(), clients, "scenario {} has one program per client", scenario.name);
    let monitors = (scenario.monitors)(drawn);
    let config = Arc::new(drawn.config.clone());
    let run = Run { config, monitors, of_servers: scenario.of_servers, spent, with };
    match host {
        HostKind::Direct => run.under(DirectHost::new(programs)),
        #[cfg(madsim)]
        HostKind::Madsim => run.under(MadsimHost::new(programs, drawn.seed)),
        #[cfg(not(madsim))]
        HostKind::Madsim => panic!("this build has no madsim host"),
    }
}

/// All that a world needs beside its host.
struct Run<W> {
    config: Arc<Config>,
    monitors: Vec<Box<dyn Monitor>>,
    of_servers: AskedOfServers,
    spent: Option<Rc<Cell<Duration>>>,
    with: W,
}

impl<W: WithSubject> Run<W> {
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

/// A world, with the checks of its servers' disks and elections, which monitors cannot see.
struct Watched<H> {
    world: World<H>,
    disks: Option<Disks>,
    elections: Option<Elections>,
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
        Watched { world, disks, elections, of_servers }
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
        let status = self.world.apply(at, step, effects)?;
        if let (Status::Done, Some(elections)) = (status, &mut self.elections) {
            elections.after(&effects.events, self.world.ensemble().config())?;
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

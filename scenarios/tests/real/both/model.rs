//! The model's side: the program over a simulated client of modelled servers, whose steps are taken in the order in which
//! they become due. Time does not pass, and no timer fires except the client's before its next attempt to connect.

use super::program::{CUT, LOSE};
use std::collections::VecDeque;
use std::sync::Arc;
use vivarium::conform::defects;
use vivarium_model::config::{Config, Election};
use vivarium_model::effect::{Effect, Effects, Status};
use vivarium_model::event::Event;
use vivarium_model::handle::Program;
use vivarium_model::id::{ClientConnection, ClientId, ServerId, ServerSet};
use vivarium_model::step::Step;
use vivarium_model::time::{Duration, Time};
use vivarium_model::timer::{ClientTimer, Timer};
use vivarium_model::world::World;
use vivarium_sim::host::DirectHost;

const CLIENT: ClientId = ClientId(1);

/// A run under way.
pub(crate) struct Model {
    world: World<DirectHost>,
    effects: Effects,
    due: VecDeque<Step>,
    now: Time,
    connection: Option<ClientConnection>,
    /// The connection breaks when nothing else is due.
    cuts: bool,
    /// So it does, and the client reads nothing before.
    loses: bool,
    is_finished: bool,
    /// Attempts to connect since the connection broke.
    attempts: usize,
}

/// Runs the program on this many servers of a release.
pub(crate) fn run(program: Program, servers: u8, release: &str, timeout: Duration) {
    let mut config = Config::new(servers, 1);
    config.bugs = defects(release).expect("the release is known");
    config.election = Election::Oracle;
    config.clients[0].session_timeout = timeout;
    let world = World::new(Arc::new(config), DirectHost::new(vec![program]), Vec::new());
    let mut model = Model {
        world,
        effects: Effects::default(),
        due: VecDeque::new(),
        now: Time(1_000_000),
        connection: None,
        cuts: false,
        loses: false,
        is_finished: false,
        attempts: 0,
    };
    model.start(servers);
    while !model.is_finished {
        model.settle();
        model.disturb();
    }
}

impl Model {
    fn start(&mut self, servers: u8) {
        for server in 1..=servers {
            assert!(self.take(Step::Restart(ServerId(server))));
        }
        self.settle();
        // The one with the largest id wins.
        let followers = (1..servers).map(ServerId).collect::<ServerSet>();
        assert!(self.take(Step::Elect { leader: ServerId(servers), followers }));
        self.settle();
        assert!(self.take(Step::Start(CLIENT)));
    }

    /// Takes all due steps, except what the client does not read any more.
    fn settle(&mut self) {
        let mut blocked = 0;
        while let Some(step) = self.due.pop_front() {
            if self.loses && matches!(step, Step::ToClient(_)) {
                continue;
            }
            match self.apply(step) {
                Status::Blocked(_) => {
                    self.due.push_back(step);
                    blocked += 1;
                    assert!(blocked < 10_000, "{step} stays blocked");
                }
                Status::Done | Status::NotEnabled => blocked = 0,
            }
        }
    }

    /// What happens when nothing is due: the connection breaks, or the client tries to connect.
    fn disturb(&mut self) {
        if self.is_finished {
            return;
        }
        if self.cuts || self.loses {
            let connection = self.connection.expect("the client has had a connection");
            (self.cuts, self.loses, self.attempts) = (false, false, 0);
            let lost = Step::BreakClient { connection, to_server: u8::MAX, to_client: 0 };
            assert!(self.take(lost), "{lost}");
        } else {
            let reconnect = Step::Fire(Timer::Client(CLIENT, ClientTimer::Reconnect));
            assert!(self.take(reconnect), "the program waits for nothing that can come");
            self.attempts += 1;
            assert!(self.attempts < 20, "no server accepts the client, or it gets no answer");
        }
    }

    fn take(&mut self, step: Step) -> bool {
        self.apply(step) == Status::Done
    }

    fn apply(&mut self, step: Step) -> Status {
        self.now = self.now + Duration::from_millis(1);
        self.effects.clear();
        let status = self.world.apply(self.now, &step, &mut self.effects);
        let status = status.unwrap_or_else(|objection| panic!("{objection}"));
        for event in &self.effects.events {
            match event {
                Event::Observed { observation, .. } if observation.name() == CUT => {
                    self.cuts = true;
                }
                Event::Observed { observation, .. } if observation.name() == LOSE => {
                    self.loses = true;
                }
                Event::Finished { .. } => self.is_finished = true,
                _ => {}
            }
        }
        for effect in self.effects.effects.drain(..) {
            if let Effect::Due(step) = effect {
                if let Step::ToServer(connection) = step {
                    self.connection = Some(connection);
                }
                self.due.push_back(step);
            }
        }
        status
    }
}

//! Random lives of a client machine, checked by the monitors of client machines (H15, H16): chroot, identities,
//! pinned scopes, read-only servers and granted timeouts, in any order.

use super::scene::*;
use std::collections::{BTreeMap, VecDeque};
use vivarium_model::config::Config;
use vivarium_model::exchange::Exchange;
use vivarium_model::history::History;
use vivarium_model::op::CreateMode;
use vivarium_model::property::{
    FaithfulClient, Monitor, Monitors, Objection, PunctualClient, View,
};
use vivarium_model::release::{Bug, Bugs};
use vivarium_model::time::Time;

const CLIENT: ClientId = ClientId(1);

/// Numbers from a seed (SplitMix64).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % below
    }

    fn path(&mut self) -> Arc<str> {
        ["/", "/a", "/a/b", "/c"][self.roll(4) as usize].into()
    }
}

/// A machine, its surroundings, and the monitors.
struct Life {
    dice: Dice,
    machine: ClientMachine,
    monitors: Monitors,
    history: History,
    chroot: &'static str,
    now: Time,
    timers: BTreeMap<ClientTimer, Time>,
    open: bool,
    asked_for: Option<SessionId>,
    in_flight: VecDeque<(Xid, Arc<Request>)>,
    inbox: VecDeque<Input>,
    calls: u32,
    sessions: u64,
    zxid: u64,
    /// The first objection.
    objection: Option<Objection>,
}

impl Life {
    fn new(seed: u64, bugs: Bugs) -> Life {
        let mut dice = Dice(seed);
        let chroot = if dice.roll(2) == 0 { "" } else { "/app/x" };
        let mut config = Config::new(3, 1);
        let client = &mut config.clients[0];
        client.chroot = chroot.into();
        client.can_be_read_only = dice.roll(2) == 0;
        client.expires_locally = dice.roll(2) == 0;
        let machine = ClientMachine::new(CLIENT, client, bugs);
        let mut monitors: Vec<Box<dyn Monitor>> =
            vec![Box::new(FaithfulClient::new()), Box::new(PunctualClient::new())];
        let config = Arc::new(config);
        monitors.iter_mut().for_each(|monitor| monitor.begin(&config));
        Life {
            dice,
            machine,
            monitors: Monitors::new(monitors),
            history: History::new(),
            chroot,
            now: Time(1_000_000),
            timers: BTreeMap::new(),
            open: false,
            asked_for: None,
            in_flight: VecDeque::new(),
            inbox: VecDeque::new(),
            calls: 0,
            sessions: 0,
            zxid: 0,
            objection: None,
        }
    }

    fn passes(&mut self, exchange: Exchange) {
        let view = View::new(self.now, &self.history);
        let judged = self.monitors.exchanges(view, &[(CLIENT, exchange)]);
        self.objection = self.objection.take().or(judged.err());
    }

    /// Lets the machine act, and handles the effects.
    fn act(&mut self, act: impl FnOnce(&mut ClientMachine, &mut Vec<ClientEffect>)) {
        let mut effects = Vec::new();
        act(&mut self.machine, &mut effects);
        for effect in effects {
            match effect {
                ClientEffect::Open { server } => {
                    self.passes(Exchange::Opened { server });
                    self.open = true;
                    self.in_flight.clear();
                    self.machine.opened(ClientConnection { client: CLIENT, slot: 0 });
                }
                ClientEffect::Send(packet) => {
                    self.passes(Exchange::Wrote(packet.clone()));
                    match packet {
                        ClientPacket::Connect { session, .. } => self.asked_for = session,
                        ClientPacket::Request { xid, request } => {
                            self.in_flight.push_back((xid, request));
                        }
                        _ => {}
                    }
                }
                ClientEffect::Close => {
                    self.passes(Exchange::HungUp);
                    self.open = false;
                }
                ClientEffect::Arm { timer, after, spread } => {
                    self.timers.insert(timer, self.now + after + spread / 2);
                }
                ClientEffect::Disarm(timer) => drop(self.timers.remove(&timer)),
                ClientEffect::Input(input) => self.inbox.push_back(input),
                ClientEffect::Event(_) => {}
            }
        }
    }

    fn reads(&mut self, packet: ServerPacket) {
        if self.open {
            self.passes(Exchange::Read(packet.clone()));
            self.act(|machine, out| machine.packet(packet, out));
        }
    }

    fn asks(&mut self, operation: Operation) {
        self.calls += 1;
        let call = CallId(self.calls);
        self.passes(Exchange::Asked { call, operation: operation.clone() });
        self.act(|machine, out| machine.call(call, operation, out));
    }

    fn request(&mut self) {
        let path = self.dice.path();
        let create = |path| Op::create(path, [], CreateMode::Persistent);
        let request = match self.dice.roll(9) {
            0 => Request::Exists { path, watch: true },
            1 => Request::GetData { path, watch: true },
            2 => Request::GetChildren { path, watch: true },
            3 => Request::AddWatch { path, mode: AddWatchMode::Persistent },
            4 => Request::AddWatch { path, mode: AddWatchMode::PersistentRecursive },
            5 => Request::Multi(vec![create(path), Op::delete("/c", Version::Any)]),
            6 => Request::Sync { path },
            _ => Request::Write(create(path)),
        };
        let watch = request.is_read().then(|| {
            self.calls += 1;
            CallId(self.calls)
        });
        let scope = match self.dice.roll(4) {
            0 => Some(SessionId(self.dice.roll(self.sessions + 1))),
            1 => self.machine.session(),
            _ => None,
        };
        self.asks(Operation::Request { request: Arc::new(request), watch, scope });
    }

    fn removal(&mut self) {
        let kinds = [
            WatcherType::Any,
            WatcherType::Children,
            WatcherType::Data,
            WatcherType::Persistent,
            WatcherType::PersistentRecursive,
        ];
        let (path, kind) = (self.dice.path(), kinds[self.dice.roll(5) as usize]);
        let local = self.dice.roll(2) == 0;
        self.asks(Operation::RemoveWatches { path, kind, local, scope: None });
    }

    fn accept(&mut self) {
        if !self.open || self.machine.state().is_connected() {
            return;
        }
        if self.dice.roll(8) == 0 {
            return self.reads(ServerPacket::Expired);
        }
        self.sessions += 1;
        let session = self.asked_for.unwrap_or(SessionId(self.sessions));
        let timeout = Duration::from_secs([4, 6, 9, 40][self.dice.roll(4) as usize]);
        let read_only = self.dice.roll(4) == 0;
        self.reads(ServerPacket::Connected { session, timeout, read_only });
    }

    fn reply(&mut self) {
        let Some((xid, request)) = self.in_flight.pop_front() else { return };
        self.zxid += 1;
        let result = match &*request {
            _ if self.dice.roll(4) == 0 => Err(Error::NoNode),
            Request::Write(Op::Create { path, .. }) => {
                Ok(Response::Written(OpResult::Created(Arc::clone(path), Stat::default())))
            }
            Request::Exists { .. } => Ok(Response::Exists(Stat::default())),
            Request::GetData { .. } => Ok(Response::Data(Data::from([]), Stat::default())),
            Request::GetChildren { .. } => Ok(Response::Children(Vec::new(), Stat::default())),
            Request::Multi(_) => Ok(Response::Multi(Vec::new())),
            Request::Sync { .. } => Ok(Response::Synced),
            Request::CloseSession => Ok(Response::Closed),
            _ => Ok(Response::Watches),
        };
        let xid = if self.dice.roll(60) == 0 { Xid(xid.0 + 1) } else { xid };
        self.reads(ServerPacket::Reply { xid, zxid: Zxid(self.zxid), result });
    }

    fn notify(&mut self) {
        if !self.machine.state().is_connected() {
            return;
        }
        let kinds = [
            EventType::NodeCreated,
            EventType::NodeDeleted,
            EventType::NodeDataChanged,
            EventType::NodeChildrenChanged,
        ];
        let kind = kinds[self.dice.roll(4) as usize];
        let path = match (&*self.dice.path(), self.chroot) {
            ("/", "") => "/".into(),
            ("/", chroot) => chroot.into(),
            (path, chroot) => format!("{chroot}{path}").into(),
        };
        self.reads(ServerPacket::Notification(WatchedEvent { kind, path, zxid: Zxid(self.zxid) }));
    }

    /// One thing happens, or the next timer fires, whichever comes first.
    fn turn(&mut self) {
        let then = self.now + Duration::from_millis(self.dice.roll(700));
        let next = self.timers.iter().min_by_key(|(_, at)| **at).map(|(timer, at)| (*timer, *at));
        match next {
            Some((timer, at)) if at <= then => {
                self.now = at;
                self.timers.remove(&timer);
                self.passes(Exchange::Fired(timer));
                self.act(|machine, out| machine.timer(timer, out));
            }
            _ => {
                self.now = then;
                self.happens();
            }
        }
        if self.dice.roll(3) > 0 {
            while let Some(input) = self.inbox.pop_front() {
                self.passes(Exchange::Told(input));
            }
        }
    }

    fn happens(&mut self) {
        match self.dice.roll(40) {
            0..10 => self.request(),
            10..13 => self.removal(),
            13 => {
                let auth = Data::from([self.dice.roll(3) as u8]);
                self.asks(Operation::AddAuth { scheme: "digest".into(), auth, scope: None });
            }
            14..16 => self.asks(Operation::Connect),
            16 => self.asks(Operation::Close),
            17 => {
                let call = CallId(1 + self.dice.roll(u64::from(self.calls) + 1) as u32);
                self.passes(Exchange::Abandoned { call });
                self.machine.abandon(call);
                self.inbox.retain(|input| input.call() != Some(call));
            }
            18..26 => self.accept(),
            26..34 => self.reply(),
            34..37 => self.notify(),
            37 if self.machine.state().is_connected() => {
                let result = if self.dice.roll(9) == 0 { Err(Error::AuthFailed) } else { Ok(()) };
                self.reads(ServerPacket::Authenticated { result });
            }
            38 if self.machine.state().is_connected() => {
                self.reads(ServerPacket::WatchesSet { zxid: Zxid(self.zxid) });
            }
            39 if self.open => {
                self.open = false;
                self.passes(Exchange::Broke);
                self.act(|machine, out| machine.disconnected(out));
            }
            _ if self.machine.state().is_connected() => self.reads(ServerPacket::Pong),
            _ => {}
        }
    }
}

/// Returns the first objection to one life.
fn judged(seed: u64, bugs: Bugs) -> Option<Objection> {
    let mut life = Life::new(seed, bugs);
    life.passes(Exchange::Started);
    life.act(|machine, out| machine.start(out));
    life.inbox.push_front(Input::Start);
    for _ in 0..150 {
        life.turn();
        if life.objection.is_some() {
            return life.objection;
        }
    }
    life.monitors.end(View::new(life.now, &life.history)).err()
}

#[test]
fn random_lives_are_faithful_and_punctual() {
    for seed in 0..2_000 {
        let objection = judged(seed, Bugs::NONE);
        assert_eq!(objection, None, "seed {seed}");
    }
}

#[test]
fn random_lives_show_what_is_planted() {
    for bug in Bug::PLANTED_IN_CLIENTS {
        let found = (0..500).find_map(|seed| judged(seed, Bugs::NONE.with(bug)));
        let found = found.unwrap_or_else(|| panic!("{bug:?} is not found"));
        let late = matches!(bug, Bug::PlantedLatePings | Bug::PlantedLongerTimeout);
        assert!(found.property.starts_with(if late { "H16" } else { "H15" }), "{bug:?}: {found}");
    }
}

//! A server that sends anything: the client neither panics nor grows, and every caller gets an answer.

use super::address::Address;
use super::frames::Frames;
use super::limits::Limits;
use super::settings::Settings;
use super::state::{After, State};
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;
use tokio::time::{Instant, advance};
use vivarium_model::client::{ClientInput, ClientState};
use vivarium_model::handle::transport::Ticket;
use vivarium_model::host::{Operation, Outcome};
use vivarium_model::id::{SessionId, Xid};
use vivarium_model::op::{
    AddWatchMode, CreateMode, Data, Op, Request, Response, Version, WatchedEvent,
};
use vivarium_model::op::{EventType, OpResult};
use vivarium_model::packet::ServerPacket;
use vivarium_model::stat::Stat;
use vivarium_model::wire::handshake::encode_connected;
use vivarium_model::wire::reply::encode_server;
use vivarium_model::wire::{Opcodes, Password};
use vivarium_model::zxid::Zxid;

/// The most calls that wait at once.
const CALLS: usize = 20;

/// A client, a server that sends anything, and the client's callers.
struct Scene {
    state: State,
    limits: Limits,
    random: fastrand::Rng,
    /// The calls, each with the watch that it asks for.
    calls: Vec<(Ticket, Option<Ticket>)>,
    watches: Vec<Ticket>,
    answered: usize,
    errors: usize,
    frames: usize,
}

impl Scene {
    fn new(seed: u64) -> Scene {
        let settings = Settings {
            servers: vec![Address { host: "localhost".to_owned(), port: 2181 }],
            seed: Some(seed),
            unread_events: 50,
            ..Settings::default()
        };
        let limits = Limits::new(settings.requests, settings.bytes);
        let mut state = State::new(settings, limits.clone());
        let mut after = After::default();
        state.input(ClientInput::Start, &mut after);
        let random = fastrand::Rng::with_seed(seed);
        Scene {
            state,
            limits,
            random,
            calls: Vec::new(),
            watches: Vec::new(),
            answered: 0,
            errors: 0,
            frames: 0,
        }
    }

    /// Begins a call, drops one, or lets time pass.
    async fn act(&mut self) {
        let mut after = After::default();
        match self.random.u8(0..10) {
            0 if !self.calls.is_empty() => {
                let at = self.random.usize(..self.calls.len());
                // As a handle does: first the reply, then the watch.
                let (call, watch) = self.calls.swap_remove(at);
                self.state.abandon(call, &mut after);
                watch.into_iter().for_each(|watch| self.state.abandon(watch, &mut after));
            }
            1 if !self.watches.is_empty() => {
                let at = self.random.usize(..self.watches.len());
                self.state.abandon(self.watches.swap_remove(at), &mut after);
            }
            2 => advance(Duration::from_millis(self.random.u64(..2_000))).await,
            _ if self.calls.len() < CALLS => self.call(&mut after),
            _ => {}
        }
        advance(Duration::from_millis(1)).await;
        self.state.fire(Instant::now(), &mut after);
        after.finish();
    }

    fn call(&mut self, after: &mut After) {
        let waker = Waker::noop();
        let operation = match self.random.u8(0..10) {
            0 => Operation::Connect,
            1 => Operation::Sleep(Duration::from_millis(50)),
            _ => {
                let request = self.request();
                assert!(self.limits.admit(&request).is_none(), "what has ended occupies nothing");
                let request = Arc::new(request);
                if asks_for_watch(&request) && self.watches.len() < CALLS {
                    let began = self.state.calls.begin_watching(request, None, waker);
                    self.state.begin(began.call, began.operation, after);
                    self.calls.push((began.reply, Some(began.event)));
                    return;
                }
                Operation::Request { request, watch: None, scope: None }
            }
        };
        self.calls.push((self.state.submit(operation, waker, after), None));
    }

    fn request(&mut self) -> Request {
        let path: Arc<str> = Arc::from(["/", "/a", "/a/b", ""][self.random.usize(..4)]);
        match self.random.u8(0..8) {
            0 => Request::Exists { path, watch: self.random.bool() },
            1 => Request::GetData { path, watch: self.random.bool() },
            2 => Request::GetChildren { path, watch: self.random.bool() },
            3 => Request::AddWatch { path, mode: AddWatchMode::PersistentRecursive },
            4 => Request::Multi(vec![
                Op::Check { path: Arc::clone(&path), version: Version::Any },
                Op::Delete { path, version: Version::Is(3) },
            ]),
            5 => Request::Sync { path },
            6 => Request::WhoAmI,
            _ => Request::Write(Op::Create {
                path,
                data: Data::from(*b"data"),
                mode: CreateMode::Ephemeral,
                acl: vivarium_model::acl::AclList::OPEN,
            }),
        }
    }

    /// Sends a frame: a right one, a right one with a few bytes changed, cut or added, or bytes of any kind.
    fn serve(&mut self) {
        self.frames += 1;
        let mut frame = match self.random.u8(0..8) {
            0 => (0..self.random.usize(..64)).map(|_| self.random.u8(..)).collect(),
            _ => self.right_frame(),
        };
        match self.random.u8(0..6) {
            0 if !frame.is_empty() => {
                for _ in 0..self.random.usize(1..4) {
                    let at = self.random.usize(..frame.len());
                    frame[at] =
                        [0, 1, 0x7f, 0x80, 0xff, self.random.u8(..)][self.random.usize(..6)];
                }
            }
            1 => frame.truncate(self.random.usize(..=frame.len())),
            2 if self.random.bool() => frame.extend([0; 3]),
            _ => {}
        }
        let mut after = After::default();
        let generation = self.state.link.generation;
        if self.state.read(&frame, &mut after).is_err() && self.state.link.generation == generation
        {
            self.state.disconnected(&mut after);
        }
        after.finish();
    }

    fn right_frame(&mut self) -> Vec<u8> {
        let zxid = Zxid(self.random.u64(..100));
        if let ClientState::Connecting(_) = self.state.machine.state() {
            let timeout = Duration::from_millis(self.random.u64(1..10_000));
            let accepted = ServerPacket::Connected {
                session: SessionId(5),
                timeout,
                read_only: self.random.bool(),
            };
            let packet = if self.random.u8(..10) == 0 { ServerPacket::Expired } else { accepted };
            return encode_connected(&packet, &Password([3; 16]));
        }
        let oldest = self.state.machine.pending().next();
        let oldest = oldest.map(|(xid, request)| (xid, Arc::clone(request)));
        match (self.random.u8(0..8), oldest) {
            (0, _) => encode_server(&ServerPacket::Pong, Opcodes::Newest, None, zxid),
            (1, _) => {
                encode_server(&ServerPacket::WatchesSet { zxid }, Opcodes::Newest, None, zxid)
            }
            (2, _) => {
                let kind =
                    [EventType::NodeDeleted, EventType::NodeDataChanged][self.random.usize(..2)];
                let path = Arc::from(["/a", "/a/b/c", "?"][self.random.usize(..3)]);
                let event = WatchedEvent { kind, path, zxid };
                encode_server(&ServerPacket::Notification(event), Opcodes::Newest, None, zxid)
            }
            (_, Some((xid, request))) => {
                let result = reply(&request).ok_or(vivarium_model::error::Error::NoNode);
                let packet = ServerPacket::Reply { xid, zxid, result };
                encode_server(&packet, Opcodes::Newest, Some(&request), zxid)
            }
            (_, None) => {
                let result = Err(vivarium_model::error::Error::NoNode);
                let packet = ServerPacket::Reply { xid: Xid(self.random.u32(..9)), zxid, result };
                encode_server(&packet, Opcodes::Newest, None, zxid)
            }
        }
    }

    /// Takes what was answered.
    fn take(&mut self) {
        let (state, waker) = (&mut self.state, Waker::noop());
        let mut after = After::default();
        let watches = &mut self.watches;
        let (mut answered, mut errors) = (0, 0);
        self.calls.retain(|(ticket, watch)| {
            let source = super::order::Source::Call(*ticket);
            match state.take(source, waker, &mut after, |calls| calls.poll(*ticket, waker)) {
                Poll::Ready(outcome) => {
                    answered += 1;
                    errors += usize::from(matches!(outcome, Outcome::Response(Err(_))));
                    watches.extend(watch);
                    false
                }
                Poll::Pending => true,
            }
        });
        self.answered += answered;
        self.errors += errors;
        let room = 4 * CALLS;
        assert!(self.state.calls.len() <= room, "{} calls", self.state.calls.len());
        assert!(self.state.machine.outstanding() <= 10 * room, "requests grow");
        assert!(self.state.link.out.len() < 1_000_000, "what is to be written grows");
        // A driver would write it.
        self.state.link.out.clear();
    }

    /// Drops all calls and watches: nothing is left of them.
    fn leave(&mut self) {
        let mut after = After::default();
        let (calls, watches) = (std::mem::take(&mut self.calls), std::mem::take(&mut self.watches));
        let halves = calls.into_iter().flat_map(|(call, watch)| std::iter::once(call).chain(watch));
        for ticket in halves.chain(watches) {
            self.state.abandon(ticket, &mut after);
        }
        assert!(self.state.calls.is_empty() && self.state.order.is_empty());
        self.state.give_up(&mut after);
        after.finish();
        assert_eq!(self.state.machine.outstanding(), 0);
        for _ in 0..Settings::default().requests {
            let request = self.request();
            assert!(self.limits.admit(&request).is_none(), "every permit was given back");
        }
    }
}

fn asks_for_watch(request: &Request) -> bool {
    matches!(
        request,
        Request::AddWatch { .. }
            | Request::Exists { watch: true, .. }
            | Request::GetData { watch: true, .. }
            | Request::GetChildren { watch: true, .. }
    )
}

fn reply(request: &Request) -> Option<Response> {
    let stat = Stat::default();
    Some(match request {
        Request::Exists { .. } => Response::Exists(stat),
        Request::GetData { .. } => Response::Data(Data::from(*b"data"), stat),
        Request::GetChildren { .. } => Response::Children(vec![Arc::from("b")], stat),
        Request::AddWatch { .. } => Response::Watches,
        Request::Multi(_) => Response::Multi(vec![OpResult::Checked, OpResult::Deleted]),
        Request::Sync { .. } => Response::Synced,
        _ => return None,
    })
}

async fn run(seed: u64, frames: usize) -> Scene {
    let mut scene = Scene::new(seed);
    while scene.frames < frames {
        scene.act().await;
        if scene.state.link.server.is_some() {
            scene.serve();
        }
        scene.take();
    }
    scene.leave();
    scene
}

#[tokio::test(start_paused = true)]
async fn any_frame_is_answered_or_ends_the_connection() {
    let (mut answered, mut errors) = (0, 0);
    for seed in 0..20 {
        let run = run(seed, 2_000).await;
        answered += run.answered;
        errors += run.errors;
    }
    assert!(errors > 1_000 && answered > errors, "{answered} answers, {errors} errors");
}

/// One million frames; `cargo test --release -p vivarium-zk-client -- --ignored --nocapture million`.
#[tokio::test(start_paused = true)]
#[ignore = "it takes minutes without optimisation"]
async fn a_million_frames() {
    let (mut answered, mut errors) = (0, 0);
    for seed in 100..200 {
        let run = run(seed, 10_000).await;
        answered += run.answered;
        errors += run.errors;
    }
    println!("1,000,000 frames, {answered} answers, of them {errors} errors");
}

/// However a stream of any bytes is cut, at most one frame and one read are held.
#[test]
fn any_stream_is_frames_or_an_error() {
    let mut random = fastrand::Rng::with_seed(7);
    let mut errors = 0;
    for _ in 0..20_000 {
        let mut frames = Frames::new(1_000);
        for _ in 0..random.usize(1..20) {
            let mut read: Vec<u8> = (0..random.usize(1..100)).map(|_| random.u8(..)).collect();
            if random.bool() {
                read.splice(0..0, random.i32(0..200).to_be_bytes());
            }
            frames.push(&read);
            loop {
                match frames.next() {
                    Ok(Some(frame)) => assert!(frame.len() <= 1_000),
                    Ok(None) => break,
                    Err(_) => {
                        errors += 1;
                        break;
                    }
                }
            }
            assert!(frames.held() <= 20 * 104);
        }
    }
    assert!(errors > 1_000);
}

//! The program that runs twice: requests of all kinds, up to four under way, with watches. It notes what it reads in the
//! order in which it reads it, in a form that does not depend on times and on where zxids and sessions begin.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use vivarium_model::acl::AclList;
use vivarium_model::error::Error;
use vivarium_model::handle::{PersistentWatch, SessionEvents, Watch, ZooKeeper};
use vivarium_model::id::SessionId;
use vivarium_model::op::{
    AddWatchMode, CreateMode, Op, OpResult, ReadOp, ReadResult, SessionState, Version, WatcherType,
};
use vivarium_model::stat::Stat;

/// Everything that a program has read, one line each.
pub(crate) type Log = Arc<Mutex<Vec<String>>>;

/// The observation before which nothing is under way and after which the connection breaks.
pub(crate) const CUT: &str = "cut";

/// The observation before a write whose reply is lost.
pub(crate) const LOSE: &str = "lose";

/// The lines before and after the events of a session's end, whose order is that of a hash set in a real server.
const CLOSING: &str = "closing";
const CLOSED: &str = "closed";

type Later = Pin<Box<dyn Future<Output = Read> + Send>>;

/// What a future of the program ends with.
enum Read {
    Answer(String),
    Watching(String, Watch),
    Persistent(String, PersistentWatch),
    Event(String),
    PersistentEvent(String, Option<PersistentWatch>),
    Session(SessionState, SessionEvents),
}

/// Where zxids begin, and the sessions in their order.
#[derive(Clone, Default)]
struct Names {
    base: u32,
    sessions: Vec<SessionId>,
}

impl Names {
    fn stat(&self, stat: &Stat) -> String {
        let zxid = |zxid: vivarium_model::zxid::Zxid| match zxid.0 {
            0 => "none".to_owned(),
            _ => (i64::from(zxid.counter()) - i64::from(self.base)).to_string(),
        };
        let owner = stat.ephemeral_owner.map(|owner| self.session(owner));
        format!(
            "c{} m{} p{} v{} cv{} av{} {owner:?} {}b {}ch",
            zxid(stat.czxid),
            zxid(stat.mzxid),
            zxid(stat.pzxid),
            stat.version,
            stat.cversion,
            stat.aversion,
            stat.data_length,
            stat.num_children
        )
    }

    fn session(&self, session: SessionId) -> usize {
        let known = self.sessions.iter().position(|known| *known == session);
        known.expect("only this client has sessions")
    }

    fn result(&self, result: &OpResult) -> String {
        match result {
            OpResult::Created(path, stat) => format!("created {path} {}", self.stat(stat)),
            OpResult::Set(stat) => format!("set {}", self.stat(stat)),
            other => format!("{other:?}"),
        }
    }

    fn read(&self, result: &ReadResult) -> String {
        match result {
            ReadResult::Data(data, stat) => format!("{data:?} {}", self.stat(stat)),
            ReadResult::Children(names) => format!("{:?}", sorted(names)),
            other => format!("{other:?}"),
        }
    }
}

/// ZooKeeper keeps names in sets.
fn sorted<T: ToString>(names: &[T]) -> Vec<String> {
    let mut names: Vec<String> = names.iter().map(T::to_string).collect();
    names.sort();
    names
}

/// Draws paths, kinds and versions.
struct Draw(fastrand::Rng);

impl Draw {
    fn path(&mut self) -> String {
        let random = &mut self.0;
        match random.u8(..5) {
            0 => "/r".to_owned(),
            1 | 2 => format!("/r/{}", random.u8(..4)),
            _ => format!("/r/{}/{}", random.u8(..4), random.u8(..2)),
        }
    }

    fn mode(&mut self) -> CreateMode {
        match self.0.u8(..6) {
            0..=2 => CreateMode::Persistent,
            3 => CreateMode::Ephemeral,
            4 => CreateMode::PersistentSequential,
            _ => CreateMode::EphemeralSequential,
        }
    }

    fn version(&mut self) -> Version {
        match self.0.u8(..3) {
            0 => Version::Is(self.0.i32(..3)),
            _ => Version::Any,
        }
    }

    fn op(&mut self) -> Op {
        let path = self.path();
        match self.0.u8(..5) {
            0 | 1 => Op::create(path, *b"multi", self.mode()),
            2 => Op::delete(path, self.version()),
            3 => Op::set_data(path, *b"set", self.version()),
            _ => Op::check(path, self.version()),
        }
    }

    fn kind(&mut self) -> WatcherType {
        [WatcherType::Any, WatcherType::Children, WatcherType::Data][self.0.usize(..3)]
    }

    /// Begins a write whose reply can be lost.
    fn write(&mut self, zookeeper: &ZooKeeper, names: &Arc<Names>) -> Later {
        let (zk, names, path) = (zookeeper.clone(), Arc::clone(names), self.path());
        match self.0.u8(..6) {
            0 | 1 => {
                let (mode, data) = (self.mode(), vec![b'x'; self.0.usize(..20)]);
                answer(async move {
                    let (path, stat) = zk.create(&path, &data, mode).await?;
                    Ok(format!("created {path} {}", names.stat(&stat)))
                })
            }
            2 => {
                let version = self.version();
                answer(async move { zk.delete(&path, version).await.map(|()| "deleted".into()) })
            }
            3 => {
                let version = self.version();
                answer(async move {
                    let stat = zk.set_data(&path, b"new", version).await?;
                    Ok(format!("set {}", names.stat(&stat)))
                })
            }
            _ => {
                let ops: Vec<Op> = (0..self.0.usize(1..4)).map(|_| self.op()).collect();
                Box::pin(async move {
                    Read::Answer(match zk.multi(ops).await {
                        Ok(all) => {
                            let all: Vec<_> = all.iter().map(|each| names.result(each)).collect();
                            all.join("; ")
                        }
                        Err(failed) => format!("{failed:?}"),
                    })
                })
            }
        }
    }

    /// Begins a request of any kind.
    fn request(&mut self, zookeeper: &ZooKeeper, names: &Arc<Names>) -> Later {
        let (zk, own, path) = (zookeeper.clone(), Arc::clone(names), self.path());
        match self.0.u8(..24) {
            0..=8 => self.write(zookeeper, names),
            9 => answer(async move {
                Ok(zk.exists(&path).await?.map_or("none".into(), |stat| own.stat(&stat)))
            }),
            10 | 11 => Box::pin(async move {
                match zk.exists_watch(&path).await {
                    Ok((stat, watch)) => {
                        let stat = stat.map_or("none".into(), |stat| own.stat(&stat));
                        Read::Watching(stat, watch)
                    }
                    Err(error) => Read::Answer(error.to_string()),
                }
            }),
            12 => answer(async move {
                let (data, stat) = zk.get_data(&path).await?;
                Ok(format!("{data:?} {}", own.stat(&stat)))
            }),
            13 => Box::pin(async move {
                match zk.get_data_watch(&path).await {
                    Ok((data, stat, watch)) => {
                        Read::Watching(format!("{data:?} {}", own.stat(&stat)), watch)
                    }
                    Err(error) => Read::Answer(error.to_string()),
                }
            }),
            14 => answer(async move {
                let (children, stat) = zk.get_children2(&path).await?;
                Ok(format!("{:?} {}", sorted(&children), own.stat(&stat)))
            }),
            15 => Box::pin(async move {
                match zk.get_children_watch(&path).await {
                    Ok((names, watch)) => Read::Watching(format!("{:?}", sorted(&names)), watch),
                    Err(error) => Read::Answer(error.to_string()),
                }
            }),
            16 => {
                let modes = [AddWatchMode::Persistent, AddWatchMode::PersistentRecursive];
                let mode = modes[self.0.usize(..2)];
                Box::pin(async move {
                    match zk.add_watch(&path, mode).await {
                        Ok(watch) => Read::Persistent(format!("{mode:?} {path}"), watch),
                        Err(error) => Read::Answer(error.to_string()),
                    }
                })
            }
            17 => {
                let (kind, checks) = (self.kind(), self.0.bool());
                answer(async move {
                    match checks {
                        true => zk.check_watches(&path, kind).await?,
                        false => zk.remove_watches(&path, kind, false).await?,
                    }
                    Ok("watches".into())
                })
            }
            18 => answer(async move {
                let reads = vec![
                    ReadOp::GetData { path: Arc::from(&*path) },
                    ReadOp::GetChildren { path: Arc::from(&*path) },
                ];
                let read = zk.multi_read(reads).await?;
                Ok(read.iter().map(|each| own.read(each)).collect::<Vec<_>>().join("; "))
            }),
            19 => answer(async move { Ok(zk.get_all_children_number(&path).await?.to_string()) }),
            20 => {
                answer(async move { Ok(format!("{:?}", sorted(&zk.get_ephemerals(&path).await?))) })
            }
            21 => {
                let acls = [AclList::OPEN, AclList::read_unsafe(), AclList::creator_all()];
                let (acl, version) = (acls[self.0.usize(..3)].clone(), self.version());
                answer(async move { Ok(own.stat(&zk.set_acl(&path, acl, version).await?)) })
            }
            22 => answer(async move {
                let (acl, stat) = zk.get_acl(&path).await?;
                Ok(format!("{acl:?} {}", own.stat(&stat)))
            }),
            _ => answer(async move { zk.sync(&path).await.map(|()| "synced".into()) }),
        }
    }
}

fn answer(request: impl Future<Output = Result<String, Error>> + Send + 'static) -> Later {
    Box::pin(async move { Read::Answer(request.await.unwrap_or_else(|error| error.to_string())) })
}

/// A program under way.
struct Running {
    zookeeper: ZooKeeper,
    draw: Draw,
    names: Arc<Names>,
    log: Log,
    /// What the program waits for: a number and a future each.
    waits: Vec<(usize, Later)>,
    begun: usize,
    under_way: usize,
    state: SessionState,
}

impl Running {
    fn note(&self, line: String) {
        let mut log = self.log.lock().unwrap();
        if line.ends_with(CLOSED) {
            let begins = log.iter().rposition(|line| line == CLOSING).expect("it was closing");
            log[begins..].sort();
        }
        log.push(line);
    }

    fn wait(&mut self, later: Later) {
        self.begun += 1;
        self.waits.push((self.begun, later));
    }

    fn ask(&mut self, later: Later) {
        self.under_way += 1;
        self.wait(later);
    }

    /// Reads the next thing that the program is given: its futures are asked in one order, whatever comes first.
    async fn next(&mut self) {
        let waits = &mut self.waits;
        let (number, read) = poll_fn(|context| {
            for at in 0..waits.len() {
                if let Poll::Ready(read) = waits[at].1.as_mut().poll(context) {
                    return Poll::Ready((waits.remove(at).0, read));
                }
            }
            Poll::Pending
        })
        .await;
        match read {
            Read::Answer(text) => {
                self.under_way -= 1;
                self.note(format!("{number}: {text}"));
            }
            Read::Watching(text, mut watch) => {
                self.under_way -= 1;
                self.note(format!("{number}: {text}, watching"));
                self.wait(Box::pin(async move {
                    Read::Event(match watch.changed().await {
                        Ok(event) => format!("{:?} {}", event.kind, event.path),
                        Err(error) => error.to_string(),
                    })
                }));
            }
            Read::Event(text) => self.note(format!("{number}: event {text}")),
            Read::Persistent(text, watch) => {
                self.under_way -= 1;
                self.note(format!("{number}: {text}"));
                self.waits.push((number, next_of(watch)));
            }
            Read::PersistentEvent(text, watch) => {
                self.note(format!("{number}: {text}"));
                let again = watch.map(|watch| (number, next_of(watch)));
                self.waits.extend(again);
            }
            Read::Session(state, events) => {
                self.state = state;
                self.note(format!("{number}: {state}"));
                self.wait(session(events));
            }
        }
    }

    async fn until_answered(&mut self) {
        while self.under_way > 0 {
            self.next().await;
        }
    }

    /// Waits until the session has lost its connection and has another.
    async fn until_reconnected(&mut self) {
        while self.state != SessionState::Disconnected {
            self.next().await;
        }
        while self.state != SessionState::SyncConnected {
            self.next().await;
        }
    }

    /// One round: the kind of trouble decides how many requests are under way.
    async fn round(&mut self) -> usize {
        match self.draw.0.u16(..300) {
            0..=2 => {
                self.zookeeper.custom(CUT, &[]);
                self.until_reconnected().await;
                0
            }
            3..=5 => {
                let later = self.draw.write(&self.zookeeper, &self.names);
                self.zookeeper.custom(LOSE, &[]);
                self.ask(later);
                self.until_reconnected().await;
                self.until_answered().await;
                1
            }
            6 => {
                let zookeeper = self.zookeeper.clone();
                let adding = async move { zookeeper.add_auth_info("digest", b"ann:secret").await };
                self.ask(answer(async move { adding.await.map(|()| "proven".into()) }));
                self.until_answered().await;
                1
            }
            7 => {
                self.renew().await;
                1
            }
            _ => {
                let requests = self.draw.0.usize(1..=4);
                for _ in 0..requests {
                    let later = self.draw.request(&self.zookeeper, &self.names);
                    self.ask(later);
                }
                self.until_answered().await;
                requests
            }
        }
    }

    /// Ends the session and begins another.
    async fn renew(&mut self) {
        let zookeeper = self.zookeeper.clone();
        self.note(CLOSING.into());
        self.ask(answer(async move {
            zookeeper.close().await;
            Ok(CLOSED.into())
        }));
        self.until_answered().await;
        self.begin().await;
    }

    async fn begin(&mut self) {
        let zookeeper = self.zookeeper.clone();
        let sender = Arc::new(Mutex::new(None));
        let receiver = Arc::clone(&sender);
        self.ask(answer(async move {
            *sender.lock().unwrap() = Some(zookeeper.connect().await);
            Ok("began".into())
        }));
        self.until_answered().await;
        let session = receiver.lock().unwrap().expect("it began");
        Arc::make_mut(&mut self.names).sessions.push(session);
    }
}

fn next_of(mut watch: PersistentWatch) -> Later {
    Box::pin(async move {
        match watch.next().await {
            Some(event) => {
                Read::PersistentEvent(format!("event {:?} {}", event.kind, event.path), Some(watch))
            }
            None => Read::PersistentEvent("end of a watch".into(), None),
        }
    })
}

fn session(mut events: SessionEvents) -> Later {
    Box::pin(async move { Read::Session(events.next().await, events) })
}

/// Runs the program over a handle: about this many operations.
pub(crate) async fn run(zookeeper: ZooKeeper, seed: u64, operations: usize, log: Log) {
    let events = zookeeper.session_events();
    let mut running = Running {
        zookeeper: zookeeper.clone(),
        draw: Draw(fastrand::Rng::with_seed(seed)),
        names: Arc::default(),
        log,
        waits: Vec::new(),
        begun: 0,
        under_way: 0,
        state: SessionState::Disconnected,
    };
    running.begin().await;
    running.wait(session(events));
    while running.state != SessionState::SyncConnected {
        running.next().await;
    }
    let (_, stat) = zookeeper.create("/r", b"", CreateMode::Persistent).await.expect("it is new");
    Arc::make_mut(&mut running.names).base = stat.czxid.counter();
    let mut done = 0;
    while done < operations {
        done += running.round().await;
    }
    running.note(CLOSING.into());
    drop(running.waits);
    zookeeper.close().await;
}

//! Tests that random walks through the trie equal the same walks through plain processes, and that two threads build
//! the same trie as one.

use super::*;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use vivarium_model::error::Error;
use vivarium_model::handle::port::Pending;
use vivarium_model::handle::{Either, Process, race};
use vivarium_model::op::{
    AddWatchMode, CreateMode, Data, EventType, Op, OpResult, Request, Response, SessionState,
    Version, WatchedEvent, WatcherType,
};
use vivarium_model::stat::Stat;
use vivarium_model::zxid::Zxid;

/// Roughly a lock: creates, looks and watches, with a deadline, repeatedly.
async fn queueing(zookeeper: ZooKeeper) -> Result<(), String> {
    zookeeper.connect().await;
    let mode = CreateMode::EphemeralSequential;
    while let Err(Error::ConnectionLoss) = zookeeper.create("/lock/n-", b"", mode).await {
        zookeeper.custom("lost", &[]);
    }
    loop {
        match zookeeper.exists_watch("/lock/n-1").await {
            Ok((None, _)) => break,
            Ok((Some(_), mut watch)) => {
                let event = zookeeper.timeout(seconds(3), watch.changed()).await;
                zookeeper.custom(if event.is_ok() { "fired" } else { "late" }, &[]);
            }
            Err(error) => return Err(error.to_string()),
        }
    }
    zookeeper.custom("granted", &[]);
    let _ = zookeeper.delete("/lock/n-2", Version::Any).await;
    zookeeper.close().await;
    Ok(())
}

/// Has tasks beside the program, a race, a branch that the engine may cancel, and a panic.
async fn busy(zookeeper: ZooKeeper) -> Result<(), String> {
    let (watcher, worker) = (zookeeper.clone(), zookeeper.clone());
    zookeeper.spawn(async move {
        let mut events = watcher.session_events();
        loop {
            let state = events.next().await;
            watcher.custom("session", &[("state", format!("{state:?}").as_str().into())]);
        }
    });
    for round in 0..3 {
        let worker = worker.clone();
        let answer = zookeeper.random();
        match race(answer, zookeeper.sleep(seconds(round))).await {
            Either::Left(value) => assert!(value < 7, "a seven is unlucky"),
            Either::Right(()) => zookeeper.spawn(async move {
                if worker.cancellable(worker.get_data("/a")).await.is_ok() {
                    worker.send(TWO, b"read");
                }
            }),
        }
    }
    zookeeper.receive().await;
    zookeeper.write_resource("disk", None, 1).await.map_err(|token| format!("{token:?}"))
}

/// Has persistent watches: one that is read, one that is not, one that is dropped and added again.
async fn listening(zookeeper: ZooKeeper) -> Result<(), String> {
    zookeeper.add_auth_info("digest", b"ann:secret").await.map_err(|error| error.to_string())?;
    let recursive = AddWatchMode::PersistentRecursive;
    let Ok(mut events) = zookeeper.add_watch("/lock", recursive).await else { return Ok(()) };
    let unread = zookeeper.add_watch("/lock", AddWatchMode::Persistent).await;
    for round in 0..4 {
        match zookeeper.timeout(seconds(1), events.next()).await {
            Ok(Some(event)) => zookeeper.custom(&format!("{:?}", event.kind), &[]),
            Ok(None) => break,
            Err(_) => drop(zookeeper.add_watch("/other", recursive).await),
        }
        if round == 2 {
            let _ = zookeeper.remove_watches("/lock", WatcherType::Any, true).await;
        }
    }
    drop(unread);
    zookeeper.close().await;
    Ok(())
}

/// Has rounds that end with something left over: calls and watches of every kind, a subscription, a task.
async fn roaming(zookeeper: ZooKeeper, state: u8) -> Result<Round<u8>, String> {
    let mut events = zookeeper.session_events();
    let stays = zookeeper.add_watch("/lock", AddWatchMode::Persistent).await;
    let fired = zookeeper.exists_watch("/lock/n-1").await;
    zookeeper.custom("both", &[("are there", (stays.is_ok() && fired.is_ok()).into())]);
    let calls = race(zookeeper.get_data("/a"), zookeeper.sleep(seconds(state.into())));
    let next = match race(race(zookeeper.random(), events.next()), calls).await {
        Either::Left(Either::Left(value)) if value < 4 => value as u8,
        Either::Left(Either::Left(_)) => {
            let task = zookeeper.clone();
            zookeeper.spawn(async move { while task.random().await < 4 {} });
            state
        }
        Either::Left(Either::Right(_)) => 2,
        Either::Right(Either::Left(_)) => state ^ 1,
        Either::Right(Either::Right(())) => return Ok(Round::Done),
    };
    zookeeper.custom("over", &[("next", i64::from(next).into())]);
    Ok(Round::Again(next))
}

fn programs() -> Vec<Program> {
    vec![program(queueing), program(busy), program(listening)]
}

/// Returns an answer to a call; `choice` selects one of the possible answers.
fn answer(operation: &Operation, choice: u8) -> Outcome {
    let number = u64::from(choice % 8);
    let stat = Stat { version: i32::from(choice % 2), ..Stat::default() };
    match operation {
        Operation::Request { .. } if choice.is_multiple_of(4) => {
            Outcome::Response(Err(Error::ConnectionLoss))
        }
        Operation::Request { request, .. } if choice % 4 == 1 && request.is_read() => {
            Outcome::Response(Err(Error::NoNode))
        }
        Operation::Request { request, .. } => Outcome::Response(Ok(match &**request {
            Request::Write(Op::Create { path, .. }) => {
                Response::Written(OpResult::Created(Arc::clone(path), stat))
            }
            Request::Write(_) => Response::Written(OpResult::Deleted),
            Request::Exists { .. } => Response::Exists(stat),
            Request::GetData { .. } => Response::Data(Data::from([choice % 3]), stat),
            Request::AddWatch { .. } => Response::Watches,
            other => unreachable!("these programs do not ask for {other:?}"),
        })),
        Operation::RemoveWatches { .. } if choice.is_multiple_of(2) => {
            Outcome::Response(Err(Error::NoWatcher))
        }
        Operation::RemoveWatches { .. } => Outcome::Response(Ok(Response::Watches)),
        Operation::AddAuth { .. } if choice.is_multiple_of(8) => {
            Outcome::AuthAdded(Err(Error::SessionExpired))
        }
        Operation::AddAuth { .. } => Outcome::AuthAdded(Ok(())),
        Operation::Connect => Outcome::Connected(vivarium_model::id::SessionId(number)),
        Operation::Close => Outcome::Closed,
        Operation::Sleep(_) => Outcome::Elapsed,
        Operation::Now => Outcome::Now(vivarium_model::time::Time::default()),
        Operation::Random => Outcome::Random(number),
        Operation::Receive => Outcome::Message(vivarium_model::host::Message {
            from: TWO,
            body: Arc::from([choice % 2]),
        }),
        Operation::Cancelled => Outcome::Cancelled,
        Operation::Resource(_) if number == 0 => Outcome::Resource(Err(Zxid::default())),
        Operation::Resource(_) => Outcome::Resource(Ok(())),
    }
}

fn event(choice: u8) -> WatchedEvent {
    let kind =
        if choice.is_multiple_of(2) { EventType::NodeDeleted } else { EventType::NodeDataChanged };
    WatchedEvent { kind, path: "/lock/n-1".into(), zxid: Zxid::default() }
}

fn fired(choice: u8) -> Outcome {
    let ended = choice.is_multiple_of(5);
    Outcome::Watch(if ended { Err(Error::SessionExpired) } else { Ok(event(choice)) })
}

/// Returns the end of a persistent watch.
fn over(choice: u8) -> Outcome {
    let kind = EventType::PersistentWatchRemoved;
    let removed = WatchedEvent { kind, ..event(choice) };
    Outcome::Watch(if choice.is_multiple_of(2) { Err(Error::SessionExpired) } else { Ok(removed) })
}

/// Returns a possible input of a program with these pending calls.
fn input(pending: &[(CallId, Pending)], which: u8, choice: u8) -> Input {
    let states = [SessionState::Disconnected, SessionState::SyncConnected, SessionState::Expired];
    let possible: Vec<Input> = pending
        .iter()
        .filter_map(|(call, pending)| {
            let outcome = match pending {
                Pending::Answer(operation) => answer(operation, choice),
                Pending::Event { registered: true } => fired(choice),
                Pending::Events { registered: true, .. } if choice < 200 => {
                    return Some(Input::Event { call: *call, event: event(choice) });
                }
                Pending::Events { registered: true, .. } => over(choice),
                Pending::Event { registered: false }
                | Pending::Events { registered: false, .. } => return None,
            };
            Some(Input::Reply { call: *call, outcome })
        })
        .chain([Input::Session(states[usize::from(choice) % states.len()].into())])
        .collect();
    possible[usize::from(which) % possible.len()].clone()
}

/// Programs as plain processes, each beside the same program in the trie.
struct Pair<'a> {
    memo: &'a mut Memo,
    programs: &'a [Program],
    processes: Vec<Option<Process>>,
}

impl Pair<'_> {
    fn begin(&mut self, client: ClientId) {
        let process = Process::new(client, &self.programs[client.index()]);
        self.processes[client.index()] = Some(process);
        self.memo.start(client);
        self.feed(client, Input::Start);
    }

    fn kill(&mut self, client: ClientId) {
        self.processes[client.index()] = None;
        self.memo.kill(client);
    }

    /// Feeds both and compares everything observable.
    fn feed(&mut self, client: ClientId, input: Input) {
        let process = self.processes[client.index()].as_mut().expect("it has started");
        let mut outputs = Vec::new();
        process.feed(input.clone(), &mut outputs);
        let edge = self.memo.peek(client, &input);
        assert_eq!(feed(self.memo, client, input), outputs);
        assert_eq!(**edge.outputs(), *outputs);
        let node = self.memo.node(client).expect("it has started");
        assert_eq!(edge.child(), node.id());
        assert_eq!(node.pending(), process.pending());
        assert_eq!(node.listens(), process.listens());
        assert_eq!(*node.state() == NodeState::Running, process.is_running());
    }

    /// Takes one step of a walk: feeds (or rarely kills) a running program, or starts one that does not run.
    fn step(&mut self, (who, which, choice): (u8, u8, u8)) {
        let client = ClientId::at(usize::from(who) % self.programs.len());
        match &self.processes[client.index()] {
            Some(process) if process.is_running() && which > 250 => self.kill(client),
            Some(process) if process.is_running() => {
                let input = input(&process.pending(), which, choice);
                self.feed(client, input);
            }
            _ => self.begin(client),
        }
    }
}

fn walk(trie: &Arc<Trie>, programs: &[Program], steps: &[(u8, u8, u8)]) -> Memo {
    let mut memo = Memo::new(Arc::clone(trie));
    let processes = programs.iter().map(|_| None).collect();
    let mut pair = Pair { memo: &mut memo, programs, processes };
    steps.iter().for_each(|step| pair.step(*step));
    memo
}

fn steps() -> impl Strategy<Value = Vec<(u8, u8, u8)>> {
    prop::collection::vec((any::<u8>(), any::<u8>(), any::<u8>()), 0..120)
}

/// All walks use one trie, so that they meet edges that others have made.
#[test]
fn walks_through_the_trie_equal_walks_through_processes() {
    let programs = programs();
    let trie = Arc::new(Trie::new(programs.clone()));
    let mut runner = TestRunner::deterministic();
    let checked = runner.run(&steps(), |steps| {
        let memo = walk(&trie, &programs, &steps);
        prop_assert_eq!(memo.dependent(), None);
        // A trie of its own gives the same result.
        let fresh = Arc::new(Trie::new(programs.clone()));
        prop_assert_eq!(walk(&fresh, &programs, &steps).fingerprint(), memo.fingerprint());
        Ok(())
    });
    checked.unwrap_or_else(|error| panic!("{error}"));
    assert!(trie.statistics().nodes > 1000, "the walks are walks: {:?}", trie.statistics());
}

/// The states of rounds are nodes, and leftovers of rounds do not disturb this.
#[test]
fn walks_in_rounds_equal_walks_through_processes() {
    let programs = vec![rounds(0, roaming), rounds(9, roaming)];
    let trie = Arc::new(Trie::new(programs.clone()));
    let mut runner = TestRunner::deterministic();
    let checked = runner.run(&steps(), |steps| {
        let memo = walk(&trie, &programs, &steps);
        prop_assert_eq!(memo.dependent(), None);
        let fresh = Arc::new(Trie::new(programs.clone()));
        prop_assert_eq!(walk(&fresh, &programs, &steps).fingerprint(), memo.fingerprint());
        Ok(())
    });
    checked.unwrap_or_else(|error| panic!("{error}"));
    let in_rounds = trie.statistics().nodes;
    let apart = |first: u8| {
        program(move |zookeeper: ZooKeeper| async move {
            let mut state = first;
            while let Round::Again(next) = roaming(zookeeper.clone(), state).await? {
                state = next;
            }
            Ok(())
        })
    };
    let loops = vec![apart(0), apart(9)];
    let trie = Arc::new(Trie::new(loops.clone()));
    let checked = TestRunner::deterministic().run(&steps(), |steps| {
        walk(&trie, &loops, &steps);
        Ok(())
    });
    checked.unwrap_or_else(|error| panic!("{error}"));
    let as_loops = trie.statistics().nodes;
    assert!(in_rounds * 2 < as_loops, "{in_rounds} places in rounds, {as_loops} in loops");
}

/// The comparison of a walk can fail: a process with another program differs.
#[test]
#[should_panic(expected = "assertion `left == right` failed")]
fn a_walk_that_differs_is_noticed() {
    let programs = programs();
    let mut memo = Memo::new(Arc::new(Trie::new(vec![program(busy), program(queueing)])));
    let processes = vec![None, None];
    Pair { memo: &mut memo, programs: &programs, processes }.begin(ONE);
}

/// Visits every state within a number of inputs, depth first. The states must be the same whichever thread made them.
fn explore(
    memo: &Memo,
    clients: usize,
    depth: u32,
    met: &mut Vec<vivarium_model::fingerprint::Fingerprint>,
) {
    met.push(memo.fingerprint());
    if depth == 0 {
        return;
    }
    for client in (0..clients).map(ClientId::at) {
        let Some(node) = memo.node(client) else {
            let mut next = memo.clone();
            next.start(client);
            feed(&mut next, client, Input::Start);
            explore(&next, clients, depth - 1, met);
            continue;
        };
        if *node.state() != NodeState::Running {
            continue;
        }
        for which in 0..=node.pending().len() {
            for choice in 0..4 {
                let which = u8::try_from(which).expect("a few calls");
                let mut next = memo.clone();
                feed(&mut next, client, input(node.pending(), which, choice));
                explore(&next, clients, depth - 1, met);
            }
        }
    }
}

#[test]
fn two_threads_build_the_trie_that_one_builds() {
    let explored = |trie: &Arc<Trie>| {
        let mut met = Vec::new();
        explore(&Memo::new(Arc::clone(trie)), 2, 5, &mut met);
        met
    };
    let alone = Arc::new(Trie::new(programs()));
    let met = explored(&alone);
    let shared = Arc::new(Trie::new(programs()));
    let both = std::thread::scope(|scope| {
        let threads = [(); 2].map(|()| scope.spawn(|| explored(&shared)));
        threads.map(|thread| thread.join().expect("nothing panics"))
    });
    assert!(met.len() > 1000, "{} places", met.len());
    assert_eq!(both, [met.clone(), met]);
    assert_eq!(shared.statistics(), alone.statistics());
    assert_eq!((shared.dependent(), alone.dependent()), (None, None));
}

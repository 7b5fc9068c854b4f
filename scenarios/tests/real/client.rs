//! The client for production on real servers.

use crate::leader;
use crate::server::installation;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::time::timeout;
use vivarium::conform::{Options, RealEnsemble, RealServer};
use vivarium::live::{Loss, Proxy};
use vivarium::recipes::lock::Lock;
use vivarium::recipes::rwlock::RwLock;
use vivarium::recipes::semaphore::Semaphore;
use vivarium_client::{Client, ConnectError, CreateMode, Error, Recorder, Version, ZooKeeper};
use vivarium_model::client::{ClientEffect, ClientInput, ClientMachine};
use vivarium_model::event::Event;
use vivarium_model::handle::PersistentWatch;
use vivarium_model::op::{AddWatchMode, EventType, Op, SessionState};

/// Longer than anything here takes on a busy machine.
const SOON: Duration = Duration::from_secs(60);

async fn soon<T>(future: impl Future<Output = T>) -> T {
    timeout(SOON, future).await.expect("it takes too long")
}

async fn proxy(server: &RealServer) -> Proxy {
    Proxy::new(server.address(), Arc::new(Loss::default())).await.unwrap()
}

async fn connect(proxy: &Proxy) -> Client {
    let builder = Client::builder(&proxy.address().to_string());
    soon(builder.session_timeout(Duration::from_secs(20)).connect()).await.unwrap()
}

/// Repeats a request until its outcome is known.
async fn settled<T, F: Future<Output = Result<T, Error>>>(
    request: impl Fn() -> F,
) -> Result<T, Error> {
    loop {
        match request().await {
            Err(Error::ConnectionLoss) => {}
            settled => return settled,
        }
    }
}

/// Checks that a fresh machine that is given the recorded inputs has the recorded effects.
#[derive(Default)]
struct Shadow {
    machine: Mutex<Option<ClientMachine>>,
    inputs: AtomicUsize,
    packets: AtomicUsize,
    disconnections: AtomicUsize,
}

impl Recorder for &'static Shadow {
    fn begin(&self, machine: &ClientMachine) {
        *self.machine.lock().unwrap() = Some(machine.clone());
    }

    fn input(&self, input: &ClientInput, effects: &[ClientEffect]) {
        let mut machine = self.machine.lock().unwrap();
        let mut shadowed = Vec::new();
        machine.as_mut().expect("it has begun").handle(input.clone(), &mut shadowed);
        assert_eq!(shadowed, effects, "{input:?}");
        self.inputs.fetch_add(1, Ordering::Relaxed);
        match input {
            ClientInput::Packet(_) => self.packets.fetch_add(1, Ordering::Relaxed),
            ClientInput::Disconnected => self.disconnections.fetch_add(1, Ordering::Relaxed),
            _ => 0,
        };
    }
}

/// Requests of any kind, with a watch now and then, and dropped now and then.
async fn anything(zookeeper: ZooKeeper, seed: u64, rounds: usize) {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut watches: Vec<PersistentWatch> = Vec::new();
    for _ in 0..rounds {
        let path = format!("/any/{}", random.u8(..8));
        let result = match random.u8(..12) {
            0 => zookeeper.create(&path, b"x", CreateMode::Persistent).await.map(drop),
            1 => zookeeper.create(&path, b"x", CreateMode::Ephemeral).await.map(drop),
            2 => zookeeper.delete(&path, Version::Any).await,
            3 => zookeeper.set_data(&path, b"y", Version::Is(random.i32(..3))).await.map(drop),
            4 => zookeeper.exists_watch(&path).await.map(drop),
            5 => zookeeper.get_children_watch("/any").await.map(drop),
            6 => {
                let watch = zookeeper.add_watch(&path, AddWatchMode::PersistentRecursive).await;
                watches.truncate(3);
                watch.map(|watch| watches.insert(0, watch))
            }
            7 => {
                let check = Op::Check { path: Arc::from(&*path), version: Version::Any };
                zookeeper.multi(vec![check]).await.map(drop).map_err(Error::from)
            }
            8 => {
                let span = Duration::from_micros(random.u64(..300));
                let _ = zookeeper.timeout(span, zookeeper.get_data(&path)).await;
                Ok(())
            }
            9 => zookeeper.sync(&path).await,
            _ => zookeeper.get_data(&path).await.map(drop),
        };
        assert!(result != Err(Error::SessionExpired), "nobody has closed the session");
    }
}

/// The machine that runs in production is a function of its inputs: a second one, given the same inputs, has the same
/// effects, through requests of any kind and lost connections.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_machine_that_is_given_the_same_inputs_has_the_same_effects() {
    if installation().is_none() {
        return;
    }
    let server = RealServer::start(&Options::default()).unwrap();
    let proxy = proxy(&server).await;
    let shadow: &'static Shadow = Box::leak(Box::default());
    let builder = Client::builder(&proxy.address().to_string()).recorder(shadow);
    let client = soon(builder.session_timeout(Duration::from_secs(20)).connect()).await.unwrap();
    settled(|| client.create("/any", b"", CreateMode::Persistent)).await.unwrap();
    let tasks: Vec<_> =
        (0..8).map(|seed| tokio::spawn(anything(client.zookeeper(), seed, 7_000))).collect();
    while tasks.iter().any(|task| !task.is_finished()) {
        tokio::time::sleep(Duration::from_millis(300)).await;
        proxy.cut();
    }
    for task in tasks {
        task.await.unwrap();
    }
    soon(client.close()).await;
    let [inputs, packets, disconnections] =
        [&shadow.inputs, &shadow.packets, &shadow.disconnections]
            .map(|counted| counted.load(Ordering::Relaxed));
    println!("{inputs} inputs, of them {packets} packets and {disconnections} lost connections");
    assert!(inputs > 100_000 && packets > 40_000 && disconnections > 3);
}

/// A lock from the recipes, as it is, on a real server whose connections are cut all the time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_recipe_runs_as_it_is() {
    if installation().is_none() {
        return;
    }
    let server = RealServer::start(&Options::default()).unwrap();
    let proxy = Arc::new(proxy(&server).await);
    let setup = connect(&proxy).await;
    settled(|| setup.create("/jobs", b"0", CreateMode::Persistent)).await.unwrap();
    let held: &'static AtomicBool = Box::leak(Box::default());
    let mut workers = Vec::new();
    for _ in 0..3 {
        let client = connect(&proxy).await;
        workers.push(tokio::spawn(async move {
            let lock = Lock::new(client.zookeeper(), "/jobs/lock");
            for _ in 0..10 {
                let guard = soon(lock.acquire()).await.unwrap();
                assert!(!held.swap(true, Ordering::SeqCst), "two clients hold the lock");
                let (data, stat) = settled(|| client.get_data("/jobs")).await.unwrap();
                let count: u32 = std::str::from_utf8(&data).unwrap().parse().unwrap();
                let next = (count + 1).to_string();
                let version = Version::Is(stat.version);
                match client.set_data("/jobs", next.as_bytes(), version).await {
                    Ok(_) => {}
                    // Whether it was applied shows in the data: nobody else writes while the lock is held.
                    Err(Error::ConnectionLoss) => {
                        match settled(|| client.set_data("/jobs", next.as_bytes(), version)).await {
                            Ok(_) | Err(Error::BadVersion) => {}
                            Err(error) => panic!("{error}"),
                        }
                    }
                    Err(error) => panic!("{error}"),
                }
                held.store(false, Ordering::SeqCst);
                guard.release().await;
            }
            client.close().await;
        }));
    }
    while workers.iter().any(|worker| !worker.is_finished()) {
        tokio::time::sleep(Duration::from_millis(150)).await;
        proxy.cut();
    }
    for worker in workers {
        worker.await.unwrap();
    }
    let (data, _) = settled(|| setup.get_data("/jobs")).await.unwrap();
    assert_eq!(&*data, b"30");
    soon(setup.close()).await;
}

/// More watches than one SetWatches can name are set again after a loss, and each fires for what has changed meanwhile.
#[tokio::test]
async fn watches_are_set_again_in_several_packets() {
    const WATCHES: usize = 900;
    if installation().is_none() {
        return;
    }
    let server = RealServer::start(&Options::default()).unwrap();
    let proxy = proxy(&server).await;
    let client = connect(&proxy).await;
    let direct = soon(Client::connect(&server.address().to_string())).await.unwrap();
    let path = |at: usize| format!("/{}-{at}", "long".repeat(100));
    let mut watches = Vec::new();
    for at in 0..WATCHES {
        let (stat, watch) = client.exists_watch(&path(at)).await.unwrap();
        assert_eq!(stat, None);
        watches.push(watch);
    }
    let mut events = client.session_events();
    proxy.cut();
    for at in 0..WATCHES / 2 {
        direct.create(&path(at), b"", CreateMode::Persistent).await.unwrap();
    }
    assert_eq!(soon(events.next()).await, SessionState::Disconnected);
    assert_eq!(soon(events.next()).await, SessionState::SyncConnected);
    for at in WATCHES / 2..WATCHES {
        direct.create(&path(at), b"", CreateMode::Persistent).await.unwrap();
    }
    for (at, mut watch) in watches.into_iter().enumerate() {
        let event = soon(watch.changed()).await.unwrap();
        assert_eq!((event.kind, &*event.path), (EventType::NodeCreated, &*path(at)));
    }
    soon(client.close()).await;
    soon(direct.close()).await;
}

/// The client moves to another server with its session, its ephemeral znodes and its watches.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_moves_when_its_server_is_killed() {
    if installation().is_none() {
        return;
    }
    let mut ensemble = RealEnsemble::start(3, &Options::default()).unwrap();
    let leader = ensemble.leader().unwrap();
    let follower = (leader + 1) % 3;
    // The first server of this seed's order is the follower.
    let servers = |first: usize| {
        let order = [first, (first + 1) % 3, (first + 2) % 3];
        order.map(|server| ensemble.address(server).to_string()).join(",")
    };
    let (addresses, first) = (servers(follower), servers(leader));
    let seed = (0..).find(|seed| {
        let mut order = [0, 1, 2];
        fastrand::Rng::with_seed(*seed).shuffle(&mut order);
        order[0] == 0
    });
    let builder = Client::builder(&addresses).session_timeout(Duration::from_secs(30));
    let client = soon(builder.seed(seed.unwrap()).connect()).await.unwrap();
    let other = soon(Client::connect(&first)).await.unwrap();
    let session = client.session();
    client.create("/mine", b"", CreateMode::Ephemeral).await.unwrap();
    let (_, mut watch) = client.exists_watch("/theirs").await.unwrap();
    let mut events = client.session_events();
    ensemble.kill(follower);
    assert_eq!(soon(events.next()).await, SessionState::Disconnected);
    assert_eq!(soon(events.next()).await, SessionState::SyncConnected);
    assert_eq!(client.session(), session);
    settled(|| other.sync("/mine")).await.unwrap();
    assert!(settled(|| other.exists("/mine")).await.unwrap().is_some());
    settled(|| other.create("/theirs", b"", CreateMode::Persistent)).await.unwrap();
    assert_eq!(soon(watch.changed()).await.unwrap().kind, EventType::NodeCreated);
    soon(client.close()).await;
    settled(|| other.sync("/mine")).await.unwrap();
    assert_eq!(settled(|| other.exists("/mine")).await.unwrap(), None);
    soon(other.close()).await;
}

/// A chroot prefixes every path, and a wrong identity is refused at the connect.
#[tokio::test]
async fn a_chroot_and_identities_are_as_the_server_has_them() {
    if installation().is_none() {
        return;
    }
    let server = RealServer::start(&Options::default()).unwrap();
    let address = server.address().to_string();
    let whole = soon(Client::connect(&address)).await.unwrap();
    whole.create("/app", b"", CreateMode::Persistent).await.unwrap();
    let builder = Client::builder(&format!("{address}/app")).identity("digest", b"ann:secret");
    let inside = soon(builder.connect()).await.unwrap();
    let (path, _) = inside
        .create_with_acl(
            "/job-",
            b"1",
            CreateMode::PersistentSequential,
            vivarium_model::acl::AclList::creator_all(),
        )
        .await
        .unwrap();
    assert_eq!(path, "/job-0000000000");
    assert_eq!(whole.get_data("/app/job-0000000000").await, Err(Error::NoAuth));
    assert!(inside.get_data(&path).await.is_ok());
    let refused = Client::builder(&address).identity("no-such-scheme", b"").connect();
    assert_eq!(soon(refused).await.unwrap_err(), ConnectError::AuthFailed);
    soon(inside.close()).await;
    soon(whole.close()).await;
}

/// A session that another client closes is over for its owner.
#[tokio::test]
async fn a_session_that_is_closed_elsewhere_has_expired() {
    if installation().is_none() {
        return;
    }
    let server = RealServer::start(&Options::default()).unwrap();
    let proxy = proxy(&server).await;
    let client = connect(&proxy).await;
    client.create("/mine", b"", CreateMode::Ephemeral).await.unwrap();
    let mut events = client.session_events();
    let thief = Client::builder(&server.address().to_string()).resume(client.resumed().unwrap());
    soon(soon(thief.connect()).await.unwrap().close()).await;
    loop {
        match soon(events.next()).await {
            SessionState::Expired => break,
            SessionState::Disconnected | SessionState::SyncConnected => {}
            other => panic!("{other}"),
        }
    }
    assert_eq!(client.exists("/mine").await, Err(Error::SessionExpired));
    let before = client.session();
    let session = soon(client.connect()).await;
    assert_ne!(Some(session), before);
    assert_eq!(client.exists("/mine").await, Ok(None));
    soon(client.close()).await;
}

/// Servers before 3.9.0 leave the Stat out of the answer to a create in a multi, and permits and downgraded write locks are
/// created in one. Their tokens are the czxids of their znodes all the same.
#[tokio::test]
async fn permits_and_downgraded_locks_have_the_tokens_of_their_znodes() {
    if installation().is_none() {
        return;
    }
    let server = RealServer::start(&Options::default()).unwrap();
    let client = soon(Client::connect(&server.address().to_string())).await.unwrap();
    let permit = Semaphore::new(client.zookeeper(), "/permits", 1);
    let permit = soon(permit.acquire()).await.unwrap();
    let (names, _) = client.get_children2("/permits/leases").await.unwrap();
    let lease = client.exists(&format!("/permits/leases/{}", names[0])).await.unwrap().unwrap();
    assert_eq!(permit.token().0, lease.czxid);
    let lock = RwLock::new(client.zookeeper(), "/rw");
    let reader = soon(soon(lock.write()).await.unwrap().downgrade()).await.unwrap();
    let (names, _) = client.get_children2("/rw").await.unwrap();
    let znode = client.exists(&format!("/rw/{}", names[0])).await.unwrap().unwrap();
    assert_eq!(reader.token().0, znode.czxid);
    soon(client.close()).await;
}

/// The example that services copy: an instance that ends hands over at once, and no report is lost.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_next_instance_of_a_service_leads_when_one_ends() {
    if installation().is_none() {
        return;
    }
    let server = RealServer::start(&Options::default()).unwrap();
    let proxy = proxy(&server).await;
    let reports = Arc::new(Mutex::new(Vec::new()));
    let mut instances = Vec::new();
    for name in ["one", "two"] {
        let seen = Arc::clone(&reports);
        let builder = Client::builder(&proxy.address().to_string()).events(move |event: Event| {
            if let Event::Observed { observation, .. } = &event
                && let Ok([(_, number)]) = observation.fields()
            {
                seen.lock().unwrap().push((name, number.to_string()));
            }
        });
        let client = soon(builder.connect()).await.unwrap();
        soon(leader::prepare(&client)).await.unwrap();
        let serving = tokio::spawn({
            let zookeeper = client.zookeeper();
            async move { leader::serve(zookeeper, name, None).await }
        });
        instances.push((client, serving));
        until(|| reports.lock().unwrap().len() > 1).await;
    }
    proxy.cut();
    // As on SIGTERM.
    let (first, serving) = instances.remove(0);
    serving.abort();
    soon(first.close()).await;
    until(|| reports.lock().unwrap().iter().any(|(name, _)| *name == "two")).await;
    let reports = reports.lock().unwrap().clone();
    let numbers: Vec<u32> = reports.iter().map(|(_, number)| number.parse().unwrap()).collect();
    assert!(numbers.is_sorted() && numbers.windows(2).all(|pair| pair[0] < pair[1]), "{reports:?}");
    let first_of_two = reports.iter().position(|(name, _)| *name == "two").unwrap();
    assert!(reports[..first_of_two].iter().all(|(name, _)| *name == "one"), "{reports:?}");
    let (second, serving) = instances.remove(0);
    serving.abort();
    soon(second.close()).await;
}

async fn until(is_so: impl Fn() -> bool) {
    soon(async {
        while !is_so() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}

//! Runs the workers of this process over the connections: each beside a thread of timely that serves it.

use super::super::in_thread;
use super::connect::{Gone, Link, Losses};
use super::wire::Wire;
use super::{Cluster, Shareable, dataflow, lock};
use std::any::Any;
use std::cell::Cell;
use std::net::TcpStream;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Instant;
use timely::WorkerConfig;
use timely::communication::allocator::ProcessBuilder;
use timely::communication::allocator::zero_copy::initialize::initialize_networking_from_sockets;
use timely::communication::{Allocator, AllocatorBuilder, Hooks, initialize_from};
use timely::worker::Worker;

/// The other end of a wire.
struct Served {
    table: Shareable<super::table::Table>,
    commands: Receiver<super::wire::Command>,
    arrived: Sender<super::wire::Arrived>,
}

/// Runs `work` in each worker of this process.
///
/// # Errors
/// One sentence, if a process was lost.
///
/// # Panics
/// Panics if `work` does.
pub(super) fn run(
    cluster: &Cluster,
    streams: Vec<Option<TcpStream>>,
    threads: usize,
    work: impl Fn(Wire) -> Result<(), Gone> + Sync,
) -> Result<(), String> {
    let losses = Arc::new(Losses::default());
    let link = |(process, stream): (usize, Option<TcpStream>)| {
        Some(Link { stream: stream?, process, losses: Arc::clone(&losses) })
    };
    let links = streams.into_iter().enumerate().map(link).collect();
    let hooks = Hooks::default();
    let local = ProcessBuilder::new_typed_vector(threads, hooks.refill.clone(), None);
    let own = |error: String| format!("{}: {error}", cluster.name(cluster.process));
    let built = initialize_networking_from_sockets(local, links, cluster.process, threads, hooks);
    let (builders, connections) = built.map_err(|error| own(error.to_string()))?;
    let (wires, served): (Vec<_>, Vec<_>) =
        (0..threads).map(|thread| wire(cluster, thread, threads, &losses)).unzip();
    let serving = serving(served, Arc::clone(&losses));
    let builders = builders.into_iter().map(AllocatorBuilder::Tcp).collect();
    let guards = initialize_from(builders, Box::new(()), serving).map_err(own)?;
    let panicked = Mutex::new(None);
    std::thread::scope(|scope| {
        for (wire, guard) in wires.into_iter().zip(guards.guards()) {
            let (losses, work, panicked) = (&losses, &work, &panicked);
            let wire = Wire { served_by: guard.thread().clone(), ..wire };
            in_thread(scope, move || {
                // What was lost is recorded.
                if let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(wire))) {
                    losses.record(cluster.process);
                    lock(panicked).get_or_insert(panic);
                }
            });
        }
    });
    guards.guards().iter().for_each(|guard| guard.thread().unpark());
    let served = guards.join();
    losses.leave();
    let lost = losses.first();
    match lost {
        // They end when they have sent everything. If a process is killed just now, its result is known already.
        None => _ = catch_unwind(AssertUnwindSafe(|| drop(connections))),
        // Timely's threads have nothing to end with where a process was lost, so nothing waits for them.
        Some(_) => std::mem::forget(connections),
    }
    let panicked: Option<Box<dyn Any + Send>> = lock(&panicked).take();
    if let Some(panic) = panicked.filter(|_| lost.is_none_or(|process| process == cluster.process))
    {
        resume_unwind(panic);
    }
    match lost {
        None if served.iter().any(Result::is_err) => Err(own("its connections failed".to_string())),
        None => Ok(()),
        Some(process) => Err(format!("{}, which has ended", cluster.name(process))),
    }
}

/// Makes a worker's wire, and its other end.
fn wire(
    cluster: &Cluster,
    thread: usize,
    threads: usize,
    losses: &Arc<Losses>,
) -> (Wire, Option<Served>) {
    let table = Shareable::default();
    let (commands, received) = channel();
    let (sent, arrived) = channel();
    let wire = Wire {
        own: cluster.process * threads + thread,
        workers: cluster.processes() * threads,
        table: Arc::clone(&table),
        losses: Arc::clone(losses),
        commands,
        arrived,
        // Set when the serving thread is there.
        served_by: std::thread::current(),
        early: Cell::default(),
        time: Cell::new(0),
    };
    (wire, Some(Served { table, commands: received, arrived: sent }))
}

/// Returns what timely's threads run.
fn serving(
    served: Vec<Option<Served>>,
    losses: Arc<Losses>,
) -> impl Fn(Allocator) + Send + Sync + 'static {
    let served: Vec<_> = served.into_iter().map(Mutex::new).collect();
    move |allocator| {
        let thread = allocator.index() % served.len();
        let Served { table, commands, arrived } =
            lock(&served[thread]).take().expect("each thread serves one worker");
        let mut network = Worker::new(WorkerConfig::default(), allocator, Some(Instant::now()));
        dataflow::serve(&mut network, &table, &commands, &arrived, &losses);
    }
}

//! Handles in the wrong place: in another thread, and after the end of their program.

use super::fails;
use std::future::Future;
use std::sync::{Arc, Mutex, mpsc};
use std::task::{Context, Waker};
use vivarium::prelude::*;

/// A task for another thread.
type Job = Box<dyn FnOnce() + Send>;

/// A program that lets another thread poll a call of its handle, and waits for the thread. The request is sent, and
/// the run is the same each time.
#[test]
fn a_handle_in_another_thread_asks_as_in_its_own() {
    let (jobs, todo) = mpsc::channel::<Job>();
    let thread = std::thread::spawn(move || todo.into_iter().for_each(|job| job()));
    let jobs = Mutex::new(jobs);
    let test = Test::new("thread", move |zookeeper: ZooKeeper| {
        let jobs = jobs.lock().expect("nobody panics with it").clone();
        async move {
            zookeeper.connect().await;
            let other = zookeeper.clone();
            let mut asks = Box::pin(async move { other.exists("/a").await });
            let (back, polled) = mpsc::channel();
            let job = move || {
                let context = &mut Context::from_waker(Waker::noop());
                let is_ready = asks.as_mut().poll(context).is_ready();
                let _ = back.send((asks, is_ready));
            };
            jobs.send(Box::new(job)).map_err(|error| error.to_string())?;
            let (asks, is_ready) = polled.recv().map_err(|error| error.to_string())?;
            assert!(!is_ready, "it is answered later");
            asks.await.map(drop).map_err(|error| error.to_string())
        }
    });
    let report = test.seeds(20).run();
    assert_eq!(report.seeds, 20);
    assert_eq!(report.verdict.to_string(), "held for 20 seeds");
    thread.join().expect("it does as it is told");
}

/// Handles that outlive their program send nothing and get no answers.
#[test]
fn a_handle_that_outlives_its_program_is_silent() {
    let kept: Arc<Mutex<Vec<ZooKeeper>>> = Arc::default();
    let keep = Arc::clone(&kept);
    let test = Test::new("outlives", move |zookeeper: ZooKeeper| {
        let keep = Arc::clone(&keep);
        async move {
            zookeeper.connect().await;
            let mut kept = keep.lock().map_err(|error| error.to_string())?;
            // Handles of ended programs make observations, which are ignored.
            kept.iter().for_each(|old| old.custom("too late", &[]));
            kept.push(zookeeper.clone());
            Ok(())
        }
    });
    let report = test.clients(2).seeds(10).run();
    assert!(report.observed.is_empty(), "{:?}", report.observed);
    assert!(kept.lock().is_ok_and(|kept| kept.len() >= 20));
}

/// A future that is dropped before it makes an observation does not make it.
#[test]
fn an_observation_of_a_future_that_was_dropped_is_none() {
    let test = Test::new("dropped", |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        let says = zookeeper.clone();
        let slow = async {
            zookeeper.sleep(Duration::from_secs(2)).await;
            says.custom("said", &[]);
        };
        let _ = zookeeper.timeout(Duration::from_secs(1), slow).await;
        zookeeper.sleep(Duration::from_secs(3)).await;
        Ok(())
    });
    let text = fails(test.must_see("said"), 5);
    assert!(text.contains("no program made an observation `said`"), "{text}");
}

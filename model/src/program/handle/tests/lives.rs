//! The ends of processes: returned, panicked, killed; and the guarantees of their types.

use super::*;
use crate::program::handle::{SessionEvents, Watch, join, join_all, race};
use crate::vocabulary::op::{CreateMode, SessionState, Version};
use std::sync::{Arc, Mutex};

/// No output follows the last one: neither the spawned task's guard nor its pending call emits anything.
#[test]
fn a_finished_program_takes_its_tasks_with_it() {
    let (mut process, _) = started(|zookeeper| async move {
        let zk = zookeeper.clone();
        zookeeper.spawn(async move {
            let _guard = Guard(zk.clone(), "task dropped");
            zk.sleep(seconds_of(9)).await;
        });
        let _guard = Guard(zookeeper.clone(), "main dropped");
        zookeeper.sleep(seconds_of(1)).await;
        Err("enough".to_owned())
    });
    assert!(process.is_running());
    let last = reply(&mut process, 0, Outcome::Elapsed);
    assert_eq!(last, [said("main dropped"), Output::Finished(Err("enough".to_owned()))]);
    assert!(!process.is_running());
    let mut later = Vec::new();
    process.port.take_outputs(&mut later);
    assert_eq!(later, []);
}

#[test]
fn a_panic_is_reported_wherever_it_happens() {
    let (_, at_once) = started(|_| async { panic!("{} and {}", 1, 2) });
    assert_eq!(at_once, [Output::Panicked("1 and 2".to_owned())]);

    let (_, in_the_factory) = started(|zookeeper| {
        zookeeper.custom("made", &[]);
        assert!(zookeeper.client().0 > 1, "not made");
        async { Ok(()) }
    });
    assert_eq!(in_the_factory, [said("made"), Output::Panicked("not made".to_owned())]);

    let (mut process, _) = started(|zookeeper| async move {
        let zk = zookeeper.clone();
        zookeeper.spawn(async move {
            let _guard = Guard(zk.clone(), "unwound");
            zk.sleep(seconds_of(1)).await;
            panic!("in a task");
        });
        let _guard = Guard(zookeeper.clone(), "never said");
        forever().await;
        Ok(())
    });
    let in_a_task = reply(&mut process, 0, Outcome::Elapsed);
    assert_eq!(in_a_task, [said("unwound"), Output::Panicked("in a task".to_owned())]);

    let (_, without_text) = started(|_| async { std::panic::panic_any(7_u8) });
    assert_eq!(without_text, [Output::Panicked("a panic without a message".to_owned())]);
}

/// The destructors of a killed process have no effect: a guard of a dead process must not release its lock.
#[test]
fn a_killed_process_says_nothing_even_in_destructors() {
    struct Loud(ZooKeeper, Arc<Mutex<u32>>);
    impl Drop for Loud {
        fn drop(&mut self) {
            self.0.custom("released", &[]);
            self.0.send(ClientId(2), b"released");
            let zk = self.0.clone();
            self.0.spawn(async move { zk.sleep(seconds_of(1)).await });
            drop(self.0.session_events());
            *self.1.lock().expect("no panic") += 1;
            panic!("nobody hears this");
        }
    }
    let dropped = Arc::new(Mutex::new(0));
    let (process, _) = {
        let dropped = Arc::clone(&dropped);
        started(move |zookeeper| {
            let (zk, dropped) = (zookeeper.clone(), Arc::clone(&dropped));
            let task = Loud(zk.clone(), Arc::clone(&dropped));
            zookeeper.spawn(async move {
                let _loud = task;
                zk.sleep(seconds_of(1)).await;
            });
            async move {
                let _loud = Loud(zookeeper.clone(), dropped);
                zookeeper.exists_watch("/a").await.map(|_| ()).map_err(|error| error.to_string())
            }
        })
    };
    let port = Arc::clone(&process.port);
    drop(process);
    assert_eq!(*dropped.lock().expect("no panic"), 2);
    let mut outputs = Vec::new();
    port.take_outputs(&mut outputs);
    assert_eq!(outputs, []);
    assert!(port.is_gone() && !port.is_open());
}

/// A handle that outlives its process stays attached to the old port.
#[test]
fn a_ghost_can_say_nothing_in_the_next_life() {
    let kept: Arc<Mutex<Vec<(ZooKeeper, SessionEvents)>>> = Arc::default();
    let keeper = {
        let kept = Arc::clone(&kept);
        program(move |zookeeper| {
            let events = zookeeper.session_events();
            kept.lock().expect("no panic").push((zookeeper.clone(), events));
            async move {
                zookeeper.sleep(seconds_of(1)).await;
                Ok(())
            }
        })
    };
    let mut first = Process::new(ClientId(1), &keeper);
    assert_eq!(feed(&mut first, Input::Start), [sleep(0, 1)]);
    drop(first);
    let mut second = Process::new(ClientId(1), &keeper);
    assert_eq!(feed(&mut second, Input::Start), [sleep(0, 1)]);
    let (ghost, mut events) = kept.lock().expect("no panic").remove(0);
    ghost.custom("boo", &[]);
    ghost.spawn(async {});
    let mut call = Box::pin(ghost.sync("/"));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(call.as_mut().poll(&mut context).is_pending());
    assert_eq!(feed(&mut second, Input::Session(SessionState::SyncConnected.into())), []);
    assert_eq!(events.try_next(), None);
    let (_, mut events) = kept.lock().expect("no panic").remove(0);
    assert_eq!(events.try_next(), Some(SessionState::SyncConnected));
    drop(call);
    assert_eq!(reply(&mut second, 0, Outcome::Elapsed), [Output::Finished(Ok(()))]);
}

/// A dropped process is freed entirely: no reference cycle keeps its futures.
#[test]
fn a_dropped_process_frees_everything() {
    let token = Arc::new(());
    let (mut process, _) = {
        let token = Arc::clone(&token);
        started(move |zookeeper| {
            let mine = Arc::clone(&token);
            let (zk, theirs) = (zookeeper.clone(), Arc::clone(&token));
            zookeeper.spawn(async move {
                let _theirs = theirs;
                let mut watch = zk.exists_watch("/a").await.expect("exists").1;
                let _ = watch.changed().await;
            });
            async move {
                let _mine = mine;
                zookeeper.session_events().next().await;
                Ok(())
            }
        })
    };
    reply(&mut process, 0, answer(Err(Error::NoNode)));
    // One in the test, one in the factory, and one in each future.
    assert_eq!(Arc::strong_count(&token), 4);
    let port = Arc::downgrade(&process.port);
    drop(process);
    assert_eq!(Arc::strong_count(&token), 1);
    assert_eq!(port.strong_count(), 0);
}

/// Compiles only as long as the guarantee holds.
#[test]
fn the_handle_and_its_futures_can_move_between_threads() {
    fn handle<T: Clone + Send + Sync + 'static>() {}
    fn part<T: Send + Sync>() {}
    fn future<T: Send>(_: T) {}
    handle::<ZooKeeper>();
    part::<Watch>();
    part::<SessionEvents>();
    fn all(zk: &ZooKeeper, watch: &mut Watch, events: &mut SessionEvents) {
        future(zk.create("/", b"", CreateMode::Persistent));
        future(zk.delete("/", Version::Any));
        future(zk.set_data("/", b"", Version::Any));
        future(zk.exists("/"));
        future(zk.exists_watch("/"));
        future(zk.get_data("/"));
        future(zk.get_data_watch("/"));
        future(zk.get_children("/"));
        future(zk.get_children_watch("/"));
        future(zk.multi(Vec::new()));
        future(zk.sync("/"));
        future(zk.connect());
        future(zk.close());
        future(zk.sleep(seconds_of(1)));
        future(zk.now());
        future(zk.random());
        future(zk.receive());
        future(zk.write_resource("", None, 0));
        future(zk.cancellable(zk.now()));
        future(zk.timeout(seconds_of(1), zk.now()));
        future(watch.changed());
        future(events.next());
        future(race(zk.now(), zk.random()));
        future(join(zk.now(), zk.random()));
        future(join_all([zk.now(), zk.now()]));
    }
    let _ = all;
}

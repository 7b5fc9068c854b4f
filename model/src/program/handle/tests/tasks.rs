//! Spawned tasks: their order, their wakers, and programs that never block.

use super::*;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

#[test]
fn tasks_run_in_the_order_in_which_they_were_spawned() {
    let (_, begun) = started(|zookeeper| async move {
        let outer = zookeeper.clone();
        zookeeper.spawn(async move {
            outer.custom("first", &[]);
            let inner = outer.clone();
            outer.spawn(async move { inner.custom("third", &[]) });
        });
        let outer = zookeeper.clone();
        zookeeper.spawn(async move { outer.custom("second", &[]) });
        zookeeper.custom("main", &[]);
        forever().await;
        Ok(())
    });
    assert_eq!(begun, ["main", "first", "second", "third"].map(said));
}

/// Polls only the parts that were woken, each by its own waker, as `FuturesUnordered` does. With a no-op waker it
/// would hang.
struct OnlyWoken {
    parts: Vec<Option<(BoxFuture<u64>, Arc<Part>)>>,
    order: VecDeque<u64>,
}

struct Part {
    woken: AtomicBool,
    parent: Mutex<Option<Waker>>,
}

impl Wake for Part {
    fn wake(self: Arc<Part>) {
        self.woken.store(true, Ordering::Relaxed);
        if let Some(parent) = self.parent.lock().expect("no panic").take() {
            parent.wake();
        }
    }
}

impl OnlyWoken {
    fn new(futures: Vec<BoxFuture<u64>>) -> OnlyWoken {
        let part = || Arc::new(Part { woken: AtomicBool::new(true), parent: Mutex::new(None) });
        let parts = futures.into_iter().map(|future| Some((future, part()))).collect();
        OnlyWoken { parts, order: VecDeque::new() }
    }
}

impl Future for OnlyWoken {
    type Output = Vec<u64>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Vec<u64>> {
        let this = &mut *self;
        for slot in &mut this.parts {
            let Some((future, part)) = slot else { continue };
            *part.parent.lock().expect("no panic") = Some(context.waker().clone());
            if !part.woken.swap(false, Ordering::Relaxed) {
                continue;
            }
            let waker = Waker::from(Arc::clone(part));
            if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                this.order.push_back(value);
                *slot = None;
            }
        }
        if this.parts.iter().all(Option::is_none) {
            Poll::Ready(this.order.drain(..).collect())
        } else {
            Poll::Pending
        }
    }
}

#[test]
fn futures_that_poll_only_what_was_woken_work() {
    let (mut process, begun) = started(|zookeeper| async move {
        let futures = (0..3)
            .map(|_| {
                let zk = zookeeper.clone();
                Box::pin(async move { zk.random().await }) as BoxFuture<u64>
            })
            .collect();
        Err(format!("{:?}", OnlyWoken::new(futures).await))
    });
    assert_eq!(begun, [0, 1, 2].map(|call| submit(call, Operation::Random)));
    assert_eq!(reply(&mut process, 1, Outcome::Random(11)), []);
    assert_eq!(reply(&mut process, 2, Outcome::Random(12)), []);
    assert_eq!(
        reply(&mut process, 0, Outcome::Random(10)),
        [Output::Finished(Err("[11, 12, 10]".to_owned()))]
    );
}

/// A task that wakes itself for ever would hang the engine; it is reported instead.
#[test]
fn a_program_that_never_blocks_is_reported() {
    let (_, begun) = started(|_| async move {
        std::future::poll_fn::<(), _>(|context| {
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
        Ok(())
    });
    assert!(
        matches!(&begun[..], [Output::Panicked(message)] if message.contains("does not block")),
        "{begun:?}"
    );
}

/// Two programs share a waker: the wake takes effect at the woken program's next input, and only that program is
/// foreign.
#[test]
fn a_wake_from_outside_waits_for_the_next_input_and_is_noted() {
    let shared: Arc<Mutex<Option<Waker>>> = Arc::default();
    let (mut sleeper, _) = {
        let shared = Arc::clone(&shared);
        started(move |zookeeper| {
            let shared = Arc::clone(&shared);
            async move {
                let mut events = zookeeper.session_events();
                let zk = zookeeper.clone();
                zookeeper.spawn(async move { while zk.random().await > 0 {} });
                std::future::poll_fn(|context| {
                    zookeeper.custom("polled", &[]);
                    *shared.lock().expect("no panic") = Some(context.waker().clone());
                    Poll::<()>::Pending
                })
                .await;
                events.next().await;
                Ok(())
            }
        })
    };
    assert!(!sleeper.is_foreign());
    let (waker_up, told) = started(move |_| {
        let shared = Arc::clone(&shared);
        async move {
            shared.lock().expect("no panic").take().expect("it waits").wake();
            Ok(())
        }
    });
    assert_eq!(told, [Output::Finished(Ok(()))]);
    assert!(sleeper.is_foreign() && !waker_up.is_foreign());
    let next = reply(&mut sleeper, 0, Outcome::Random(1));
    assert_eq!(next, [said("polled"), submit(0, Operation::Random)]);
}

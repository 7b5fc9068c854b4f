//! Programs that await futures other than the handle's.

use super::fails;
use std::future::{pending, poll_fn};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use vivarium::prelude::*;

fn waits() -> Test {
    Test::new("waits", |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        pending::<()>().await;
        Ok(())
    })
}

const SAYS: &str = "a future that is not its handle's, such as a channel, a lock or a timer of another \
                    runtime, which nothing here completes";

#[test]
fn a_future_that_nothing_completes_is_told() {
    let text = fails(waits().clients(1), 3);
    assert!(text.contains(&format!("client 1: {SAYS}")), "{text}");
    #[cfg(feature = "explore")]
    {
        let report = waits().explored(&Exploration::new().clients(1)).expect("it can be");
        let violation = report.verdict.violation().expect("it waits for ever").clone();
        let saw = &violation.objection.saw;
        assert!(saw.contains(&format!("client 1 waits for {SAYS}")), "{saw}");
    }
}

/// The message for a program that also waits for a request names that request.
#[test]
fn who_waits_for_its_handle_is_not_told_so() {
    let test = Test::new("waits for a watch", |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        let (_, mut watch) =
            zookeeper.exists_watch("/never").await.map_err(|error| error.to_string())?;
        let _ = watch.changed().await;
        Ok(())
    });
    let text = fails(test.clients(1), 3);
    assert!(text.contains("property   progress") && !text.contains("not its handle's"), "{text}");
}

/// Lets one program wake another, like a channel or a mutex of another runtime.
#[derive(Clone, Default)]
struct Bell(Arc<Mutex<(u32, Option<Waker>)>>);

impl Bell {
    fn ring(&self) {
        let mut bell = self.0.lock().expect("nobody panics with it");
        bell.0 += 1;
        if let Some(waker) = bell.1.take() {
            waker.wake();
        }
    }

    async fn heard(&self) {
        poll_fn(|context| {
            let mut bell = self.0.lock().expect("nobody panics with it");
            match bell.0 {
                0 => {
                    bell.1 = Some(context.waker().clone());
                    Poll::Pending
                }
                _ => Poll::Ready(()),
            }
        })
        .await;
    }
}

/// Client 1 waits for a signal of client 2, which does not use the handle.
#[test]
fn a_program_that_another_one_wakes_is_told() {
    let test = || {
        let bell = Bell::default();
        Test::new("bell", move |zookeeper: ZooKeeper| {
            let bell = bell.clone();
            async move {
                zookeeper.connect().await;
                match zookeeper.client() {
                    ClientId(1) => bell.heard().await,
                    _ => {
                        zookeeper.sleep(Duration::from_secs(3)).await;
                        bell.ring();
                    }
                }
                Ok(())
            }
        })
        .clients(2)
    };
    let text = fails(test(), 1);
    assert!(text.contains("property   a function of its inputs"), "{text}");
    let sentence = "client 1's program was woken by something other than its handle";
    assert!(text.contains(sentence), "{text}");
    assert!(text.contains("a static or thread-local variable"), "{text}");
}

//! Detects programs that never return from a poll.
//!
//! A program that loops without awaiting never returns from its current poll, and its thread is lost. So programs run
//! on a thread of their own, and the waiting thread checks the position of the work from time to time. If the position
//! is the same for too long, the thread is abandoned and the position is reported.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;
use vivarium_model::host::THREAD;
use vivarium_model::words::panic_message;

/// After this time, a program that has not returned is considered to loop.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// The interval between checks. The limit counts checks and not time, because a suspended machine makes no checks.
const LOOK: Duration = Duration::from_millis(200);

/// Why watched work did not complete.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Ended<P> {
    /// The work stayed at this position.
    Stuck(P),
    /// The work panicked.
    Panicked(String),
}

enum News<M, T> {
    Progress(M),
    Done(Result<T, String>),
}

/// Reports the progress of watched work.
pub(crate) struct Teller<M, T>(Sender<News<M, T>>);

impl<M, T> Teller<M, T> {
    pub(crate) fn tell(&self, progress: M) {
        // The receiver is gone only after the work was abandoned.
        let _ = self.0.send(News::Progress(progress));
    }
}

/// Runs `work` on a thread of its own and passes on its progress. `places` returns the current positions of the work; a
/// position must differ from all earlier and later ones.
///
/// # Errors
/// Fails if the work stayed at one position for `patience`, or panicked.
pub(crate) fn watched<T: Send + 'static, M: Send + 'static, P: Ord + Clone>(
    patience: Duration,
    work: impl FnOnce(&Teller<M, T>) -> T + Send + 'static,
    places: impl Fn() -> Vec<P>,
    mut progress: impl FnMut(M),
) -> Result<T, Ended<P>> {
    let (sender, news) = channel();
    let teller = Teller(sender);
    let work = move || {
        let done = catch_unwind(AssertUnwindSafe(|| work(&teller)));
        let done = done.map_err(|panic| panic_message(&*panic).to_string());
        let _ = teller.0.send(News::Done(done));
    };
    let named = thread::Builder::new().name(THREAD.to_string());
    named.spawn(work).expect("there can be one thread more");
    let most = u32::try_from(patience.as_millis() / LOOK.as_millis()).unwrap_or(u32::MAX).max(1);
    let (mut looks, mut last) = (BTreeMap::new(), std::time::Instant::now());
    loop {
        match news.recv_timeout(LOOK) {
            Ok(News::Progress(news)) => progress(news),
            Ok(News::Done(done)) => return done.map_err(Ended::Panicked),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => unreachable!("it tells how it ended"),
        }
        if last.elapsed() < LOOK {
            continue;
        }
        last = std::time::Instant::now();
        looks = places()
            .into_iter()
            .map(|place| {
                let seen: u32 = looks.get(&place).copied().unwrap_or(0);
                (place, seen + 1)
            })
            .collect();
        if let Some((place, _)) = looks.iter().find(|(_, seen)| **seen > most) {
            return Err(Ended::Stuck(place.clone()));
        }
    }
}

/// Returns the sentence about a program that does not return; `who` names the program and its last input.
pub(crate) fn stuck(who: &str, patience: Duration) -> String {
    format!(
        "{who} has not come back to an await for {} s: does it loop without awaiting?",
        patience.as_secs()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    #[test]
    fn what_comes_back_is_handed_on_with_its_progress() {
        let mut told = Vec::new();
        let work = |teller: &Teller<u32, &str>| {
            (1..4).for_each(|number| teller.tell(number));
            "done"
        };
        let done = watched(PATIENCE, work, Vec::<u8>::new, |number| told.push(number));
        assert_eq!((done, told), (Ok("done"), vec![1, 2, 3]));
    }

    #[test]
    fn a_panic_is_told() {
        let done = watched(PATIENCE, |_: &Teller<(), ()>| panic!("lost"), Vec::<u8>::new, |()| ());
        assert_eq!(done, Err(Ended::Panicked("lost".to_string())));
    }

    /// One position changes all the time, the other one never.
    #[test]
    fn what_stands_still_is_found_among_what_moves() {
        let release = Arc::new(AtomicBool::new(false));
        let work = {
            let release = Arc::clone(&release);
            move |_: &Teller<(), ()>| {
                while !release.load(Ordering::Relaxed) {
                    thread::sleep(Duration::from_millis(10));
                }
            }
        };
        let moves = AtomicU64::new(100);
        let places = || vec![moves.fetch_add(1, Ordering::Relaxed), 7];
        let done = watched(Duration::from_millis(600), work, places, |()| ());
        release.store(true, Ordering::Relaxed);
        assert_eq!(done, Err(Ended::Stuck(7)));
    }
}

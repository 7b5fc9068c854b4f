//! Counts of awaits, by their places.

use crate::awaits::places::Places;
use crate::awaits::{Awaited, Fate, Witness};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use vivarium_model::id::ClientId;

/// A place in a program that awaits something, and how often each of its awaits ended how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Await {
    /// The source lines of the awaits, such as `src/worker.rs:41`: the innermost one first. Empty if the program was
    /// compiled without line tables.
    pub places: Vec<String>,
    /// How often it ended in each way; what never happened is missing. An await that was reached ends once.
    pub ended: BTreeMap<Fate, u64>,
}

impl Await {
    /// Returns how often the await was reached.
    pub fn reached(&self) -> u64 {
        self.ended.values().sum()
    }

    /// Returns how often the await ended in this way.
    pub fn times(&self, fate: Fate) -> u64 {
        self.ended.get(&fate).copied().unwrap_or(0)
    }
}

/// The addresses of a stack's frames, the innermost one first.
type Stack = Vec<usize>;

/// How often an await ended in each way.
type Ends = BTreeMap<Fate, u64>;

/// The counts of all runs.
#[derive(Default)]
pub(super) struct Shared(Mutex<BTreeMap<Stack, Ends>>);

impl Shared {
    /// Returns the counts by source lines.
    pub(super) fn counts(&self) -> Vec<Await> {
        let mut by_place: BTreeMap<Vec<String>, Ends> = BTreeMap::new();
        for (stack, ended) in lock(&self.0).iter() {
            let sum = by_place.entry(places(stack)).or_default();
            for (fate, times) in ended {
                *sum.entry(*fate).or_default() += times;
            }
        }
        by_place.into_iter().map(|(places, ended)| Await { places, ended }).collect()
    }
}

/// The awaits of one run.
pub(super) struct Counts {
    shared: Arc<Shared>,
    run: Mutex<Pending>,
}

#[derive(Default)]
struct Pending {
    awaits: BTreeMap<(ClientId, Awaited), Stack>,
    killed: BTreeSet<ClientId>,
}

impl Counts {
    pub(super) fn of(shared: &Arc<Shared>) -> Counts {
        Counts { shared: Arc::clone(shared), run: Mutex::default() }
    }
}

impl Witness for Counts {
    fn starts(&self, client: ClientId) {
        let mut run = lock(&self.run);
        run.killed.remove(&client);
        run.awaits.retain(|(of, _), _| *of != client);
    }

    fn awaits(&self, client: ClientId, awaited: Awaited) {
        lock(&self.run).awaits.insert((client, awaited), stack());
    }

    fn ended(&self, client: ClientId, awaited: Awaited, fate: Fate) {
        let mut run = lock(&self.run);
        let Some(stack) = run.awaits.remove(&(client, awaited)) else { return };
        let fate = if run.killed.contains(&client) { Fate::Killed } else { fate };
        drop(run);
        *lock(&self.shared.0).entry(stack).or_default().entry(fate).or_default() += 1;
    }

    fn killed(&self, client: ClientId) {
        lock(&self.run).killed.insert(client);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn stack() -> Stack {
    let mut stack = Vec::with_capacity(64);
    backtrace::trace(|frame| {
        stack.push(frame.ip() as usize);
        true
    });
    stack
}

/// Returns the lines of a program's source in a stack, the innermost one first.
fn places(stack: &[usize]) -> Vec<String> {
    let mut places = Places::default();
    for address in stack {
        let mut is_outside = false;
        backtrace::resolve(*address as *mut c_void, |symbol| {
            let function = symbol.name().map(|name| name.to_string()).unwrap_or_default();
            let file = symbol.filename().map(|file| file.display().to_string());
            let place = file.zip(symbol.lineno()).map(|(file, line)| format!("{file}:{line}"));
            is_outside |= is_outside || places.frame(&function, place.as_deref()).is_break();
        });
        if is_outside {
            break;
        }
    }
    places.into_vec()
}

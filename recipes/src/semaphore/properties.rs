//! What a semaphore promises, as monitors (recipe rule 2.14.2).
//!
//! | | property |
//! |---|---|
//! | SM1 | of the granted leases that stand in the committed history, there are no more than permits |
//! | M5 | an attempt that ended leaves no lease, as with the lock |
//! | M1 to M6, M8 | of the turns, as with the lock |

use crate::contention::LockSeen;
use crate::lock::properties::{NoLeak, NoLeakAtRest};
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::property::{Asked, LooksBack, Monitor, Objection, View};
use vivarium_model::time::Duration;
use vivarium_model::zxid::Zxid;

/// All monitors of the semaphore in this directory, with so many permits. `bound` is M5's, as in
/// [`lock::monitors`](crate::lock::monitors).
pub fn monitors(directory: &str, permits: u32, bound: Duration) -> Vec<Box<dyn Monitor>> {
    let leases = super::leases(directory);
    let mut monitors = crate::lock::monitors(&super::turns(directory), bound);
    monitors.push(Box::new(Permits::new(directory, permits)));
    monitors.push(Box::new(NoLeak::new(&leases, bound)));
    monitors.push(Box::new(NoLeakAtRest::new(&leases)));
    monitors
}

/// SM1: at every zxid, of the granted leases that stand there are no more than permits.
#[derive(Clone, Debug, Hash)]
pub struct Permits {
    leases: Arc<str>,
    permits: usize,
    /// Those that stand: token and path.
    granted: Vec<(Zxid, Arc<str>)>,
}

impl Permits {
    /// Watches the semaphore in this directory.
    pub fn new(directory: &str, permits: u32) -> Permits {
        let leases = super::leases(directory).into();
        Permits { leases, permits: permits as usize, granted: Vec::new() }
    }
}

impl Monitor for Permits {
    fn name(&self) -> &'static str {
        "semaphore SM1 permits"
    }

    fn asked(&self) -> Asked {
        Asked::Everywhere
    }

    fn looks_back(&self) -> LooksBack {
        LooksBack::Tip
    }

    fn looks_for(&self) -> Vec<Arc<str>> {
        vec![Arc::from("granted")]
    }

    fn concerns(&self, event: &Event) -> bool {
        matches!(event.observed(), Some((_, LockSeen::Granted { .. })))
            || matches!(event, Event::Committed { .. })
    }

    fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), Objection> {
        let stands = |(token, path): &(Zxid, Arc<str>)| {
            view.history.tree().node(path).is_some_and(|znode| znode.czxid == *token)
        };
        self.granted.retain(stands);
        let Some((client, LockSeen::Granted { lock, node, token, .. })) = event.observed() else {
            return Ok(());
        };
        let new = (*token, Arc::clone(node));
        if *lock != self.leases || !stands(&new) {
            return Ok(());
        }
        let place = self.granted.partition_point(|granted| *granted < new);
        self.granted.insert(place, new);
        if self.granted.len() <= self.permits {
            return Ok(());
        }
        let paths: Vec<&str> = self.granted.iter().map(|(_, path)| &**path).collect();
        let saw = format!(
            "{client} was granted {node}: {} of {} permits are held, by {}",
            paths.len(),
            self.permits,
            paths.join(", ")
        );
        Err(Objection::new(self.name(), saw))
    }
}

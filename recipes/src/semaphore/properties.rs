//! The properties of a semaphore, as monitors (recipe rule 2.14.2).
//!
//! | | property |
//! |---|---|
//! | SM1 | the granted leases that exist in the committed history are at most as many as the permits |
//! | M5 | an attempt that ended leaves no lease, as with the lock |
//! | M1 to M6, M8 | of the turns, as with the lock |

use crate::contention::LockSeen;
use crate::contention::properties::{NoLeak, NoLeakAtRest};
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::ClientId;
use vivarium_model::minds;
use vivarium_model::property::{Declaration, Declared, LooksBack, Monitor, Objection, View};
use vivarium_model::time::Duration;
use vivarium_model::zxid::Zxid;

/// Returns all monitors of the semaphore in this directory, with this number of permits. `bound` is that of M5, as in
/// [`lock::monitors`](crate::lock::monitors).
pub fn monitors(directory: &str, permits: u32, bound: Duration) -> Vec<Box<dyn Monitor>> {
    let leases = super::leases(directory);
    let mut monitors = crate::lock::monitors(&super::turns(directory), bound);
    monitors.push(Box::new(Permits::new(directory, permits)));
    monitors.push(Box::new(NoLeak::new(&leases, bound)));
    monitors.push(Box::new(NoLeakAtRest::new(&leases)));
    monitors
}

/// Returns the monitors of the semaphore in this directory that a service can attach to its own clients: no program
/// believes that it has a permit when its session is over.
pub fn monitors_of_a_service(directory: &str) -> Vec<Box<dyn Monitor>> {
    crate::lock::monitors_of_a_service(&super::leases(directory))
}

/// SM1: at every zxid, the granted leases that exist are at most as many as the permits.
#[derive(Clone, Debug, Hash)]
pub struct Permits {
    leases: Arc<str>,
    permits: usize,
    /// The granted leases that exist: token and path.
    granted: Vec<(Zxid, Arc<str>)>,
}

impl Permits {
    /// Watches the semaphore in this directory.
    pub fn new(directory: &str, permits: u32) -> Permits {
        let leases = super::leases(directory).into();
        Permits { leases, permits: permits as usize, granted: Vec::new() }
    }
}

/// Returns true if the lease's znode exists, with this token as its czxid.
fn stands(view: View<'_>, (token, path): &(Zxid, Arc<str>)) -> bool {
    view.history.tree().node(path).is_some_and(|znode| znode.czxid == *token)
}

impl Declared for Permits {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "semaphore SM1 permits",
        LooksBack::Tip,
        minds! { |this, view, event|
            Event::Committed { .. } => this.granted.retain(|granted| stands(view, granted)),
            #[needed]
            Observed(client, LockSeen::Granted { lock, node, token, .. }) => {
                this.granted.retain(|granted| stands(view, granted));
                match *lock == this.leases {
                    true => this.grant(view, client, (*token, Arc::clone(node))),
                    false => Ok(()),
                }
            },
        },
    );
}

impl Permits {
    fn grant(
        &mut self,
        view: View<'_>,
        client: ClientId,
        new: (Zxid, Arc<str>),
    ) -> Result<(), Objection> {
        if !stands(view, &new) {
            return Ok(());
        }
        let node = Arc::clone(&new.1);
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
        Err(self.objection(saw))
    }
}

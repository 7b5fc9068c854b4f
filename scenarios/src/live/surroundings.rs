//! What programs of the catalogue find around them besides ZooKeeper: resources that check fencing tokens, and each
//! other's messages.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc;
use vivarium_client::Surroundings;
use vivarium_model::host::ResourceRequest;
use vivarium_model::id::ClientId;
use vivarium_model::zxid::Zxid;

/// A message under way: sender, receiver, content.
pub(super) type Post = (ClientId, ClientId, Arc<[u8]>);

/// The surroundings of all programs of a run.
#[derive(Clone, Debug)]
pub(super) struct Around {
    /// The largest token that each resource has seen.
    seen: Arc<Mutex<BTreeMap<Arc<str>, Zxid>>>,
    post: mpsc::UnboundedSender<Post>,
}

impl Around {
    /// Returns the surroundings, and the messages that programs send.
    pub(super) fn new() -> (Around, mpsc::UnboundedReceiver<Post>) {
        let (post, posted) = mpsc::unbounded_channel();
        (Around { seen: Arc::default(), post }, posted)
    }
}

impl Surroundings for Around {
    fn write(&self, _from: ClientId, request: &ResourceRequest) -> Result<(), Zxid> {
        let Some(token) = request.token else { return Ok(()) };
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let highest = seen.entry(Arc::clone(&request.resource)).or_insert(token);
        if token < *highest {
            return Err(*highest);
        }
        *highest = token;
        Ok(())
    }

    fn send(&self, from: ClientId, to: ClientId, body: Arc<[u8]>) {
        // After the run nobody delivers messages.
        let _ = self.post.send((from, to, body));
    }
}

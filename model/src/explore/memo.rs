//! The explorer's host: programs that are places in a shared trie.
//!
//! A [`Memo`] is a value like the rest of a state: cheap to clone, to compare and to fingerprint.
//! It feeds a program by following an edge of the [`Trie`], which polls futures only where nobody
//! has been before.

use super::trie::{Edge, Node, NodeId, Trie};
use crate::fingerprint::Fingerprint;
use crate::host::{Host, Input, Output};
use crate::id::ClientId;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Where each client's program stands.
#[derive(Clone)]
pub struct Memo {
    trie: Arc<Trie>,
    /// By client; none where no process lives. Shared between states until it changes.
    places: Arc<[Option<NodeId>]>,
    /// The sum of the fingerprints of those nodes, which are salted with their clients.
    fingerprint: Fingerprint,
}

impl Memo {
    /// No program has started.
    pub fn new(trie: Arc<Trie>) -> Memo {
        let places = vec![None; trie.clients()].into();
        Memo { trie, places, fingerprint: Fingerprint::default() }
    }

    /// The trie that these are places in.
    pub fn trie(&self) -> &Arc<Trie> {
        &self.trie
    }

    /// Where a client's program stands; `None` where no process lives.
    pub fn node(&self, client: ClientId) -> Option<&Node> {
        self.places[client.index()].map(|id| self.trie.node(id))
    }

    /// What an input would make a client's program do, without feeding it.
    ///
    /// # Panics
    /// If the program has not started, or cannot get this input.
    pub fn peek(&self, client: ClientId, input: &Input) -> Arc<Edge> {
        Arc::clone(self.trie.edge(self.place(client), input))
    }

    /// The fingerprint of where the programs stand. Equal ones stand at the same places.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Why one of the programs is no function of its inputs, if anybody who shares the trie has
    /// noticed, see [`Trie::dependent`].
    pub fn dependent(&self) -> Option<&str> {
        self.trie.dependent()
    }

    fn place(&self, client: ClientId) -> NodeId {
        self.places[client.index()].expect("only a started program is fed")
    }

    fn put(&mut self, client: ClientId, place: Option<NodeId>) {
        let before = self.places[client.index()];
        if before == place {
            return;
        }
        if let Some(before) = before {
            self.fingerprint.subtract(self.trie.node(before).fingerprint());
        }
        if let Some(after) = place {
            self.fingerprint.add(self.trie.node(after).fingerprint());
        }
        Arc::make_mut(&mut self.places)[client.index()] = place;
    }
}

impl Host for Memo {
    fn start(&mut self, client: ClientId) {
        self.put(client, Some(self.trie.root(client)));
    }

    fn feed(&mut self, client: ClientId, input: Input, outputs: &mut Vec<Output>) {
        let edge = self.trie.edge(self.place(client), &input);
        outputs.extend_from_slice(edge.outputs());
        let child = edge.child();
        self.put(client, Some(child));
    }

    fn kill(&mut self, client: ClientId) {
        self.put(client, None);
    }
}

impl PartialEq for Memo {
    fn eq(&self, other: &Memo) -> bool {
        self.places == other.places && Arc::ptr_eq(&self.trie, &other.trie)
    }
}

impl Eq for Memo {}

impl Hash for Memo {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.fingerprint.hash(state);
    }
}

impl fmt::Debug for Memo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let places = self.places.iter().map(|place| place.map(|id| self.trie.node(id)));
        f.debug_list().entries(places).finish()
    }
}

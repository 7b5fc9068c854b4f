//! The explorer's host, in which each program is a node of a shared trie.
//!
//! A [`Memo`] is a value like the rest of a state: cheap to clone, compare and fingerprint. It feeds a program by
//! following an edge of the [`Trie`], which polls a future only when a new edge is taken.

use super::trie::{Edge, Node, NodeId, Trie};
use std::cell::RefCell;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Weak};
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::host::{Host, Input, Output};
use vivarium_model::id::ClientId;

/// The node of each client's program.
#[derive(Clone)]
pub struct Memo {
    trie: Lease,
    /// By client; `None` if the client has no process. Shared between states until it changes.
    places: Arc<[Option<NodeId>]>,
    /// The sum of the fingerprints of these nodes, which are salted with their clients.
    fingerprint: Fingerprint,
}

impl Memo {
    /// Creates a host in which no program has started.
    pub fn new(trie: Arc<Trie>) -> Memo {
        let places = vec![None; trie.clients()].into();
        Memo { trie: Lease::new(trie), places, fingerprint: Fingerprint::default() }
    }

    /// Creates a host whose programs are at these nodes of the trie, one per client.
    pub(in crate::every) fn at(
        trie: Arc<Trie>,
        places: impl Iterator<Item = Option<NodeId>>,
    ) -> Memo {
        let mut memo = Memo::new(trie);
        for (at, place) in places.enumerate() {
            memo.put(ClientId::at(at), place);
        }
        memo
    }

    /// The trie that contains the nodes.
    pub fn trie(&self) -> &Arc<Trie> {
        &self.trie.0.trie
    }

    /// Returns the node of a client's program; `None` if the client has no process.
    pub fn node(&self, client: ClientId) -> Option<&Node> {
        self.places[client.index()].map(|id| self.trie().node(id))
    }

    /// Returns what an input would make a client's program do, without feeding it.
    ///
    /// # Panics
    /// Panics if the program has not started or cannot receive this input.
    pub fn peek(&self, client: ClientId, input: &Input) -> Arc<Edge> {
        Arc::clone(self.trie().edge(self.place(client), input))
    }

    /// Returns the fingerprint of the programs' nodes. Equal fingerprints mean equal nodes.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Returns a sentence if any user of the trie has detected that a program is not a function of its inputs; see
    /// [`Trie::dependent`].
    pub fn dependent(&self) -> Option<&str> {
        self.trie().dependent()
    }

    fn place(&self, client: ClientId) -> NodeId {
        self.places[client.index()].expect("only a started program is fed")
    }

    fn put(&mut self, client: ClientId, place: Option<NodeId>) {
        let before = self.places[client.index()];
        if before == place {
            return;
        }
        let fingerprint = |id| self.trie().node(id).fingerprint();
        let (before, after) = (before.map(fingerprint), place.map(fingerprint));
        before.into_iter().for_each(|before| self.fingerprint.subtract(before));
        after.into_iter().for_each(|after| self.fingerprint.add(after));
        Arc::make_mut(&mut self.places)[client.index()] = place;
    }
}

impl Host for Memo {
    fn start(&mut self, client: ClientId) {
        self.put(client, Some(self.trie().root(client)));
    }

    fn feed(&mut self, client: ClientId, input: Input, outputs: &mut Vec<Output>) {
        let edge = self.trie().edge(self.place(client), &input);
        let child = edge.child();
        outputs.extend_from_slice(edge.outputs());
        self.put(client, Some(child));
    }

    fn kill(&mut self, client: ClientId) {
        self.put(client, None);
    }

    fn awaits_its_handle(&self, client: ClientId) -> bool {
        self.node(client).is_some_and(|node| !node.pending().is_empty() || node.listens())
    }

    fn listens_only(&self, client: ClientId) -> bool {
        self.node(client).is_some_and(|node| node.pending().is_empty() && node.listens())
    }
}

impl PartialEq for Memo {
    fn eq(&self, other: &Memo) -> bool {
        self.places == other.places && Arc::ptr_eq(self.trie(), other.trie())
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
        let places = self.places.iter().map(|place| place.map(|id| self.trie().node(id)));
        f.debug_list().entries(places).finish()
    }
}

/// A reference to the trie, counted by each thread on its own. States are cloned and dropped constantly. With one
/// shared count, the threads of a search would spend most of their time waiting for its cache line.
struct Lease(Arc<Leased>);

/// Padded so that it shares no cache line with other data; processors fetch two lines at a time.
#[repr(align(128))]
struct Leased {
    trie: Arc<Trie>,
}

thread_local! {
    /// The lease count of this thread, for the trie whose lease the thread cloned last.
    static OWN: RefCell<Weak<Leased>> = const { RefCell::new(Weak::new()) };
}

impl Lease {
    fn new(trie: Arc<Trie>) -> Lease {
        Lease(Arc::new(Leased { trie }))
    }

    /// Returns a lease of the same trie, counted in `own` if possible.
    fn shared(&self, own: &mut Weak<Leased>) -> Lease {
        if std::ptr::eq(own.as_ptr(), Arc::as_ptr(&self.0)) {
            return Lease(Arc::clone(&self.0));
        }
        match own.upgrade() {
            Some(leased) if Arc::ptr_eq(&leased.trie, &self.0.trie) => Lease(leased),
            _ => {
                let lease = Lease::new(Arc::clone(&self.0.trie));
                *own = Arc::downgrade(&lease.0);
                lease
            }
        }
    }
}

impl Clone for Lease {
    fn clone(&self) -> Lease {
        // The thread-local value is gone in a thread that is ending.
        OWN.try_with(|own| self.shared(&mut own.borrow_mut()))
            .unwrap_or_else(|_| Lease(Arc::clone(&self.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vivarium_model::handle::program;

    fn trie() -> Arc<Trie> {
        Arc::new(Trie::new(vec![program(|_| async { Ok(()) })]))
    }

    #[test]
    fn a_memo_can_be_part_of_a_shared_state() {
        fn check<T: Clone + Eq + Hash + Send + Sync + fmt::Debug + 'static>() {}
        check::<Memo>();
    }

    /// Holds whatever the thread clones in between, and for clones made in other threads.
    #[test]
    fn a_clone_stays_in_its_trie() {
        let tries = [trie(), trie()];
        let memos = tries.clone().map(Memo::new);
        let clones = || [0, 1, 1, 0].map(|index: usize| (index, memos[index].clone()));
        let elsewhere = std::thread::scope(|scope| {
            scope.spawn(clones).join().expect("nothing panics in there")
        });
        for (index, clone) in clones().into_iter().chain(elsewhere) {
            assert!(Arc::ptr_eq(clone.trie(), &tries[index]));
            assert!(clone == memos[index] && clone != memos[1 - index]);
            let again = clone.clone();
            assert!(Arc::ptr_eq(again.trie(), &tries[index]));
        }
    }

    #[test]
    fn a_trie_goes_with_the_last_memo() {
        let trie = trie();
        let left = Arc::downgrade(&trie);
        let memo = Memo::new(trie);
        let clone = memo.clone().clone();
        drop(memo);
        assert!(left.upgrade().is_some());
        drop(clone);
        assert!(left.upgrade().is_none());
    }
}

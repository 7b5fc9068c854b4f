//! The explorer's host: programs that are places in a shared trie.
//!
//! A [`Memo`] is a value like the rest of a state: cheap to clone, to compare and to fingerprint.
//! It feeds a program by following an edge of the [`Trie`], which polls futures only where nobody
//! has been before.

use super::trie::{Edge, Node, NodeId, Trie};
use std::cell::RefCell;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Weak};
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::host::{Host, Input, Output};
use vivarium_model::id::ClientId;

/// Where each client's program stands.
#[derive(Clone)]
pub struct Memo {
    trie: Lease,
    /// By client; none where no process lives. Shared between states until it changes.
    places: Arc<[Option<NodeId>]>,
    /// The sum of the fingerprints of those nodes, which are salted with their clients.
    fingerprint: Fingerprint,
}

impl Memo {
    /// No program has started.
    pub fn new(trie: Arc<Trie>) -> Memo {
        let places = vec![None; trie.clients()].into();
        Memo { trie: Lease::new(trie), places, fingerprint: Fingerprint::default() }
    }

    /// Programs that stand at these nodes of the trie, one per client.
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

    /// The trie that these are places in.
    pub fn trie(&self) -> &Arc<Trie> {
        &self.trie.0.trie
    }

    /// Where a client's program stands; `None` where no process lives.
    pub fn node(&self, client: ClientId) -> Option<&Node> {
        self.places[client.index()].map(|id| self.trie().node(id))
    }

    /// What an input would make a client's program do, without feeding it.
    ///
    /// # Panics
    /// If the program has not started, or cannot get this input.
    pub fn peek(&self, client: ClientId, input: &Input) -> Arc<Edge> {
        Arc::clone(self.trie().edge(self.place(client), input))
    }

    /// The fingerprint of where the programs stand. Equal ones stand at the same places.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Why one of the programs is no function of its inputs, if anybody who shares the trie has
    /// noticed, see [`Trie::dependent`].
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

/// A reference to the trie, counted by each thread on its own. States are cloned and dropped all
/// the time; were they all counted in one place, the threads of a search would wait for each other
/// there more than they work.
struct Lease(Arc<Leased>);

/// Alone in its cache lines, of which processors fetch two at a time.
#[repr(align(128))]
struct Leased {
    trie: Arc<Trie>,
}

thread_local! {
    /// What this thread's leases share: those of the trie that it cloned a lease of last.
    static OWN: RefCell<Weak<Leased>> = const { RefCell::new(Weak::new()) };
}

impl Lease {
    fn new(trie: Arc<Trie>) -> Lease {
        Lease(Arc::new(Leased { trie }))
    }

    /// This lease as one of those that `own` shares.
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
        // A thread that is ending has no such thing any more.
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

    /// Whatever else the thread clones in between, and wherever the clone goes.
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

//! A condition on all observations so far, which the user's closure folds into a state.

use super::closure::{Closure, Judgement};
use super::property::{Hears, Key, Keyed, Property, Rule};
use super::said::{Said, is_end};
use super::tree::Tree;
use std::collections::BTreeMap;
use std::hash::Hash;
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::ClientId;
use vivarium_model::property::{LooksBack, View};

type Fold<S> = dyn Fn(&mut S, &Said<'_>) -> Result<(), String> + Send + Sync;
type OfTree<S> = dyn Fn(&S, Tree<'_>) -> Result<(), String> + Send + Sync;

/// The rule of [`always`].
#[derive(Clone, Hash)]
pub struct Always<S> {
    first: S,
    states: BTreeMap<Key, S>,
    /// The names of the observations that it takes; all names if the list is empty.
    on: Vec<Arc<str>>,
    fold: Closure<Fold<S>>,
    of_tree: Option<Closure<OfTree<S>>>,
}

/// A condition that always holds: the closure folds each observation into a state that begins with `first`, and
/// returns whether the condition holds.
///
/// Both engines; judged at each observation (with [`Property::and_tree`] at each commit as well). A search
/// distinguishes states by this state too, so a smaller state makes the search smaller. The closure must keep
/// everything that it remembers in the state: otherwise results of searches and repeats are wrong.
///
/// ```
/// use vivarium::prelude::*;
///
/// let stock = always("never negative", 0, |stock: &mut i64, said| {
///     *stock += said.number("by")?;
///     Ok(*stock >= 0)
/// });
/// # let _ = Test::new("t", |_| async { Ok(()) }).monitor(stock.on("moved").per("shelf"));
/// ```
pub fn always<S, J>(
    name: &'static str,
    first: S,
    fold: impl Fn(&mut S, &Said<'_>) -> J + Send + Sync + 'static,
) -> Property<Always<S>>
where
    S: Clone + Hash + Send + Sync + 'static,
    J: Judgement,
{
    let fold = move |state: &mut S, said: &Said<'_>| {
        fold(state, said).judged(&|| format!("{said}, and then the property no longer holds"))
    };
    let fold = Closure(Arc::new(fold) as Arc<Fold<S>>);
    let (states, on) = (BTreeMap::new(), Vec::new());
    Property::new(name, Always { first, states, on, fold, of_tree: None })
}

impl<S: Clone + Hash + Send + Sync + 'static> Property<Always<S>> {
    /// Takes only observations of this name; several calls add several names. (This makes a search smaller.) Ends of
    /// processes are taken only if they are named: [`PROGRAM_KILLED`](super::PROGRAM_KILLED),
    /// [`PROGRAM_FINISHED`](super::PROGRAM_FINISHED).
    #[must_use]
    pub fn on(mut self, name: &str) -> Self {
        self.rule.on.push(Arc::from(name));
        self
    }

    /// Adds a condition on the state and the tree, which is judged after each observation and after each commit.
    ///
    /// ```
    /// use std::collections::BTreeSet;
    /// use vivarium::prelude::*;
    ///
    /// let left = |left: &mut BTreeSet<_>, said: &Said<'_>| Ok(left.insert(said.text("worker")?));
    /// let stays_away = always("who left stays away", BTreeSet::new(), left)
    ///     .on("left")
    ///     .and_tree(|left, tree| left.iter().all(|worker| !tree.has(worker)));
    /// # let _ = Test::new("t", |_| async { Ok(()) }).monitor(stays_away);
    /// ```
    #[must_use]
    pub fn and_tree<J: Judgement>(
        mut self,
        holds: impl Fn(&S, Tree<'_>) -> J + Send + Sync + 'static,
    ) -> Self {
        let of_tree = move |state: &S, tree: Tree<'_>| holds(state, tree).judged(&|| tree.unfit());
        self.rule.of_tree = Some(Closure(Arc::new(of_tree)));
        self
    }
}

impl<S: Clone + Hash + Send + Sync + 'static> Always<S> {
    fn check(&self, view: View<'_>, state: &S, behind: &str) -> Result<(), String> {
        let Some(of_tree) = &self.of_tree else { return Ok(()) };
        of_tree(state, Tree::of(view)).map_err(|saw| format!("{saw}{behind}"))
    }
}

impl<S: Clone + Hash + Send + Sync + 'static> Hears for Always<S> {}

impl<S: Clone + Hash + Send + Sync + 'static> Keyed for Always<S> {}

impl<S: Clone + Hash + Send + Sync + 'static> Rule for Always<S> {
    fn hears(&self, name: &str) -> bool {
        let named = self.on.iter().any(|on| **on == *name);
        named || self.on.is_empty() && !is_end(name)
    }

    /// With several names, the property may object after observations of any one of them.
    fn looks_for(&self) -> Vec<Arc<str>> {
        if self.on.len() == 1 { self.on.clone() } else { Vec::new() }
    }

    fn reach(&self) -> LooksBack {
        if self.of_tree.is_some() { LooksBack::Tip } else { LooksBack::Nothing }
    }

    fn concerns(&self, event: &Event) -> bool {
        self.of_tree.is_some() && matches!(event, Event::Committed { .. })
    }

    /// An observation is compared with the tree, which other clients change, even if each client has a state of its
    /// own.
    fn minds_own(&self) -> bool {
        self.of_tree.is_some()
    }

    fn said(&mut self, view: View<'_>, key: Key, said: &Said<'_>) -> Result<(), String> {
        let mut state = self.states.get(&key).unwrap_or(&self.first).clone();
        (self.fold)(&mut state, said)?;
        self.check(view, &state, &format!(" ({said})"))?;
        self.states.insert(key, state);
        Ok(())
    }

    fn forget(&mut self, client: ClientId) {
        self.states.retain(|key, _| !key.is_of(client));
    }

    fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), String> {
        let Event::Committed { txn, .. } = event else { return Ok(()) };
        if !view.history.is_new(txn) {
            return Ok(());
        }
        let nothing_said = self.states.is_empty().then_some(&self.first);
        let mut states = self.states.values().chain(nothing_said);
        states.try_for_each(|state| self.check(view, state, &format!(" ({txn})")))
    }
}

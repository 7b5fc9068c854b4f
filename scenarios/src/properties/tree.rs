//! Conditions on the tree: after every commit, or at the end.

use super::closure::{Closure, Judgement};
use super::property::{Ended, Property, Rule};
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::SessionId;
use vivarium_model::property::{LooksBack, View};
use vivarium_model::stat::Stat;
use vivarium_model::tree::{DataTree, Znode};
use vivarium_model::zxid::Zxid;

/// The znodes and sessions after the last committed transaction; no server need have this tree.
#[derive(Clone, Copy, Debug)]
pub struct Tree<'a> {
    tree: &'a DataTree,
    last: Zxid,
}

impl<'a> Tree<'a> {
    pub(super) fn of(view: View<'a>) -> Tree<'a> {
        Tree { tree: view.history.tree(), last: view.history.last() }
    }

    /// Returns the zxid of the last transaction.
    pub fn last(self) -> Zxid {
        self.last
    }

    /// Returns true if the znode exists.
    pub fn has(self, path: &str) -> bool {
        self.tree.node(path).is_some()
    }

    /// Returns the znode's data, if it exists.
    pub fn data(self, path: &str) -> Option<&'a [u8]> {
        self.tree.node(path).map(|node| &*node.data)
    }

    /// Returns the znode's Stat, if it exists.
    pub fn stat(self, path: &str) -> Option<Stat> {
        self.tree.stat(path)
    }

    /// Returns the names of the znode's children; none if it does not exist.
    pub fn children(self, path: &str) -> Vec<Arc<str>> {
        self.tree.children(path).unwrap_or_default()
    }

    /// Returns the whole paths of all znodes below this path, without the path itself.
    pub fn under(self, path: &str) -> impl Iterator<Item = &'a str> {
        let below = format!("{}/", path.trim_end_matches('/'));
        let paths = self.tree.nodes().map(|(path, _)| path.as_str());
        paths.filter(move |path| path.len() > below.len() && path.starts_with(&below))
    }

    /// Returns true if the session is open.
    pub fn is_open(self, session: SessionId) -> bool {
        self.tree.sessions().contains_key(&session)
    }

    /// Returns the sentence for a condition that returns none: it does not hold, and the tree.
    pub(super) fn unfit(self) -> String {
        let last = self.last;
        let own =
            |path: &str| path == "/" || path == "/zookeeper" || path.starts_with("/zookeeper/");
        let znodes = self.tree.nodes().filter(|(path, _)| !own(path.as_str()));
        let mut told: Vec<String> = znodes.map(|(path, node)| told(path.as_str(), node)).collect();
        told.sort();
        let more = told.len().saturating_sub(TOLD);
        told.truncate(TOLD);
        if more > 0 {
            told.push(format!("and {more} more"));
        }
        match told.is_empty() {
            true => format!("it does not hold of the tree as of {last}, which is empty"),
            false => format!("it does not hold of the tree as of {last}: {}", told.join(", ")),
        }
    }

    /// Returns true if the znode is an ephemeral of a session that is still open.
    fn goes_by_itself(self, path: &str) -> bool {
        let owner = self.tree.node(path).and_then(|node| node.ephemeral_owner());
        owner.is_some_and(|owner| self.is_open(owner))
    }
}

/// The most znodes of a tree that a sentence names.
const TOLD: usize = 24;
/// The most bytes of a znode's data in such a sentence.
const TOLD_BYTES: usize = 48;

/// Returns a sentence's words for a znode.
fn told(path: &str, node: &Znode) -> String {
    let mut words = path.to_string();
    if !node.data.is_empty() {
        let shown = &node.data[..node.data.len().min(TOLD_BYTES)];
        let dots = if shown.len() < node.data.len() { "…" } else { "" };
        words.push_str(&format!(" {:?}{dots}", String::from_utf8_lossy(shown)));
    }
    if let Some(owner) = node.ephemeral_owner() {
        words.push_str(&format!(" (ephemeral of {owner})"));
    }
    words
}

type Condition = dyn Fn(Tree<'_>) -> Result<(), String> + Send + Sync;

fn condition<J: Judgement>(
    holds: impl Fn(Tree<'_>) -> J + Send + Sync + 'static,
) -> Closure<Condition> {
    Closure(Arc::new(move |tree: Tree<'_>| holds(tree).judged(&|| tree.unfit())))
}

/// The rule of [`tree_always`].
#[derive(Clone, Hash)]
pub struct TreeAlways(Closure<Condition>);

/// A condition on the tree after every commit; a multi counts as one commit.
///
/// Both engines; judged when each commit is first reported. The tree that a run begins with is not judged.
///
/// ```
/// use vivarium::prelude::*;
///
/// let one_leader = tree_always("one leader", |tree| tree.children("/leaders").len() <= 1);
/// # let _ = Test::new("t", |_| async { Ok(()) }).monitor(one_leader);
/// ```
pub fn tree_always<J: Judgement>(
    name: &'static str,
    holds: impl Fn(Tree<'_>) -> J + Send + Sync + 'static,
) -> Property<TreeAlways> {
    Property::new(name, TreeAlways(condition(holds)))
}

impl Rule for TreeAlways {
    fn reach(&self) -> LooksBack {
        LooksBack::Tip
    }

    fn concerns(&self, event: &Event) -> bool {
        matches!(event, Event::Committed { .. })
    }

    fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), String> {
        match event {
            Event::Committed { txn, .. } if view.history.is_new(txn) => (self.0)(Tree::of(view)),
            _ => Ok(()),
        }
    }
}

/// The rule of [`tree_at_end`].
#[derive(Clone, Hash)]
pub struct TreeAtEnd(Closure<Condition>);

/// A condition on the tree at the end.
///
/// Both engines; judged at the end: in a sweep when all faults are healed and every program has finished, in a search
/// in each state in which no step is left.
///
/// ```
/// use vivarium::prelude::*;
///
/// let done = tree_at_end("all is done", |tree: Tree<'_>| match tree.children("/jobs").first() {
///     None => Ok(()),
///     Some(job) => Err(format!("{job} is left over")),
/// });
/// # let _ = Test::new("t", |_| async { Ok(()) }).monitor(done);
/// ```
pub fn tree_at_end<J: Judgement>(
    name: &'static str,
    holds: impl Fn(Tree<'_>) -> J + Send + Sync + 'static,
) -> Property<TreeAtEnd> {
    Property::new(name, TreeAtEnd(condition(holds)))
}

impl Rule for TreeAtEnd {
    fn end(&mut self, view: View<'_>, _ended: &Ended<'_>) -> Result<(), String> {
        (self.0)(Tree::of(view))
    }
}

/// The rule of [`no_ghosts_under`].
#[derive(Clone, Hash)]
pub struct NoGhosts {
    path: Arc<str>,
    legal: Closure<dyn Fn(&str) -> bool + Send + Sync>,
}

/// At the end, no znode below this path is left over: none remains except ephemerals of sessions that are still open
/// (a program that has just finished leaves its session open in a sweep; a search waits for its end).
///
/// Both engines; judged at the end, when every program has finished: a znode is no ghost if its program, or another
/// one after it, deletes it before the end.
///
/// ```
/// use vivarium::prelude::*;
///
/// let tidy = no_ghosts_under("/lock").but_for(|path| path.ends_with("/config"));
/// # let _ = Test::new("t", |_| async { Ok(()) }).monitor(tidy);
/// ```
pub fn no_ghosts_under(path: &str) -> Property<NoGhosts> {
    let legal = Closure(Arc::new(|_: &str| false) as Arc<_>);
    Property::new("no ghosts", NoGhosts { path: Arc::from(path), legal })
}

impl Property<NoGhosts> {
    /// Allows znodes with such paths.
    #[must_use]
    pub fn but_for(mut self, legal: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.rule.legal = Closure(Arc::new(legal));
        self
    }
}

impl Rule for NoGhosts {
    fn end(&mut self, view: View<'_>, _ended: &Ended<'_>) -> Result<(), String> {
        let tree = Tree::of(view);
        let is_ghost = |path: &&str| !tree.goes_by_itself(path) && !(self.legal)(path);
        match tree.under(&self.path).find(is_ghost) {
            None => Ok(()),
            Some(ghost) => {
                let czxid = tree.stat(ghost).expect("it stands").czxid;
                Err(format!(
                    "{ghost} (czxid {czxid}) still exists, but no client is left to delete it"
                ))
            }
        }
    }
}

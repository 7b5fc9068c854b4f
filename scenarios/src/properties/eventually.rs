//! In the end it is said.

use super::property::{Ended, Hears, Key, Property, Rule};
use super::said::Said;
use std::collections::BTreeSet;
use std::sync::Arc;
use vivarium_model::id::ClientId;
use vivarium_model::property::View;

/// See [`eventually`].
#[derive(Clone, Hash)]
pub struct Eventually {
    name: Arc<str>,
    /// Not somebody is enough, but each.
    each: bool,
    anybody: bool,
    /// Who said it, where each must.
    who: BTreeSet<ClientId>,
}

/// By the end somebody has said `name`, be it through another process of the same client, before it was
/// killed.
///
/// Both engines; judged at the end, never before. In a sweep that is when all faults are over, everything is
/// mended, every program has finished and what was under way has arrived. In a search it is each state in
/// which nothing can happen any more, not even the end of a sleep. (A program that never finishes is told by
/// the engines themselves, as `progress`; one that goes round for ever has no end in a search.)
///
/// ```
/// use vivarium::prelude::*;
///
/// let led = eventually("led").by_every_client();
/// # let _ = Test::new("t", |_| async { Ok(()) }).monitor(led);
/// ```
pub fn eventually(name: &str) -> Property<Eventually> {
    let (each, anybody, who) = (false, false, BTreeSet::new());
    Property::new("eventually", Eventually { name: Arc::from(name), each, anybody, who })
}

impl Property<Eventually> {
    /// Every client has said it; with [`Property::by`], each of those.
    #[must_use]
    pub fn by_every_client(mut self) -> Self {
        self.rule.each = true;
        self
    }
}

impl Hears for Eventually {}

impl Rule for Eventually {
    fn hears(&self, name: &str) -> bool {
        *name == *self.name
    }

    /// Who said it is a set, and nothing is judged before the end.
    fn orders(&self) -> bool {
        false
    }

    fn said(&mut self, _view: View<'_>, _key: Key, said: &Said<'_>) -> Result<(), String> {
        self.anybody = true;
        if self.each {
            self.who.insert(said.client());
        }
        Ok(())
    }

    fn end(&mut self, _view: View<'_>, ended: &Ended<'_>) -> Result<(), String> {
        let silent = ended.clients.iter().find(|client| !self.who.contains(client));
        match silent.filter(|_| self.each) {
            Some(client) => Err(format!("{client} never said `{}`", self.name)),
            None if self.anybody => Ok(()),
            None => Err(format!("nobody ever said `{}`", self.name)),
        }
    }
}

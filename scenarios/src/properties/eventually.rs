//! An observation that is made by the end.

use super::property::{Ended, Hears, Key, Property, Rule};
use super::said::Said;
use std::collections::BTreeSet;
use std::sync::Arc;
use vivarium_model::id::ClientId;
use vivarium_model::property::View;

/// The rule of [`eventually`].
#[derive(Clone, Hash)]
pub struct Eventually {
    name: Arc<str>,
    /// True if every client must say it, not only one.
    each: bool,
    anybody: bool,
    /// The clients that have said it, if every client must.
    who: BTreeSet<ClientId>,
}

/// By the end, at least one client has said `name`. An observation of a process that was killed later counts.
///
/// Both engines; judged only at the end. In a sweep this is when all faults are over and healed, every program has
/// finished, and everything in flight has arrived. In a search it is each state in which no step is left, not even
/// the end of a sleep. (The engines themselves report a program that never finishes, as `progress`; a program that
/// loops for ever has no end in a search.)
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
    /// Requires that every client says it; with [`Property::by`], each of the named ones.
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

    /// The clients that said it are a set, and the property is judged only at the end.
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
            None => Err(format!("no client ever said `{}`", self.name)),
        }
    }
}

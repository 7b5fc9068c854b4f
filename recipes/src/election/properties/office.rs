//! E6: the client in office is the first of the candidates, at every zxid of the committed history.
//!
//! A client takes office in a transaction that checks its candidate znode, and leaves office in the transaction that
//! deletes that znode. A client that deletes another candidate's znode would violate this; no program here does so.

use crate::contention::contender::{self, Contender};
use crate::election::office;
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::minds;
use vivarium_model::property::{Declaration, Declared, LooksBack, Objection, View};

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct Office {
    election: Arc<str>,
    office: Arc<str>,
}

impl Office {
    /// Watches the election in this directory.
    pub fn new(directory: &str) -> Office {
        Office { election: directory.into(), office: office(directory).into() }
    }
}

impl Declared for Office {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "election E6 office",
        LooksBack::Tip,
        minds! { |this, view, event|
            Event::Committed { .. } => this.committed(view),
        },
    );
}

impl Office {
    fn committed(&self, view: View<'_>) -> Result<(), Objection> {
        let tree = view.history.tree();
        let Some(office) = tree.node(&self.office) else { return Ok(()) };
        let names = tree.children(&self.election).unwrap_or_default();
        let znode = |name: &str| tree.node(&contender::child(&self.election, name));
        let contenders = names.iter().filter_map(|name| {
            let created = znode(name)?.czxid;
            Some(Contender::parse(name)?.created_at(created))
        });
        let first = Contender::first(contenders);
        let owner = |name: &str| znode(name).map(|znode| znode.ephemeral_type);
        if first.and_then(|first| owner(first.name())) == Some(office.ephemeral_type) {
            return Ok(());
        }
        let owner = office.ephemeral_owner();
        let holder = owner.map_or("no session".to_string(), |session| session.to_string());
        let candidate = first.map_or("there is no candidate".to_string(), |first| {
            format!("the first candidate is {}", first.name())
        });
        let saw = format!("{} is held by {holder}, and {candidate}", self.office);
        Err(owner.into_iter().fold(self.objection(saw), Objection::about))
    }
}

//! The properties of an exclusive lock, and of every recipe whose contenders line up, as monitors (recipe rules 2.8.7
//! and 2.8.8).
//!
//! M1, M4, M5, M6, M8 and M9 concern znodes in the committed history; M2 and M3 concern the beliefs of programs,
//! compared with that history. A belief can outlive its znode, because a program cannot learn at once that its
//! session is over (it is then a *zombie*). This is legal as long as the session is closed in the committed history,
//! and harmless to a resource that checks the fencing token.
//!
//! | | property | class |
//! |---|---|---|
//! | M1 | no grant while a smaller contender exists in the committed history | event |
//! | M2 | two beliefs overlap only if the smaller token's session is closed | event |
//! | M3 | tokens are czxids, unique, and grow with the grants that count | event |
//! | M4 | a guarded write commits only while its lock znode exists | event |
//! | M5 | an attempt that ended leaves no znode: within a time; at rest | run; event |
//! | M6 | no attempt waits for its own znode | event |
//! | M8 | an attempt that has not ended does not delete its znode | event |
//! | M9 | no name with an attempt's id is created twice | event |
//!
//! Each monitor takes one lock directory and ignores everything else. No monitor that runs in a search looks back in
//! the committed history: it keeps what it needs of the past in its own state.

pub mod belief;
pub(crate) mod creations;
pub mod exclusion;
pub mod fencing;
pub mod guarded_write;
pub mod keeps_its_place;
pub mod names_once;
pub mod no_leak;
pub mod no_leak_at_rest;
pub mod no_self_wait;
pub mod own_belief;
#[cfg(test)]
pub(crate) mod scene;

pub use belief::Belief;
pub use exclusion::Exclusion;
pub use fencing::Fencing;
pub use guarded_write::GuardedWrite;
pub use keeps_its_place::KeepsItsPlace;
pub use names_once::NamesOnce;
pub use no_leak::NoLeak;
pub use no_leak_at_rest::NoLeakAtRest;
pub use no_self_wait::NoSelfWait;
pub use own_belief::OwnBelief;

use super::contender::{self, Contender};
use std::sync::Arc;
use vivarium_model::id::SessionId;
use vivarium_model::property::View;
use vivarium_model::tree::Znode;

/// Returns the contenders that exist in the committed history: full path, attempt id and znode.
fn contenders<'a>(
    view: View<'a>,
    directory: &'a str,
) -> impl Iterator<Item = (String, Option<String>, Arc<Znode>)> + 'a {
    let tree = view.history.tree();
    let names = tree.children(directory).unwrap_or_default();
    names.into_iter().filter_map(move |name| {
        let contender = Contender::parse(&name)?;
        let path = contender::child(directory, &name);
        let node = Arc::clone(tree.node(&path)?);
        Some((path, contender.attempt().map(str::to_owned), node))
    })
}

/// Returns true if a session has ended (or never began) in the committed history.
pub(crate) fn is_closed(view: View<'_>, session: SessionId) -> bool {
    !view.history.tree().sessions().contains_key(&session)
}

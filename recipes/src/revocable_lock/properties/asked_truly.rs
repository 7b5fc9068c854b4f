//! RV5, asked truly: if a program believes that an owner was asked for the lock, a request was written to that
//! owner's znode. Another program may have written it.

use super::line::{Kind, Line};
use crate::revocable_lock::RevocationSeen;
use std::collections::BTreeSet;
use std::sync::Arc;
use vivarium_model::minds;
use vivarium_model::path::ZnodePath;
use vivarium_model::property::{Declaration, Declared, LooksBack};

/// See the module.
#[derive(Clone, Debug, Hash)]
pub struct AskedTruly {
    lock: Arc<str>,
    line: Line,
    /// The znodes to which requests were written, including deleted ones: names are not used again.
    asked: BTreeSet<ZnodePath>,
}

impl AskedTruly {
    /// Watches the lock in this directory.
    pub fn new(directory: &str) -> AskedTruly {
        AskedTruly { lock: directory.into(), line: Line::new(directory), asked: BTreeSet::new() }
    }
}

impl Declared for AskedTruly {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "revocable lock RV5 asked truly",
        LooksBack::Tip,
        minds! { |this, view, event|
            Committed(txn) => {
                let changes = this.line.see(txn).into_iter();
                this.asked.extend(changes.filter(|it| it.kind == Kind::Asked).map(|it| it.path));
            },
            #[needed]
            Observed(client, RevocationSeen::Requested { lock, node }) => {
                match *lock == this.lock && !this.asked.contains(&**node) {
                    true => Err(this.objection(format!("{client} believes that it has asked {node}, but no client \
                                                        has"))),
                    false => Ok(()),
                }
            },
        },
    );
}

#[cfg(test)]
mod tests {
    use super::super::consent::tests::{ask, seen, set};
    use super::*;
    use crate::contention::properties::scene::*;

    #[test]
    fn who_has_not_asked_and_believes_it_is_refused() {
        let believes = |data: Option<&[u8]>| {
            let mut scene = Scene::new(AskedTruly::new(LOCK));
            let node = node("a", 0);
            scene.create(S1, 2, &node);
            match data {
                Some(data) => set(&mut scene, S2, &node, data),
                None => ask(&mut scene, S2, &node),
            }
            scene.delete(S1, 4, &node);
            let (lock, node) = (LOCK.into(), node.as_str().into());
            seen(&mut scene, 2, S2, RevocationSeen::Requested { lock, node });
            scene.end()
        };
        assert_eq!(believes(None), None);
        insta::assert_snapshot!(believes(Some(b"note")).unwrap_or_default(), @"revocable lock RV5 asked truly: client 2 believes that it has asked /lock/a-lock-0000000000, but no client has");
    }
}

//! The assignment of items to members (recipe rule 2.19.2).

use crate::contention::FencingToken;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The items that a member may use at a time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Share {
    items: BTreeMap<Arc<str>, FencingToken>,
}

impl Share {
    pub(super) fn of(items: impl IntoIterator<Item = (Arc<str>, FencingToken)>) -> Share {
        Share { items: items.into_iter().collect() }
    }

    /// Returns the items with their fencing tokens, in textual order.
    pub fn items(&self) -> impl Iterator<Item = (&str, FencingToken)> {
        self.items.iter().map(|(item, token)| (&**item, *token))
    }

    /// Returns the fencing token of an item: a resource that refuses smaller tokens than the largest one seen for the
    /// item is safe from earlier users. Returns `None` for items outside of the share.
    pub fn token(&self, item: &str) -> Option<FencingToken> {
        self.items.get(item).copied()
    }
}

/// Returns the share of the member `id`: of the items in textual order, every n-th, where n is the number of members,
/// starting at the member's own index in textual order. Empty if `id` is no member.
///
/// ```
/// use vivarium_recipes::partitioner::allocation;
///
/// let items = ["a", "b", "c", "d", "e"].map(Into::into);
/// let members = ["one", "two"].map(Into::into);
/// assert_eq!(allocation(&items, &members, "one"), ["a", "c", "e"].map(Into::into));
/// assert_eq!(allocation(&items, &members, "two"), ["b", "d"].map(Into::into));
/// assert_eq!(allocation(&items, &members, "six"), []);
/// ```
pub fn allocation(items: &[Arc<str>], members: &[Arc<str>], id: &str) -> Vec<Arc<str>> {
    let mut items = items.to_vec();
    items.sort();
    let mut members = members.to_vec();
    members.sort();
    match members.iter().position(|member| **member == *id) {
        None => Vec::new(),
        Some(place) => items.into_iter().skip(place).step_by(members.len()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Each item belongs to one member, whatever the order of the lists.
        #[test]
        fn each_item_is_one_members(
            items in prop::collection::btree_set("[a-e]{1,3}", 0..8),
            members in prop::collection::btree_set("[a-e]{1,3}", 1..5),
        ) {
            let text = |names: std::collections::BTreeSet<String>| -> Vec<Arc<str>> {
                names.into_iter().map(Arc::from).collect()
            };
            let (items, mut members) = (text(items), text(members));
            let mut all = Vec::new();
            for member in members.clone() {
                let share = allocation(&items, &members, &member);
                members.reverse();
                prop_assert_eq!(&share, &allocation(&items, &members, &member));
                prop_assert!(share.len() <= items.len().div_ceil(members.len()));
                all.extend(share);
            }
            all.sort();
            prop_assert_eq!(all, items);
        }
    }
}

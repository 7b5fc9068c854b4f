//! `ContainerManager`: the leader deletes containers that have lost their children and TTL znodes
//! that have not been changed for long (rules 1.5.4 and 1.5.5).
//!
//! It looks every `znode.container.checkIntervalMs`, makes a list, and puts one `deleteContainer` of session 0 after the
//! other into `prep`, `znode.container.maxPerMinute` of them in a minute at most. `prep` looks again whether there are
//! children, and at nothing else. A look that is due while the list is worked off follows at once. The timers run
//! only while the tree holds such a znode; a leader of a tree without any would only look in vain.
//!
//! Where this differs: the list is in the order of paths (there, of a hash set), and when the role ends it is given up
//! (there, the rest of it goes to a queue that is no longer read).

use super::Leading;
use crate::server::context::{Context, Stays};
use crate::server::prep::Asker;
use crate::tree::{DataTree, EphemeralType};
use crate::vocabulary::id::Xid;
use crate::vocabulary::op::Request;
use crate::vocabulary::packet::ServerRequest;
use crate::vocabulary::path::ZnodePath;
use crate::vocabulary::release::Bug;
use crate::vocabulary::timer::ServerTimer;
use std::collections::VecDeque;
use std::sync::Arc;

/// What the container manager is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Containers {
    /// Whether [`ServerTimer::Containers`] is armed.
    looks: bool,
    /// What it has found and not asked for yet. [`ServerTimer::DeleteContainer`] is armed while there is something.
    listed: VecDeque<ZnodePath>,
    /// A look was due while the list was worked off.
    is_late: bool,
}

impl Containers {
    /// The timers that are armed.
    pub(super) fn timers(&self) -> impl Iterator<Item = ServerTimer> {
        let looks = self.looks.then_some(ServerTimer::Containers);
        let deletes = (!self.listed.is_empty()).then_some(ServerTimer::DeleteContainer);
        looks.into_iter().chain(deletes)
    }
}

impl Leading<'_> {
    /// The tree of an established leader may have gained the first znode to look after.
    pub(super) fn watch_containers(&mut self, context: &mut Context<'_>) {
        let wanted = self.database.tree.reaped().next().is_some();
        if wanted && self.leader.is_established() && !self.leader.containers.looks {
            self.leader.containers.looks = true;
            let interval = context.config.options.container_check_interval;
            context.arm(ServerTimer::Containers, interval);
        }
    }

    /// The interval is over.
    pub(in crate::server) fn check_containers(&mut self, context: &mut Context<'_>) -> Stays {
        let was_armed = std::mem::take(&mut self.leader.containers.looks);
        assert!(was_armed, "{}: the timer of its containers is not armed", context.id);
        if self.leader.containers.listed.is_empty() {
            return self.look_for_containers(context);
        }
        self.leader.containers.is_late = true;
        Ok(())
    }

    /// It is time for the next deletion.
    pub(in crate::server) fn delete_next_container(&mut self, context: &mut Context<'_>) -> Stays {
        let containers = &mut self.leader.containers;
        let next = containers.listed.pop_front();
        let path = next.expect("the timer is armed while something is listed");
        let is_last = containers.listed.is_empty();
        if !is_last {
            let between = context.config.options.between_container_deletions();
            context.arm(ServerTimer::DeleteContainer, between);
        }
        if context.config.bugs.has(Bug::ContainerListIsOld) || self.may_delete(&path, context) {
            let request = Request::DeleteContainer { path: path.shared() };
            let request = ServerRequest::Client(Arc::new(request));
            self.prepare(&Asker::nobody(), Xid(0), &request, context)?;
        }
        if is_last && std::mem::take(&mut self.leader.containers.is_late) {
            return self.look_for_containers(context);
        }
        Ok(())
    }

    fn look_for_containers(&mut self, context: &mut Context<'_>) -> Stays {
        self.leader.containers.listed = candidates(&self.database.tree, context);
        match context.config.bugs.has(Bug::PlantedContainersStay) {
            true => self.leader.containers.looks = true,
            false => self.watch_containers(context),
        }
        match self.leader.containers.listed.is_empty() {
            true => Ok(()),
            false => self.delete_next_container(context),
        }
    }

    /// Whether a znode of the list is still to be deleted, with whatever is under way.
    fn may_delete(&mut self, path: &ZnodePath, context: &Context<'_>) -> bool {
        is_due(&self.database.tree, path, context) && !self.leader.prep_mut().is_changing(path)
    }
}

/// What is to be deleted, in path order.
fn candidates(tree: &DataTree, context: &Context<'_>) -> VecDeque<ZnodePath> {
    tree.reaped().filter(|path| is_due(tree, path, context)).cloned().collect()
}

/// Whether a znode is to be deleted. Never a container that never had a child, unless the
/// configuration says after how long.
fn is_due(tree: &DataTree, path: &ZnodePath, context: &Context<'_>) -> bool {
    let (now, bugs) = (context.at.milliseconds(), context.config.bugs);
    let Some((_, node, children)) = tree.find(path) else { return false };
    let older_than = |time: u64, limit: u128| u128::from(now.saturating_sub(time)) > limit;
    children == 0
        && match node.ephemeral_type {
            EphemeralType::Container if node.cversion > 0 => true,
            EphemeralType::Container if bugs.has(Bug::PlantedContainersAtOnce) => true,
            EphemeralType::Container => {
                let limit = context.config.options.max_never_used_interval;
                limit.is_some_and(|limit| older_than(node.mtime, limit.as_millis()))
            }
            EphemeralType::Ttl(ttl) if bugs.has(Bug::PlantedTtlSinceCreation) => {
                older_than(node.ctime, ttl.as_millis())
            }
            EphemeralType::Ttl(ttl) => older_than(node.mtime, ttl.as_millis()),
            EphemeralType::Void | EphemeralType::Normal(_) => false,
        }
}

//! `ContainerManager`: the leader deletes containers that have lost their children, and TTL znodes that have not
//! changed for long (rules 1.5.4 and 1.5.5).
//!
//! Every `znode.container.checkIntervalMs` it makes a list, and passes one `deleteContainer` of session 0 after the
//! other to `prep`, at most `znode.container.maxPerMinute` of them per minute. `prep` checks again only that there
//! are no children. A check that becomes due before the list is finished follows the list immediately. The timers run
//! only while the tree contains such a znode, because the leader's checks would find nothing otherwise.
//!
//! Differences: the list is in path order (in ZooKeeper, in the order of a hash set), and the end of the role
//! discards it (in ZooKeeper, the rest goes to a queue that is no longer read).

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

/// The state of the container manager.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Containers {
    /// True if [`ServerTimer::Containers`] is armed.
    looks: bool,
    /// Znodes to delete and not requested yet. [`ServerTimer::DeleteContainer`] is armed unless it is empty.
    listed: VecDeque<ZnodePath>,
    /// True if a check became due before the list was finished.
    is_late: bool,
}

impl Containers {
    /// Returns the timers that are armed.
    pub(super) fn timers(&self) -> impl Iterator<Item = ServerTimer> {
        let looks = self.looks.then_some(ServerTimer::Containers);
        let deletes = (!self.listed.is_empty()).then_some(ServerTimer::DeleteContainer);
        looks.into_iter().chain(deletes)
    }
}

impl Leading<'_> {
    /// Starts the checks if the tree of an established leader contains such a znode.
    pub(super) fn watch_containers(&mut self, context: &mut Context<'_>) {
        let wanted = self.database.tree.reaped().next().is_some();
        if wanted && self.leader.is_established() && !self.leader.containers.looks {
            self.leader.containers.looks = true;
            let interval = context.config.options.container_check_interval;
            context.arm(ServerTimer::Containers, interval);
        }
    }

    /// Handles the timer of the check.
    pub(in crate::server) fn check_containers(&mut self, context: &mut Context<'_>) -> Stays {
        let was_armed = std::mem::take(&mut self.leader.containers.looks);
        assert!(was_armed, "{}: the timer of its containers is not armed", context.id);
        if self.leader.containers.listed.is_empty() {
            return self.look_for_containers(context);
        }
        self.leader.containers.is_late = true;
        Ok(())
    }

    /// Handles the timer of the next deletion.
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

    /// Returns true if a znode of the list is still to be deleted, given the tree and the outstanding changes.
    fn may_delete(&mut self, path: &ZnodePath, context: &Context<'_>) -> bool {
        is_due(&self.database.tree, path, context) && !self.leader.prep_mut().is_changing(path)
    }
}

/// Returns the znodes to delete, in path order.
fn candidates(tree: &DataTree, context: &Context<'_>) -> VecDeque<ZnodePath> {
    tree.reaped().filter(|path| is_due(tree, path, context)).cloned().collect()
}

/// Returns true if a znode is to be deleted. A container that never had a child is deleted only if the configuration
/// says after how long.
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

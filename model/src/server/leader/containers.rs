//! `ContainerManager`: the leader deletes containers that have lost their children and TTL znodes
//! that nobody has changed for long (rule 1.5.4).
//!
//! It looks every `znode.container.checkIntervalMs` and puts a `deleteContainer` of session 0 into
//! `prep`, which looks again whether there are children, and at nothing else. The timer is armed
//! only while the tree holds such a znode; a leader of a tree without any would only look in vain.
//! The rate limit (10,000 a minute) is not modelled.

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
use std::sync::Arc;

impl Leading<'_> {
    /// The tree of an established leader may have gained the first znode to look after.
    pub(super) fn watch_containers(&mut self, context: &mut Context<'_>) {
        let wanted = self.database.tree.reaped().next().is_some();
        if wanted && self.leader.is_established() && !self.leader.watches_containers {
            self.leader.watches_containers = true;
            let interval = context.config.options.container_check_interval;
            context.arm(ServerTimer::Containers, interval);
        }
    }

    /// The interval is over.
    pub(in crate::server) fn check_containers(&mut self, context: &mut Context<'_>) -> Stays {
        let was_armed = std::mem::take(&mut self.leader.watches_containers);
        assert!(was_armed, "{}: the timer of its containers is not armed", context.id);
        for path in candidates(&self.database.tree, context) {
            let request = Request::DeleteContainer { path: path.shared() };
            let request = ServerRequest::Client(Arc::new(request));
            self.prepare(&Asker::nobody(), Xid(0), &request, context)?;
        }
        match context.config.bugs.has(Bug::PlantedContainersStay) {
            true => self.leader.watches_containers = true,
            false => self.watch_containers(context),
        }
        Ok(())
    }
}

/// What is to be deleted, in path order. Never a container that never had a child, unless the
/// configuration says after how long.
fn candidates(tree: &DataTree, context: &Context<'_>) -> Vec<ZnodePath> {
    let (now, bugs) = (context.at.milliseconds(), context.config.bugs);
    let is_due = |path: &&ZnodePath| {
        let Some((_, node, children)) = tree.find(path) else { return false };
        let older_than = |time: u64, limit: u128| u128::from(now.saturating_sub(time)) > limit;
        children == 0
            && match node.ephemeral_type {
                EphemeralType::Container if node.cversion > 0 => true,
                EphemeralType::Container if bugs.has(Bug::PlantedContainersAtOnce) => true,
                EphemeralType::Container => {
                    let limit = context.config.options.max_never_used_interval;
                    limit.is_some_and(|limit| older_than(node.ctime, limit.as_millis()))
                }
                EphemeralType::Ttl(ttl) if bugs.has(Bug::PlantedTtlSinceCreation) => {
                    older_than(node.ctime, ttl.as_millis())
                }
                EphemeralType::Ttl(ttl) => older_than(node.mtime, ttl.as_millis()),
                EphemeralType::Void | EphemeralType::Normal(_) => false,
            }
    };
    tree.reaped().filter(is_due).cloned().collect()
}

//! The leader's deletion of containers that have lost their children, and of TTL znodes without children (rule
//! 1.5.4).
//!
//! There is no clock, so everything that can become due by waiting is due. The leader's check and the decision of
//! `prep` are one step. So the model does not try a znode that is deleted and created anew in between, which the
//! leader would delete in place of the one that was due (rule 1.5.5).

use super::Service;
use crate::program::machines::ProgramState;
use crate::server::prep::Asker;
use crate::tree::{DataTree, EphemeralType};
use crate::vocabulary::config::ServerOptions;
use crate::vocabulary::effect::{Effects, Status};
use crate::vocabulary::id::Xid;
use crate::vocabulary::note::Note;
use crate::vocabulary::op::Request;
use crate::vocabulary::path::ZnodePath;
use crate::vocabulary::step::Step;
use std::sync::Arc;

impl Service {
    /// Appends the deletions of containers and TTL znodes that the leader can make, if it makes any
    /// ([`deletes_containers`](crate::vocabulary::config::Config::deletes_containers)).
    pub fn deletions(&self, steps: &mut Vec<Step>) {
        if self.config.deletes_containers {
            let tree = &self.log.last().tree;
            let due = (0..).zip(tree.reaped()).filter(|(_, path)| self.is_due(tree, path));
            steps.extend(due.map(|(at, _)| Step::DeleteContainer(at)));
        }
    }

    /// Appends the deletions that happen with time. There are none after every program has finished, since no program
    /// can observe them.
    pub fn deletions_in_time(&self, steps: &mut Vec<Step>) {
        if self.clients.iter().any(|node| node.program != ProgramState::Finished) {
            self.deletions(steps);
        }
    }

    /// Returns the step in which the leader deletes this znode, if it can.
    pub fn deletion_of(&self, path: &ZnodePath) -> Option<Step> {
        let tree = &self.log.last().tree;
        let (at, path) = (0..).zip(tree.reaped()).find(|(_, known)| *known == path)?;
        self.is_due(tree, path).then_some(Step::DeleteContainer(at))
    }

    pub(super) fn delete_container(&mut self, at: u16, effects: &mut Effects) -> Status {
        let tree = &self.log.last().tree;
        let path = tree.reaped().nth(usize::from(at)).filter(|path| self.is_due(tree, path));
        let Some(path) = path.map(ZnodePath::shared) else { return Status::NotEnabled };
        effects.note(|| Note::ContainerDeleted { path: Arc::clone(&path) });
        let request = Arc::new(Request::DeleteContainer { path });
        // The leader ignores the result, as `ContainerManager` does.
        let _ = self.decide(&Asker::nobody(), Xid(0), &request, effects);
        Status::Done
    }

    fn is_due(&self, tree: &DataTree, path: &ZnodePath) -> bool {
        let (_, node, children) = tree.find(path).expect("it is listed");
        children == 0 && can_become_due(node.ephemeral_type, node.cversion, &self.config.options)
    }
}

/// Returns true if a znode without children can become due.
fn can_become_due(kind: EphemeralType, cversion: i32, options: &ServerOptions) -> bool {
    match kind {
        EphemeralType::Container => cversion > 0 || options.max_never_used_interval.is_some(),
        EphemeralType::Ttl(_) => true,
        EphemeralType::Void | EphemeralType::Normal(_) => false,
    }
}

//! Election mail: one slot for each ordered pair of servers.

use super::Network;
use crate::vocabulary::effect::Effects;
use crate::vocabulary::id::ServerId;
use crate::vocabulary::packet::Notification;
use crate::vocabulary::step::Step;

/// The mailbox of one ordered pair of servers (rule 5.6.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mailbox {
    /// Not yet delivered.
    pub(super) pending: Option<Notification>,
    /// The last one sent: sent again when the pair reconnects and nothing newer waits.
    last: Option<Notification>,
}

impl Network {
    /// Puts a notification into its mailbox, over any older one that is still there.
    pub fn mail(
        &mut self,
        from: ServerId,
        to: ServerId,
        notification: Notification,
        effects: &mut Effects,
    ) {
        effects.absorb(&notification);
        let mailbox = &mut self.mail[from.index()].make_mut()[to.index()];
        let fresh = mailbox.pending.replace(notification).is_none();
        mailbox.last = Some(notification);
        if fresh {
            effects.due(Step::Vote { from, to });
        }
    }

    /// The notification that waits.
    pub fn waiting_mail(&self, from: ServerId, to: ServerId) -> Option<Notification> {
        self.mail[from.index()][to.index()].pending
    }

    /// Takes the notification out of its mailbox.
    pub fn take_mail(&mut self, from: ServerId, to: ServerId) -> Option<Notification> {
        self.mail[from.index()][to.index()].pending?;
        self.mail[from.index()].make_mut()[to.index()].pending.take()
    }

    /// The pair reconnects: the last notification is sent again unless one waits (rule 5.6.2).
    pub fn reconnect_mail(&mut self, from: ServerId, to: ServerId, effects: &mut Effects) {
        let mailbox = self.mail[from.index()][to.index()];
        if mailbox.pending.is_none() && mailbox.last.is_some() {
            self.mail[from.index()].make_mut()[to.index()].pending = mailbox.last;
            effects.due(Step::Vote { from, to });
        }
    }

    /// Whether a notification waits.
    pub fn has_mail(&self, from: ServerId, to: ServerId) -> bool {
        self.mail[from.index()][to.index()].pending.is_some()
    }

    /// A server's process dies: what it had to say goes with it.
    pub fn forget_mail(&mut self, from: ServerId) {
        self.mail[from.index()].make_mut().fill(Mailbox::default());
    }
}

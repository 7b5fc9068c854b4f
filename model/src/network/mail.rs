//! Election messages: one mailbox slot for each ordered pair of servers.

use super::Network;
use crate::vocabulary::effect::Effects;
use crate::vocabulary::id::ServerId;
use crate::vocabulary::packet::Notification;
use crate::vocabulary::step::Step;

/// The mailbox of one ordered pair of servers (rule 5.6.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mailbox {
    /// The notification that is not delivered yet.
    pub(super) pending: Option<Notification>,
    /// The last notification sent. It is sent again when the pair reconnects, unless a newer one is pending.
    last: Option<Notification>,
}

impl Network {
    /// Puts a notification into its mailbox; it replaces an undelivered one.
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

    /// Returns the notification that is not delivered yet.
    pub(crate) fn waiting_mail(&self, from: ServerId, to: ServerId) -> Option<Notification> {
        self.mail[from.index()][to.index()].pending
    }

    /// Removes the notification from its mailbox and returns it.
    pub(crate) fn take_mail(&mut self, from: ServerId, to: ServerId) -> Option<Notification> {
        self.mail[from.index()][to.index()].pending?;
        self.mail[from.index()].make_mut()[to.index()].pending.take()
    }

    /// Reconnects a pair: the last notification is sent again unless one is pending (rule 5.6.2).
    pub(crate) fn reconnect_mail(&mut self, from: ServerId, to: ServerId, effects: &mut Effects) {
        let mailbox = self.mail[from.index()][to.index()];
        if mailbox.pending.is_none() && mailbox.last.is_some() {
            self.mail[from.index()].make_mut()[to.index()].pending = mailbox.last;
            effects.due(Step::Vote { from, to });
        }
    }

    /// Returns true if a notification is pending.
    pub fn has_mail(&self, from: ServerId, to: ServerId) -> bool {
        self.mail[from.index()][to.index()].pending.is_some()
    }

    /// Empties the mailboxes of a sender whose process has died.
    pub(crate) fn forget_mail(&mut self, from: ServerId) {
        self.mail[from.index()].make_mut().fill(Mailbox::default());
    }
}

//! Streams that a program can await besides its calls: watches, and changes of its session.

use super::transport::{Subscription, Ticket, Transport, Unseen};
use crate::program::host::Outcome;
use crate::vocabulary::error::Error;
use crate::vocabulary::op::{EventType, SessionChange, SessionState, WatchedEvent};
use crate::vocabulary::zxid::Zxid;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// A one-shot watch set by a read (rule 3.1.1). Dropping it forgets it: the watch stays at the server, but its event
/// is no longer an input.
#[must_use = "a dropped watch never fires"]
pub struct Watch {
    transport: Arc<dyn Transport>,
    ticket: Option<Ticket>,
    /// True if the event's zxid is hidden.
    timeless: bool,
}

impl Watch {
    pub(super) fn new(transport: Arc<dyn Transport>, ticket: Ticket) -> Watch {
        Watch { transport, ticket: Some(ticket), timeless: false }
    }

    /// Returns this watch, with the zxid of its event hidden.
    pub(super) fn timeless(mut self) -> Watch {
        if let Some(ticket) = self.ticket {
            self.transport.keep_back(ticket, Unseen::Content);
        }
        self.timeless = true;
        self
    }

    /// Waits until the watch fires. Dropping the returned future loses nothing: a later call continues to wait.
    ///
    /// An event of the kind DataWatchRemoved or ChildWatchRemoved, with zxid 0, reports that
    /// [`ZooKeeper::remove_watches`](super::ZooKeeper::remove_watches) removed the watch.
    ///
    /// # Errors
    /// `SessionExpired` if the session ended first, `AuthFailed` if a server ended it by refusing an identity: the
    /// watch will never fire.
    ///
    /// # Panics
    /// If the watch has fired already: it is one-shot, so a loop around it is an error of the program.
    pub async fn changed(&mut self) -> Result<WatchedEvent, Error> {
        let ticket =
            self.ticket.expect("this watch has fired already: read again to set a new one");
        let outcome = poll_fn(|context| self.transport.poll(ticket, context.waker())).await;
        self.ticket = None;
        match outcome {
            Outcome::Watch(Ok(event)) if self.timeless => {
                Ok(WatchedEvent { zxid: Zxid::ZERO, ..event })
            }
            Outcome::Watch(result) => result,
            other => unreachable!("a watch was answered with {other:?}"),
        }
    }

    /// Returns true if [`Watch::changed`] has returned.
    pub fn has_fired(&self) -> bool {
        self.ticket.is_none()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket {
            self.transport.abandon(ticket);
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").field("has_fired", &self.has_fired()).finish_non_exhaustive()
    }
}

/// A persistent watch (`addWatch`; rule 3.1.1): a stream of events. It returns each event once, in the order in which
/// the server sent them, and misses none while the connection lasts. It does not report changes made while the
/// session had no connection: after a reconnect, read the znodes again. Dropping it forgets it: the watch stays at
/// the server, but its events are no longer inputs.
#[must_use = "a dropped watch tells nothing"]
pub struct PersistentWatch {
    transport: Arc<dyn Transport>,
    stream: Stream,
}

/// The state of a stream of events.
#[derive(Clone, Copy)]
enum Stream {
    /// More events may follow.
    Open(Ticket),
    /// The program has received the last event, but not the end.
    Last,
    /// The program has received the end.
    Over,
}

impl PersistentWatch {
    pub(super) fn new(transport: Arc<dyn Transport>, ticket: Ticket) -> PersistentWatch {
        PersistentWatch { transport, stream: Stream::Open(ticket) }
    }

    /// Waits for the next event; returns immediately if one has arrived already. `None` is the end: the session has
    /// ended, or [`ZooKeeper::remove_watches`](super::ZooKeeper::remove_watches) removed the watch, which the last
    /// event reported (PersistentWatchRemoved, zxid 0). Dropping the returned future loses nothing.
    ///
    /// # Panics
    /// If it has returned `None` already: a loop that goes beyond the end is an error of the program.
    pub async fn next(&mut self) -> Option<WatchedEvent> {
        let next = match self.stream {
            Stream::Open(ticket) => {
                let next = |waker: &Waker| self.transport.poll_events(ticket, waker);
                poll_fn(|context| next(context.waker())).await.ok()
            }
            Stream::Last => None,
            Stream::Over => panic!("this watch has ended already: add a new one"),
        };
        match &next {
            Some(event) if event.kind == EventType::PersistentWatchRemoved => {
                self.stream = Stream::Last;
            }
            Some(_) => {}
            None => self.stream = Stream::Over,
        }
        next
    }
}

impl Drop for PersistentWatch {
    fn drop(&mut self) {
        if let Stream::Open(ticket) = self.stream {
            self.transport.abandon(ticket);
        }
    }
}

impl fmt::Debug for PersistentWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let open = matches!(self.stream, Stream::Open(_));
        f.debug_struct("PersistentWatch").field("open", &open).finish_non_exhaustive()
    }
}

/// Every change of the session's state since the subscription, in order and complete.
pub struct SessionEvents {
    transport: Arc<dyn Transport>,
    subscription: Subscription,
}

impl SessionEvents {
    pub(super) fn new(transport: Arc<dyn Transport>) -> SessionEvents {
        let subscription = transport.subscribe(false);
        SessionEvents { transport, subscription }
    }

    /// Waits for the next change; returns immediately if one has happened already. Dropping the returned future loses
    /// nothing.
    pub async fn next(&mut self) -> SessionState {
        let poll = |context: &mut Context<'_>| {
            self.transport.poll_session(self.subscription, context.waker())
        };
        poll_fn(poll).await.state
    }

    /// Returns the next change that has happened already, without waiting.
    pub fn try_next(&mut self) -> Option<SessionState> {
        match self.transport.poll_session(self.subscription, Waker::noop()) {
            Poll::Ready(change) => Some(change.state),
            Poll::Pending => None,
        }
    }
}

impl Drop for SessionEvents {
    fn drop(&mut self) {
        self.transport.unsubscribe(self.subscription);
    }
}

impl fmt::Debug for SessionEvents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionEvents").finish_non_exhaustive()
    }
}

/// Every change of a session's state since the subscription, with the session's id. It is meant for a task that
/// shares its client with others and must know which session has ended.
pub struct SessionChanges {
    transport: Arc<dyn Transport>,
    subscription: Subscription,
}

impl SessionChanges {
    pub(super) fn new(transport: Arc<dyn Transport>) -> SessionChanges {
        let subscription = transport.subscribe(true);
        SessionChanges { transport, subscription }
    }

    /// Waits for the next change, like [`SessionEvents::next`].
    pub async fn next(&mut self) -> SessionChange {
        poll_fn(|context| self.transport.poll_session(self.subscription, context.waker())).await
    }

    /// Returns the next change that has happened already, without waiting.
    pub fn try_next(&mut self) -> Option<SessionChange> {
        match self.transport.poll_session(self.subscription, Waker::noop()) {
            Poll::Ready(change) => Some(change),
            Poll::Pending => None,
        }
    }
}

impl Drop for SessionChanges {
    fn drop(&mut self) {
        self.transport.unsubscribe(self.subscription);
    }
}

impl fmt::Debug for SessionChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionChanges").finish_non_exhaustive()
    }
}

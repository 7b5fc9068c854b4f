//! What a program may await beside its calls: watches, and changes of its session.

use super::transport::{Subscription, Ticket, Transport, Unseen};
use crate::program::host::Outcome;
use crate::vocabulary::error::Error;
use crate::vocabulary::op::{EventType, SessionChange, SessionState, WatchedEvent};
use crate::vocabulary::zxid::Zxid;
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// A watch that was left by a read (rule 3.1.1). It fires once. Dropping it forgets it: the
/// server's side stays, but its event is no input any more.
#[must_use = "a dropped watch never fires"]
pub struct Watch {
    transport: Arc<dyn Transport>,
    ticket: Option<Ticket>,
    /// Whether the zxid of the event is kept back.
    timeless: bool,
}

impl Watch {
    pub(super) fn new(transport: Arc<dyn Transport>, ticket: Ticket) -> Watch {
        Watch { transport, ticket: Some(ticket), timeless: false }
    }

    /// The same watch, whose event will not tell its zxid.
    pub(super) fn timeless(mut self) -> Watch {
        if let Some(ticket) = self.ticket {
            self.transport.keep_back(ticket, Unseen::Content);
        }
        self.timeless = true;
        self
    }

    /// Waits until the watch fires. Dropping the returned future loses nothing: the next call goes
    /// on waiting.
    ///
    /// An event of the kind DataWatchRemoved or ChildWatchRemoved tells that
    /// [`ZooKeeper::remove_watches`](super::ZooKeeper::remove_watches) took it away; its zxid is 0.
    ///
    /// # Errors
    /// `SessionExpired` when the session ended first, `AuthFailed` when a server ended it by refusing
    /// an identity: the watch will never fire.
    ///
    /// # Panics
    /// When the watch has fired already: a watch is one-shot, and a loop around a used one is a
    /// mistake of the program.
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

    /// Whether [`Watch::changed`] has returned.
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

/// A watch that stays when it fires (`addWatch`; rule 3.1.1): a stream of events. Each is given out
/// once, in the order in which the server sent them; none is left out while the connection lives.
/// What changes while the session has none is not told: after a reconnect, read again what matters.
/// Dropping it forgets it: the server's side stays, but its events are no input any more.
#[must_use = "a dropped watch tells nothing"]
pub struct PersistentWatch {
    transport: Arc<dyn Transport>,
    stream: Stream,
}

/// Where a stream of events stands.
#[derive(Clone, Copy)]
enum Stream {
    /// More may come.
    Open(Ticket),
    /// The program has got its last event, and not been told that it is the last.
    Last,
    /// The program knows.
    Over,
}

impl PersistentWatch {
    pub(super) fn new(transport: Arc<dyn Transport>, ticket: Ticket) -> PersistentWatch {
        PersistentWatch { transport, stream: Stream::Open(ticket) }
    }

    /// Waits for the next event. One that has happened already is returned at once. `None` is the
    /// end: the session has ended, or
    /// [`ZooKeeper::remove_watches`](super::ZooKeeper::remove_watches) took the watch away, of which
    /// the last event has told (PersistentWatchRemoved, zxid 0). Dropping the returned future loses
    /// nothing.
    ///
    /// # Panics
    /// When it was told already that this is the end: a loop around that is a mistake of the program.
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

/// Every change of the session's state since the subscription, in order, none left out.
pub struct SessionEvents {
    transport: Arc<dyn Transport>,
    subscription: Subscription,
}

impl SessionEvents {
    pub(super) fn new(transport: Arc<dyn Transport>) -> SessionEvents {
        let subscription = transport.subscribe(false);
        SessionEvents { transport, subscription }
    }

    /// Waits for the next change. A change that has happened already is returned at once. Dropping
    /// the returned future loses nothing.
    pub async fn next(&mut self) -> SessionState {
        let poll = |context: &mut Context<'_>| {
            self.transport.poll_session(self.subscription, context.waker())
        };
        poll_fn(poll).await.state
    }

    /// The next change that has happened already, without waiting.
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

/// Every change of a session's state since the subscription, with the session: for a task that shares its client with
/// others, and must know whose end it hears of.
pub struct SessionChanges {
    transport: Arc<dyn Transport>,
    subscription: Subscription,
}

impl SessionChanges {
    pub(super) fn new(transport: Arc<dyn Transport>) -> SessionChanges {
        let subscription = transport.subscribe(true);
        SessionChanges { transport, subscription }
    }

    /// Waits for the next change, as [`SessionEvents::next`].
    pub async fn next(&mut self) -> SessionChange {
        poll_fn(|context| self.transport.poll_session(self.subscription, context.waker())).await
    }

    /// The next change that has happened already, without waiting.
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

//! Queues: first in, first out (recipe rule 2.4), or by priority (recipe rule 2.5).
//!
//! # Contract
//!
//! A queue is a directory, and each item is a persistent sequential znode in it. Every [`Queue`] has a ledger
//! ([`Ledger`]) beside the directory, which makes each put and each take one multi that is applied once.
//!
//! *Guarantees.* An item that was put is in the queue once, until one consumer takes it, and no other consumer gets it:
//! exactly once, as long as the consumer lives. The item is lost if a consumer's program dies between the take and its
//! return: at most once, then. If that is unacceptable, use [`crate::ack_queue`], whose items stay until they are
//! acknowledged. A put or take whose connection is lost, or whose session ends, is settled, never guessed: neither
//! returns before its outcome is known. This holds under every fault.
//!
//! *Order.* One consumer takes items in the order in which they were put; with priorities, the smallest number first,
//! and items of equal priority in that order. Each take reads its own list: it skips no better item that existed before
//! this consumer's last take. Between consumers, the only order is that of their takes.
//!
//! *Cancelling is safe.* Futures of this module may be dropped at any await point. A take that was dropped half-way may
//! have its item already: the next [`Queue::take`] of the same queue value returns it. A put that was dropped half-way
//! has put the item or not.
//!
//! *Wake-ups.* Each put wakes every waiting consumer, and one of them gets the item. A consumer that was disconnected
//! is woken when it is connected again.
//!
//! *Leftovers.* The ledger, one small znode, remains if a queue value is not [closed](Queue::close).
//!
//! The directory may be deleted while it is empty, by a container manager or by hand: puts and takes create it again,
//! and names of items never repeat.
//!
//! The recipe's observations are [`QueueSeen`]; its properties are in [`properties`], its published mistakes are
//! [`Mutant`]s.
//!
//! # How far it has been tried
//!
#![doc = include_str!("../../explored/queue.md")]
#![doc = include_str!("../../explored/priority-queue.md")]

mod claim;
#[cfg(feature = "checking")]
mod kept;
mod mutant;
pub mod name;
#[cfg(feature = "checking")]
pub mod properties;
mod seen;
#[cfg(feature = "checking")]
pub mod worker;

#[cfg(feature = "checking")]
pub(crate) use kept::Kept;
#[cfg(feature = "checking")]
pub use mutant::{Mutant, Mutants};
#[cfg(not(feature = "checking"))]
pub(crate) use mutant::{Mutant, Mutants};
pub use name::{ItemName, Mark};
#[cfg(feature = "checking")]
pub use properties::{monitors, priority_monitors};
pub use seen::QueueSeen;
#[cfg(feature = "checking")]
pub use worker::{QueueWork, queue_worker};

use crate::helpers::reconnected;
use crate::once::{Fate, Ledger, Patient, create_persistent};
use claim::Claiming;
use std::collections::BTreeMap;
use std::future::pending;
use std::ops::ControlFlow;
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Either, SessionEvents, TimedOut, Watch, ZooKeeper, race};
use vivarium_model::id::SessionId;
use vivarium_model::op::{CreateMode, EventType, Op};
use vivarium_model::time::Duration;

/// One client's handle of a queue. See the module for its contract.
#[derive(Debug)]
pub struct Queue {
    pub(crate) patient: Patient,
    pub(crate) directory: Arc<str>,
    pub(crate) ledger: Ledger,
    /// A take whose outcome is not known yet.
    claiming: Option<Claiming>,
    /// The number of producers; `None` if unknown.
    pub(crate) producers: Option<usize>,
    /// The unused rest of the last list (`StalePriorityList`).
    stale: Vec<String>,
    mutants: Mutants,
}

/// An item that was taken.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Item {
    /// The data that was put.
    pub data: Arc<[u8]>,
    /// The mark that it was put with.
    pub mark: Mark,
}

/// The result of looking at the queue.
pub(crate) enum Look {
    Taken(Item),
    /// The queue is empty, and all of its producers have ended.
    Ended,
    Nothing {
        /// When the first of the remaining items is due.
        due: Option<u64>,
        wake: Wake,
    },
}

/// Signals that it is time to look again.
pub(crate) struct Wake {
    watch: Watch,
    /// The session's events since before the list was read.
    events: SessionEvents,
    session: SessionId,
}

impl Wake {
    /// Waits for an event of the watch, or until the session was disconnected and is connected again: once the
    /// directory's counter has reached its end, a server that re-registers the watch does not notice what was created
    /// meanwhile (recipe rule 1.2.7).
    ///
    /// # Errors
    /// `SessionExpired`.
    pub(crate) async fn wakes(&mut self) -> Result<Option<EventType>, Error> {
        match race(self.watch.changed(), reconnected(&mut self.events)).await {
            Either::Left(event) => Ok(Some(event?.kind)),
            Either::Right(connected) => connected.map(|()| None),
        }
    }
}

impl Queue {
    /// Opens the queue in `directory`, which the first use creates if it is missing. Waits for a session.
    pub async fn open(zookeeper: ZooKeeper, directory: impl Into<Arc<str>>) -> Queue {
        let directory = directory.into();
        let patient = Patient::connect(zookeeper).await;
        let ledger = Ledger::new(&patient, &ledgers(&directory)).await;
        Queue {
            patient,
            directory,
            ledger,
            claiming: None,
            producers: None,
            stale: Vec::new(),
            mutants: Mutants::NONE,
        }
    }

    /// Plants published mistakes in the recipe, to test its checkers.
    #[cfg(feature = "checking")]
    #[must_use]
    pub fn with_mutants(self, mutants: Mutants) -> Queue {
        Queue { mutants, ..self }
    }

    /// Sets the number of producers: when that many have ended ([`Queue::end`]) and the queue is empty, takes return
    /// `None`.
    #[must_use]
    pub fn with_producers(self, producers: usize) -> Queue {
        Queue { producers: Some(producers), ..self }
    }

    /// Puts an item at the end of the queue.
    ///
    /// A put whose future is dropped has put the item or not.
    ///
    /// # Errors
    /// The server refuses the directory or the data.
    pub async fn put(&mut self, item: &[u8]) -> Result<(), Error> {
        self.put_marked(item, Mark::Plain).await
    }

    /// Puts an item after all items of the same or a smaller priority number.
    ///
    /// A put whose future is dropped has put the item or not.
    ///
    /// # Errors
    /// Fails like [`Queue::put`].
    pub async fn put_with_priority(&mut self, item: &[u8], priority: u32) -> Result<(), Error> {
        self.put_marked(item, Mark::Priority(priority)).await
    }

    /// Declares that this producer, identified by its name, puts no more items.
    ///
    /// # Errors
    /// Fails like [`Queue::put`].
    pub async fn end(&mut self, producer: &str) -> Result<(), Error> {
        let end = name::child(&self.directory, &format!("{}{producer}", name::END));
        create_persistent(&mut self.patient, &end).await
    }

    /// Takes the first item, and waits for one if there is none. Returns `None` if there will be none
    /// ([`Queue::with_producers`]).
    ///
    /// Cancel-safe: the next take returns the item that a dropped take has taken.
    ///
    /// # Errors
    /// The server refuses the directory.
    pub async fn take(&mut self) -> Result<Option<Item>, Error> {
        loop {
            if let ControlFlow::Break(taken) = self.take_or_wait().await? {
                return Ok(taken);
            }
        }
    }

    /// One round of [`Queue::take`]: continues when it is time to look again. The next round needs only what [`Kept`]
    /// has.
    ///
    /// Cancel-safe like [`Queue::take`].
    ///
    /// # Errors
    /// Fails like [`Queue::take`].
    pub(crate) async fn take_or_wait(&mut self) -> Result<ControlFlow<Option<Item>>, Error> {
        Ok(match self.look(u64::MAX).await? {
            Look::Taken(item) => ControlFlow::Break(Some(item)),
            Look::Ended => ControlFlow::Break(None),
            Look::Nothing { wake, .. } => {
                self.wait(wake).await;
                ControlFlow::Continue(())
            }
        })
    }

    /// Like [`Queue::take`], but waits no longer than `patience`.
    ///
    /// Cancel-safe like [`Queue::take`].
    ///
    /// # Errors
    /// The outer error is [`TimedOut`]; the inner ones are those of [`Queue::take`].
    pub async fn take_timeout(
        &mut self,
        patience: Duration,
    ) -> Result<Result<Option<Item>, Error>, TimedOut> {
        let zookeeper = self.zookeeper().clone();
        zookeeper.timeout(patience, self.take()).await
    }

    /// Takes the first item if there is one.
    ///
    /// Cancel-safe like [`Queue::take`].
    ///
    /// # Errors
    /// Fails like [`Queue::take`].
    pub async fn try_take(&mut self) -> Result<Option<Item>, Error> {
        match self.look(u64::MAX).await? {
            Look::Taken(item) => Ok(Some(item)),
            Look::Ended | Look::Nothing { .. } => Ok(None),
        }
    }

    /// Deletes this client's ledger. An item that a dropped take has taken is lost.
    ///
    /// # Errors
    /// The server refuses the path.
    pub async fn close(mut self) -> Result<(), Error> {
        self.ledger.close(&mut self.patient).await
    }

    /// The client handle of the queue.
    pub fn zookeeper(&self) -> &ZooKeeper {
        self.patient.zookeeper()
    }

    pub(crate) async fn put_marked(&mut self, item: &[u8], mark: Mark) -> Result<(), Error> {
        self.observe(item, |queue, item| QueueSeen::Putting { queue, item });
        let entry = self.ledger.entry();
        let path = self.prefix(entry, mark);
        // Recipe rule 2.4.1.
        let mode = match self.mutants.has(Mutant::QueueEphemeralItems) {
            true => CreateMode::EphemeralSequential,
            false => CreateMode::PersistentSequential,
        };
        let create = [Op::create(path.as_str(), item, mode)];
        while !self.is_put(entry, &create).await? {
            // The directory may be deleted at any time while it is empty (recipe rule 2.4.6).
            self.make_directory().await?;
        }
        self.observe(item, |queue, item| QueueSeen::Put { queue, item });
        Ok(())
    }

    /// Sends a put. Returns false if the directory is missing.
    async fn is_put(&mut self, entry: u32, create: &[Op; 1]) -> Result<bool, Error> {
        // Recipe rule 2.4.2.
        let refused = if self.mutants.has(Mutant::BlindCreateRetry) {
            let request =
                |zookeeper: ZooKeeper| async move { zookeeper.multi(create.to_vec()).await };
            self.patient.repeat(request).await.err().map(|failed| failed.error)
        } else {
            match self.ledger.apply(&mut self.patient, entry, create).await? {
                Fate::Applied => None,
                Fate::Refused { error, .. } => Some(error),
            }
        };
        match refused {
            None => Ok(true),
            Some(Error::NoNode) => Ok(false),
            Some(error) => Err(error),
        }
    }

    fn prefix(&self, entry: u32, mark: Mark) -> String {
        let id = self.ledger.name(entry);
        match mark {
            Mark::Priority(priority) if self.mutants.has(Mutant::PriorityUnpadded) => {
                name::child(&self.directory, &format!("{id}-p{priority}-"))
            }
            _ => name::prefix(&self.directory, &id, mark),
        }
    }

    /// Takes the first item that is due at `now`, or returns what to wait for.
    pub(crate) async fn look(&mut self, now: u64) -> Result<Look, Error> {
        if let Some(item) = self.resume().await? {
            return Ok(Look::Taken(item));
        }
        if let Some(item) = self.take_stale().await? {
            return Ok(Look::Taken(item));
        }
        let (names, wake) = self.list().await?;
        let mut items = self.in_order(&names).await?;
        if self.mutants.has(Mutant::PriorityUnpadded) {
            claim::sort_as_text(&mut items);
        }
        let mut due = None;
        for (at, item) in items.iter().enumerate() {
            if let Mark::Due(time) = item.mark
                && time > now
            {
                due = Some(time);
                break;
            }
            if let Some(taken) = self.claim(item).await? {
                if self.mutants.has(Mutant::StalePriorityList) {
                    self.stale =
                        items[at + 1..].iter().map(|left| left.name().to_string()).collect();
                }
                return Ok(Look::Taken(taken));
            }
        }
        let is_ended = self.producers.is_some_and(|producers| name::ends(&names) >= producers);
        // Other consumers are deleting the items that are listed but could not be taken; the watch fires when they are
        // gone (recipe rule 2.4.5).
        Ok(if items.is_empty() && is_ended { Look::Ended } else { Look::Nothing { due, wake } })
    }

    /// Takes from the unused rest of the last list (`StalePriorityList`).
    async fn take_stale(&mut self) -> Result<Option<Item>, Error> {
        while !self.stale.is_empty() {
            let name = self.stale.remove(0);
            let Some(item) = ItemName::parse(&name) else { continue };
            if let Some(taken) = self.claim(&item).await? {
                return Ok(Some(taken));
            }
        }
        Ok(None)
    }

    /// Waits until it is time to look again, whatever the event (recipe rule 2.4.5).
    pub(crate) async fn wait(&mut self, mut wake: Wake) {
        match wake.wakes().await {
            Ok(Some(EventType::NodeDeleted)) => {
                if self.mutants.has(Mutant::ParentReapedUnderWatch) {
                    pending::<()>().await;
                }
            }
            Ok(_) => {}
            Err(_) if self.mutants.has(Mutant::NoRecheckOnReconnect) => pending().await,
            Err(_) => self.patient.leave(wake.session).await,
        }
    }

    /// The items among these children, in queue order. If their names do not determine the order, the czxids of their
    /// znodes do (recipe rule 1.2.6); items that were taken meanwhile are left out.
    pub(crate) async fn in_order<'a>(
        &mut self,
        names: &'a [String],
    ) -> Result<Vec<ItemName<'a>>, Error> {
        if let Some(items) = name::in_order(names) {
            return Ok(items);
        }
        let mut created = BTreeMap::new();
        for name in names.iter().filter(|name| ItemName::parse(name).is_some()) {
            let path = &name::child(&self.directory, name);
            let exists = |zookeeper: ZooKeeper| async move { zookeeper.exists(path).await };
            if let Some(stat) = self.patient.repeat(exists).await? {
                created.insert(name.clone(), stat.czxid);
            }
        }
        Ok(name::in_order_of_creation(names, &created))
    }

    pub(crate) async fn list(&mut self) -> Result<(Vec<String>, Wake), Error> {
        let directory = Arc::clone(&self.directory);
        self.list_of(&directory).await
    }

    /// The children of a directory, which is created if it is missing.
    pub(crate) async fn list_of(&mut self, directory: &str) -> Result<(Vec<String>, Wake), Error> {
        loop {
            // Session events before the list that was answered do not affect its watch.
            let list = |zookeeper: ZooKeeper| async move {
                let events = zookeeper.session_events();
                let (names, watch) = zookeeper.get_children_watch(directory).await?;
                Ok::<_, Error>((names, watch, events))
            };
            match self.patient.repeat(list).await {
                Ok((names, watch, events)) => {
                    let session = self.patient.session();
                    return Ok((names, Wake { watch, events, session }));
                }
                Err(Error::NoNode) if directory == &*self.directory => {
                    self.make_directory().await?
                }
                Err(Error::NoNode) => create_persistent(&mut self.patient, directory).await?,
                Err(error) => return Err(error),
            }
        }
    }

    async fn make_directory(&mut self) -> Result<(), Error> {
        let directory = Arc::clone(&self.directory);
        if !self.mutants.has(Mutant::RootExistsEscapes) {
            return create_persistent(&mut self.patient, &directory).await;
        }
        let directory = &*directory;
        let create = |zookeeper: ZooKeeper| async move {
            zookeeper.create(directory, b"", CreateMode::Persistent).await
        };
        self.patient.repeat(create).await.map(drop)
    }

    fn observe(&self, item: &[u8], make: impl FnOnce(Arc<str>, Arc<str>) -> QueueSeen) {
        let item = String::from_utf8_lossy(item).into();
        self.zookeeper().observe(make(Arc::clone(&self.directory), item));
    }
}

/// The directory of the clients' ledgers. It is beside the queue's directory, so that ledgers do not wake consumers
/// that wait for items.
pub fn ledgers(directory: &str) -> String {
    format!("{directory}.ledgers")
}

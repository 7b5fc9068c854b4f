//! One attempt to enter a generation, in one session: register, and wait for the verdict (recipe rule 2.3).

use super::guard::Entered;
use super::leaving::Member;
use super::place::{self, ABORT, GO, Place, Verdict, withdraw};
use super::{DoubleBarrier, DoubleBarrierSeen, EnterError, Mutant, Mutants};
use crate::helpers::until_known;
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{ZooKeeper, race};
use vivarium_model::id::SessionId;
use vivarium_model::op::CreateMode;
use vivarium_model::zxid::Zxid;

/// An attempt. Dropping it before its end withdraws.
pub(super) struct Attempt {
    /// Pinned to the attempt's session.
    pub(super) zookeeper: ZooKeeper,
    pub(super) session: SessionId,
    pub(super) barrier: Arc<str>,
    pub(super) generation: u64,
    pub(super) place: Place,
    /// The name of its znode.
    pub(super) name: String,
    pub(super) mutants: Mutants,
    parties: usize,
    party: Arc<str>,
    registration: Registration,
    /// True if the attempt's last observation was made.
    is_over: bool,
}

/// The state of the attempt's znode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Registration {
    /// The znode does not exist and will not, or other code deletes it.
    None,
    /// The create was sent.
    Sent,
    /// The znode exists or existed.
    Made,
}

/// The result of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waited {
    /// The generation was opened by this transaction, and this party is a member.
    Open(Zxid),
    /// The generation is aborted.
    Aborted,
    /// The generation is closed.
    Over,
}

impl Attempt {
    /// Begins an attempt with this unique id.
    pub(super) fn begin(
        barrier: &DoubleBarrier,
        session: SessionId,
        generation: u64,
        id: u64,
    ) -> Attempt {
        let attempt = Attempt {
            zookeeper: barrier.zookeeper.scope(session),
            session,
            barrier: Arc::clone(&barrier.path),
            generation,
            place: Place::new(&barrier.path, generation, barrier.mutants),
            name: place::name(&barrier.party, id),
            mutants: barrier.mutants,
            parties: barrier.parties,
            party: Arc::clone(&barrier.party),
            registration: Registration::None,
            is_over: false,
        };
        attempt.zookeeper.observe(DoubleBarrierSeen::Entering {
            barrier: Arc::clone(&attempt.barrier),
            generation,
            members: Arc::clone(&attempt.place.members),
            party: Arc::clone(&attempt.party),
        });
        attempt
    }

    /// Runs the attempt.
    pub(super) async fn run(mut self) -> Result<Entered, EnterError> {
        let waited = self.wait().await;
        self.end(waited)
    }

    /// Registers, and waits for the verdict. May be dropped and called again.
    pub(super) async fn wait(&mut self) -> Result<Waited, EnterError> {
        let waited = self.wait_for_verdict().await;
        match waited {
            // The servers delete what belongs to the session.
            Err(EnterError::SessionExpired) | Ok(Waited::Over) => {
                self.registration = Registration::None;
            }
            _ => {}
        }
        waited
    }

    async fn wait_for_verdict(&mut self) -> Result<Waited, EnterError> {
        if !self.register().await? {
            return Ok(Waited::Over);
        }
        let mut was_counted = false;
        loop {
            let verdict = || self.zookeeper.exists_watch(&self.place.verdict);
            let (stat, mut created) = until_known(&self.zookeeper, verdict).await?;
            // The verdict exists already, so the watch for its creation never fires: a waiter that ignores the verdict
            // waits for ever (`ReadyExistsIgnored`).
            let is_seen = stat.is_some() && !self.mutants.has(Mutant::ReadyExistsIgnored);
            // The verdict counts, however many members there are by now: faster members may have left (recipe rule
            // 2.3.4; `DbRecount`).
            if is_seen && self.mutants.has(Mutant::DbRecount) && !self.are_enough().await? {
                created.changed().await?;
                continue;
            }
            if is_seen && let Some(verdict) = self.place.decided(&self.zookeeper).await? {
                return Ok(Waited::by(verdict));
            }
            if !is_seen && !was_counted && self.are_enough().await? {
                let verdict = self.place.decide(&self.zookeeper, GO).await?;
                return Ok(Waited::by(verdict));
            }
            was_counted = true;
            if is_seen {
                // Another client has removed it meanwhile.
                continue;
            }
            if self.mutants.has(Mutant::DbAnyWakeOpens) {
                let mut events = self.zookeeper.session_events();
                race(created.changed(), events.next()).await;
                return Ok(Waited::Open(Zxid::ZERO));
            }
            created.changed().await?;
        }
    }

    /// Creates the attempt's znode, even if replies are lost. Returns false if the generation is closed (recipe rules
    /// 2.3.2 and 2.3.5).
    async fn register(&mut self) -> Result<bool, EnterError> {
        if self.registration == Registration::Made {
            return Ok(true);
        }
        let node = self.place.node(&self.name);
        let mut has_begun = false;
        loop {
            self.registration = Registration::Sent;
            let create = || self.zookeeper.create(&node, b"", CreateMode::Ephemeral);
            match until_known(&self.zookeeper, create).await {
                // A create whose reply was lost made it, because no other attempt uses the name.
                Ok(_) | Err(Error::NodeExists) => {
                    self.registration = Registration::Made;
                    return Ok(true);
                }
                Err(Error::NoNode) if has_begun => return Ok(false),
                Err(Error::NoNode) => {
                    self.place.begin(&self.zookeeper).await?;
                    has_begun = true;
                }
                Err(error) => {
                    self.registration = Registration::None;
                    return Err(error.into());
                }
            }
        }
    }

    /// Returns true if enough parties are registered. The last one to register counts them all, because its list comes
    /// after its own create. So no party needs to count twice (recipe rule 2.3.3).
    async fn are_enough(&self) -> Result<bool, EnterError> {
        let names = self.place.list(&self.zookeeper).await?.unwrap_or_default();
        let count = place::count(&names);
        if self.mutants.has(Mutant::DbEqualsN) {
            return Ok(count == self.parties);
        }
        Ok(count >= self.parties)
    }

    /// Gives up for all parties when the patience is exhausted, unless a verdict exists already (recipe rule 2.3.6).
    pub(super) async fn give_up(mut self) -> Result<Entered, EnterError> {
        match self.place.decide(&self.zookeeper, ABORT).await {
            Ok(Verdict::Abort) => {
                self.say(|barrier, generation| DoubleBarrierSeen::TimedOut { barrier, generation });
                Err(EnterError::TimedOut)
            }
            // Others are inside, and rely on this member.
            Ok(Verdict::Go(_)) => self.run().await,
            Err(error) => self.end(Err(error.into())),
        }
    }

    /// Ends the attempt as a mutant does: without a verdict, and without deleting the znode.
    pub(super) fn walk_away(mut self) -> Result<Entered, EnterError> {
        self.say(|barrier, generation| DoubleBarrierSeen::TimedOut { barrier, generation });
        self.registration = Registration::None;
        Err(EnterError::TimedOut)
    }

    /// Ends the attempt.
    pub(super) fn end(mut self, waited: Result<Waited, EnterError>) -> Result<Entered, EnterError> {
        match waited? {
            Waited::Open(opened) => {
                self.say(|barrier, generation| DoubleBarrierSeen::Entered { barrier, generation });
                self.registration = Registration::None;
                let member = Member {
                    zookeeper: self.zookeeper.clone(),
                    place: self.place.clone(),
                    name: self.name.clone(),
                    mutants: self.mutants,
                    is_gone: false,
                };
                let generation = (Arc::clone(&self.barrier), self.generation);
                Ok(Entered::new(member, self.session, generation, opened))
            }
            Waited::Aborted => {
                self.say(|barrier, generation| DoubleBarrierSeen::Aborted { barrier, generation });
                Err(EnterError::Aborted)
            }
            Waited::Over => Err(EnterError::Over),
        }
    }

    fn say(&mut self, make: impl FnOnce(Arc<str>, u64) -> DoubleBarrierSeen) {
        self.is_over = true;
        self.zookeeper.observe(make(Arc::clone(&self.barrier), self.generation));
    }
}

/// If an attempt ends without entering, also by being dropped at an await point, its znode is deleted (recipe rule
/// 2.3.9).
impl Drop for Attempt {
    fn drop(&mut self) {
        if !self.is_over {
            self.say(|barrier, generation| DoubleBarrierSeen::Withdrew { barrier, generation });
        }
        if self.registration != Registration::None {
            withdraw(&self.zookeeper, self.place.node(&self.name));
        }
    }
}

impl Waited {
    fn by(verdict: Verdict) -> Waited {
        match verdict {
            Verdict::Go(opened) => Waited::Open(opened),
            Verdict::Abort => Waited::Aborted,
        }
    }
}

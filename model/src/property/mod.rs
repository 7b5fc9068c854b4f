//! Properties as monitors: small automata that eat events and may object with a sentence.
//!
//! The same monitor serves the simulator and the explorer. One without a mutant or planted fault
//! that makes it object is not finished; one is weakened only with a cited rule and a test that it
//! still objects where it must.

mod access;
mod acknowledged_write;
mod asked_of_servers;
mod bridge;
mod client;
mod committed_prefix;
mod complete_leader;
mod declaration;
pub mod disks;
mod due_containers;
mod durable_ack;
mod early_expiry;
pub mod elections;
mod ended_session;
pub mod invariants;
mod kept_promises;
mod kinds;
mod led_by_quorum;
mod live_owners;
mod livelock;
mod measure;
mod minds;
mod monitors;
mod monotone_zxid;
mod moved_session;
mod no_exit;
mod no_phantom;
mod one_leader;
mod prefix_read;
mod protocol;
mod quiet;
mod read_only;
mod reply_order;
mod sequence_order;
mod state;
mod synced_reads;
#[cfg(test)]
pub(crate) mod testing;
mod told_timeout;
mod view;
mod watches;
mod whole_snapshots;

pub use access::AccessDecisions;
pub use acknowledged_write::AcknowledgedWrite;
pub use asked_of_servers::AskedOfServers;
pub use bridge::Bridge;
pub use client::{FaithfulClient, PunctualClient};
pub use committed_prefix::{Commit, CommittedPrefix, check_commit};
pub use complete_leader::CompleteLeader;
pub use declaration::{Declaration, Declared};
pub use due_containers::DueContainers;
pub use durable_ack::DurableAck;
pub use early_expiry::EarlyExpiry;
pub use ended_session::EndedSession;
pub use kept_promises::KeptPromises;
pub use kinds::{EventKind, Kinds};
pub use led_by_quorum::LedByQuorum;
pub use live_owners::LiveOwners;
pub use livelock::Livelock;
pub use measure::{Measure, Measured};
pub use minds::Minds;
#[doc(hidden)]
pub use minds::{Minded, Order, Verdict};
pub use monitors::{Monitors, OF_ITSELF, Telling, is_concerned};
pub use monotone_zxid::MonotoneZxid;
pub use moved_session::MovedSession;
pub use no_exit::NoExit;
pub use no_phantom::NoPhantom;
pub use one_leader::OneLeader;
pub use prefix_read::PrefixRead;
pub use protocol::Protocol;
pub use quiet::Quiet;
pub use reply_order::ReplyOrder;
pub use sequence_order::SequenceOrder;
pub use state::{MonitorState, Unhashed};
pub use synced_reads::SyncedReads;
pub use told_timeout::told_timeout;
pub use view::{Committed, LooksBack, View};
pub use watches::KeptWatches;
pub use whole_snapshots::WholeSnapshots;

use crate::program::exchange::Exchange;
use crate::vocabulary::config::Config;
use crate::vocabulary::event::Event;
use crate::vocabulary::id::ClientId;
use crate::vocabulary::subject::Subject;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// Where a property is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Asked {
    /// By sweeps and by searches: its monitor's state is bounded and hashable, and knows no absolute time.
    Everywhere,
    /// By sweeps only: it needs whole histories, durations or counts. Its state is never hashed.
    InSweeps,
}

/// A monitor's complaint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Objection {
    /// The property violated, e.g. `S5` or `lock M1`.
    pub property: String,
    /// What was seen, in one or two sentences.
    pub saw: String,
    /// How a program or a monitor ended, where the objection is about that. Older cases have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// What it is about: the subjects of the event that was objected to, and others that the sentence names. Older
    /// cases have none.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub about: BTreeSet<Subject>,
}

/// What a monitor saw: a sentence, and subjects that it names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saw {
    sentence: String,
    about: BTreeSet<Subject>,
}

impl Saw {
    /// Adds a subject that the sentence names.
    #[must_use]
    pub fn about(mut self, subject: impl Into<Subject>) -> Saw {
        self.about.insert(subject.into());
        self
    }

    /// Puts the sentence into a longer one.
    #[must_use]
    pub fn within(self, longer: impl FnOnce(&str) -> String) -> Saw {
        Saw { sentence: longer(&self.sentence), about: self.about }
    }
}

impl<T: Into<String>> From<T> for Saw {
    fn from(sentence: T) -> Saw {
        Saw { sentence: sentence.into(), about: BTreeSet::new() }
    }
}

/// How a program or a monitor failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Failure {
    /// A program returned this error.
    Returned(String),
    /// A program or a monitor panicked with this message.
    Panicked(String),
}

impl Objection {
    /// Returns an objection.
    pub fn new(property: impl Into<String>, saw: impl Into<Saw>) -> Objection {
        let Saw { sentence, about } = saw.into();
        Objection { property: property.into(), saw: sentence, failure: None, about }
    }

    /// An objection to the end of a program or of a monitor. `subject` is what has ended, as `the program of client 1`.
    pub fn failed(property: impl Into<String>, subject: &str, failure: Failure) -> Objection {
        let saw = format!("{subject} {failure}");
        Objection { failure: Some(failure), ..Objection::new(property, saw) }
    }

    /// Adds a subject that the sentence names.
    #[must_use]
    pub fn about(mut self, subject: impl Into<Subject>) -> Objection {
        self.about.insert(subject.into());
        self
    }

    /// Adds the subjects of an event that was objected to.
    #[must_use]
    pub fn to_event(mut self, event: &Event) -> Objection {
        self.about.extend(event.subjects());
        self
    }

    /// Whether this one, recorded earlier, has the same property and the same sentence. The failure is in the sentence,
    /// and old cases have it nowhere else.
    pub fn is_repeated_by(&self, other: &Objection) -> bool {
        let Objection { property, saw, failure: _, about: _ } = self;
        *property == other.property && *saw == other.saw
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Returned(error) => write!(f, "returned an error: {error}"),
            Failure::Panicked(message) => write!(f, "panicked: {message}"),
        }
    }
}

impl fmt::Display for Objection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.property, self.saw)
    }
}

/// A property of a run, as engines ask it.
///
/// A monitor is written as one declaration ([`Declared`]), which implements this trait: there what it says of its
/// concern and what it does cannot disagree. Only a monitor whose name, class or events are known at run time alone
/// implements this one itself: the properties of a few lines that users compose, and monitors of tests that write
/// everything down or say of themselves what is not so. Checks hold such a one to its
/// [`concerns`](Monitor::concerns).
///
/// Its state is copied and hashed by what it derives: `#[derive(Clone, Hash)]` ([`MonitorState`]).
pub trait Monitor: MonitorState + Send + Sync {
    /// The property's id and name, e.g. `S5 no phantom`.
    fn name(&self) -> &'static str;

    /// Where the property is asked.
    fn asked(&self) -> Asked;

    /// The kinds of events that can concern it at all ([`Monitor::concerns`]): a set that never changes, by which most
    /// events are passed over without asking more.
    fn kinds(&self) -> Kinds {
        Kinds::ALL
    }

    /// Whether an event of this kind can ever move this monitor or make it object. One that says
    /// no is not told, and a step that causes nothing else need not be tried in every order: the
    /// explorer relies on this. Checks tell it, now and then, all the same: it must stay as it is.
    fn concerns(&self, event: &Event) -> bool {
        let _ = event;
        true
    }

    /// Whether what this monitor makes of an event of this kind depends on other clients' events
    /// before it. One that keeps an account per client can say no, and spares the explorer orders
    /// that come to the same.
    ///
    /// Asked, as [`Monitor::concerns`], about kinds: what is inside the event may be made up.
    fn minds_order(&self, event: &Event) -> bool {
        self.concerns(event)
    }

    /// How far back it looks in the committed history: the same for all its life. One that looks at
    /// the [tip](LooksBack::Tip) only is shown no more, by any engine, and spares a search the states
    /// that differ in nothing but how their tree came about.
    fn looks_back(&self) -> LooksBack {
        LooksBack::Whole
    }

    /// Names of observations ([`Observed::name`](crate::vocabulary::observation::Observed::name)) without each of
    /// which it can never object: a report says which of them nobody made. A monitor of observations that
    /// names none is silent where nobody makes any, and the report takes that for "held".
    fn looks_for(&self) -> Vec<Arc<str>> {
        Vec::new()
    }

    /// Told before the first event how the run is configured.
    fn begin(&mut self, config: &Arc<Config>) {
        let _ = config;
    }

    /// Eats one event.
    ///
    /// # Errors
    /// The objection, if the event violates the property.
    fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), Objection>;

    /// Whether it is told of what passes client machines ([`Monitor::exchange`]), which is much. Only a monitor of
    /// [`Asked::InSweeps`] may: searches take client machines' steps in fewer orders than these.
    fn hears_exchanges(&self) -> bool {
        false
    }

    /// Eats what passed a client machine. That of one step comes after the step's events.
    ///
    /// # Errors
    /// The objection, if it violates the property.
    fn exchange(
        &mut self,
        view: View<'_>,
        client: ClientId,
        exchange: &Exchange,
    ) -> Result<(), Objection> {
        let _ = (view, client, exchange);
        Ok(())
    }

    /// Nothing can happen any more but that time passes: what is not done by now nobody is about
    /// to do. Asked by the explorer only, whose time stands still until then.
    ///
    /// # Errors
    /// The objection, if something is missing that should have happened by now.
    fn at_rest(&mut self, view: View<'_>) -> Result<(), Objection> {
        let _ = view;
        Ok(())
    }

    /// The run has ended, healed and quiet.
    ///
    /// # Errors
    /// The objection, if something is missing that should have happened by now.
    fn end(&mut self, view: View<'_>) -> Result<(), Objection> {
        let _ = view;
        Ok(())
    }

    /// What the monitor counted or measured without judging it, for reports on sweeps. Never part of the hash:
    /// it is kept in something [`Unhashed`].
    fn measured(&self) -> Vec<Measure> {
        Vec::new()
    }
}

/// The properties of ZooKeeper itself: every monitor of this module, those of the servers (S*)
/// before those of the clients (H*), since what a client sees wrong began at a server; and last the
/// bridge to the service grain, which knows everything that may happen to a client.
pub fn zookeeper() -> Vec<Box<dyn Monitor>> {
    vec![
        Box::new(DurableAck::new()),
        Box::new(WholeSnapshots),
        Box::new(KeptPromises),
        Box::new(OneLeader::new()),
        Box::new(LedByQuorum::new()),
        Box::new(CompleteLeader::new()),
        Box::new(CommittedPrefix::new()),
        Box::new(NoPhantom::new()),
        Box::new(LiveOwners),
        Box::new(EarlyExpiry::new()),
        Box::new(DueContainers::new()),
        Box::new(Protocol),
        Box::new(ReplyOrder::new()),
        Box::new(MonotoneZxid::new()),
        Box::new(PrefixRead::new()),
        Box::new(AcknowledgedWrite::new()),
        Box::new(SyncedReads::new()),
        Box::new(KeptWatches::new()),
        Box::new(MovedSession::new()),
        Box::new(SequenceOrder::new()),
        Box::new(EndedSession::new()),
        Box::new(FaithfulClient::new()),
        Box::new(PunctualClient::new()),
        Box::new(AccessDecisions::new()),
        Box::new(Bridge::new()),
    ]
}

/// The properties of any program, whatever it is for. Asked in sweeps, beside those of [`zookeeper()`] and the
/// program's own.
pub fn programs() -> Vec<Box<dyn Monitor>> {
    vec![Box::new(Livelock::new())]
}

/// The properties of servers alone, for a search without clients: the monitors of S*, to which it adds
/// the state properties ([`invariants`]). (A sweep finds what [`NoExit`] objects to as a server that is
/// missing at the end, so it is not among [`zookeeper()`]'s.)
pub fn servers() -> Vec<Box<dyn Monitor>> {
    vec![
        Box::new(NoExit),
        Box::new(DurableAck::new()),
        Box::new(WholeSnapshots),
        Box::new(KeptPromises),
        Box::new(OneLeader::new()),
        Box::new(LedByQuorum::new()),
        Box::new(CompleteLeader::new()),
        Box::new(CommittedPrefix::new()),
        Box::new(NoPhantom::new()),
    ]
}

#[cfg(test)]
mod tests {
    use super::testing::{
        Bodies, ONE, SESSION, TWO, Trial, committed, create_request, exists, replied, sent,
        session, txn, z,
    };
    use super::*;
    use crate::vocabulary::fingerprint::Fingerprint;
    use crate::vocabulary::op::{Response, SessionState};
    use crate::vocabulary::txn::TxnBody;
    use crate::vocabulary::zxid::Epoch;
    use std::collections::BTreeSet;
    use std::sync::Arc;

    /// All of ZooKeeper's monitors as one.
    #[derive(Clone, Hash)]
    struct All(Vec<Box<dyn Monitor>>);

    impl Monitor for All {
        fn name(&self) -> &'static str {
            "all"
        }
        fn asked(&self) -> Asked {
            Asked::InSweeps
        }
        fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), Objection> {
            self.0.iter_mut().try_for_each(|monitor| monitor.event(view, event))
        }
    }

    /// An objection in a case that was recorded before failures were kept.
    #[test]
    fn an_older_objection_has_no_failure_and_is_repeated_all_the_same() {
        let older =
            r#"{"property":"program","saw":"the program of client 1 returned an error: late"}"#;
        let older: Objection = serde_json::from_str(older).expect("it is read");
        let of = |why: &str| {
            Objection::failed("program", "the program of client 1", Failure::Returned(why.into()))
        };
        assert_eq!(older.failure, None);
        assert!(older.is_repeated_by(&of("late")) && older != of("late"));
        assert!(!older.is_repeated_by(&of("early")));
    }

    impl All {
        /// The monitors' states, each by its name.
        fn states(&self) -> Vec<(&'static str, Fingerprint)> {
            let state = |monitor: &dyn Monitor| (monitor.name(), Fingerprint::of(monitor));
            self.0.iter().map(|monitor| state(&**monitor)).collect()
        }
    }

    /// An epoch with one session, which creates a znode through server 2 and reads it there.
    fn quiet_run(trial: &mut Trial<All>) {
        let digest = trial.history.digest_at(z(1, 0));
        let zxid = z(1, 0);
        let established =
            |last_zxid| Event::Established { leader: ONE, epoch: Epoch(1), last_zxid };
        trial.accepts(Event::AckedNewLeader {
            server: TWO,
            epoch: Epoch(1),
            history: z(0, 0),
            durable: z(0, 0),
            current_epoch: Epoch(1),
        });
        trial.accepts(established(z(0, 0)));
        trial.accepts(Event::Serving { server: ONE, zxid, digest });
        trial.accepts(Event::Serving { server: TWO, zxid, digest });
        trial.create_session(z(1, 1));
        trial.accepts(session(SessionState::SyncConnected, Some(TWO)));
        trial.accepts(sent(1, create_request("/a", "x")));
        trial.accepts(sent(2, exists("/a")));
        let txn = txn(z(1, 2), 1, Bodies(&trial.history).create("/a", "x"));
        trial.accepts(Event::Proposed { leader: ONE, txn: Arc::clone(&txn) });
        trial.accepts(Event::Acked { server: TWO, zxid: z(1, 2), durable: z(1, 2) });
        trial.accepts(committed(txn));
        for zxid in [z(1, 1), z(1, 2)] {
            let txn = Arc::clone(trial.history.get(zxid).expect("committed"));
            let digest = trial.history.digest_at(zxid);
            trial.accepts(Event::Applied { server: TWO, txn, digest });
        }
        let result = trial.history.applied(z(1, 2)).expect("committed").result.clone();
        trial.accepts(replied(1, z(1, 2), create_request("/a", "x"), result));
        let stat = trial.history.tree().stat("/a").expect("created");
        trial.accepts(replied(2, z(1, 2), exists("/a"), Ok(Response::Exists(stat))));
    }

    #[test]
    fn a_quiet_run_is_accepted_by_all() {
        let mut trial = Trial::new(All(zookeeper()));
        quiet_run(&mut trial);
        let close = TxnBody::CloseSession { ephemerals: Vec::new() };
        trial.commit(z(1, 3), 0, close);
        trial.accepts(session(SessionState::Expired, None));
        assert!(!trial.history.tree().sessions().contains_key(&SESSION));
    }

    #[test]
    fn names_are_unique_and_clones_equal() {
        let mut trial = Trial::new(All(zookeeper()));
        let fresh = trial.monitor.states();
        let names: BTreeSet<_> = fresh.iter().map(|(name, _)| name).collect();
        assert_eq!(names.len(), fresh.len());
        quiet_run(&mut trial);
        let copy = trial.monitor.clone();
        assert_eq!(copy.states(), trial.monitor.states());
        // A copy goes its own way.
        trial.accepts(sent(3, exists("/a")));
        assert_ne!(copy.states(), trial.monitor.states());
    }
}

//! Properties as monitors: small automata that receive events and may object with a sentence.
//!
//! The simulator and the explorer run the same monitors. A monitor is finished only when a mutant or planted fault
//! makes it object. It may be weakened only with a cited rule, and a test that it still objects where it must.

mod access;
mod acknowledged_write;
mod activated_by_quorums;
mod after_faults;
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
mod known_packets;
mod led_by_quorum;
mod lists;
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
mod read_only;
mod reconfiguration_ends;
pub mod repeated_votes;
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
pub use activated_by_quorums::ActivatedByQuorums;
pub use after_faults::AfterFaults;
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
pub use known_packets::KnownPackets;
pub use led_by_quorum::LedByQuorum;
pub use lists::{goes_by_times, outside, programs, servers, zookeeper};
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
pub use reconfiguration_ends::ReconfigurationEnds;
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

/// The engines that check a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Asked {
    /// Sweeps and searches: the monitor's state is bounded and hashable, and contains no absolute time.
    Everywhere,
    /// Sweeps only: the monitor needs whole histories, durations or counts. Its state is never hashed.
    InSweeps,
}

/// A property's violation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Objection {
    /// The property violated, e.g. `S5` or `lock M1`.
    pub property: String,
    /// The violation that the monitor saw, in one or two sentences.
    pub saw: String,
    /// How a program or a monitor failed, if the objection is to that. Older cases have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// What it is about: the subjects of the event that was objected to, and others that the sentence names. Older
    /// cases have none.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub about: BTreeSet<Subject>,
}

/// The end of the name of a property that requires at rest what another one requires within a time: `lock M5 no leak at
/// rest` is the counterpart of `lock M5 no leak`.
pub const AT_REST: &str = " at rest";

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
    /// Returns an objection without a failure.
    pub fn new(property: impl Into<String>, saw: impl Into<Saw>) -> Objection {
        let Saw { sentence, about } = saw.into();
        Objection { property: property.into(), saw: sentence, failure: None, about }
    }

    /// Returns an objection to the failure of a program or a monitor. `subject` names it, such as `the program of
    /// client 1`.
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
    pub(crate) fn with_event(mut self, event: &Event) -> Objection {
        self.about.extend(event.subjects());
        self
    }

    /// Returns true if the objection is to this property or to its counterpart at rest ([`AT_REST`]).
    pub fn is_to(&self, property: &str) -> bool {
        self.property == property || self.property.strip_suffix(AT_REST) == Some(property)
    }

    /// Returns true if `other` has the same property and sentence. The sentence contains the failure, which older
    /// cases have only there.
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

/// A property of a run, as engines check it.
///
/// A monitor is written as one declaration ([`Declared`]), which implements this trait, so that what it declares and
/// what it does cannot differ. Only a monitor whose name, engines or events are known no earlier than at run time
/// implements this trait itself: the short properties that users compose, and monitors of tests that record every
/// event or declare something false. Checks make sure that such a monitor keeps to its
/// [`concerns`](Monitor::concerns).
///
/// Its state derives what copies and hashes it: `#[derive(Clone, Hash)]` ([`MonitorState`]).
pub trait Monitor: MonitorState + Send + Sync {
    /// Returns the property's id and name, e.g. `S5 no phantom`.
    fn name(&self) -> &'static str;

    /// Returns the engines that check the property.
    fn asked(&self) -> Asked;

    /// Returns the kinds of events that can concern the monitor ([`Monitor::concerns`]). The set is constant, so that
    /// most events are skipped by their kind alone.
    fn kinds(&self) -> Kinds {
        Kinds::ALL
    }

    /// Returns true if an event of this kind can ever change this monitor or make it object. The monitor does not
    /// receive other events, and the explorer need not try a step that causes only such events in every order. Checks
    /// send it such an event now and then; the event must not change the monitor.
    fn concerns(&self, event: &Event) -> bool {
        let _ = event;
        true
    }

    /// Returns true if the effect of an event of this kind on the monitor depends on other clients' events before it.
    /// A monitor with a separate account for each client can return false, which saves the explorer equivalent
    /// orders.
    ///
    /// Like [`Monitor::concerns`], it is asked about kinds: the event's fields may be made up.
    fn minds_order(&self, event: &Event) -> bool {
        self.concerns(event)
    }

    /// Returns how far back the monitor looks in the committed history, which is constant. An engine shows a monitor
    /// that looks only at the [tip](LooksBack::Tip) no more than that, and a search then merges states whose trees
    /// are equal but have different histories.
    fn looks_back(&self) -> LooksBack {
        LooksBack::Whole
    }

    /// Returns the names of the observations that the monitor needs
    /// ([`Observed::name`](crate::vocabulary::observation::Observed::name)): without any one of them it can never
    /// object. A report lists those that no program made. A monitor of observations that names none never objects if no
    /// program makes any, and the report then counts it as held.
    fn looks_for(&self) -> Vec<Arc<str>> {
        Vec::new()
    }

    /// Receives the run's configuration before the first event.
    fn begin(&mut self, config: &Arc<Config>) {
        let _ = config;
    }

    /// Receives one event.
    ///
    /// # Errors
    /// The objection, if the event violates the property.
    fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), Objection>;

    /// Returns true if the monitor receives the exchanges of client machines ([`Monitor::exchange`]), which are many.
    /// Only a monitor of [`Asked::InSweeps`] may: searches take client machines' steps in fewer orders than exchanges
    /// have.
    fn hears_exchanges(&self) -> bool {
        false
    }

    /// Receives one exchange of a client machine, after the events of the same step.
    ///
    /// # Errors
    /// The objection, if the exchange violates the property.
    fn exchange(
        &mut self,
        view: View<'_>,
        client: ClientId,
        exchange: &Exchange,
    ) -> Result<(), Objection> {
        let _ = (view, client, exchange);
        Ok(())
    }

    /// Called when no step but the passing of time is left: an action that has not happened by now is not about to
    /// happen. Only the explorer calls it; its time does not pass until then.
    ///
    /// # Errors
    /// The objection, if something is missing that should have happened by now.
    fn at_rest(&mut self, view: View<'_>) -> Result<(), Objection> {
        let _ = view;
        Ok(())
    }

    /// Called when the run has ended, with all faults healed and no step left.
    ///
    /// # Errors
    /// The objection, if something is missing that should have happened by now.
    fn end(&mut self, view: View<'_>) -> Result<(), Objection> {
        let _ = view;
        Ok(())
    }

    /// Returns counts and times for reports on sweeps, which the monitor measures without judging them. They are
    /// never part of the hash: the monitor keeps them in an [`Unhashed`].
    fn measured(&self) -> Vec<Measure> {
        Vec::new()
    }
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

    /// A case that was recorded before failures were kept has an objection without one.
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
        /// Returns each monitor's name and the fingerprint of its state.
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
        // A copy changes independently of the original.
        trial.accepts(sent(3, exists("/a")));
        assert_ne!(copy.states(), trial.monitor.states());
    }
}

//! What a test needs: the handle and its vocabulary, helpers of programs, faults, and what a property and
//! an observation are made of.

#[cfg(feature = "explore")]
pub use crate::exploration::{Exploration, ExploreError};
pub use crate::harness::Test;
pub use crate::harness::ready::TestFailure;
pub use crate::harness::role::Role;
pub use crate::properties::{
    PROGRAM_FINISHED, PROGRAM_KILLED, Said, Tree, agree, always, at_most_once, eventually,
    exactly_once, grows, never_two_at_once, no_ghosts_under, same_order, tree_always, tree_at_end,
};
pub use crate::sweeping::seeds::SeedRange;
pub use serde::Serialize;
pub use std::time::Duration;
pub use vivarium_model::acl::{Acl, AclList, Id, Permissions};
pub use vivarium_model::config::{Config, Election, ServerOptions};
pub use vivarium_model::error::Error;
pub use vivarium_model::event::Event;
pub use vivarium_model::fingerprint::Fingerprint;
pub use vivarium_model::handle::{
    Cancelled, Either, MultiError, PersistentWatch, Round, SessionChanges, SessionEvents, TimedOut,
    Watch, ZooKeeper, join, join_all, race,
};
pub use vivarium_model::host::Message;
pub use vivarium_model::id::{ClientId, ServerId, SessionId};
pub use vivarium_model::mark::Mark;
pub use vivarium_model::minds;
pub use vivarium_model::observation::{Custom, Observation, Value};
pub use vivarium_model::op::{
    AddWatchMode, ClientInfo, CreateMode, Data, EventType, Op, OpResult, ReadOp, ReadResult,
    SessionChange, SessionState, Version, WatchedEvent, WatcherType,
};
pub use vivarium_model::property::{
    Asked, Declaration, Declared, LooksBack, Measure, Measured, Monitor, Objection, Unhashed, View,
};
pub use vivarium_model::release::Release;
pub use vivarium_model::stat::Stat;
pub use vivarium_model::time::Time;
pub use vivarium_model::txn::{Txn, TxnBody};
pub use vivarium_model::verdict::{Verdict, Violation};
pub use vivarium_model::zxid::Zxid;
pub use vivarium_recipes::helpers::{
    ensure_deleted, ensure_path, in_sessions, next_session, settle, until_known,
};
pub use vivarium_reports::exploration::ExplorationReport;
pub use vivarium_reports::summary::ScenarioReport;
pub use vivarium_sim::{Choice, ClientOptions, Fault, FaultSet as Faults, Rate};

//! The shared vocabulary: ids, requests and replies, transactions, packets, steps and their effects, and the
//! configuration of a run.

pub mod acl;
pub mod bounds;
pub mod config;
pub(crate) mod data;
pub mod effect;
pub mod error;
pub mod event;
pub mod file_system;
pub mod fingerprint;
pub mod hierarchy;
pub mod id;
pub mod named;
pub mod note;
pub mod observation;
pub mod op;
pub mod outside;
pub mod packet;
pub mod parcel;
pub mod path;
pub(crate) mod phrase;
pub mod quorum;
pub mod reconfiguration;
pub mod release;
pub mod session_order;
pub mod setup;
pub mod stat;
pub mod step;
pub mod subject;
pub mod time;
pub mod timer;
pub mod txn;
pub mod words;
pub(crate) mod znode;
pub mod zxid;

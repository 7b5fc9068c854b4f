//! The lock over a small ZooKeeper of one server, driven request by request.
//!
//! Each test is a script: whose request is served next, whose reply is lost, who is cancelled. All monitors of the
//! lock run.

mod chaos;
mod contract;
mod double;
mod mutants;

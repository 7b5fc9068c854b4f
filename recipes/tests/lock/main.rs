//! The lock over a small ZooKeeper of one server, driven request by request.
//!
//! Each test is a script: which client's next request is served, whose reply is lost, who is
//! cancelled. All monitors of the lock watch along.

mod chaos;
mod contract;
mod double;
mod mutants;

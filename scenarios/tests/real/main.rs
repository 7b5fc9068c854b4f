//! Tests with real servers: they are driven, compared with the model, and show its findings. If ZooKeeper or Java is
//! not installed, the tests that need them say so and pass.
#![cfg(feature = "live")]

mod both;
mod client;
mod conform;
mod counter;
mod findings;
#[path = "../../../sim/live/examples/leader/src/lib.rs"]
#[allow(unreachable_pub, reason = "it is a crate of its own")]
mod leader;
mod live;
mod records;
mod rollover;
mod server;
mod watchdog;

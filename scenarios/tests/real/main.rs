//! Tests with real servers: they are driven, compared with the model, and show its findings. If ZooKeeper or Java is
//! not installed, the tests that need them say so and pass.
#![cfg(feature = "conform")]

mod conform;
mod counter;
mod findings;
mod records;
mod server;

//! The catalogue's programs on real servers: at real speed, through real faults, judged by the same monitors.
//!
//! For each seed an ensemble is started. Every program runs over a client of its own, each of whose connections passes a
//! proxy. A plan drawn from the seed cuts and holds connections, loses replies, kills and pauses servers,
//! and ends sessions, for a bounded time; then all is repaired, and the programs must finish. Afterwards the events of the
//! clients are judged together with the transactions that the servers have logged.
//!
//! A seed names the plan and not the run: real time decides the rest.
//!
//! On an ensemble that exists already, whose servers are not ours, only clients are struck, and only what programs return is
//! judged: properties need the servers' logs.

mod error;
mod judge;
mod plan;
mod proxy;
mod report;
mod run;
mod servers;
mod surroundings;

pub use error::LiveError;
pub use plan::Strike;
pub use proxy::{Loss, Proxy, Write};
pub use report::report;
pub use run::{Ended, LivePlan, run};
pub use servers::Place;

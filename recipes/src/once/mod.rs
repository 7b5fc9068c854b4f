//! Writes that are applied at most once even if their replies are lost: the basis of counters and queues.
//!
//! A write whose reply was lost was applied, or never will be, or is still pending (recipe rule 1.1.1). A later read
//! proves nothing, and the write's effect may be gone by now: taken by a consumer, or overwritten by the next write. So
//! these writes do not look for traces. A write has a *condition that it makes false itself*, and is simply repeated:
//! the first of its copies is applied, and all others are refused (recipe rules 2.4.2 and 2.15.2). This also works
//! across sessions, and needs neither a sync nor an order of sessions.

mod ledger;
mod patient;

pub(crate) use ledger::create_persistent;
pub use ledger::{Fate, Ledger};
pub use patient::Patient;

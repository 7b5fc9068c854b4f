//! Writes that are applied once, whatever becomes of their replies: what counters and queues rest on.
//!
//! A write whose reply was lost was applied, or never will be, or is still pending (recipe rule 1.1.1). A
//! read behind it proves nothing, and what it made may be gone by now: taken by a consumer, overwritten by
//! the next. So nobody looks for traces here. A write carries a *condition that it makes false itself*, and
//! is simply repeated: whichever of its copies comes first is the one, all others are refused (recipe rules
//! 2.4.2 and 2.15.2). That holds from session to session too, and needs neither a sync nor the order of sessions.

mod ledger;
mod patient;

pub(crate) use ledger::create_persistent;
pub use ledger::{Fate, Ledger};
pub use patient::Patient;

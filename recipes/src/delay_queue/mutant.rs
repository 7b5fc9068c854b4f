//! The mutants of the delay queue: likely mistakes as named switches, off by default (recipe rule 3.4).

use crate::mutants::named;

named! {
    /// A mistake of a delay queue (recipe rule 3.4).
    pub enum Mutant ("mutant") {
        /// A consumer takes the first item after any wake-up without reading the clock again (a likely mistake). Breaks
        /// DQ1.
        WakeMeansDue =>
            "A consumer that is woken by another put takes the first item without looking at \
             the clock again (a likely mistake).",
        /// A consumer waits for a change only and has no timer of its own (a likely mistake), so the last item is never
        /// taken.
        NoTimer =>
            "A consumer waits for the next put and sets no timer, so that the last item is \
             never taken (a likely mistake).",
    }
}

/// A set of the delay queue's mutants.
pub type Mutants = crate::mutants::Mutants<Mutant>;

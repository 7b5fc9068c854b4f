//! How much may go wrong on one path of a search.

use std::fmt;
use vivarium_model::fingerprint::Fingerprint;

/// The bits that each number of a budget has in a state's fingerprint.
const BITS: u32 = 6;

/// The most of each kind on one path: more than any search gets through.
pub const MOST: u8 = (1 << BITS) - 1;

/// How often each kind of fault may happen on one path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Budget {
    /// Connections lost, each with any number of the requests and replies under way.
    pub lost: u8,
    /// Sessions that expire although their client lives, or that a client gives up by its own clock.
    pub expiries: u8,
    /// Cancellations of a program that awaits one.
    pub cancels: u8,
    /// Timers that fire although something else could happen first.
    pub timers: u8,
    /// Programs that crash, each followed by a replacement.
    pub kills: u8,
    /// Readings of programs' clocks that are later than what the program has slept since the one before.
    pub delays: u8,
    /// Containers and TTL znodes that the leader deletes although something else could happen first.
    pub deletions: u8,
}

impl Budget {
    /// Each kind by its name, with its number.
    pub fn kinds(self) -> [(&'static str, u8); 7] {
        let Budget { lost, expiries, cancels, timers, kills, delays, deletions } = self;
        [
            ("lost", lost),
            ("expiries", expiries),
            ("cancels", cancels),
            ("timers", timers),
            ("kills", kills),
            ("delays", delays),
            ("deletions", deletions),
        ]
    }

    pub(super) fn fingerprint(self) -> Fingerprint {
        // The multiplier is odd, so no two budgets fall together.
        Fingerprint(self.packed().wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))
    }

    /// All of it in one number of 42 bits. The last kind has the highest bits: while it is 0, fingerprints and so the order of
    /// visits do not depend on it, nor does the choice among violations of equal length.
    pub(super) fn packed(self) -> u128 {
        let kinds = self.kinds();
        let (last, others) = kinds.split_last().expect("there are seven");
        let packed = others.iter().fold(0, |sum, (_, number)| sum << BITS | u128::from(*number));
        packed | u128::from(last.1) << (BITS * others.len() as u32)
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut some = self.kinds().into_iter().filter(|(_, number)| *number > 0).peekable();
        if some.peek().is_none() {
            return f.write_str("no faults");
        }
        for (at, (kind, number)) in some.enumerate() {
            write!(f, "{}{number} {kind}", if at > 0 { ", " } else { "" })?;
        }
        Ok(())
    }
}

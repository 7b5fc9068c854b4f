//! A budget as a part of a state.

pub use crate::budget::programs::Budget;

use crate::budget::Account;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::service::Service;
use vivarium_model::step::Step;
use vivarium_model::timer::{ClientTimer, Timer};

/// The bits that each number of a budget has in a state's fingerprint.
const BITS: u32 = 6;

const _: () = {
    let mut at = 0;
    while at < Budget::ACCOUNTS.len() {
        assert!(Budget::ACCOUNTS[at].bounds().1 < 1 << BITS, "each number fits into its bits");
        at += 1;
    }
};

/// The account from which a step takes one, where something else could happen first; `None` if it is free. The expiry of a
/// session that no client keeps alive takes nothing.
pub(super) fn account_of(service: &Service, step: &Step) -> Option<Account> {
    match *step {
        Step::BreakClient { .. } => Some(Account::Lost),
        Step::Cancel(_) => Some(Account::Cancels),
        Step::Kill(_) => Some(Account::Kills),
        Step::Expire(session) if !service.is_orphan(session) => Some(Account::Expiries),
        Step::Fire(Timer::Client(_, ClientTimer::Expiry)) => Some(Account::Expiries),
        Step::Fire(Timer::Sleep(..)) => Some(Account::Timers),
        Step::DeleteContainer(_) => Some(Account::Deletions),
        Step::Clock { client, call, reading } => {
            (service.least_reading(client, call) < Some(reading)).then_some(Account::Delays)
        }
        _ => None,
    }
}

impl Budget {
    pub(super) fn fingerprint(self) -> Fingerprint {
        // The multiplier is odd, so no two budgets fall together.
        Fingerprint(self.packed().wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835))
    }

    /// All of it in one number of 42 bits. The last account has the highest bits: while it is 0, fingerprints and so the order
    /// of visits do not depend on it, nor does the choice among violations of equal length.
    pub(super) fn packed(self) -> u128 {
        let (last, others) = Budget::ACCOUNTS.split_last().expect("there are seven");
        let packed = |sum, account: &_| sum << BITS | u128::from(self[*account]);
        let rest = others.iter().fold(0, packed);
        rest | u128::from(self[*last]) << (BITS * others.len() as u32)
    }
}

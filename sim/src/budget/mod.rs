//! How much may go wrong on one path of a search, by kinds.
//!
//! An [`Account`] is one kind of fault or work that a search may spend, such as crashes. [`programs::Budget`] and
//! [`servers::Budget`] hold how many of each account of their grain a path may spend. `accounts` declares them all.

mod accounts;

use std::fmt;
use std::ops::{Index, IndexMut};
use vivarium_model::case::GrainKind;

macro_rules! declare {
    ($(
        $grain:ident over $Grain:ident {
            $(
                $(#[$doc:meta])*
                $field:ident: $Account:ident {
                    value: $value:literal,
                    help: $help:literal,
                    usual: $usual:literal $(or $usually:literal)?,
                    bounds: $least:literal..=$most:expr,
                    row: $row:literal,
                    how: $how:literal,
                    words: [$one:literal, $many:literal],
                }
            )*
        }
    )*) => {
        /// One kind of what a search may spend on a path, such as crashes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Account {
            $($($(#[$doc])* $Account,)*)*
        }

        impl Account {
            /// All of them, those of programs first.
            pub const ALL: [Account; [$($(Account::$Account),*),*].len()] =
                [$($(Account::$Account),*),*];

            /// Those of one grain.
            pub fn of(grain: GrainKind) -> &'static [Account] {
                match grain {
                    $(GrainKind::$Grain => &[$(Account::$Account),*],)*
                }
            }

            /// The grain that has it.
            pub fn grain(self) -> GrainKind {
                match self {
                    $($(Account::$Account => GrainKind::$Grain,)*)*
                }
            }

            /// The name in case files, and of the method of an `Exploration`.
            pub fn name(self) -> &'static str {
                match self {
                    $($(Account::$Account => stringify!($field),)*)*
                }
            }

            /// The letter that stands for its number in help.
            pub fn value(self) -> &'static str {
                match self {
                    $($(Account::$Account => $value,)*)*
                }
            }

            /// The help of its flag.
            pub fn help(self) -> String {
                let (help, usually) = match self {
                    $($(Account::$Account => ($help, [$($usually,)? stringify!($usual)][0]),)*)*
                };
                format!("{help} [default: {usually}]")
            }

            /// The number if neither the user nor the scenario says one.
            pub const fn usual(self) -> u8 {
                match self {
                    $($(Account::$Account => $usual,)*)*
                }
            }

            /// The least and the most that is taken.
            pub const fn bounds(self) -> (u8, u8) {
                match self {
                    $($(Account::$Account => ($least, $most),)*)*
                }
            }

            /// The name of its row in a report.
            pub fn row(self) -> &'static str {
                match self {
                    $($(Account::$Account => $row,)*)*
                }
            }

            /// How it happens, for the row of a report.
            pub fn how(self) -> &'static str {
                match self {
                    $($(Account::$Account => $how,)*)*
                }
            }

            /// Returns a count in words: "1 crash", "2 crashes".
            pub fn counted(self, number: u8) -> String {
                let (one, many) = match self {
                    $($(Account::$Account => ($one, $many),)*)*
                };
                match self.any() {
                    Some(any) if any == number => format!("any number of {many}"),
                    _ => format!("{number} {}", if number == 1 { one } else { many }),
                }
            }
        }

        $(
            #[doc = concat!("The budget of a search over ", stringify!($grain), ".")]
            pub mod $grain {
                use super::Account;
                use std::collections::BTreeMap;
                use std::ops::{Index, IndexMut};
                use vivarium_model::case::GrainKind;

                /// How often each kind may happen on one path.
                #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
                pub struct Budget {
                    $($(#[$doc])* pub $field: u8,)*
                }

                impl Budget {
                    /// The accounts, in their order.
                    pub const ACCOUNTS: [Account; [$(Account::$Account),*].len()] =
                        [$(Account::$Account),*];

                    /// The grain of such searches.
                    pub const GRAIN: GrainKind = GrainKind::$Grain;

                    /// A budget with these numbers, by account.
                    pub fn by(number: impl Fn(Account) -> u8) -> Budget {
                        Budget { $($field: number(Account::$Account),)* }
                    }

                    /// Each account with its number.
                    pub fn each(self) -> impl Iterator<Item = (Account, u8)> {
                        Budget::ACCOUNTS.into_iter().map(move |account| (account, self[account]))
                    }

                    /// Everything together.
                    pub fn sum(self) -> usize {
                        self.each().map(|(_, number)| usize::from(number)).sum()
                    }

                    /// The budget as a case notes it: by name, as text.
                    pub fn parameters(self) -> BTreeMap<String, String> {
                        let each = self.each();
                        each.map(|(account, number)| (account.name().to_string(), account.noted(number))).collect()
                    }

                    /// The budget that a case notes. An account that it does not name is empty.
                    ///
                    /// # Errors
                    /// A number is none: one sentence.
                    pub fn read(parameters: &BTreeMap<String, String>) -> Result<Budget, String> {
                        let mut budget = Budget::default();
                        for account in Budget::ACCOUNTS {
                            if let Some(text) = parameters.get(account.name()) {
                                budget[account] = super::read(account, text)?;
                            }
                        }
                        Ok(budget)
                    }

                    $(
                        $(#[$doc])*
                        #[must_use]
                        pub const fn $field(self, $field: u8) -> Budget {
                            Budget { $field, ..self }
                        }
                    )*
                }

                impl Index<Account> for Budget {
                    type Output = u8;

                    fn index(&self, account: Account) -> &u8 {
                        match account {
                            $(Account::$Account => &self.$field,)*
                            other => super::foreign(other),
                        }
                    }
                }

                impl IndexMut<Account> for Budget {
                    fn index_mut(&mut self, account: Account) -> &mut u8 {
                        match account {
                            $(Account::$Account => &mut self.$field,)*
                            other => super::foreign(other),
                        }
                    }
                }
            }
        )*
    };
}

crate::accounts!(declare);

impl Account {
    /// The flag on the command line.
    pub fn flag(self) -> String {
        format!("--{}", self.name().replace('_', "-"))
    }

    /// The number that stands for any number: it does not become less. `None` if there is none for this account.
    pub const fn any(self) -> Option<u8> {
        match self {
            Account::Timers => Some(self.bounds().1),
            _ => None,
        }
    }

    /// Returns what is left of a number after one was spent.
    pub fn spent(self, number: u8) -> u8 {
        if self.any() == Some(number) { number } else { number.saturating_sub(1) }
    }

    /// Returns a number as flags and case files have it: in digits, or "any".
    pub fn noted(self, number: u8) -> String {
        if self.any() == Some(number) { ANY.to_string() } else { number.to_string() }
    }

    /// Whether something fails. Elsewhere only the order of events is another one, or there is more of what there is.
    pub fn is_fault(self) -> bool {
        match self {
            Account::Lost
            | Account::Expiries
            | Account::Cancels
            | Account::Kills
            | Account::Crashes
            | Account::Breaks
            | Account::FsyncErrors => true,
            Account::Timers
            | Account::Delays
            | Account::Deletions
            | Account::Servers
            | Account::Observers
            | Account::Txns
            | Account::Reconfigs
            | Account::Timeouts
            | Account::Upsets => false,
        }
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl programs::Budget {
    /// Whether a fault can happen.
    pub fn has_faults(self) -> bool {
        self.each().any(|(account, number)| account.is_fault() && number > 0)
    }
}

impl fmt::Display for programs::Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let some = self.each().filter(|(_, number)| *number > 0);
        let some: Vec<String> = some.map(|(account, number)| account.counted(number)).collect();
        f.write_str(&if some.is_empty() { "no faults".to_string() } else { some.join(", ") })
    }
}

impl servers::Budget {
    /// This many servers, transactions and crashes, and nothing else.
    pub const fn new(servers: u8, txns: u8, crashes: u8) -> servers::Budget {
        let (breaks, timeouts, fsync_errors, upsets) = (0, 0, 0, 0);
        servers::Budget {
            servers,
            observers: 0,
            txns,
            reconfigs: 0,
            crashes,
            breaks,
            timeouts,
            fsync_errors,
            upsets,
        }
    }
}

/// What flags and case files have for any number.
pub const ANY: &str = "any";

fn read(account: Account, text: &str) -> Result<u8, String> {
    if let Some(any) = account.any().filter(|_| text == ANY) {
        return Ok(any);
    }
    text.parse().map_err(|_| format!("its parameter `{account}` is no number: `{text}`"))
}

fn foreign(account: Account) -> ! {
    panic!("`{account}` belongs to the {} grain only", account.grain())
}

/// A value for each account.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct ByAccount<T>([T; Account::ALL.len()]);

impl<T: fmt::Debug> fmt::Debug for ByAccount<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(Account::ALL.iter().map(|account| (account.name(), &self[*account])))
            .finish()
    }
}

impl<T> Index<Account> for ByAccount<T> {
    type Output = T;

    fn index(&self, account: Account) -> &T {
        &self.0[account as usize]
    }
}

impl<T> IndexMut<Account> for ByAccount<T> {
    fn index_mut(&mut self, account: Account) -> &mut T {
        &mut self.0[account as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_flags_and_bounds_follow_from_the_list() {
        assert_eq!(Account::FsyncErrors.name(), "fsync_errors");
        assert_eq!(Account::FsyncErrors.flag(), "--fsync-errors");
        assert_eq!(Account::Crashes.counted(1), "1 crash");
        assert!(Account::Delays.help().ends_with(" late on a path [default: 1]"));
        assert!(Account::Txns.help().ends_with(" propose [default: the scenario's]"));
        for (at, account) in Account::ALL.into_iter().enumerate() {
            assert_eq!(account as usize, at);
            assert!(Account::of(account.grain()).contains(&account));
            let (least, most) = account.bounds();
            assert!(account.usual() <= most && least <= most);
        }
    }

    /// Any number does not become less, and a case notes it as `any`.
    #[test]
    fn any_number_stays_any_number() {
        let any = Account::Timers.any().expect("timers have one");
        assert_eq!([any, 2, 1, 0].map(|number| Account::Timers.spent(number)), [any, 1, 0, 0]);
        assert_eq!(Account::Lost.spent(any), any - 1);
        assert_eq!(Account::Timers.counted(any), "any number of timers");
        let budget = programs::Budget::default().timers(any);
        assert_eq!(budget.parameters()["timers"], ANY);
        assert_eq!(programs::Budget::read(&budget.parameters()), Ok(budget));
        let lost = [("lost".to_string(), ANY.to_string())].into();
        assert!(programs::Budget::read(&lost).is_err(), "only timers have one");
    }

    #[test]
    fn a_budget_is_read_from_what_a_case_notes() {
        let budget = programs::Budget { lost: 2, delays: 1, ..programs::Budget::default() };
        assert_eq!(programs::Budget::read(&budget.parameters()), Ok(budget));
        assert_eq!(budget.to_string(), "2 lost, 1 delays");
        // Cases are older than some of the accounts.
        let old = [("lost".to_string(), "2".to_string())].into();
        assert_eq!(programs::Budget::read(&old).map(|old| old.lost), Ok(2));
        let broken = [("lost".to_string(), "many".to_string())].into();
        assert!(programs::Budget::read(&broken).is_err_and(|why| why.contains("`many`")));
    }
}

//! The flags of a search's budget.

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use vivarium_sim::budget::Account;

/// The flags of the budget, one for each account, and those that stand beside one of them.
#[derive(Debug)]
pub(super) struct BudgetArguments {
    /// What was given, in the order of the accounts.
    pub(super) numbers: Vec<(Account, String)>,
    pub(super) clocks: ClockArguments,
    pub(super) disks: DiskArguments,
}

#[derive(Args, Debug)]
pub(super) struct ClockArguments {
    /// A span by which such a reading can be late, beside an hour and the sessions' timeouts
    #[arg(long = "delay", value_name = "SECONDS", allow_hyphen_values = true)]
    pub(super) delay: Vec<String>,
}

#[derive(Args, Debug)]
pub(super) struct DiskArguments {
    /// Servers take a background snapshot after at most this number of transactions; 2 is the least that ZooKeeper takes
    /// [default: never]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(super) snap_count: Option<String>,
    /// In which order changes of directories and of files' lengths become durable on servers' disks: unordered, as POSIX
    /// has it; ordered, as the journals of ext4 and XFS have it [default: unordered]
    #[arg(long, value_name = "ORDER")]
    pub(super) metadata: Option<String>,
}

impl Args for BudgetArguments {
    fn augment_args(command: Command) -> Command {
        Account::ALL.into_iter().fold(command, |command, account| {
            let flag = Arg::new(account.name())
                .long(account.name().replace('_', "-"))
                .value_name(account.value())
                .help(account.help())
                .allow_hyphen_values(true);
            let command = command.arg(flag);
            match account {
                Account::Delays => ClockArguments::augment_args(command),
                Account::FsyncErrors => DiskArguments::augment_args(command),
                _ => command,
            }
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        BudgetArguments::augment_args(command)
    }
}

impl FromArgMatches for BudgetArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<BudgetArguments, clap::Error> {
        let given = |account: Account| {
            let text = matches.get_one::<String>(account.name())?;
            Some((account, text.clone()))
        };
        Ok(BudgetArguments {
            numbers: Account::ALL.into_iter().filter_map(given).collect(),
            clocks: ClockArguments::from_arg_matches(matches)?,
            disks: DiskArguments::from_arg_matches(matches)?,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = BudgetArguments::from_arg_matches(matches)?;
        Ok(())
    }
}

//! Draws random cases, with weights: small ones, in which much can happen.

use super::case::{Call, Case, Statement, Watched, Watching};
use super::palette::{Fault, Palette, Theme, fault};
use vivarium_sim::budget::Account;
use vivarium_sim::every::programs::Budget;
use vivarium_sim::random::{Random, Seeds};

/// Draws the case with this number of a seed. Each case has only a few kinds of statements and calls, which are drawn
/// first. So the combinations that reveal a mistake occur more often than with arbitrary statements.
pub fn draw(seed: u64, number: u64) -> Case {
    let mut dice = Seeds::new(seed).stream("case of the explorer", number);
    let clients = [1, 1, 1, 2, 2, 2, 2, 2, 3, 4][dice.below(10) as usize];
    let theme = Theme::draw(&mut dice);
    let palette = Palette::draw(&mut dice, theme);
    // Longer programs meet no faults, because they would have too many states.
    let longer = dice.below(4) == 0;
    let most = [4, 2, 2, 1][clients - 1] + u64::from(longer);
    let programs = (0..clients).map(|_| palette.program(&mut dice, most)).collect();
    let watched = [
        Watched::Ends,
        Watched::Tree,
        Watched::Words,
        Watched::Order,
        Watched::Commits,
        Watched::Requests,
        Watched::Accounts,
        Watched::Everything,
        Watched::History,
    ][dice.below(9) as usize];
    let chroot = dice.below(12) == 0;
    let setup = match dice.below(6) {
        0 | 1 => vec![0],
        2 => vec![0, 2],
        _ if chroot => vec![0],
        _ => Vec::new(),
    };
    let budget = if longer { Budget::default() } else { budget(&mut dice, clients, theme) };
    // A session that a client gives up counts as an expiry.
    let mut of_sessions = Seeds::new(seed).stream("sessions that clients give up", number);
    let gives_up = budget.expiries > 0 && of_sessions.below(3) == 0;
    let mut case = Case { programs, setup, chroot, gives_up, deletes: false, watched, budget };
    go_by_the_time(&mut case, &mut Seeds::new(seed).stream("clocks of the explorer", number));
    let containers = &mut Seeds::new(seed).stream("containers of the explorer", number);
    go_with_time(&mut case, containers);
    let timers = &mut Seeds::new(seed).stream("timers of the explorer", number);
    if case.budget.timers > 0 && timers.below(2) == 0 {
        case.budget.timers = Account::Timers.any().expect("timers have one");
    }
    case
}

/// In one case in eight, lets the leader delete containers and TTL znodes, and lets programs create and read them.
fn go_with_time(case: &mut Case, dice: &mut Random) {
    if dice.below(8) != 0 {
        return;
    }
    case.deletes = true;
    case.budget.deletions = dice.below(3) as u8;
    let kinds = [
        Statement::Do(Call::CreateContainer(0)),
        Statement::Do(Call::CreateTtl(0)),
        Statement::Spawn(Call::CreateTtl(2)),
        Statement::Do(Call::Create(1)),
        Statement::Do(Call::Delete(1)),
        Statement::Do(Call::Delete(0)),
        Statement::Do(Call::CreateEphemeral(1)),
        Statement::Do(Call::SetFirst(0, 1)),
        Statement::Do(Call::Sleep),
        Statement::Do(Call::Exists(0)),
        Statement::Watch(Watching::Exists, 0),
        Statement::Watch(Watching::Children, 0),
        Statement::AwaitOr(Call::Sleep),
        Statement::Await,
    ];
    // Deleted znodes must be created by the program, and the setup must not contain them.
    case.setup.clear();
    case.chroot = false;
    case.programs[0].insert(0, kinds[dice.below(2) as usize]);
    for program in &mut case.programs {
        for statement in program.iter_mut().skip(1) {
            if dice.below(3) > 0 {
                *statement = dice.choose(&kinds).expect("there are some");
            }
        }
    }
}

/// In one case in six, lets a program read its clock, twice if it is long enough, and lets a reading be late.
fn go_by_the_time(case: &mut Case, dice: &mut Random) {
    if dice.below(6) != 0 {
        return;
    }
    let client = dice.below(case.programs.len() as u64) as usize;
    let program = &mut case.programs[client];
    for _ in 0..2 {
        let at = dice.below(program.len() as u64) as usize;
        program[at] = match dice.below(4) {
            0 => Statement::Join(Call::Now, Call::Sleep),
            1 => Statement::Spawn(Call::Now),
            _ => Statement::Do(Call::Now),
        };
    }
    if program.len() < 4 {
        program.insert(dice.below(program.len() as u64 + 1) as usize, Statement::Do(Call::Sleep));
    }
    case.budget.delays = dice.below(2) as u8;
}

fn budget(dice: &mut Random, clients: usize, theme: Option<&Theme>) -> Budget {
    let mut budget = Budget::default();
    let faults = match clients {
        1 => dice.below(4),
        2 => dice.below(3),
        _ => dice.below(4) / 3,
    };
    for _ in 0..faults {
        let kind = match fault(dice, theme) {
            Fault::Loss => &mut budget.lost,
            Fault::Expiry => &mut budget.expiries,
            Fault::Kill => &mut budget.kills,
            Fault::Timer => &mut budget.timers,
            Fault::Cancel => &mut budget.cancels,
        };
        *kind += 1;
    }
    budget
}

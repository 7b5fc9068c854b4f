//! Cases drawn at random, with weights: small ones, in which much can happen.

use super::case::{Answer, Call, Case, PATHS, Statement, Watched, Watching};
use vivarium_model::explore::recipes::Budget;
use vivarium_sim::random::{Random, Seeds};

/// The case with this number of a seed. Each case has a few kinds of statements and calls only, drawn
/// first: what must come together to show a mistake comes together more often than if every statement
/// could be anything.
pub fn draw(seed: u64, number: u64) -> Case {
    let mut dice = Seeds::new(seed).stream("case of the explorer", number);
    let clients = [1, 1, 1, 2, 2, 2, 2, 2, 3, 4][dice.below(10) as usize];
    let palette = Palette::draw(&mut dice);
    let most = [4, 2, 2, 1][clients - 1];
    let programs = (0..clients).map(|_| palette.program(&mut dice, most)).collect();
    let watched = [
        Watched::Ends,
        Watched::Ends,
        Watched::Words,
        Watched::Order,
        Watched::Commits,
        Watched::Requests,
        Watched::Accounts,
        Watched::Everything,
        Watched::History,
    ][dice.below(9) as usize];
    let (setup, chroot) = (dice.below(3) == 0, dice.below(12) == 0);
    let budget = budget(&mut dice, clients);
    Case { programs, setup: setup || chroot, chroot, watched, budget }
}

fn budget(dice: &mut Random, clients: usize) -> Budget {
    let mut budget = Budget::default();
    let faults = match clients {
        1 => dice.below(4),
        2 => dice.below(3),
        _ => dice.below(4) / 3,
    };
    for _ in 0..faults {
        let kind = match dice.below(12) {
            0..4 => &mut budget.lost,
            4..7 => &mut budget.expiries,
            7 | 8 => &mut budget.kills,
            9 | 10 => &mut budget.timers,
            _ => &mut budget.cancels,
        };
        *kind += 1;
    }
    budget
}

/// What the programs of a case are made of.
struct Palette {
    calls: Vec<Call>,
    statements: Vec<u64>,
}

/// The kinds of statements, see [`Palette::statement`].
const KINDS: u64 = 40;

impl Palette {
    fn draw(dice: &mut Random) -> Palette {
        let calls = (0..dice.between(2, 5)).map(|_| call(dice)).collect();
        let statements = (0..dice.between(2, 4)).map(|_| dice.below(KINDS)).collect();
        Palette { calls, statements }
    }

    fn program(&self, dice: &mut Random, most: u64) -> Vec<Statement> {
        (0..dice.between(1, most)).map(|_| self.statement(dice)).collect()
    }

    fn call(&self, dice: &mut Random) -> Call {
        self.calls[dice.below(self.calls.len() as u64) as usize]
    }

    fn statement(&self, dice: &mut Random) -> Statement {
        let call = |dice: &mut Random| self.call(dice);
        match self.statements[dice.below(self.statements.len() as u64) as usize] {
            0..18 => Statement::Do(call(dice)),
            18 => Statement::Retry(call(dice)),
            19 | 20 => Statement::Join(call(dice), call(dice)),
            21 => Statement::Race(call(dice), call(dice)),
            22 => Statement::Timeout(call(dice)),
            23 => Statement::Cancellable(call(dice)),
            24 => Statement::Spawn(call(dice)),
            25..29 => Statement::Watch(watching(dice), path(dice)),
            29 => Statement::Await,
            30..32 => Statement::AwaitOr(call(dice)),
            32 => Statement::Unwatch(path(dice)),
            33..35 => Statement::States,
            35 => Statement::NextState,
            36 => Statement::Send(dice.below(3) as usize),
            37 | 38 => Statement::Say(dice.below(3) as u8),
            _ => Statement::FailOn(
                [
                    Answer::ConnectionLoss,
                    Answer::SessionExpired,
                    Answer::NoNode,
                    Answer::NodeExists,
                ][dice.below(4) as usize],
            ),
        }
    }
}

fn watching(dice: &mut Random) -> Watching {
    [
        Watching::Exists,
        Watching::Data,
        Watching::Children,
        Watching::Persistent,
        Watching::Recursive,
    ][dice.below(5) as usize]
}

fn path(dice: &mut Random) -> usize {
    [0, 0, 0, 1, 2][dice.below(5) as usize] % PATHS.len()
}

fn call(dice: &mut Random) -> Call {
    let at = path(dice);
    match dice.below(48) {
        0..5 => Call::Create(at),
        5..9 => Call::CreateEphemeral(at),
        9 => Call::CreateSequential(at),
        10 => Call::CreateContainer(at),
        11..16 => Call::Delete(at),
        16..18 => Call::SetData(at, dice.below(3) as u8),
        18 => Call::SetFirst(at, dice.below(3) as u8),
        19..25 => Call::Exists(at),
        25..27 => Call::GetData(at),
        27..30 => Call::GetChildren(at),
        30 => Call::CountAll(at),
        31 => Call::Ephemerals,
        32 => Call::GetAcl(at),
        33 => Call::SetAcl(at),
        34..37 => Call::Sync,
        37 => Call::CreateAndDelete(at),
        38 => Call::CheckAndCreate(at, path(dice)),
        39..41 => Call::Connect,
        41 => Call::Close,
        42 => Call::Sleep,
        43 => Call::Random,
        44 => Call::Receive,
        45 | 46 => Call::Resource,
        _ if dice.below(3) == 0 => Call::WrongAuth,
        _ => Call::Auth,
    }
}

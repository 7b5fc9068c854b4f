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
    let theme = Theme::draw(&mut dice);
    let palette = Palette::draw(&mut dice, theme);
    // Longer programs meet no faults: they would come to too many states.
    let longer = dice.below(4) == 0;
    let most = [4, 2, 2, 1][clients - 1] + u64::from(longer);
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
    let chroot = dice.below(12) == 0;
    let setup = match dice.below(6) {
        0 | 1 => vec![0],
        2 => vec![0, 2],
        _ if chroot => vec![0],
        _ => Vec::new(),
    };
    let budget = if longer { Budget::default() } else { budget(&mut dice, clients, theme) };
    Case { programs, setup, chroot, watched, budget }
}

fn budget(dice: &mut Random, clients: usize, theme: Option<&Theme>) -> Budget {
    let mut budget = Budget::default();
    let faults = match clients {
        1 => dice.below(4),
        2 => dice.below(3),
        _ => dice.below(4) / 3,
    };
    for _ in 0..faults {
        let kind = match theme.filter(|_| dice.below(4) > 0) {
            Some(theme) => theme.faults[dice.below(theme.faults.len() as u64) as usize],
            None => dice.below(12),
        };
        let kind = match kind {
            LOST..EXPIRY => &mut budget.lost,
            EXPIRY..KILL => &mut budget.expiries,
            KILL..TIMER => &mut budget.kills,
            TIMER..CANCEL => &mut budget.timers,
            _ => &mut budget.cancels,
        };
        *kind += 1;
    }
    budget
}

// Faults, with their weights: each number up to the next is one.
const LOST: u64 = 0;
const EXPIRY: u64 = 4;
const KILL: u64 = 7;
const TIMER: u64 = 9;
const CANCEL: u64 = 11;

/// Calls, statements and faults that show more together than each with any other.
struct Theme {
    calls: &'static [Call],
    /// See [`Palette::statement`].
    statements: &'static [u64],
    faults: &'static [u64],
}

const DO: u64 = 0;
const TIMEOUT: u64 = 22;
const SPAWN: u64 = 24;
const WATCH: u64 = 25;
const AWAIT: u64 = 29;
const AWAIT_OR: u64 = 30;
const STATES: u64 = 33;
const SEND: u64 = 36;

const THEMES: [Theme; 6] = [
    // What happens to those who sleep.
    Theme {
        calls: &[Call::Sleep, Call::Sleep, Call::CreateEphemeral(0), Call::Exists(0)],
        statements: &[DO, DO, STATES, TIMEOUT, SPAWN],
        faults: &[LOST, EXPIRY, KILL, TIMER],
    },
    // What comes and goes while it is watched.
    Theme {
        calls: &[
            Call::CreateAndDelete(0),
            Call::Create(0),
            Call::Delete(0),
            Call::Sync,
            Call::Receive,
        ],
        statements: &[WATCH, WATCH, AWAIT, AWAIT_OR, DO, DO, SEND],
        faults: &[LOST, EXPIRY, KILL],
    },
    // Two znodes go: who lags behind sees one of them alone.
    Theme {
        calls: &[
            Call::Delete(0),
            Call::Delete(2),
            Call::Create(2),
            Call::Exists(0),
            Call::Exists(2),
        ],
        statements: &[DO],
        faults: &[LOST, LOST, EXPIRY, KILL],
    },
    // Ephemeral znodes that somebody else takes away.
    Theme {
        calls: &[Call::CreateEphemeral(0), Call::CreateEphemeral(0), Call::Delete(0), Call::Sync],
        statements: &[DO],
        faults: &[KILL, EXPIRY, LOST],
    },
    // Writes of nobody knows when.
    Theme {
        calls: &[Call::Create(0), Call::Delete(0), Call::SetFirst(0, 1), Call::Exists(0)],
        statements: &[DO, DO, SPAWN, TIMEOUT],
        faults: &[LOST],
    },
    // Timers that end early.
    Theme {
        calls: &[Call::Sleep, Call::Create(0), Call::Exists(0), Call::Sync],
        statements: &[TIMEOUT, SPAWN, DO, STATES],
        faults: &[TIMER, TIMER, LOST, KILL],
    },
];

impl Theme {
    /// None in every other case.
    fn draw(dice: &mut Random) -> Option<&'static Theme> {
        (dice.below(2) == 0).then(|| &THEMES[dice.below(THEMES.len() as u64) as usize])
    }
}

/// What the programs of a case are made of.
struct Palette {
    calls: Vec<Call>,
    statements: Vec<u64>,
}

/// The kinds of statements, see [`Palette::statement`].
const KINDS: u64 = 40;

impl Palette {
    /// Of a theme, and now and then something else.
    fn draw(dice: &mut Random, theme: Option<&Theme>) -> Palette {
        let call = |dice: &mut Random| match theme.filter(|_| dice.below(8) > 0) {
            Some(Theme { calls, .. }) => calls[dice.below(calls.len() as u64) as usize],
            None => call(dice),
        };
        let kind = |dice: &mut Random| match theme.filter(|_| dice.below(8) > 0) {
            Some(Theme { statements, .. }) => {
                statements[dice.below(statements.len() as u64) as usize]
            }
            None => dice.below(KINDS),
        };
        let calls = (0..dice.between(2, 5)).map(|_| call(dice)).collect();
        let statements = (0..dice.between(2, 4)).map(|_| kind(dice)).collect();
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

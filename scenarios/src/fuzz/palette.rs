//! The palette of a case: kinds of statements and calls that reveal more together than arbitrary ones.

use super::case::{Answer, Call, PATHS, Statement, Watching};
use vivarium_sim::random::Random;

/// A kind of fault in a case's budget.
#[derive(Clone, Copy)]
pub(super) enum Fault {
    Loss,
    Expiry,
    Kill,
    Timer,
    Cancel,
}

/// Faults with their weights.
const FAULTS: [(Fault, u64); 5] =
    [(Fault::Loss, 4), (Fault::Expiry, 3), (Fault::Kill, 2), (Fault::Timer, 2), (Fault::Cancel, 1)];

/// A kind of [`Statement`].
#[derive(Clone, Copy)]
enum Kind {
    Do,
    Retry,
    Join,
    Race,
    Timeout,
    Cancellable,
    Spawn,
    Watch,
    Await,
    AwaitOr,
    Unwatch,
    States,
    NextState,
    Send,
    Say,
    FailOn,
}

/// Kinds of statements with their weights.
const KINDS: [(Kind, u64); 16] = [
    (Kind::Do, 18),
    (Kind::Retry, 1),
    (Kind::Join, 2),
    (Kind::Race, 1),
    (Kind::Timeout, 1),
    (Kind::Cancellable, 1),
    (Kind::Spawn, 1),
    (Kind::Watch, 4),
    (Kind::Await, 1),
    (Kind::AwaitOr, 2),
    (Kind::Unwatch, 1),
    (Kind::States, 2),
    (Kind::NextState, 1),
    (Kind::Send, 1),
    (Kind::Say, 2),
    (Kind::FailOn, 1),
];

/// Draws an item by weight.
fn weighted<T: Copy>(dice: &mut Random, all: &[(T, u64)]) -> T {
    let mut at = dice.below(all.iter().map(|(_, weight)| weight).sum());
    let mut chosen = all.iter().filter(|(_, weight)| {
        let is_here = at < *weight;
        at = at.saturating_sub(*weight);
        is_here
    });
    chosen.next().expect("it is less than the sum").0
}

fn one_of<T: Copy>(dice: &mut Random, all: &[T]) -> T {
    dice.choose(all).expect("there are some")
}

/// Calls, statements and faults that go together.
pub(super) struct Theme {
    calls: &'static [Call],
    kinds: &'static [Kind],
    faults: &'static [Fault],
}

const THEMES: [Theme; 6] = [
    // Events for sleeping programs.
    Theme {
        calls: &[Call::Sleep, Call::Sleep, Call::CreateEphemeral(0), Call::Exists(0)],
        kinds: &[Kind::Do, Kind::Do, Kind::States, Kind::Timeout, Kind::Spawn],
        faults: &[Fault::Loss, Fault::Expiry, Fault::Kill, Fault::Timer],
    },
    // Znodes that are created and deleted while they are watched.
    Theme {
        calls: &[
            Call::CreateAndDelete(0),
            Call::Create(0),
            Call::Delete(0),
            Call::Sync,
            Call::Receive,
        ],
        kinds: &[
            Kind::Watch,
            Kind::Watch,
            Kind::Await,
            Kind::AwaitOr,
            Kind::Do,
            Kind::Do,
            Kind::Send,
        ],
        faults: &[Fault::Loss, Fault::Expiry, Fault::Kill],
    },
    // Two znodes are deleted: a lagging client sees one of them alone.
    Theme {
        calls: &[
            Call::Delete(0),
            Call::Delete(2),
            Call::Create(2),
            Call::Exists(0),
            Call::Exists(2),
        ],
        kinds: &[Kind::Do],
        faults: &[Fault::Loss, Fault::Loss, Fault::Expiry, Fault::Kill],
    },
    // Ephemeral znodes that another client deletes.
    Theme {
        calls: &[Call::CreateEphemeral(0), Call::CreateEphemeral(0), Call::Delete(0), Call::Sync],
        kinds: &[Kind::Do],
        faults: &[Fault::Kill, Fault::Expiry, Fault::Loss],
    },
    // Writes of lost connections, which arrive late.
    Theme {
        calls: &[Call::Create(0), Call::Delete(0), Call::SetFirst(0, 1), Call::Exists(0)],
        kinds: &[Kind::Do, Kind::Do, Kind::Spawn, Kind::Timeout],
        faults: &[Fault::Loss],
    },
    // Timers that end early.
    Theme {
        calls: &[Call::Sleep, Call::Create(0), Call::Exists(0), Call::Sync],
        kinds: &[Kind::Timeout, Kind::Spawn, Kind::Do, Kind::States],
        faults: &[Fault::Timer, Fault::Timer, Fault::Loss, Fault::Kill],
    },
];

impl Theme {
    /// Draws a theme, or none in every other case.
    pub(super) fn draw(dice: &mut Random) -> Option<&'static Theme> {
        (dice.below(2) == 0).then(|| &THEMES[dice.below(THEMES.len() as u64) as usize])
    }
}

/// Draws a fault, usually of the theme.
pub(super) fn fault(dice: &mut Random, theme: Option<&Theme>) -> Fault {
    match theme.filter(|_| dice.below(4) > 0) {
        Some(theme) => one_of(dice, theme.faults),
        None => weighted(dice, &FAULTS),
    }
}

/// The kinds of calls and statements in a case.
pub(super) struct Palette {
    calls: Vec<Call>,
    kinds: Vec<Kind>,
}

impl Palette {
    /// Draws a palette of a theme, sometimes with something else.
    pub(super) fn draw(dice: &mut Random, theme: Option<&Theme>) -> Palette {
        let call = |dice: &mut Random| match theme.filter(|_| dice.below(8) > 0) {
            Some(theme) => one_of(dice, theme.calls),
            None => call(dice),
        };
        let kind = |dice: &mut Random| match theme.filter(|_| dice.below(8) > 0) {
            Some(theme) => one_of(dice, theme.kinds),
            None => weighted(dice, &KINDS),
        };
        let calls = (0..dice.between(2, 5)).map(|_| call(dice)).collect();
        let kinds = (0..dice.between(2, 4)).map(|_| kind(dice)).collect();
        Palette { calls, kinds }
    }

    pub(super) fn program(&self, dice: &mut Random, most: u64) -> Vec<Statement> {
        (0..dice.between(1, most)).map(|_| self.statement(dice)).collect()
    }

    fn statement(&self, dice: &mut Random) -> Statement {
        let call = |dice: &mut Random| one_of(dice, &self.calls);
        match one_of(dice, &self.kinds) {
            Kind::Do => Statement::Do(call(dice)),
            Kind::Retry => Statement::Retry(call(dice)),
            Kind::Join => Statement::Join(call(dice), call(dice)),
            Kind::Race => Statement::Race(call(dice), call(dice)),
            Kind::Timeout => Statement::Timeout(call(dice)),
            Kind::Cancellable => Statement::Cancellable(call(dice)),
            Kind::Spawn => Statement::Spawn(call(dice)),
            Kind::Watch => Statement::Watch(watching(dice), path(dice)),
            Kind::Await => Statement::Await,
            Kind::AwaitOr => Statement::AwaitOr(call(dice)),
            Kind::Unwatch => Statement::Unwatch(path(dice)),
            Kind::States => Statement::States,
            Kind::NextState => Statement::NextState,
            Kind::Send => Statement::Send(dice.below(3) as usize),
            Kind::Say => Statement::Say(dice.below(3) as u8),
            Kind::FailOn => Statement::FailOn(answer(dice)),
        }
    }
}

fn answer(dice: &mut Random) -> Answer {
    let all = [Answer::ConnectionLoss, Answer::SessionExpired, Answer::NoNode, Answer::NodeExists];
    one_of(dice, &all)
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

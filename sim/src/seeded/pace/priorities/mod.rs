//! Programs that wait for each other.

use crate::seeded::random::Random;
use std::fmt;
use vivarium_model::id::ClientId;
use vivarium_model::time::{Duration, Time};

/// So many reactions of all programs together are expected of a run, at most.
const REACTIONS: u64 = 500;

/// Who waits for whom.
///
/// A program's reaction (its start, or its next input) waits as long as one of higher priority has reacted
/// within the last [`quiet`](Priorities::quiet), which is taken for being busy: so the fast ones get far ahead.
/// At each change the program whose reaction it is falls to the lowest priority, and this one reaction
/// waits until the others have reacted some times, asleep or not. Nobody waits for more than
/// [`longest`](Priorities::longest) before one reaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Priorities {
    /// The clients, the highest priority first.
    pub order: Vec<ClientId>,
    /// Who has not reacted for so long is not waited for.
    pub quiet: Duration,
    /// Nobody waits for longer.
    pub longest: Duration,
    /// When priorities change, in the order of time.
    pub changes: Vec<Change>,
}

/// The program whose reaction it is falls behind all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    /// At which reaction, counted from 1 over all programs.
    pub at: u64,
    /// How many times the others react before it goes on.
    pub others: u64,
}

impl Priorities {
    pub(super) fn draw(clients: u8, random: &mut Random) -> Priorities {
        let mut order: Vec<ClientId> = ClientId::first(clients).collect();
        random.shuffle(&mut order);
        let longest = random.choose(&[200, 1_000, 5_000]).unwrap_or_default();
        let quiet =
            random.magnitude_span(Duration::from_millis(1), Duration::from_millis(longest / 10));
        let changes = random.between(1, 8);
        // Early reactions are chosen as often as late ones: many programs are short.
        let mut change =
            || Change { at: random.magnitude(1, REACTIONS), others: random.magnitude(1, 32) };
        let mut changes: Vec<Change> = (0..changes).map(|_| change()).collect();
        changes.sort_unstable();
        changes.dedup_by_key(|change| change.at);
        Priorities { order, quiet, longest: Duration::from_millis(longest), changes }
    }
}

/// One program, as the others see it.
#[derive(Clone, Copy, Debug, Default)]
struct Program {
    /// When it last reacted.
    last: Option<Time>,
    /// Since when its next reaction waits.
    since: Option<Time>,
    /// It waits until all have reacted so many times.
    until: u64,
}

/// Who waits for whom, at one moment of a run.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    order: Vec<ClientId>,
    quiet: Duration,
    longest: Duration,
    /// Those to come, the last first.
    changes: Vec<Change>,
    programs: Vec<Program>,
    reactions: u64,
}

impl Waiting {
    pub(crate) fn new(priorities: &Priorities) -> Waiting {
        let Priorities { order, quiet, longest, changes } = priorities.clone();
        let programs = vec![Program::default(); order.len()];
        let changes = changes.into_iter().rev().collect();
        Waiting { order, quiet, longest, changes, programs, reactions: 0 }
    }

    /// Whether a reaction that comes up now waits: until when, at least. Otherwise it has happened.
    pub(crate) fn hold(&mut self, now: Time, client: ClientId) -> Option<Time> {
        let begins = self.programs[client.index()].since.is_none();
        if begins {
            self.change(client);
        }
        let program = self.programs[client.index()];
        let since = program.since.unwrap_or(now);
        let end = since + self.longest;
        let until = self.busy_until(client).filter(|until| *until > now);
        let until = if self.reactions < program.until {
            // Nobody says when; look again soon.
            Some(until.unwrap_or(now + self.quiet))
        } else {
            until
        };
        if let Some(until) = until.filter(|_| now < end) {
            self.programs[client.index()].since = Some(since);
            return Some(until.min(end));
        }
        self.reactions += 1;
        self.programs[client.index()] = Program { last: Some(now), since: None, until: 0 };
        None
    }

    /// If it is time for a change, this client falls behind all others.
    fn change(&mut self, client: ClientId) {
        let next = self.reactions + 1;
        while let Some(change) = self.changes.pop_if(|change| change.at <= next) {
            self.order.retain(|other| *other != client);
            self.order.push(client);
            self.programs[client.index()].until = self.reactions + change.others;
        }
    }

    /// Until when somebody of higher priority is taken for busy.
    fn busy_until(&self, client: ClientId) -> Option<Time> {
        let higher = self.order.iter().take_while(|other| **other != client);
        higher.filter_map(|other| Some(self.programs[other.index()].last? + self.quiet)).max()
    }
}

impl fmt::Display for Priorities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let order: Vec<String> = self.order.iter().map(|client| client.0.to_string()).collect();
        let changes: Vec<String> = self.changes.iter().map(ToString::to_string).collect();
        let (order, changes) = (order.join(" before "), changes.join(", "));
        let Priorities { quiet, longest, .. } = self;
        writeln!(
            f,
            "fault              priorities: client {order}, busy for {quiet:?}, at most {longest:?}"
        )?;
        writeln!(f, "                   change: {changes}")
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "reaction {} falls behind {} of others", self.at, self.others)
    }
}

#[cfg(test)]
mod tests;

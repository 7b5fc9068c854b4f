//! Programs that wait for each other by priorities.

use crate::random::Random;
use std::fmt;
use vivarium_model::id::ClientId;
use vivarium_model::time::{Duration, Time};

/// The largest expected number of reactions of all programs in a run.
const REACTIONS: u64 = 500;

/// The priorities of the programs in one run.
///
/// A program's reaction (to its start, or to its next input) waits while a program of higher priority has reacted
/// within the last [`quiet`](Priorities::quiet), because that counts as busy: so the programs of high priority get
/// far ahead. At each change, the program that would react falls to the lowest priority, and this one reaction waits
/// until the others have reacted some times, even if they sleep. No program waits for more than
/// [`longest`](Priorities::longest) before one reaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Priorities {
    /// The clients, highest priority first.
    pub order: Vec<ClientId>,
    /// A program that has not reacted for this long is not waited for.
    pub quiet: Duration,
    /// The longest wait before one reaction.
    pub longest: Duration,
    /// The changes of priority, in the order of time.
    pub changes: Vec<Change>,
}

/// A change: the program that would react falls behind all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    /// The number of the reaction, counted from 1 over all programs.
    pub at: u64,
    /// Number of reactions of others before this program continues.
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
        // Early reactions are chosen as often as late ones, because many programs are short.
        let mut change =
            || Change { at: random.magnitude(1, REACTIONS), others: random.magnitude(1, 32) };
        let mut changes: Vec<Change> = (0..changes).map(|_| change()).collect();
        changes.sort_unstable();
        changes.dedup_by_key(|change| change.at);
        Priorities { order, quiet, longest: Duration::from_millis(longest), changes }
    }
}

/// The state of one program's reactions.
#[derive(Clone, Copy, Debug, Default)]
struct Program {
    /// The time of its last reaction.
    last: Option<Time>,
    /// The time since when its next reaction has been waiting.
    since: Option<Time>,
    /// It waits until the total number of reactions reaches this.
    until: u64,
}

/// The state of the priorities during a run.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    order: Vec<ClientId>,
    quiet: Duration,
    longest: Duration,
    /// The changes to come, the last one first.
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

    /// Returns the earliest time for a reaction if it must wait; otherwise records that it happens now.
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
            // The end of this wait is unknown; check again soon.
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

    /// Moves this client behind all others, if a change is due.
    fn change(&mut self, client: ClientId) {
        let next = self.reactions + 1;
        while let Some(change) = self.changes.pop_if(|change| change.at <= next) {
            self.order.retain(|other| *other != client);
            self.order.push(client);
            self.programs[client.index()].until = self.reactions + change.others;
        }
    }

    /// Returns the time until which a program of higher priority counts as busy.
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
        write!(f, "reaction {} waits for {} of others", self.at, self.others)
    }
}

#[cfg(test)]
mod tests;

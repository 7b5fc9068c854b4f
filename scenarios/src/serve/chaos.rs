//! Faults that a seed draws, as in a sweep: commands at times.

use super::command::Command;
use std::collections::BTreeMap;
use vivarium_model::id::{ServerId, SessionId};
use vivarium_model::time::{Duration, Time};
use vivarium_sim::random::{Random, Seeds};
use vivarium_sim::served::LostReply;

/// The shortest and the longest time between two faults.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(3));

/// The shortest and the longest time that a fault lasts.
const LASTS: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(4));

vivarium_model::named! {
    /// A fault that a seed draws: the command that begins it.
    pub enum ServedFault ("fault") {
        /// A server's process ends, and starts again.
        Crash = "crash",
        /// A server's machine ends, and starts again.
        PowerLoss = "power-loss",
        /// A server's process stops, and goes on.
        Pause = "pause",
        /// A server is cut off from the others for a while.
        Partition = "partition",
        /// The network from one server to another is cut for a while.
        PartitionOneWay = "partition-one-way",
        /// A server's disk is slow for a while.
        SlowDisk = "slow-disk",
        /// The next write of a server fails.
        DiskFull = "disk-full",
        /// The leader ends a session.
        Expire = "expire",
        /// A session's connection breaks.
        Disconnect = "disconnect",
        /// The reply to a session's next request is lost.
        NextReply = "next-reply",
    }
}

/// The faults of a seed.
#[derive(Debug)]
pub(super) struct Chaos {
    random: Random,
    servers: u8,
    /// What is drawn from. Lost replies are twice in it, because they have three outcomes.
    faults: Vec<ServedFault>,
    next: Time,
    /// The ends of faults that last, by time.
    ends: BTreeMap<Time, Command>,
}

impl Chaos {
    /// Returns the faults of this seed on an ensemble with this number of servers, from now on: those of the list, or all if
    /// it is empty.
    pub(super) fn new(seed: u64, servers: u8, faults: &[ServedFault], now: Time) -> Chaos {
        let random = Seeds::new(seed).stream("chaos", 0);
        let listed = if faults.is_empty() { &ServedFault::ALL[..] } else { faults };
        let twice = listed.iter().filter(|fault| **fault == ServedFault::NextReply);
        let faults = listed.iter().chain(twice).copied().collect();
        Chaos { random, servers, faults, next: now + Duration::from_secs(1), ends: BTreeMap::new() }
    }

    /// Returns when the next command is due.
    pub(super) fn next(&self) -> Time {
        let end = self.ends.first_key_value().map_or(self.next, |(at, _)| *at);
        end.min(self.next)
    }

    /// Takes the command that is due by now. `sessions` are those that have a connection.
    pub(super) fn due(&mut self, now: Time, sessions: &[SessionId]) -> Option<Command> {
        if let Some(end) = self.ends.first_entry().filter(|end| *end.key() <= now) {
            return Some(end.remove());
        }
        if self.next > now {
            return None;
        }
        self.next = now + self.random.span(PAUSES.0, PAUSES.1);
        self.fault(now, sessions)
    }

    fn fault(&mut self, now: Time, sessions: &[SessionId]) -> Option<Command> {
        let server = self.server();
        let until = now + self.random.span(LASTS.0, LASTS.1);
        let (fault, end) = match *self.random.pick(&self.faults) {
            ServedFault::Crash => (Command::Crash(server), Some(Command::Restart(server))),
            ServedFault::PowerLoss => (Command::PowerLoss(server), Some(Command::Restart(server))),
            ServedFault::Pause => (Command::Pause(server), Some(Command::Resume(server))),
            ServedFault::Partition => {
                (Command::Partition(self.groups(server)), Some(Command::Heal))
            }
            ServedFault::PartitionOneWay => {
                (Command::PartitionOneWay(server, self.server()), Some(Command::Heal))
            }
            ServedFault::SlowDisk => {
                let by = Duration::from_millis(self.random.between(5, 200));
                (Command::SlowDisk(server, by), Some(Command::SlowDisk(server, Duration::ZERO)))
            }
            ServedFault::DiskFull => (Command::DiskFull(server), None),
            ServedFault::Expire => (Command::Expire(self.random.choose(sessions)?), None),
            ServedFault::Disconnect => (Command::Disconnect(self.random.choose(sessions)?), None),
            ServedFault::NextReply => (self.lost_reply(sessions)?, None),
        };
        self.ends.extend(end.map(|end| (until, end)));
        Some(fault)
    }

    fn server(&mut self) -> ServerId {
        ServerId(self.random.between(1, self.servers.into()) as u8)
    }

    /// Returns one server and the others.
    fn groups(&self, alone: ServerId) -> Vec<Vec<ServerId>> {
        let others = (1..=self.servers).map(ServerId).filter(|server| *server != alone);
        vec![vec![alone], others.collect()]
    }

    fn lost_reply(&mut self, sessions: &[SessionId]) -> Option<Command> {
        let session = self.random.choose(sessions)?;
        let lost = *self.random.pick(&[LostReply::Applied, LostReply::Never, LostReply::Pending]);
        Some(Command::NextReply { session, request: None, path: None, lost })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Returns the commands of a seed in ten minutes.
    fn drawn(seed: u64) -> Vec<Command> {
        let (mut chaos, mut all) = (Chaos::new(seed, 3, &[], Time::ZERO), Vec::new());
        while chaos.next() < Time::ZERO + Duration::from_secs(600) {
            all.extend(chaos.due(chaos.next(), &[SessionId(7), SessionId(8)]));
        }
        all
    }

    #[test]
    fn a_seed_names_its_faults_and_every_kind_is_drawn() {
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
        let word = |command: &Command| command.to_string().split(' ').next().map(str::to_owned);
        let kinds: BTreeSet<String> = drawn(3).iter().filter_map(word).collect();
        assert_eq!(kinds.len(), 13, "{kinds:?}");
    }

    /// Each fault that lasts has its end.
    #[test]
    fn what_lasts_ends() {
        let count =
            |all: &[Command], is: fn(&Command) -> bool| all.iter().filter(|it| is(it)).count();
        let all = drawn(4);
        let begun = count(&all, |it| matches!(it, Command::Crash(_) | Command::PowerLoss(_)));
        let ended = count(&all, |it| matches!(it, Command::Restart(_)));
        assert!(begun > 20 && ended.abs_diff(begun) <= 2, "{begun} crashes, {ended} restarts");
    }

    #[test]
    fn a_command_is_written_as_it_is_read() {
        for command in drawn(5) {
            assert_eq!(command.to_string().parse(), Ok(command));
        }
    }

    /// Only what is listed happens.
    #[test]
    fn a_list_of_faults_leaves_out_the_others() {
        let mut chaos = Chaos::new(7, 3, &[ServedFault::Crash, ServedFault::NextReply], Time::ZERO);
        let mut kinds = BTreeSet::new();
        for _ in 0..200 {
            let due = chaos.due(chaos.next(), &[SessionId(7)]);
            kinds.extend(due.and_then(|it| it.to_string().split(' ').next().map(str::to_owned)));
        }
        assert_eq!(kinds.into_iter().collect::<Vec<_>>(), ["crash", "next-reply", "restart"]);
    }

    /// Without a session nothing is done to one.
    #[test]
    fn without_sessions_only_servers_are_struck() {
        let mut chaos = Chaos::new(6, 1, &[], Time::ZERO);
        for _ in 0..500 {
            let due = chaos.due(chaos.next(), &[]);
            assert!(!matches!(due, Some(Command::Expire(_) | Command::NextReply { .. })));
        }
    }
}

//! Finds where programs that never finish stopped. A report of a hang shows the steps around this point, not the run's
//! end, which is long after it.

use std::collections::VecDeque;
use std::sync::Arc;
use vivarium_model::event::Event;
use vivarium_model::id::ClientId;
use vivarium_model::time::Time;
use vivarium_model::trace::TraceLine;

/// The number of steps shown after the last event of a program.
const AFTER: u8 = 10;

/// The last action or notification of a program that never finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// The client of the program.
    pub client: ClientId,
    /// The virtual time of the step.
    pub at: Time,
    /// The number of the step.
    pub step: u64,
}

/// For each program, the steps around its last action or notification.
#[derive(Debug, Default)]
pub(crate) struct Standstills(Vec<Last>);

/// The last action or notification of one program.
#[derive(Clone, Debug, Default)]
struct Last {
    at: Time,
    step: u64,
    /// The number of following steps that are still to be recorded.
    open: u8,
    /// Empty until `open` is 0.
    lines: Vec<Arc<TraceLine>>,
}

impl Standstills {
    /// Processes a step, before it is known whether timelines show it.
    pub(crate) fn step(&mut self, at: Time, step: u64, events: &[Event]) {
        for client in events.iter().filter_map(doer) {
            let index = client.index();
            if index >= self.0.len() {
                self.0.resize(index + 1, Last::default());
            }
            self.0[index] = Last { at, step, open: AFTER, lines: Vec::new() };
        }
    }

    /// Processes a step that timelines show; `lines` are the last ones.
    pub(crate) fn shown(&mut self, lines: &VecDeque<Arc<TraceLine>>) {
        for last in self.0.iter_mut().filter(|last| last.open > 0) {
            last.open -= 1;
            if last.open == 0 {
                last.lines = lines.iter().map(Arc::clone).collect();
            }
        }
    }

    /// Returns where the last of these programs stopped, with the steps around this point. Returns `None` if fewer than
    /// [`AFTER`] shown steps followed.
    pub(crate) fn of(&self, unfinished: &[ClientId]) -> Option<(Stopped, &[Arc<TraceLine>])> {
        let of = |client: &ClientId| Some((*client, self.0.get(client.index())?));
        let last = unfinished.iter().filter_map(of).max_by_key(|(_client, last)| last.step);
        let (client, Last { at, step, open, lines }) = last?;
        (*open == 0).then_some((Stopped { client, at: *at, step: *step }, lines))
    }
}

/// Returns the client whose program acted or was notified by this event. Changes of its connection do not count: the
/// client machine handles them without the program.
fn doer(event: &Event) -> Option<ClientId> {
    match event {
        Event::Session { .. }
        | Event::Rearming { .. }
        | Event::Rearmed { .. }
        | Event::Authenticating { .. }
        | Event::Authenticated { .. }
        | Event::Paused { .. }
        | Event::Resumed { .. } => None,
        other => other.client(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vivarium_model::op::SessionState;
    use vivarium_model::step::Step;

    fn line(number: u64) -> Arc<TraceLine> {
        let (step, notes) = (Step::Start(ClientId(1)), Vec::new());
        Arc::new(TraceLine { at: Time(number), number, step, notes, events: Vec::new() })
    }

    /// Builds a run of `steps` steps in which each of these clients acts at the given step.
    fn after(starts: &[(u16, u64)], steps: u64) -> Standstills {
        let (mut standstills, mut ring) = (Standstills::default(), VecDeque::new());
        for number in 1..=steps {
            let started = starts.iter().filter(|(_, at)| *at == number);
            let events: Vec<Event> =
                started.map(|(client, _)| Event::Started { client: ClientId(*client) }).collect();
            standstills.step(Time(number), number, &events);
            if ring.len() == 15 {
                ring.pop_front();
            }
            ring.push_back(line(number));
            standstills.shown(&ring);
        }
        standstills
    }

    #[test]
    fn the_steps_around_the_last_deed_are_kept() {
        let standstills = after(&[(1, 20), (1, 30), (2, 50)], 100);
        let (stopped, lines) = standstills.of(&[ClientId(1)]).expect("long ago");
        assert_eq!(stopped, Stopped { client: ClientId(1), at: Time(30), step: 30 });
        let numbers: Vec<u64> = lines.iter().map(|line| line.number).collect();
        assert_eq!(numbers, (25..40).collect::<Vec<_>>());
    }

    /// Each program is notified of its connection's state, whether it waits for this or not.
    #[test]
    fn that_a_connection_comes_and_goes_is_no_deed() {
        let (client, session, server) = (ClientId(1), None, None);
        for state in [SessionState::Disconnected, SessionState::SyncConnected] {
            assert_eq!(doer(&Event::Session { client, session, server, state }), None);
        }
        assert_eq!(doer(&Event::Started { client }), Some(client));
    }

    #[test]
    fn of_several_that_hang_the_last_one_counts() {
        let standstills = after(&[(1, 30), (2, 50)], 100);
        let stopped = |clients: &[u16]| {
            let clients: Vec<ClientId> = clients.iter().map(|client| ClientId(*client)).collect();
            standstills.of(&clients).map(|(stopped, _)| stopped.step)
        };
        assert_eq!(stopped(&[1, 2]), Some(50));
        assert_eq!(stopped(&[1, 3]), Some(30));
        assert_eq!(stopped(&[3]), None);
        assert_eq!(stopped(&[]), None);
    }

    #[test]
    fn what_is_not_long_ago_needs_no_telling() {
        assert!(after(&[(1, 95)], 100).of(&[ClientId(1)]).is_none());
    }
}

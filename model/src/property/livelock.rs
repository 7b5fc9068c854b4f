//! Livelock: a program repeats a request at once, again and again, although nothing has changed.
//!
//! A program in such a loop is usually not stuck for good: another client's next change or the end of a fault lets it
//! continue, and it ends in time. Until then it does unbounded work, and so do its servers. A program that sleeps
//! between two requests polls, and is not in a livelock.

use super::{Declaration, Declared, LooksBack, Measure, Objection, Unhashed, View};
use crate::minds;
use crate::vocabulary::error::Error;
use crate::vocabulary::event::Event;
use crate::vocabulary::fingerprint::Fingerprint;
use crate::vocabulary::id::ClientId;
use crate::vocabulary::op::{Request, Response};
use crate::vocabulary::time::{Duration, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A program that gets the same reply to the same request more often than this is in a livelock. The bound is higher
/// than the number of times that a test would read the same on purpose.
const BOUND: u32 = 1_000;

/// A program that waits longer than this between a reply and its next request does not ask at once.
const AT_ONCE: Duration = Duration::from_millis(100);

/// The monitor of livelocks.
///
/// It counts, for each client, how often each request got each reply. The counts restart when the program learns
/// something else (a watch event, a change of its connection, a lost request, a pause), when its process starts, and
/// when it waits between a reply and its next request. Each pair of request and reply has its own count, so a program
/// that repeats several requests in turn is detected too.
#[derive(Clone, Debug, Hash)]
pub struct Livelock {
    bound: u32,
    clients: BTreeMap<ClientId, Account>,
    most: Unhashed<u32>,
}

/// The replies that a program got since it last learnt something else.
#[derive(Clone, Debug, Default, Hash)]
struct Account {
    last_answer: Option<Time>,
    answers: BTreeMap<Fingerprint, u32>,
}

impl Livelock {
    /// Returns the monitor with the bound that every run uses: 1,000 equal replies.
    pub fn new() -> Livelock {
        Livelock::within(BOUND)
    }

    /// Returns the monitor with this bound on the number of equal replies.
    pub fn within(bound: u32) -> Livelock {
        Livelock { bound, clients: BTreeMap::new(), most: Unhashed::default() }
    }
}

impl Default for Livelock {
    fn default() -> Livelock {
        Livelock::new()
    }
}

impl Declared for Livelock {
    const DECLARATION: Declaration<Self> =
        Declaration::in_sweeps("livelock", LooksBack::Nothing, minds! { |this, view, event|
            Event::Sent { client, .. } => {
                let account = this.clients.entry(*client).or_default();
                let late = |last| view.at().since(last) > AT_ONCE;
                if account.last_answer.is_some_and(late) {
                    *account = Account::default();
                }
            },
            Event::Replied { client, request, result, .. } => this.replied(view, *client, request, result),
            Event::Session { client, .. } | Event::Notified { client, .. } | Event::Lost { client, .. }
            | Event::Refused { client, .. }
            | Event::Rearmed { client, .. } | Event::Started { client } | Event::Killed { client }
            | Event::Finished { client, .. } | Event::Paused { client } | Event::Resumed { client }
            | Event::Cancelled { client, .. } => {
                this.clients.remove(client);
            },
        })
        .measured(Self::measured);
}

impl Livelock {
    fn measured(&self) -> Vec<Measure> {
        let name = "answers that a program got again and again";
        vec![Measure::most(name, (*self.most).into())]
    }

    fn replied(
        &mut self,
        view: View<'_>,
        client: ClientId,
        request: &Arc<Request>,
        result: &Result<Response, Error>,
    ) -> Result<(), Objection> {
        let account = self.clients.entry(client).or_default();
        account.last_answer = Some(view.at());
        let answer = Fingerprint::of(&(request, result));
        let times = account.answers.entry(answer).or_default();
        *times += 1;
        let times = *times;
        *self.most = (*self.most).max(times);
        if times <= self.bound {
            return Ok(());
        }
        Err(self.objection(format!(
            "{client} received the same answer to {request} {times} times, asked again at once each time, \
             and received nothing else in between",
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::Monitor;
    use crate::property::testing::{CLIENT, SESSION, exists, replied, sent, session, z};
    use crate::vocabulary::error::Error;
    use crate::vocabulary::id::ServerId;
    use crate::vocabulary::op::{EventType, SessionState, WatchedEvent};
    use crate::world::history::History;

    /// Judges the events with a bound of two equal replies.
    fn asked(events: &[(u64, Event)]) -> Result<(), Objection> {
        let (mut monitor, history) = (Livelock::within(2), History::new());
        events.iter().try_for_each(|(milliseconds, event)| {
            let at = Time::ZERO + Duration::from_millis(*milliseconds);
            monitor.event(View::new(at, &history), event)
        })
    }

    /// Returns a client's request for a znode and the reply that it does not exist.
    fn question(at: u64, path: &str) -> [(u64, Event); 2] {
        let answer = replied(1, z(1, 1), exists(path), Err(Error::NoNode));
        [(at, sent(1, exists(path))), (at + 5, answer)]
    }

    fn questions(times: impl IntoIterator<Item = (u64, &'static str)>) -> Vec<(u64, Event)> {
        times.into_iter().flat_map(|(at, path)| question(at, path)).collect()
    }

    #[test]
    fn the_same_answer_again_and_again() {
        let objection = asked(&questions([(0, "/a"), (10, "/a"), (20, "/a")])).expect_err("three");
        assert!(objection.saw.contains("3 times"), "{objection}");
        assert_eq!(asked(&questions([(0, "/a"), (10, "/a"), (20, "/b")])), Ok(()));
        // Two requests in turn are a livelock too.
        let in_turn = [(0, "/a"), (10, "/b"), (20, "/a"), (30, "/b"), (40, "/a")];
        assert!(asked(&questions(in_turn)).is_err());
    }

    #[test]
    fn who_sleeps_in_between_polls() {
        assert_eq!(asked(&questions([(0, "/a"), (200, "/a"), (400, "/a")])), Ok(()));
    }

    #[test]
    fn news_are_a_reason_to_ask_again() {
        let event = WatchedEvent { kind: EventType::NodeCreated, path: "/c".into(), zxid: z(1, 1) };
        let news = [
            Event::Notified { client: CLIENT, session: SESSION, event },
            session(SessionState::SyncConnected, Some(ServerId(1))),
            Event::Resumed { client: CLIENT },
        ];
        for news in news {
            let mut events = questions([(0, "/a"), (10, "/a")]);
            events.push((16, news));
            events.extend(questions([(20, "/a"), (30, "/a")]));
            assert_eq!(asked(&events), Ok(()));
            events.extend(questions([(40, "/a")]));
            assert!(asked(&events).is_err());
        }
    }
}

//! Livelock: a program that asks the same again and again, at once, though nothing has happened.
//!
//! A program that is stuck in such a loop is not stuck for good as a rule: another client's next change, or the
//! end of a fault, lets it out, and it ends in time. What it does until then is work without a bound for it and
//! for the servers. A program that sleeps between two questions polls; that is its own affair.

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

/// So often a program may be answered the same before that is called a livelock: more often than a test that
/// means to read something many times will do so.
const BOUND: u32 = 1_000;

/// A program that lets so much time pass before its next request does not ask at once.
const AT_ONCE: Duration = Duration::from_millis(100);

/// The monitor.
///
/// It counts, for each client, how often one request is answered in one way. The count begins again with
/// whatever is news to the program (a watch event, a change of its connection, a lost answer, a pause), with a
/// process that starts, and when the program lets some time pass. Each request with its answer is counted by
/// itself, so a program that asks several things in turn is found too.
#[derive(Clone, Debug, Hash)]
pub struct Livelock {
    bound: u32,
    clients: BTreeMap<ClientId, Account>,
    most: Unhashed<u32>,
}

/// What a program was answered since it last heard news.
#[derive(Clone, Debug, Default, Hash)]
struct Account {
    last_answer: Option<Time>,
    answers: BTreeMap<Fingerprint, u32>,
}

impl Livelock {
    /// As every run asks it: a thousand times.
    pub fn new() -> Livelock {
        Livelock::within(BOUND)
    }

    /// A program may be answered the same so often.
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
            "{client} was answered the same to {request} {times} times, asked again at once each time, and \
             has heard of nothing else in between",
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

    /// One that may be answered the same twice.
    fn asked(events: &[(u64, Event)]) -> Result<(), Objection> {
        let (mut monitor, history) = (Livelock::within(2), History::new());
        events.iter().try_for_each(|(milliseconds, event)| {
            let at = Time::ZERO + Duration::from_millis(*milliseconds);
            monitor.event(View::new(at, &history), event)
        })
    }

    /// The client asks for a znode, and is told that it does not exist.
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
        // Two things in turn are no better.
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

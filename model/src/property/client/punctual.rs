//! H16: a client machine keeps its times (rules 2.8.1, 2.8.2 and 2.8.3).
//!
//! The times follow from the timeout that its server has granted. The machine pings after it has sent nothing for a
//! third of the timeout. It closes the connection after it has read nothing for two thirds, and ends an attempt to
//! connect after the timeout divided by the number of servers. It acts neither earlier nor later; a paused machine
//! does what is overdue when it resumes.

use crate::minds;
use crate::program::exchange::Exchange;
use crate::program::host::{Input, Operation, Outcome};
use crate::property::{Declaration, Declared, LooksBack, Objection, View};
use crate::vocabulary::config::{ClientConfig, Config};
use crate::vocabulary::id::{CallId, ClientId};
use crate::vocabulary::packet::{ClientPacket, ServerPacket};
use crate::vocabulary::time::{Duration, Time};
use crate::vocabulary::timer::ClientTimer;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Tolerance for fractions of a microsecond, which are rounded.
const SLACK: Duration = Duration::from_micros(2);

/// The monitor of H16. Only sweeps ask it, since it needs a clock.
#[derive(Clone, Debug, Default, Hash)]
pub struct PunctualClient {
    clients: Vec<Watched>,
}

impl PunctualClient {
    /// Returns a monitor without clients.
    pub fn new() -> PunctualClient {
        PunctualClient::default()
    }
}

/// The state of a client's connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Link {
    #[default]
    None,
    /// The client is trying to connect.
    Attempt,
    Connected {
        read_only: bool,
    },
}

/// The times of one client.
#[derive(Clone, Debug, Default, Hash)]
struct Watched {
    asked: Duration,
    servers: u32,
    expires_locally: bool,
    /// The timeout that its server has granted or, before that, the one that the client asks for.
    timeout: Duration,
    link: Link,
    /// True once a server has granted the timeout.
    is_granted: bool,
    /// True if the next connection continues the same session.
    again: bool,
    /// When the connection was opened, or when it ended.
    since: Time,
    sent: Time,
    heard: Time,
    /// The value of `heard` before the last packet, until the next exchange: a packet after which the machine hangs
    /// up does not count.
    before: Option<Time>,
    /// When it last connected to a read-only server, and how long it stays there before it probes for another server.
    at_read_only: Time,
    stay: Duration,
    sleeps: BTreeMap<CallId, Time>,
    clocks: BTreeMap<CallId, Time>,
    paused: bool,
    /// End of the last pause; whatever was due before that may be late.
    resumed: Time,
}

impl Watched {
    fn new(config: &ClientConfig) -> Watched {
        Watched {
            asked: config.session_timeout,
            servers: u32::try_from(config.servers.len()).unwrap_or(u32::MAX).max(1),
            expires_locally: config.expires_locally,
            timeout: config.session_timeout,
            ..Watched::default()
        }
    }

    fn begin(&mut self, now: Time) {
        (self.timeout, self.is_granted, self.again) = (self.asked, false, false);
        (self.link, self.since) = (Link::None, now);
        self.stay = Duration::from_millis(100);
    }

    /// Returns when the timer is due, or `None` if it is not running.
    fn due(&self, timer: ClientTimer) -> Option<Time> {
        let is_connected = matches!(self.link, Link::Connected { .. });
        let is_read_only = self.link == Link::Connected { read_only: true };
        match timer {
            ClientTimer::Ping => {
                let silence = (self.timeout / 3).min(Duration::from_secs(10));
                is_connected.then_some(self.sent + silence)
            }
            ClientTimer::Read => is_connected.then_some(self.heard + self.timeout * 2 / 3),
            ClientTimer::Connect => {
                let attempt = self.link == Link::Attempt;
                attempt.then_some(self.since + self.timeout / self.servers)
            }
            ClientTimer::Probe => is_read_only.then_some(self.at_read_only + self.stay),
            ClientTimer::Expiry => {
                self.expires_locally.then_some(self.heard + self.timeout * 4 / 3)
            }
            ClientTimer::Reconnect => None,
        }
    }

    /// Fails if a timer should have fired before `now`. Timers that are due exactly now may fire in any order.
    fn in_time(&self, now: Time) -> Result<(), String> {
        if self.paused {
            return Ok(());
        }
        let timers =
            [ClientTimer::Ping, ClientTimer::Read, ClientTimer::Connect, ClientTimer::Probe];
        let late = timers.into_iter().find_map(|timer| {
            let due = self.due(timer)?.max(self.resumed) + SLACK;
            (now > due).then(|| (timer, now.since(due)))
        });
        let Some((timer, late)) = late else { return Ok(()) };
        let what = match timer {
            ClientTimer::Ping => "sent nothing, not even a ping, for a third of its timeout",
            ClientTimer::Read => {
                "keeps a connection on which it has read nothing for two thirds of its timeout"
            }
            ClientTimer::Connect => "waits longer for its server's answer than it may",
            _ => "stays with a read-only server longer than it may",
        };
        Err(format!("{what} of {:?}: it is {late:?} late", self.timeout))
    }

    fn fired(&mut self, now: Time, timer: ClientTimer) -> Result<(), String> {
        let early = self.due(timer).filter(|due| now + SLACK < *due);
        if let Some(due) = early {
            return Err(format!(
                "lets its {timer:?} timer end {:?} too early for a timeout of {:?}",
                due.since(now),
                self.timeout
            ));
        }
        if timer == ClientTimer::Reconnect {
            self.again = true;
            let due = (self.since + Duration::from_secs(1)).max(self.resumed) + SLACK;
            if now > due {
                return Err("waits for more than a second before it tries to connect".into());
            }
        }
        let expiry = self.due(ClientTimer::Expiry).filter(|_| self.is_granted);
        if expiry.is_some_and(|due| now > due.max(self.resumed) + SLACK) {
            return Err(format!("does not give its session up after 4/3 of {:?}", self.timeout));
        }
        if timer == ClientTimer::Probe {
            self.stay = (self.stay * 2).min(Duration::from_secs(60));
        }
        Ok(())
    }

    fn read(&mut self, now: Time, packet: &ServerPacket) {
        let answers = matches!(packet, ServerPacket::Connected { .. } | ServerPacket::Expired);
        self.before = Some(self.heard);
        if !answers && self.link != Link::Attempt {
            self.heard = now;
        }
        if let ServerPacket::Connected { timeout, read_only, .. } = packet
            && self.link == Link::Attempt
        {
            (self.timeout, self.is_granted, self.heard) = (*timeout, true, now);
            self.link = Link::Connected { read_only: *read_only };
            self.sent = now;
            if *read_only {
                self.at_read_only = now;
            } else {
                self.stay = Duration::from_millis(100);
            }
        }
    }

    fn told(&mut self, now: Time, input: &Input) -> Result<(), String> {
        match input {
            Input::Reply { call, outcome: Outcome::Elapsed } => match self.sleeps.remove(call) {
                Some(end) if now + SLACK < end => {
                    Err(format!("ended a sleep {:?} too early", end.since(now)))
                }
                _ => Ok(()),
            },
            Input::Reply { call, outcome: Outcome::Now(said) } => match self.clocks.remove(call) {
                Some(asked) if asked != *said => {
                    Err(format!("read {said} from its clock at {asked}"))
                }
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn passed(&mut self, now: Time, exchange: &Exchange) -> Result<(), String> {
        match exchange {
            Exchange::Ended => {
                (self.link, self.since) = (Link::None, now);
                self.sleeps.clear();
                self.clocks.clear();
                return Ok(());
            }
            Exchange::Started => self.begin(now),
            Exchange::Paused => self.paused = true,
            Exchange::Resumed => (self.paused, self.resumed) = (false, now),
            _ => {}
        }
        self.in_time(now)?;
        let before = self.before.take();
        match exchange {
            Exchange::Asked { call, operation: Operation::Sleep(span) } => {
                self.sleeps.insert(*call, now + *span);
            }
            Exchange::Asked { call, operation: Operation::Now } => {
                self.clocks.insert(*call, now);
            }
            Exchange::Abandoned { call } => {
                self.sleeps.remove(call);
                self.clocks.remove(call);
            }
            Exchange::Told(input) => return self.told(now, input),
            Exchange::Opened { .. } => {
                // An attempt that no Reconnect timer started begins a new session, for which no timeout is granted
                // yet.
                if !std::mem::take(&mut self.again) {
                    self.begin(now);
                }
                (self.link, self.since) = (Link::Attempt, now);
            }
            Exchange::Wrote(ClientPacket::Connect { .. }) => {}
            Exchange::Wrote(_) => self.sent = now,
            Exchange::Read(packet) => self.read(now, packet),
            Exchange::HungUp => {
                self.heard = before.unwrap_or(self.heard);
                (self.link, self.since) = (Link::None, now);
            }
            Exchange::Broke => (self.link, self.since) = (Link::None, now),
            Exchange::Fired(timer) => return self.fired(now, *timer),
            _ => {}
        }
        Ok(())
    }
}

impl Declared for PunctualClient {
    const DECLARATION: Declaration<Self> = Declaration::in_sweeps(
        "H16 a client machine keeps its times",
        LooksBack::Nothing,
        minds! { |this, view, event|

        },
    )
    .begin(Self::begin)
    .exchange(Self::exchange)
    .end(Self::end);
}

impl PunctualClient {
    fn begin(&mut self, config: &Arc<Config>) {
        self.clients = config.clients.iter().map(Watched::new).collect();
    }

    fn exchange(
        &mut self,
        view: View<'_>,
        client: ClientId,
        exchange: &Exchange,
    ) -> Result<(), Objection> {
        let judged = self.clients[client.index()].passed(view.at(), exchange);
        judged.map_err(|saw| self.objection(format!("{client} {saw}.")).about(client))
    }

    fn end(&mut self, view: View<'_>) -> Result<(), Objection> {
        for (client, watched) in self.clients.iter().enumerate() {
            let judged = watched.in_time(view.at());
            let client = ClientId::at(client);
            judged.map_err(|saw| self.objection(format!("{client} {saw}.")).about(client))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;

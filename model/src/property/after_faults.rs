//! L3, L7, L8 and L9: in the quiet after all faults, no role, connection or session ends, and every request is
//! answered.
//!
//! Reconnects hide mistakes of servers: a client without a reply hangs up, reconnects and asks again; a learner whose
//! leader hangs up joins again; a new session follows one that has expired. Faults have the same effects, and no
//! monitor can distinguish the two while faults go on. So these properties are checked only after all faults have
//! ended, all servers have served at once, and the faults' effects have had time to end ([`AfterFaults::settling`]).
//! (Servers whose elections have failed wait for up to a minute before they send their votes again. The time until
//! they serve is a matter of progress.)
//!
//! * **L7** no server leaves its role, looks for a leader, or hangs up on a learner;
//! * **L8** no client loses its connection;
//! * **L9** no session ends whose client is connected;
//! * **L3** every request is answered within [`AfterFaults::ANSWERED`].
//!
//! These properties hold only for links and disks without outliers, since one slow packet can end a short session.
//! Servers that are down or cut off for good are exempt.

use super::{Declaration, Declared, LooksBack, Measure, Objection, Unhashed, View};
use crate::minds;
use crate::vocabulary::config::Config;
use crate::vocabulary::event::Event;
use crate::vocabulary::id::{ClientId, ServerId, SessionId, Xid};
use crate::vocabulary::op::SessionState;
use crate::vocabulary::time::{Duration, Time};
use crate::vocabulary::txn::TxnBody;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The monitor of L3, L7, L8 and L9. Only sweeps ask it, since it needs a clock.
#[derive(Clone, Debug, Hash)]
pub struct AfterFaults {
    /// When all faults have ended.
    mended: Time,
    /// How long the effects of faults last after that.
    settling: Duration,
    /// Servers that serve at the end: all but those that are down or cut off for good.
    staying: BTreeSet<ServerId>,
    serving: BTreeSet<ServerId>,
    /// When the quiet begins; unknown until all staying servers have served at once.
    from: Option<Time>,
    /// How long the quiet has lasted.
    lasted: Unhashed<Duration>,
    /// Connected clients, with their sessions.
    connected: BTreeMap<ClientId, Option<SessionId>>,
    /// Each client's requests without a reply, in order, and when each was sent.
    waiting: BTreeMap<ClientId, VecDeque<(Xid, Time)>>,
}

impl AfterFaults {
    /// The longest allowed wait for a reply. A write of a learner's client takes eight packets, of up to 20 ms each,
    /// and two fsyncs in a row, of up to 12 ms each.
    pub(crate) const ANSWERED: Duration = Duration::from_millis(500);

    /// The longest time for which a disk that is stalled when the faults end stays so.
    const LONGEST_STALL: Duration = Duration::from_secs(8);

    /// Returns a monitor for faults that end at `mended`, except those of the servers in `gone`.
    pub fn after(
        mended: Time,
        config: &Config,
        gone: impl IntoIterator<Item = ServerId>,
    ) -> AfterFaults {
        let gone: BTreeSet<ServerId> = gone.into_iter().collect();
        AfterFaults {
            mended,
            settling: AfterFaults::settling(config),
            staying: config.server_ids().filter(|server| !gone.contains(server)).collect(),
            serving: BTreeSet::new(),
            from: None,
            lasted: Unhashed::default(),
            connected: BTreeMap::new(),
            waiting: BTreeMap::new(),
        }
    }

    /// Returns a bound on the time for which effects of faults last: a stalled disk, a failing election and a
    /// successful one, a synchronisation, and the expiry of a session.
    pub fn settling(config: &Config) -> Duration {
        let timeouts = config.clients.iter().map(|client| config.negotiate(client.session_timeout));
        let roles = config.tick * (config.init_limit + config.sync_limit);
        AfterFaults::LONGEST_STALL + 2 * roles + 2 * timeouts.max().unwrap_or_default()
    }

    /// Records which servers serve, until all staying ones do.
    fn serves(&mut self, now: Time, event: &Event) {
        match event {
            Event::Serving { server, .. } => _ = self.serving.insert(*server),
            Event::LeftRole { server, .. }
            | Event::Crashed { server, .. }
            | Event::Exited { server, .. } => _ = self.serving.remove(server),
            _ => {}
        }
        if now >= self.mended && self.serving.is_superset(&self.staying) {
            self.from = Some(now + self.settling);
        }
    }

    /// Returns the beginning of the quiet, if it has begun.
    fn quiet_since(&self, now: Time) -> Option<Time> {
        self.from.filter(|from| now >= *from)
    }

    fn server(&self, server: ServerId, did: &str) -> Result<(), Objection> {
        if !self.staying.contains(&server) {
            return Ok(());
        }
        Err(Objection::new("L7 no role ends without a fault", format!("{server} {did}.")))
    }

    /// Judges a change of a session's state that its client observes.
    fn session(
        &mut self,
        is_quiet: bool,
        client: ClientId,
        session: Option<SessionId>,
        state: SessionState,
    ) -> Result<(), Objection> {
        let before = match state {
            SessionState::SyncConnected | SessionState::ConnectedReadOnly => {
                self.connected.insert(client, session);
                return Ok(());
            }
            _ => self.connected.remove(&client),
        };
        self.waiting.remove(&client);
        match state {
            SessionState::Disconnected if is_quiet && before.is_some() => Err(Objection::new(
                "L8 no connection ends without a fault",
                format!("{client} has lost its connection."),
            )),
            SessionState::Expired if is_quiet => Err(Objection::new(
                "L9 no live session expires",
                format!("{client} learns that its session has expired."),
            )),
            _ => Ok(()),
        }
    }

    /// Judges that a leader closes a session by itself.
    fn closed(&self, leader: ServerId, session: SessionId) -> Result<(), Objection> {
        let owner = self.connected.iter().find(|(_, connected)| **connected == Some(session));
        match owner {
            None => Ok(()),
            Some((client, _)) => Err(Objection::new(
                "L9 no live session expires",
                format!(
                    "{leader} closes the session {session} by itself, and {client} is connected with it."
                ),
            )
            .about(*client)),
        }
    }

    /// Fails if a request has waited too long for its reply.
    fn answered(&self, now: Time, from: Time) -> Result<(), Objection> {
        for (client, waiting) in &self.waiting {
            let Some((xid, since)) = waiting.front() else { continue };
            let waited = now.since((*since).max(from));
            if waited > AfterFaults::ANSWERED {
                return Err(Objection::new(
                    "L3 every request is answered",
                    format!(
                        "{client} has waited {waited:?} for the answer to its request with xid {}.",
                        xid.0
                    ),
                )
                .about(*client));
            }
        }
        Ok(())
    }
}

impl Declared for AfterFaults {
    const DECLARATION: Declaration<Self> = Declaration::in_sweeps(
        "L3 every request is answered",
        LooksBack::Nothing,
        minds! { |this, view, event|
            // Every event shows that time has passed.
            _ => this.event(view, event),
        },
    )
    .end(Self::end)
    .measured(Self::measured);
}

impl AfterFaults {
    fn end(&mut self, view: View<'_>) -> Result<(), Objection> {
        match self.quiet_since(view.at()) {
            Some(from) => self.answered(view.at(), from),
            None => Ok(()),
        }
    }

    fn measured(&self) -> Vec<Measure> {
        vec![Measure::total("time in the quiet after all faults", *self.lasted)]
    }

    fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), Objection> {
        let now = view.at();
        if self.from.is_none() {
            self.serves(now, event);
        }
        let quiet_since = self.quiet_since(now);
        let is_quiet = quiet_since.is_some();
        if let Some(from) = quiet_since {
            *self.lasted = now.since(from);
            self.answered(now, from)?;
        }
        match event {
            Event::Session { client, session, state, .. } => {
                self.session(is_quiet, *client, *session, *state)
            }
            Event::Sent { client, xid, .. } => {
                self.waiting.entry(*client).or_default().push_back((*xid, now));
                Ok(())
            }
            Event::Replied { client, xid, .. } => {
                let waiting = self.waiting.entry(*client).or_default();
                waiting.retain(|(waits, _)| waits != xid);
                Ok(())
            }
            // The server closes the connection after such an answer (rule 4.2.2).
            Event::Refused { client, .. }
            | Event::Killed { client }
            | Event::Finished { client, .. } => {
                self.waiting.remove(client);
                self.connected.remove(client);
                Ok(())
            }
            Event::LeftRole { server, reason } if is_quiet => {
                self.server(*server, &format!("leaves its role: {reason}"))
            }
            Event::Elected { server, .. } if is_quiet => {
                self.server(*server, "had no role, and is elected or follows only now")
            }
            Event::Exited { server, reason } if is_quiet => {
                self.server(*server, &format!("gives up: {reason}"))
            }
            Event::AcksStalled { leader, learner } if is_quiet => {
                self.server(*leader, &format!("hangs up on {learner}, whose acks do not come"))
            }
            Event::Proposed { leader, txn }
                if is_quiet
                    && txn.cxid == Xid(0)
                    && matches!(txn.body, TxnBody::CloseSession { .. }) =>
            {
                self.closed(*leader, txn.session)
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::property::testing::{
        CLIENT, CONNECTION, ONE, SESSION, THREE, TWO, create_request, sent, session, txn, z,
    };
    use crate::world::history::History;
    use std::sync::Arc;

    const CONNECTED: Duration = Duration::from_secs(1);

    /// Returns a monitor after servers 1 and 3 serve, server 2 is gone, and client 1 is connected.
    fn begun() -> AfterFaults {
        let mut quiet = AfterFaults::after(Time::ZERO, &Config::new(3, 1), [TWO]);
        for event in [serving(ONE), serving(THREE), session(SessionState::SyncConnected, Some(ONE))]
        {
            told(&mut quiet, Time::ZERO + CONNECTED, &event).expect("all is well");
        }
        quiet
    }

    fn from(quiet: &AfterFaults) -> Time {
        quiet.from.expect("all serve")
    }

    fn serving(server: ServerId) -> Event {
        let digest = History::new().tree().digest();
        Event::Serving { server, zxid: z(1, 0), digest }
    }

    fn told(quiet: &mut AfterFaults, at: Time, event: &Event) -> Result<(), Objection> {
        let history = History::new();
        quiet.event(View::new(at, &history).within(LooksBack::Nothing), event)
    }

    /// Returns the objection to an event in the quiet; just before the quiet, the event must be accepted.
    fn objects(event: &Event) -> String {
        let mut early = begun();
        let from = from(&early);
        told(&mut early, Time::ZERO + CONNECTED, event).expect("faults may do that");
        told(&mut begun(), from, event).expect_err("nothing may do that").to_string()
    }

    #[test]
    fn it_is_quiet_when_all_have_served_at_once() {
        let settling = AfterFaults::settling(&Config::new(3, 1));
        let mended = Time::ZERO + CONNECTED;
        let mut quiet = AfterFaults::after(mended, &Config::new(3, 1), []);
        for event in [serving(ONE), serving(TWO), serving(THREE)] {
            told(&mut quiet, Time::ZERO, &event).expect("it serves");
        }
        assert_eq!(quiet.from, None, "faults go on");
        let left = Event::LeftRole { server: TWO, reason: "x" };
        told(&mut quiet, mended, &left).expect("faults did that");
        assert_eq!(quiet.from, None, "one is missing");
        let served = mended + CONNECTED;
        told(&mut quiet, served, &serving(TWO)).expect("it serves");
        assert_eq!(quiet.from, Some(served + settling));
        told(&mut quiet, served, &left).expect("it is not quiet yet");
        assert_eq!(quiet.from, Some(served + settling), "once is enough");
    }

    #[test]
    fn a_role_that_ends_in_the_quiet() {
        let left = |server| Event::LeftRole { server, reason: "it is tired" };
        assert_eq!(
            objects(&left(ONE)),
            "L7 no role ends without a fault: server 1 leaves its role: it is tired."
        );
        let mut quiet = begun();
        let from = from(&quiet);
        assert_eq!(told(&mut quiet, from, &left(TWO)), Ok(()), "it is cut off");
        assert!(objects(&Event::Elected { server: ONE, leader: ONE, round: 1 }).starts_with("L7"));
        assert!(objects(&Event::Exited { server: ONE, reason: "x" }).starts_with("L7"));
        let learner = crate::vocabulary::id::LearnerConnection { learner: TWO, slot: 0 };
        assert!(objects(&Event::AcksStalled { leader: ONE, learner }).starts_with("L7"));
    }

    #[test]
    fn a_connection_that_ends_in_the_quiet() {
        let lost = session(SessionState::Disconnected, None);
        assert!(objects(&lost).starts_with("L8 no connection ends without a fault: client 1"));
        let mut quiet = begun();
        let from = from(&quiet);
        let closed = session(SessionState::Closed, None);
        assert_eq!(told(&mut quiet, from, &closed), Ok(()), "it wanted that");
    }

    #[test]
    fn a_session_that_ends_in_the_quiet() {
        let expired = session(SessionState::Expired, Some(ONE));
        assert!(objects(&expired).starts_with("L9 no live session expires: client 1 learns"));
        let body = TxnBody::CloseSession { ephemerals: Vec::new() };
        let closes = Event::Proposed { leader: ONE, txn: txn(z(1, 2), 0, body.clone()) };
        assert!(objects(&closes).starts_with("L9 no live session expires: server 1 closes"));
        // The client asks for the end itself, or its process is gone.
        let mut quiet = begun();
        let from = from(&quiet);
        let asked = Event::Proposed { leader: ONE, txn: txn(z(1, 2), 5, body) };
        assert_eq!(told(&mut quiet, from, &asked), Ok(()));
        told(&mut quiet, from, &Event::Killed { client: CLIENT }).expect("nothing");
        assert_eq!(told(&mut quiet, from, &closes), Ok(()));
    }

    #[test]
    fn a_request_that_is_not_answered_in_the_quiet() {
        let (mut quiet, history) = (begun(), History::new());
        let from = from(&quiet);
        // The request has waited for long, but not in the quiet.
        told(&mut quiet, Time::ZERO + CONNECTED, &sent(1, create_request("/a", "x")))
            .expect("asks");
        let nothing = Event::Heard { server: ONE, session: SESSION };
        let late = from + AfterFaults::ANSWERED;
        assert_eq!(told(&mut quiet, late, &nothing), Ok(()));
        let too_late = late + Duration::from_millis(1);
        let saw = told(&mut quiet.clone(), too_late, &nothing).expect_err("too late").to_string();
        assert!(
            saw.starts_with("L3 every request is answered: client 1 has waited 501ms"),
            "{saw}"
        );
        assert!(quiet.end(View::new(too_late, &history).within(LooksBack::Nothing)).is_err());
        let replied = Event::Replied {
            client: CLIENT,
            session: SESSION,
            connection: CONNECTION,
            xid: Xid(1),
            zxid: z(1, 1),
            request: Arc::new(create_request("/a", "x")),
            result: Err(crate::vocabulary::error::Error::NodeExists),
        };
        told(&mut quiet, late, &replied).expect("in time");
        assert_eq!(told(&mut quiet, too_late, &nothing), Ok(()));
    }
}

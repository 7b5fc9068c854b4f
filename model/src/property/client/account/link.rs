//! What a client machine does with its connection, and how the connection ends.

use super::{Account, Duties, Judged, Stage};
use crate::program::host::{Input, Outcome};
use crate::vocabulary::error::Error;
use crate::vocabulary::id::{ServerId, Xid};
use crate::vocabulary::op::{Request, SessionState};
use crate::vocabulary::packet::ClientPacket;
use crate::vocabulary::timer::ClientTimer;
use crate::vocabulary::zxid::Zxid;
use std::mem::take;
use std::sync::Arc;

use super::super::watches::Watches;

impl Account {
    /// Begins a new session, as a new `ZooKeeper` object does: it keeps neither zxid nor watches nor identities.
    pub(super) fn begin(&mut self) {
        self.stage = Stage::Waiting;
        self.next_server = 0;
        (self.session, self.is_known) = (None, false);
        (self.seen, self.last_xid, self.last_made) = (Zxid::ZERO, None, Xid(0));
        self.identities.clear();
        self.watches = Watches::default();
        self.closing = false;
        self.duties.open = !self.servers.is_empty();
    }

    pub(in crate::property::client) fn opened(&mut self, server: ServerId) -> Judged {
        if self.duties.hang_up || self.stage != Stage::Waiting {
            return Err(format!("opens a connection to {server} while it has another one"));
        }
        if !take(&mut self.duties.open) {
            return Err(format!("opens a connection to {server}, though it is not time to"));
        }
        let next = self.servers[self.next_server];
        if server != next {
            return Err(format!("connects to {server}, but the next server of its list is {next}"));
        }
        self.next_server = (self.next_server + 1) % self.servers.len();
        self.stage = Stage::Connecting;
        self.duties.connect = true;
        Ok(())
    }

    pub(in crate::property::client) fn wrote(&mut self, packet: &ClientPacket) -> Judged {
        let is_connected = self.stage == Stage::Connected;
        match packet {
            ClientPacket::Connect { last_zxid_seen, timeout, session, read_only } => {
                if !take(&mut self.duties.connect) {
                    return Err("sends a ConnectRequest that does not open a connection".into());
                }
                let own = (self.seen, self.timeout, self.session.filter(|_| self.is_known));
                let says = (*last_zxid_seen, *timeout, *session);
                if says != own || *read_only != self.read_only {
                    return Err(format!(
                        "sends a ConnectRequest with (zxid, timeout, session) {says:?}, but its own are {own:?}"
                    ));
                }
                Ok(())
            }
            _ if self.duties.connect || !is_connected => {
                Err("sends another packet before it is connected".into())
            }
            ClientPacket::Auth { scheme, auth } => match self.duties.auths.pop_front() {
                Some((its, proof)) if (&its, &proof) == (scheme, auth) => Ok(()),
                _ => Err(format!("proves an identity by {scheme} out of its turn")),
            },
            ClientPacket::SetWatches {
                relative_zxid,
                data,
                exist,
                child,
                persistent,
                recursive,
            } => self.set_watches(*relative_zxid, [data, exist, child, persistent, recursive]),
            ClientPacket::Request { xid, request } => self.wrote_request(*xid, request),
            ClientPacket::Ping if take(&mut self.duties.ping) => Ok(()),
            ClientPacket::Ping => Err("sends a ping, though it is not time to".into()),
        }
    }

    fn set_watches(&mut self, relative: Zxid, lists: [&Vec<Arc<str>>; 5]) -> Judged {
        const NAMES: [&str; 5] = ["data", "exist", "child", "persistent", "recursive"];
        let Some((zxid, due)) = &mut self.duties.watches else {
            return Err("sends SetWatches, although no watches remain to be set".into());
        };
        if !self.duties.auths.is_empty() {
            return Err("sends SetWatches before its identities".into());
        }
        if *zxid != relative {
            return Err(format!(
                "sends SetWatches with relativeZxid {relative}, but the last zxid \
                 that it has seen is {zxid}"
            ));
        }
        for ((list, due), name) in lists.into_iter().zip(due.iter_mut()).zip(NAMES) {
            if let Some(path) = list.iter().find(|path| !due.remove(*path)) {
                return Err(format!(
                    "sends SetWatches with a {name} watch on {path}, but it has no such watch"
                ));
            }
        }
        if due.iter().all(|paths| paths.is_empty()) {
            self.duties.watches = None;
        }
        Ok(())
    }

    fn wrote_request(&mut self, xid: Xid, request: &Arc<Request>) -> Judged {
        if !self.duties.auths.is_empty() || self.duties.watches.is_some() {
            return Err(format!("sends {request} before its identities and its watches"));
        }
        match self.requests.get_mut(self.sent) {
            Some(taken) if taken.request == *request => taken.xid = Some(xid),
            Some(taken) => {
                return Err(format!(
                    "sends {request}, but the next request to send is {}",
                    taken.request
                ));
            }
            None => return Err(format!("sends {request}, which its program has not requested")),
        }
        let used = self.last_xid.unwrap_or(Xid(0));
        if xid <= used || xid > self.last_made {
            return Err(format!(
                "sends {request} with xid {}, but its xid must be above {} and at most {}",
                xid.0, used.0, self.last_made.0
            ));
        }
        self.last_xid = Some(xid);
        self.sent += 1;
        Ok(())
    }

    pub(in crate::property::client) fn hung_up(&mut self) -> Judged {
        if take(&mut self.duties.hang_up) {
            return Ok(());
        }
        Err("closes its connection without a reason".into())
    }

    pub(in crate::property::client) fn broke(&mut self) {
        self.lost();
    }

    pub(in crate::property::client) fn fired(&mut self, timer: ClientTimer) -> Judged {
        let may = match timer {
            ClientTimer::Reconnect => self.stage == Stage::Waiting,
            ClientTimer::Connect => self.stage == Stage::Connecting,
            ClientTimer::Read | ClientTimer::Ping | ClientTimer::Probe => {
                self.stage == Stage::Connected
            }
            ClientTimer::Expiry => {
                let is_alive = !matches!(self.stage, Stage::Over(_) | Stage::Down);
                self.expires_locally && self.session.is_some() && is_alive
            }
        };
        if !may {
            return Err(format!("lets its {timer:?} timer end, although that timer is not armed"));
        }
        match timer {
            ClientTimer::Reconnect => self.duties.open = true,
            ClientTimer::Ping => self.duties.ping = true,
            ClientTimer::Connect | ClientTimer::Read | ClientTimer::Probe => {
                self.duties.hang_up = true;
                self.lost();
            }
            ClientTimer::Expiry => self.given_up(),
        }
        Ok(())
    }

    /// Ends the connection, or the attempt at one (rule 2.8.4).
    pub(super) fn lost(&mut self) {
        let was_connected = self.stage == Stage::Connected;
        self.stage = Stage::Waiting;
        self.fail(Error::ConnectionLoss);
        if was_connected {
            self.owe_state(SessionState::Disconnected);
            if self.drops_watches {
                self.watches_end(Error::ConnectionLoss);
            }
        }
        if self.closing {
            self.over(SessionState::Closed);
        }
    }

    /// Ends the session after a silence so long that the machine takes it as expired (rule 2.8.3).
    fn given_up(&mut self) {
        let how = if self.closing { SessionState::Closed } else { SessionState::Expired };
        match self.stage {
            Stage::Connected => {
                self.duties.hang_up = true;
                self.closing = false;
                self.lost();
            }
            Stage::Connecting => self.duties.hang_up = true,
            _ => {}
        }
        self.over(how);
    }

    /// Ends the session: every pending call fails.
    pub(super) fn over(&mut self, how: SessionState) {
        let refused = how == SessionState::AuthFailed;
        let error = if refused { Error::AuthFailed } else { Error::SessionExpired };
        self.stage = Stage::Over(error);
        self.owe_state(how);
        self.fail(error);
        self.watches_end(error);
        for call in take(&mut self.closes) {
            self.owe(Input::Reply { call, outcome: Outcome::Closed });
        }
        self.closing = false;
        if !self.connects.is_empty() {
            self.begin();
        }
    }

    /// Ends all watches with this error.
    fn watches_end(&mut self, error: Error) {
        let turn = self.next_turn();
        for call in self.watches.end() {
            let input = Input::Reply { call, outcome: Outcome::Watch(Err(error)) };
            self.owed.push_back((turn, self.now, input));
        }
    }

    /// Fails every request, in flight or not, in order.
    pub(super) fn fail(&mut self, error: Error) {
        self.sent = 0;
        for taken in take(&mut self.requests) {
            self.finish(taken, &Err(error));
        }
        let Duties { hang_up, .. } = self.duties;
        self.duties = Duties { hang_up, ..Duties::default() };
    }
}

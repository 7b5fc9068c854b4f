//! A client machine as text.

use super::ClientMachine;
use crate::vocabulary::zxid::Zxid;

impl ClientMachine {
    /// Describes the machine, one fact per line.
    pub fn lines(&self, lines: &mut Vec<String>) {
        lines.push(self.state.to_string());
        let session = &self.session;
        if let Some(id) = session.id {
            lines.push(format!("session {id} (timeout {:?})", session.timeout));
        }
        if session.last_zxid > Zxid::ZERO {
            lines.push(format!("last zxid seen {}", session.last_zxid));
        }
        if session.closing {
            lines.push("the program has closed the session".to_owned());
        }
        for pending in &session.in_flight {
            lines.push(format!("in flight: xid {} {}", pending.xid.0, pending.request));
        }
        for pending in &session.queued {
            lines.push(format!("to be sent: {}", pending.request));
        }
        session.watches.lines(lines);
    }
}

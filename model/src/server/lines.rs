//! A server's memory as text.

use super::Server;
use super::clients::{Pending, Waiting};
use super::commit_processor::Committed;
use crate::vocabulary::id::SessionId;

impl Server {
    /// Describes the process, one fact per line: the database, and what waits in its queues. [`Server::describe`]
    /// describes the role.
    pub fn lines(&self, lines: &mut Vec<String>) {
        lines.push(format!("last processed zxid {}", self.tree().last_processed()));
        if let Some(writing) = self.writing() {
            lines.push(format!("its packet thread writes {writing}"));
        }
        self.tree().lines(lines);
        for session in self.local_sessions().ids() {
            lines.push(format!("local session {session}"));
        }
        for (path, connection) in self.watches().data_watches() {
            lines.push(format!("data watch on {path} of {}", connection.client));
        }
        for (path, connection) in self.watches().child_watches() {
            lines.push(format!("child watch on {path} of {}", connection.client));
        }
        for (session, queue) in &self.clients.pending {
            lines.extend(queue.iter().map(|waiting| pending_line(*session, waiting)));
        }
        for entry in self.commits.queue() {
            lines.push(match entry {
                Committed::Txn(txn) => format!("committed, not yet applied: {txn}"),
                Committed::Sync(session, xid) => {
                    format!("sync to answer: session {session} xid {}", xid.0)
                }
            });
        }
        lines.extend(self.log.queue.iter().map(|txn| format!("to be logged: {txn}")));
    }
}

fn pending_line(session: SessionId, waiting: &Waiting) -> String {
    let what = match &waiting.what {
        Pending::Write(xid) => format!("write xid {}", xid.0),
        Pending::Sync(xid) => format!("sync xid {}", xid.0),
        Pending::Turn(packet, _) => packet.to_string(),
    };
    format!("pending of session {session}: {what}")
}

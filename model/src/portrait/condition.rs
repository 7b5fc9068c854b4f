//! What a machine is in: a role, a connection, or a fault.

use crate::client::{ClientMachine, ClientState};
use crate::server::{Role, Server};
use crate::vocabulary::id::{Machine, ServerId};
use crate::vocabulary::zxid::Epoch;

/// What a machine is in, for as long as it is in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum Condition {
    /// A server looks for a leader.
    Looking,
    /// A server has found a leader, and does not serve yet.
    Synchronising { leader: ServerId },
    /// A server follows and serves.
    Following { leader: ServerId },
    /// A server was elected, and is not activated yet. Its epoch may not be fixed.
    Elected,
    /// A server leads and serves.
    Leading { epoch: Epoch },
    /// A server's process is down.
    Down,
    /// A client is connected; to which server is known only at the ensemble grain.
    Connected { server: Option<ServerId> },
    /// A client has a session and no connection.
    Disconnected,
    /// A client's session is over.
    Expired,
    /// A client machine is paused.
    Paused,
    /// No packet passes in at least one direction between the machine and these others.
    CutOff { from: Vec<Machine> },
}

/// Returns the role of a server; `None` for one whose process is down.
pub(super) fn of_server(server: Option<&Server>) -> Condition {
    let Some(server) = server else { return Condition::Down };
    match server.role() {
        Role::Looking => Condition::Looking,
        Role::Following(learner) | Role::Observing(learner) if learner.is_serving() => {
            Condition::Following { leader: learner.leader() }
        }
        Role::Following(learner) | Role::Observing(learner) => {
            Condition::Synchronising { leader: learner.leader() }
        }
        Role::Leading(leader) if leader.is_established() => {
            Condition::Leading { epoch: leader.epoch() }
        }
        Role::Leading(_) => Condition::Elected,
    }
}

/// Returns what a client's session is in, if it has or had one.
pub(super) fn of_client(machine: &ClientMachine) -> Option<Condition> {
    match machine.state() {
        ClientState::Connected(server) | ClientState::ConnectedReadOnly(server) => {
            Some(Condition::Connected { server: Some(server) })
        }
        ClientState::Waiting | ClientState::Connecting(_) => {
            machine.session().map(|_| Condition::Disconnected)
        }
        ClientState::Expired => Some(Condition::Expired),
        ClientState::NotStarted | ClientState::Closed | ClientState::AuthFailed => None,
    }
}

//! The part of the world that a fault can see.

use vivarium_model::id::{
    ClientConnection, ClientId, LearnerConnection, Machine, ServerId, SessionId,
};
use vivarium_model::quorum::QuorumVerifier;

/// The part of the world that a fault can see.
pub(crate) trait Look {
    fn servers(&self) -> u8;
    /// Which sets of servers are quorums.
    fn quorum_verifier(&self) -> QuorumVerifier;
    /// How many client machines there are.
    fn clients(&self) -> u8;
    /// Whether a server's process is up.
    fn is_up(&self, server: ServerId) -> bool;
    /// The established leader.
    fn leader(&self) -> Option<ServerId>;
    /// A client's connection in use.
    fn client_connection(&self, client: ClientId) -> Option<ClientConnection>;
    /// The server of that connection.
    fn attached_to(&self, client: ClientId) -> Option<ServerId>;
    /// A learner's connection to its leader.
    fn learner_connection(&self, server: ServerId) -> Option<LearnerConnection>;
    /// Packets in flight (to the server, to the client).
    fn under_way(&self, connection: ClientConnection) -> (usize, usize);
    /// Packets in flight (to the leader, to the learner).
    fn under_way_learner(&self, connection: LearnerConnection) -> (usize, usize);
    /// Number of transactions that a server has appended and not fsynced.
    fn unsynced(&self, server: ServerId) -> usize;
    /// A client's session.
    fn session(&self, client: ClientId) -> Option<SessionId>;
    /// Whether the link in this direction is cut.
    fn is_cut(&self, from: Machine, to: Machine) -> bool;
    /// Whether a client's program has started and not ended.
    fn is_running(&self, client: ClientId) -> bool;
    /// Whether a client machine is paused.
    fn is_paused(&self, client: ClientId) -> bool;
    /// Whether a client's program awaits a cancellation.
    fn can_cancel(&self, client: ClientId) -> bool;
}

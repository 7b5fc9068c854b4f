//! Client connections.

use std::net::SocketAddr;

/// A client connection.
#[derive(Clone, Debug)]
pub struct Connection {
    pub remote: SocketAddr,
    /// The events that the server waits for on the socket: 1 to read and 4 to write.
    pub interest_ops: u32,
    /// The requests of this connection that are not answered.
    pub outstanding_requests: u64,
    pub packets_received: u64,
    pub packets_sent: u64,
    /// The session, 0 before there is one.
    pub session_id: i64,
    /// The last answered request in four letters, such as `PING`. `None` before the first, `NA` after a reset.
    pub last_operation: Option<String>,
    /// The wall-clock time at which the connection was established.
    pub established: i64,
    /// The negotiated session timeout.
    pub session_timeout: i32,
    /// The xid of the last request, 0 before the first and -1 after a reset.
    pub last_cxid: i64,
    /// The zxid of the last response, 0 before the first and -1 after a reset.
    pub last_zxid: i64,
    /// The time of the last response on the clock of [`Clock::elapsed`](super::Clock::elapsed).
    pub last_response_time: i64,
    pub last_latency: i64,
    pub min_latency: i64,
    /// The mean latency, which a server rounds down to whole milliseconds.
    pub avg_latency: i64,
    pub max_latency: i64,
    /// The time at which the server closes the silent connection, on the clock of [`Clock::elapsed`](super::Clock::elapsed); `None` if it
    /// does not.
    pub expires: Option<i64>,
}

impl Connection {
    /// Returns a connection that has transferred nothing. A server closes it after ten seconds without a session.
    #[must_use]
    pub fn new(remote: SocketAddr, established: i64) -> Connection {
        Connection {
            remote,
            interest_ops: 1,
            outstanding_requests: 0,
            packets_received: 0,
            packets_sent: 0,
            session_id: 0,
            last_operation: None,
            established,
            session_timeout: 10_000,
            last_cxid: 0,
            last_zxid: 0,
            last_response_time: 0,
            last_latency: 0,
            min_latency: 0,
            avg_latency: 0,
            max_latency: 0,
            expires: None,
        }
    }

    /// Resets the counters, as `crst` does.
    pub fn reset(&mut self) {
        *self = Connection {
            interest_ops: self.interest_ops,
            outstanding_requests: self.outstanding_requests,
            session_id: self.session_id,
            last_operation: Some("NA".to_owned()),
            session_timeout: self.session_timeout,
            last_cxid: -1,
            last_zxid: -1,
            expires: self.expires,
            ..Connection::new(self.remote, self.established)
        };
    }
}

//! What a connection and a server count: packets and latencies.

use super::words::{Clock, Connection};
use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use vivarium_model::id::SessionId;

/// Returns whole milliseconds.
pub(super) fn millis(span: Duration) -> i64 {
    i64::try_from(span.as_millis()).unwrap_or(i64::MAX)
}

/// The packets and latencies of one server or one connection.
#[derive(Debug, Default)]
pub(super) struct Totals {
    received: Cell<u64>,
    sent: Cell<u64>,
    replies: Cell<u64>,
    last: Cell<Duration>,
    sum: Cell<Duration>,
    least: Cell<Option<Duration>>,
    most: Cell<Duration>,
}

impl Totals {
    pub(super) fn receive(&self) {
        self.received.set(self.received.get() + 1);
    }

    pub(super) fn send(&self) {
        self.sent.set(self.sent.get() + 1);
    }

    /// Counts a reply after this time.
    pub(super) fn replied(&self, latency: Duration) {
        self.replies.set(self.replies.get() + 1);
        self.last.set(latency);
        self.sum.set(self.sum.get() + latency);
        self.least.set(Some(self.least.get().map_or(latency, |least| least.min(latency))));
        self.most.set(self.most.get().max(latency));
    }

    /// Sets everything to zero.
    pub(super) fn reset(&self) {
        let fresh = Totals::default();
        self.received.set(fresh.received.get());
        self.sent.set(fresh.sent.get());
        self.replies.set(fresh.replies.get());
        self.last.set(fresh.last.get());
        self.sum.set(fresh.sum.get());
        self.least.set(fresh.least.get());
        self.most.set(fresh.most.get());
    }

    pub(super) fn received(&self) -> u64 {
        self.received.get()
    }

    pub(super) fn sent(&self) -> u64 {
        self.sent.get()
    }

    pub(super) fn min(&self) -> i64 {
        millis(self.least.get().unwrap_or_default())
    }

    pub(super) fn max(&self) -> i64 {
        millis(self.most.get())
    }

    /// Returns the mean latency in milliseconds.
    pub(super) fn mean(&self) -> f64 {
        let replies = self.replies.get();
        if replies == 0 { 0.0 } else { self.sum.get().as_secs_f64() * 1e3 / replies as f64 }
    }
}

/// What one connection counts.
#[derive(Debug)]
pub(super) struct Counters {
    pub(super) totals: Totals,
    remote: SocketAddr,
    established: i64,
    began: Instant,
    timeout: Cell<Option<Duration>>,
    last_operation: RefCell<Option<&'static str>>,
    last_cxid: Cell<i64>,
    last_zxid: Cell<i64>,
}

impl Counters {
    pub(super) fn new(remote: SocketAddr, clock: Clock) -> Counters {
        Counters {
            totals: Totals::default(),
            remote,
            established: clock.wall,
            began: Instant::now(),
            timeout: Cell::new(None),
            last_operation: RefCell::new(None),
            last_cxid: Cell::new(0),
            last_zxid: Cell::new(0),
        }
    }

    /// Counts the acceptance of a session.
    pub(super) fn connected(&self, timeout: Duration) {
        self.timeout.set(Some(timeout));
        self.replied("SESS", 0, 0, self.began.elapsed());
    }

    /// Counts a reply.
    pub(super) fn replied(&self, operation: &'static str, cxid: i64, zxid: i64, latency: Duration) {
        self.totals.replied(latency);
        *self.last_operation.borrow_mut() = Some(operation);
        self.last_cxid.set(cxid);
        self.last_zxid.set(zxid);
    }

    /// Resets the counters, as `crst` does.
    pub(super) fn reset(&self) {
        self.totals.reset();
        *self.last_operation.borrow_mut() = Some("NA");
        self.last_cxid.set(-1);
        self.last_zxid.set(-1);
    }

    /// Returns the connection as words show it. `outstanding` is the number of its requests without a reply.
    pub(super) fn status(
        &self,
        session: Option<SessionId>,
        outstanding: usize,
        clock: Clock,
    ) -> Connection {
        let totals = &self.totals;
        let timeout = self.timeout.get().unwrap_or(Duration::from_secs(10));
        Connection {
            outstanding_requests: outstanding as u64,
            packets_received: totals.received(),
            packets_sent: totals.sent(),
            session_id: session.map_or(0, |session| session.0.cast_signed()),
            last_operation: self.last_operation.borrow().map(str::to_owned),
            session_timeout: i32::try_from(timeout.as_millis()).unwrap_or(i32::MAX),
            last_cxid: self.last_cxid.get(),
            last_zxid: self.last_zxid.get(),
            last_response_time: clock.elapsed,
            last_latency: millis(totals.last.get()),
            min_latency: totals.min(),
            avg_latency: totals.mean() as i64,
            max_latency: totals.max(),
            expires: Some(clock.elapsed + millis(timeout)),
            ..Connection::new(self.remote, self.established)
        }
    }
}

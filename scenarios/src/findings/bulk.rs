//! A large database. Compared to it, the logs on a leader's disk are small, so the leader sends them, however old, and
//! no snapshot (rule 6.4.10).

use super::error::FindingError;
use super::session::Session;
use vivarium_model::op::{CreateMode, Op, Request};

/// The size of the data: a third of a snapshot is then more than the small logs after it.
pub(super) const KILOBYTES: usize = 1_200;

/// The number of znodes that hold the data.
const ZNODES: usize = 120;

/// Creates the data.
pub(super) fn create(client: &mut Session) -> Result<(), FindingError> {
    for number in 0..ZNODES {
        let path = format!("/bulk{number}");
        let data = vec![b'x'; KILOBYTES * 1_000 / ZNODES];
        client.ask(Request::Write(Op::create(path, data, CreateMode::Persistent)))?;
    }
    Ok(())
}

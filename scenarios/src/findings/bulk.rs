//! A large database: beside it a leader sends the logs on its disk, however old, and no snapshot (rule 6.4.10).

use super::session::Session;
use super::trouble::Trouble;
use vivarium_model::op::{CreateMode, Op, Request};

/// So much data that a third of a snapshot is more than small logs behind it.
pub(super) const KILOBYTES: usize = 1_200;

/// How many znodes hold it.
const ZNODES: usize = 120;

/// Creates it.
pub(super) fn create(client: &mut Session) -> Result<(), Trouble> {
    for number in 0..ZNODES {
        let path = format!("/bulk{number}");
        let data = vec![b'x'; KILOBYTES * 1_000 / ZNODES];
        client.ask(Request::Write(Op::create(path, data, CreateMode::Persistent)))?;
    }
    Ok(())
}

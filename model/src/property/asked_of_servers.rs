//! The properties that a sweep checks by looking at its servers; monitors see events only.

/// The properties of servers that a sweep checks itself, because no monitor can: each is on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AskedOfServers {
    /// S3, of disks ([`Disks`](super::disks::Disks)).
    pub durable: bool,
    /// S6, of disks.
    pub recovery: bool,
    /// S7, of disks.
    pub log: bool,
    /// S17, of elections ([`Elections`](super::elections::Elections)).
    pub elections: bool,
    /// S15, of a server that answers a handshake ([`told_timeout`](super::told_timeout)).
    pub timeout: bool,
}

impl AskedOfServers {
    /// All of them.
    pub const ALL: AskedOfServers = AskedOfServers::all_or_none(true);
    /// None of them.
    pub const NONE: AskedOfServers = AskedOfServers::all_or_none(false);

    const fn all_or_none(all: bool) -> AskedOfServers {
        AskedOfServers { durable: all, recovery: all, log: all, elections: all, timeout: all }
    }
}

//! The properties that a sweep checks by looking at its servers; monitors see events only.

/// The properties that a sweep checks on its servers, because monitors do not see their state: each is on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AskedOfServers {
    /// S3, on disks ([`Disks`](super::disks::Disks)).
    pub durable: bool,
    /// S6, on disks.
    pub recovery: bool,
    /// S7, on disks.
    pub log: bool,
    /// S17, on elections ([`Elections`](super::elections::Elections)).
    pub elections: bool,
    /// S21, on notifications ([`RepeatedVotes`](super::repeated_votes::RepeatedVotes)).
    pub votes: bool,
    /// S15, on a server that answers a handshake ([`told_timeout`](super::told_timeout)).
    pub timeout: bool,
}

impl AskedOfServers {
    /// All of them.
    pub const ALL: AskedOfServers = AskedOfServers::all_or_none(true);
    /// None of them.
    pub const NONE: AskedOfServers = AskedOfServers::all_or_none(false);

    const fn all_or_none(all: bool) -> AskedOfServers {
        AskedOfServers {
            durable: all,
            recovery: all,
            log: all,
            elections: all,
            votes: all,
            timeout: all,
        }
    }
}

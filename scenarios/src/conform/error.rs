//! Errors in dealing with a real server.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use thiserror::Error;
use vivarium_model::wire::WireError;

/// Why a real server could not be started or used.
#[derive(Debug, Error)]
#[non_exhaustive]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum ConformError {
    /// Java is not installed.
    #[error("no `java` was found; `apt-get install zookeeper` installs it with ZooKeeper")]
    NoJava,
    /// ZooKeeper is not installed.
    #[error("ZooKeeper is not installed ({0} is missing); `apt-get install zookeeper` installs it")]
    NoZooKeeper(String),
    /// The release is unknown: its name, and the known releases.
    #[error("unknown ZooKeeper release `{0}`: there are {1}")]
    UnknownRelease(String, String),
    /// The release has no table of differences: its name, and the releases that have one.
    #[error("the model is compared with ZooKeeper {1}, and not with `{0}`")]
    NotCompared(String, String),
    /// The release is installed by a package of the system, so it is not downloaded.
    #[error("ZooKeeper {0} is Debian's: `apt-get install zookeeper` installs it")]
    Installed(&'static str),
    /// The release is not in the cache folder.
    #[error(
        "ZooKeeper {release} is not in {}: `vivarium findings --get {release}` gets it ({megabytes} MB, by pip)",
        cache.display()
    )]
    NotGot { release: &'static str, megabytes: u32, cache: PathBuf },
    /// There is no cache folder for releases.
    #[error("releases of ZooKeeper are kept in a cache folder: set XDG_CACHE_HOME or HOME")]
    NoCache,
    /// A program could not be run, or a file not written, to download a release.
    #[error(
        "ZooKeeper could not be got: {0}; it takes python3 with pip, tar, and room on the disk"
    )]
    Get(#[source] io::Error),
    /// A program failed.
    #[error("ZooKeeper could not be got: `{command}` ended with {status}")]
    CommandFailed { command: String, status: String },
    /// The downloaded package does not contain the release.
    #[error("the package {package} has no ZooKeeper {release}")]
    NotCarried { release: &'static str, package: String },
    /// The directory or the process could not be created.
    #[error("a ZooKeeper server could not be started: {0}")]
    Start(#[source] io::Error),
    /// The process ended by itself.
    #[error("the ZooKeeper server ended as it began ({status}); the end of its log:\n{log}")]
    Ended {
        /// The exit status.
        status: String,
        /// The last lines of its log.
        log: String,
    },
    /// The process runs but does not serve.
    #[error("the ZooKeeper server does not serve after {patience:?}; the end of its log:\n{log}")]
    Silent {
        /// How long the caller waited.
        patience: Duration,
        /// The last lines of its log.
        log: String,
    },
    /// There is no connection to the server, or it was lost where one is needed.
    #[error("no connection to {address}: {source}")]
    Connect { address: SocketAddr, source: io::Error },
    /// No server of an ensemble leads.
    #[error("no server reports that it leads")]
    NoLeader,
    /// The server does not accept the superuser.
    #[error(
        "the server is not set up for the comparison: addAuth as superuser was answered with {0}"
    )]
    NotSetUp(String),
    /// The server did not answer the handshake.
    #[error("{address} did not answer the ConnectRequest within {patience:?}")]
    NoHandshake {
        address: SocketAddr,
        /// How long the caller waited.
        patience: Duration,
    },
    /// The server sent an invalid packet.
    #[error("{address} sent a frame that cannot be decoded: {source}")]
    NotUnderstood { address: SocketAddr, source: WireError },
}

//! The setup of real servers.

use std::ops::RangeInclusive;
use std::time::Duration;

/// The setup of real servers. The defaults suit a comparison of answers: fast clocks, all kinds of znodes, no fsync.
#[derive(Clone, Debug)]
pub struct Options {
    /// `tickTime`, in whole milliseconds. Session expiries and the leader's time limits are multiples of it.
    pub tick_time: Duration,
    /// The range of session timeouts: `minSessionTimeout` and `maxSessionTimeout`.
    pub session_timeouts: RangeInclusive<Duration>,
    /// Whether exceeded quotas refuse writes (`zookeeper.enforceQuota`) or only warn.
    pub enforce_quota: bool,
    /// The superuser: `super:` and the digest of the password, as in an ACL.
    pub super_digest: Option<String>,
    /// The interval at which the leader checks for containers and TTL znodes to delete.
    pub container_check_interval: Duration,
    /// How long to wait until servers serve.
    pub patience: Duration,
    /// How many of an ensemble's servers are observers: the last ones.
    pub observers: usize,
    /// Whether an ensemble's members can change (`reconfigEnabled`).
    pub reconfigurable: bool,
    /// Further arguments of the Java process, such as `-Dzookeeper.maxCnxns=3`.
    pub java_arguments: Vec<String>,
    /// Further lines of `zoo.cfg`.
    pub settings: Vec<String>,
}

/// The ports of a server of an ensemble.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Member {
    pub(crate) quorum: u16,
    pub(crate) election: u16,
    pub(crate) client: u16,
}

impl Member {
    fn address(self, server: usize) -> String {
        format!("server.{}=127.0.0.1:{}:{}", server + 1, self.quorum, self.election)
    }

    /// Returns the server as a configuration lists it.
    pub(crate) fn line(self, server: usize, observes: bool) -> String {
        let role = if observes { "observer" } else { "participant" };
        format!("{}:{role};127.0.0.1:{}", self.address(server), self.client)
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            tick_time: Duration::from_millis(100),
            session_timeouts: Duration::from_millis(200)..=Duration::from_secs(60),
            enforce_quota: false,
            super_digest: None,
            container_check_interval: Duration::from_secs(60),
            patience: Duration::from_secs(30),
            observers: 0,
            reconfigurable: false,
            java_arguments: Vec::new(),
            settings: Vec::new(),
        }
    }
}

impl Options {
    /// Returns the lines of `zoo.cfg` that are the same for every server.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = vec![
            format!("tickTime={}", self.tick_time.as_millis()),
            format!("minSessionTimeout={}", self.session_timeouts.start().as_millis()),
            format!("maxSessionTimeout={}", self.session_timeouts.end().as_millis()),
            // Only ensembles use these two limits, in ticks. They are long because many servers may share one
            // processor, and a leader that is given up too early would disturb every comparison.
            "initLimit=100".to_owned(),
            "syncLimit=50".to_owned(),
            "maxClientCnxns=0".to_owned(),
            "admin.enableServer=false".to_owned(),
            "4lw.commands.whitelist=srvr".to_owned(),
        ];
        if self.reconfigurable {
            lines.push("reconfigEnabled=true".to_owned());
        }
        lines.extend(self.settings.iter().cloned());
        lines
    }

    /// Returns the line of a server of an ensemble of `count`, for the `zoo.cfg` of each. Servers count from 0 here.
    pub(crate) fn member(&self, server: usize, count: usize, member: Member) -> String {
        let observes = self.is_observer(server, count);
        match self.reconfigurable {
            true => member.line(server, observes),
            false => {
                let role = if observes { ":observer" } else { "" };
                format!("{}{role}", member.address(server))
            }
        }
    }

    /// Returns the line of an observer's own `zoo.cfg`.
    pub(crate) fn own_line(&self, server: usize, count: usize) -> Option<String> {
        self.is_observer(server, count).then(|| "peerType=observer".to_owned())
    }

    fn is_observer(&self, server: usize, count: usize) -> bool {
        server + self.observers >= count
    }

    /// Returns the arguments of the Java process before its class.
    pub(super) fn arguments(&self) -> Vec<String> {
        let interval = self.container_check_interval.as_millis();
        let mut arguments = vec![
            // A fast start matters more than throughput after an hour.
            "-Xmx256m".to_owned(),
            "-XX:+UseSerialGC".to_owned(),
            "-XX:TieredStopAtLevel=1".to_owned(),
            "-Djava.awt.headless=true".to_owned(),
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn".to_owned(),
            "-Dzookeeper.jmx.log4j.disable=true".to_owned(),
            "-Dzookeeper.extendedTypesEnabled=true".to_owned(),
            format!("-Dzookeeper.enforceQuota={}", self.enforce_quota),
            format!("-Dznode.container.checkIntervalMs={interval}"),
            // These settings do not change answers: no fsync, and no snapshot before very many transactions.
            "-Dzookeeper.forceSync=no".to_owned(),
            "-Dzookeeper.snapCount=10000000".to_owned(),
        ];
        arguments.extend(self.super_digest.iter().map(|digest| {
            format!("-Dzookeeper.DigestAuthenticationProvider.superDigest={digest}")
        }));
        arguments.extend(self.java_arguments.iter().cloned());
        arguments
    }
}

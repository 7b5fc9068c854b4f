//! How real servers are set up.

use std::ops::RangeInclusive;
use std::time::Duration;

/// How real servers are set up. The defaults suit comparing answers: quick clocks, every kind of
/// znode allowed, no fsync.
#[derive(Clone, Debug)]
pub struct Options {
    /// `tickTime`, in whole milliseconds: sessions end and leaders are given up in multiples of it.
    pub tick_time: Duration,
    /// What timeouts a session can have: `minSessionTimeout` and `maxSessionTimeout`.
    pub session_timeouts: RangeInclusive<Duration>,
    /// Whether quotas refuse (`zookeeper.enforceQuota`) or only warn.
    pub enforce_quota: bool,
    /// Who is the superuser: `super:` and the digest of its password, as in an ACL.
    pub super_digest: Option<String>,
    /// How often the leader looks for containers and TTL znodes to delete.
    pub container_check_interval: Duration,
    /// How long to wait for servers to serve.
    pub patience: Duration,
    /// Further settings of the Java process, as `-Dzookeeper.maxCnxns=3`.
    pub java_arguments: Vec<String>,
    /// Further lines of `zoo.cfg`.
    pub settings: Vec<String>,
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
            java_arguments: Vec::new(),
            settings: Vec::new(),
        }
    }
}

impl Options {
    /// The lines of `zoo.cfg` that every server has alike.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = vec![
            format!("tickTime={}", self.tick_time.as_millis()),
            format!("minSessionTimeout={}", self.session_timeouts.start().as_millis()),
            format!("maxSessionTimeout={}", self.session_timeouts.end().as_millis()),
            // Only ensembles use these two, in ticks: long, because many servers may share one
            // processor, and a leader that is given up too early would disturb every comparison.
            "initLimit=100".to_owned(),
            "syncLimit=50".to_owned(),
            "maxClientCnxns=0".to_owned(),
            "admin.enableServer=false".to_owned(),
            "4lw.commands.whitelist=srvr".to_owned(),
        ];
        lines.extend(self.settings.iter().cloned());
        lines
    }

    /// The arguments of the Java process before its class.
    pub(super) fn arguments(&self) -> Vec<String> {
        let interval = self.container_check_interval.as_millis();
        let mut arguments = vec![
            // A small process that is up soon matters more than one that is fast in an hour.
            "-Xmx256m".to_owned(),
            "-XX:+UseSerialGC".to_owned(),
            "-XX:TieredStopAtLevel=1".to_owned(),
            "-Djava.awt.headless=true".to_owned(),
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn".to_owned(),
            "-Dzookeeper.jmx.log4j.disable=true".to_owned(),
            "-Dzookeeper.extendedTypesEnabled=true".to_owned(),
            format!("-Dzookeeper.enforceQuota={}", self.enforce_quota),
            format!("-Dznode.container.checkIntervalMs={interval}"),
            // Answers are the same without: no fsync, and no snapshot before very many transactions.
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

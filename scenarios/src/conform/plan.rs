//! The plan of a comparison, and the matching setup of both sides.

use super::action::Action;
use super::draw;
use super::releases::{COMPARED, INSTALLED, defects};
use super::{ConformError, Installation, Options, RealEnsemble, RealServer, Servers};
use proptest::strategy::ValueTree;
use std::net::SocketAddr;
use std::time::Duration;
use vivarium_model::config::ServerOptions;
use vivarium_model::id::ServerId;
use vivarium_model::op::Request;
use vivarium_model::reconfiguration::Reconfiguration;
use vivarium_model::release::{Bug, Bugs, Release};
use vivarium_model::server::access::generate_digest;

/// The number of servers of an ensemble.
const SERVERS: usize = 3;

/// The plan of a comparison.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The least number of operations.
    pub operations: u64,
    /// The seed of everything that is drawn.
    pub seed: u64,
    /// The address of a running server, to use instead of starting one.
    pub server: Option<SocketAddr>,
    /// The release to compare with: one of [`COMPARED`]. The default is Debian's.
    pub zookeeper: Option<String>,
    /// Deviations planted in the model.
    pub planted: Vec<Bug>,
    /// Whether to compare with three servers, one of which is killed now and then.
    pub ensemble: bool,
    /// How many observers an ensemble has in addition.
    pub observers: u8,
}

impl Plan {
    /// Returns the release to compare with.
    pub fn release(&self) -> &str {
        self.zookeeper.as_deref().unwrap_or(INSTALLED)
    }

    /// Returns the release to compare with, which [`Plan::check`] has checked.
    pub(super) fn known_release(&self) -> Release {
        Release::named(self.release()).expect("a release in `COMPARED` is known")
    }

    /// Returns true if the members of the ensemble change now and then.
    pub(super) fn reconfigures(&self) -> bool {
        let asked = Request::Reconfig(Reconfiguration::default());
        self.ensemble && self.known_release().knows(&asked)
    }

    /// Returns the number of servers.
    pub(super) fn servers(&self) -> u8 {
        if self.ensemble { SERVERS as u8 + self.observers } else { 1 }
    }

    /// Checks that the differences of the release are known.
    ///
    /// # Errors
    /// Fails if they are not.
    pub(super) fn check(&self) -> Result<(), ConformError> {
        let release = self.release();
        match COMPARED.contains(&release) {
            true => Ok(()),
            false => Err(ConformError::NotCompared(release.to_owned(), COMPARED.join(", "))),
        }
    }
}

/// The setup of the model, which matches that of the real server.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The differences of the release, and the planted deviations.
    pub bugs: Bugs,
    /// The server's properties.
    pub options: ServerOptions,
    /// How many of the servers are observers.
    pub observers: u8,
}

/// Returns the setup of the real server.
pub(super) fn real_options(observers: u8, reconfigurable: bool) -> Options {
    Options {
        enforce_quota: true,
        super_digest: Some(generate_digest(draw::SUPER)),
        container_check_interval: Duration::from_secs(86_400),
        observers: usize::from(observers),
        reconfigurable,
        ..Options::default()
    }
}

/// Returns the matching setup of the model.
pub(super) fn setting(plan: &Plan) -> Setting {
    let real = real_options(plan.observers, plan.reconfigures());
    let release = plan.known_release();
    let options = ServerOptions {
        min_session_timeout: Some(*real.session_timeouts.start()),
        max_session_timeout: Some(*real.session_timeouts.end()),
        super_digest: real.super_digest.as_deref().map(Into::into),
        enforce_quota: release.enforces_quotas(),
        extended_types: true,
        reconfig_enabled: plan.reconfigures(),
        operations_of: release,
        ..ServerOptions::default()
    };
    let own = defects(plan.release()).expect("a release in `COMPARED` is known");
    let bugs = plan.planted.iter().fold(own, |bugs, bug| bugs.with(*bug));
    Setting { bugs, options, observers: plan.observers }
}

/// Describes how a server must be set up for the comparison.
pub fn setup() -> String {
    let real = real_options(0, false);
    let mut text = String::from(
        "A server to compare with (--server) is a standalone ZooKeeper 3.8.0 that has no other clients (or 3.4.14, 3.6.3 or 3.9.5, with \
         --zookeeper), with these lines in zoo.cfg:\n",
    );
    let least = real.session_timeouts.start().as_millis();
    let most = real.session_timeouts.end().as_millis();
    text += &format!("  tickTime={}\n", real.tick_time.as_millis());
    text += &format!("  minSessionTimeout={least}\n  maxSessionTimeout={most}\n");
    text += "and these settings of the Java process:\n";
    text += "  -Dzookeeper.extendedTypesEnabled=true\n  -Dzookeeper.enforceQuota=true\n";
    let digest = real.super_digest.unwrap_or_default();
    text += &format!("  -Dzookeeper.DigestAuthenticationProvider.superDigest={digest}\n");
    let interval = real.container_check_interval.as_millis();
    text + &format!("  -Dznode.container.checkIntervalMs={interval}\n")
}

/// Starts real servers for a plan. The first part of the result, if any, ends a started server when it is dropped.
///
/// # Errors
/// Fails if the servers do not start.
pub(super) fn start(plan: &Plan) -> Result<(Option<RealServer>, Servers), ConformError> {
    if plan.ensemble {
        let real = RealEnsemble::start_with(
            &Installation::of_release(plan.release())?,
            SERVERS + usize::from(plan.observers),
            &real_options(plan.observers, plan.reconfigures()),
        )?;
        // If histories are equal, the model's oracle elects the last server that votes.
        let servers = Servers::ensemble(real, ServerId::at(SERVERS - 1))?;
        return Ok((None, servers));
    }
    match plan.server {
        Some(address) => Ok((None, Servers::one(address))),
        None => {
            let server = RealServer::start_with(
                &Installation::of_release(plan.release())?,
                &real_options(plan.observers, plan.reconfigures()),
            )?;
            let servers = Servers::one(server.address());
            Ok((Some(server), servers))
        }
    }
}

/// A drawn case: one tree of values per action, so that each action can be simplified.
pub(super) type Drawn = Vec<Box<dyn ValueTree<Value = Action>>>;

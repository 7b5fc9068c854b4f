//! The settings of a served ensemble.

use super::chaos::ServedFault;
use super::command::Command;
use crate::properties::Stated;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use vivarium_model::config::ServerOptions;
use vivarium_model::release::Bugs;

/// The settings of a served ensemble.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// The number of servers.
    pub servers: u8,
    /// The port of the first server; the others have the next ones. With 0, each has a free port.
    pub port: u16,
    /// The address to listen at.
    pub address: IpAddr,
    /// The port for commands and views by HTTP, 0 for a free one; `None` for none.
    pub http: Option<u16>,
    /// The seed of faults that happen by themselves; `None` for none.
    pub chaos: Option<u64>,
    /// The faults that the seed of [`ServeOptions::chaos`] draws from; all if there are none.
    pub faults: Vec<ServedFault>,
    /// Gets each such fault.
    pub tell: Tell,
    /// The defects of the servers.
    pub bugs: Bugs,
    /// The servers' own options, such as [`extended_types`](ServerOptions::extended_types).
    pub options: ServerOptions,
    /// The length of a tick; session timeouts are from 2 to 20 ticks.
    pub tick: Duration,
    /// What latencies, elections and faults are drawn from.
    pub seed: u64,
    /// How much faster than real time the ensemble's time goes.
    pub speed: f64,
    /// Whether time stands still while clients ask, and passes at once while they are all idle. Sessions whose connections are
    /// open stay alive then. No faults of a seed can happen.
    pub virtual_time: bool,
    /// The properties that judge what programs observe.
    pub properties: Vec<Stated>,
    /// The file to record into.
    pub record: Option<PathBuf>,
    /// The most connections at once.
    pub connections: usize,
}

/// A function that gets each fault of [`ServeOptions::chaos`].
#[derive(Clone, Default)]
pub struct Tell(Option<Arc<Told>>);

type Told = dyn Fn(&Command) + Send + Sync;

impl Tell {
    /// Returns one that calls this function.
    pub fn new(tell: impl Fn(&Command) + Send + Sync + 'static) -> Tell {
        Tell(Some(Arc::new(tell)))
    }

    pub(super) fn tell(&self, command: &Command) {
        if let Some(tell) = &self.0 {
            tell(command);
        }
    }
}

impl fmt::Debug for Tell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tell")
    }
}

impl ServeOptions {
    /// Checks that the numbers make sense.
    pub(super) fn check(&self) -> Result<(), String> {
        if !(1..=9).contains(&self.servers) {
            return Err(format!("an ensemble has from 1 to 9 servers, not {}", self.servers));
        }
        if !(0.001..=1_000.0).contains(&self.speed) {
            return Err(format!("the speed is from 0.001 to 1000, not {}", self.speed));
        }
        if self.virtual_time && self.chaos.is_some() {
            return Err(
                "faults of a seed need a time that goes by itself, and virtual time does not"
                    .to_owned(),
            );
        }
        if self.port > u16::MAX - u16::from(self.servers) {
            return Err(format!("after port {} there are not enough others", self.port));
        }
        if self.tick < Duration::from_millis(1) || self.tick > Duration::from_secs(3_600) {
            return Err(format!("a tick is from 1 ms to an hour, not {:?}", self.tick));
        }
        Ok(())
    }

    pub(super) fn address_of(&self, server: u8) -> SocketAddr {
        let port = if self.port == 0 { 0 } else { self.port + u16::from(server - 1) };
        SocketAddr::new(self.address, port)
    }
}

impl Default for ServeOptions {
    /// Three servers without defects on free ports of the loopback address, in real time.
    fn default() -> ServeOptions {
        ServeOptions {
            servers: 3,
            port: 0,
            address: IpAddr::V4(Ipv4Addr::LOCALHOST),
            http: None,
            chaos: None,
            faults: Vec::new(),
            tell: Tell::default(),
            bugs: Bugs::NONE,
            options: ServerOptions::default(),
            tick: Duration::from_secs(2),
            seed: 0,
            speed: 1.0,
            virtual_time: false,
            properties: Vec::new(),
            record: None,
            connections: 4_000,
        }
    }
}

//! The real servers, and their twins among the model's servers.
//!
//! The first election of three real servers decides which one leads. The model's leader is its twin, and the followers
//! are twins in the order of their ids, as are observers, which come last. So later elections, which depend on ids where histories are equal, have equal
//! results.

use super::members::Members;
use super::process::mode;
use super::{ConformError, RealEnsemble};
use std::net::SocketAddr;
use vivarium_model::id::ServerId;

/// One server, or three and observers.
#[derive(Debug)]
pub struct Servers {
    real: Real,
    /// The index of the real twin, by the model's server.
    twins: Vec<usize>,
    up: Vec<bool>,
}

#[derive(Debug)]
enum Real {
    At(SocketAddr),
    Ensemble(Box<RealEnsemble>),
}

impl Servers {
    /// Uses one running server, whether this process or another one started it.
    pub fn one(address: SocketAddr) -> Servers {
        Servers { real: Real::At(address), twins: vec![0], up: vec![true] }
    }

    /// Uses an ensemble in which all servers serve. The model's `leader` is the twin of the real leader.
    ///
    /// # Errors
    /// Fails if no server reports that it leads.
    pub fn ensemble(mut real: RealEnsemble, leader: ServerId) -> Result<Servers, ConformError> {
        let leading = real.leader()?;
        let mut followers = (0..real.len()).filter(|index| *index != leading);
        let twin = |at: usize| match ServerId::at(at) == leader {
            true => leading,
            false => followers.next().expect("all others follow"),
        };
        let count = real.len();
        let twins = (0..count).map(twin).collect();
        Ok(Servers { real: Real::Ensemble(Box::new(real)), twins, up: vec![true; count] })
    }

    /// Returns true if clients can be connected to different servers.
    pub(crate) fn are_many(&self) -> bool {
        self.twins.len() > 1
    }

    /// Returns the number of servers, up or down.
    pub fn count(&self) -> u8 {
        self.twins.len() as u8
    }

    /// Returns the address of a server's twin.
    pub fn address(&self, server: ServerId) -> SocketAddr {
        match &self.real {
            Real::At(address) => *address,
            Real::Ensemble(ensemble) => ensemble.address(self.twins[server.index()]),
        }
    }

    /// Returns this server, or the next one that is up.
    pub(crate) fn up_from(&self, server: ServerId) -> ServerId {
        let count = self.up.len();
        let places = (0..count).map(|step| (server.index() + step) % count);
        let up = places.into_iter().find(|place| self.up[*place]);
        ServerId::at(up.expect("never are all of them down"))
    }

    /// Returns true if the twin of this server reports that it leads.
    pub(crate) fn leads(&self, server: ServerId) -> bool {
        mode(self.address(server)).as_deref() == Some("leader")
    }

    /// Returns the real servers as configurations list them, for their texts; empty without an ensemble.
    pub(super) fn members(&self) -> Members {
        let Real::Ensemble(ensemble) = &self.real else { return Members::default() };
        let all = self.twins.iter().enumerate();
        let lines = |(place, twin): (usize, &usize)| {
            let line = |observes| ensemble.line(*twin, observes);
            (ServerId::at(place), [line(false), line(true)])
        };
        Members::new(all.map(lines).collect())
    }

    /// Returns the number of a server's twin, by which configurations name it.
    pub(crate) fn number(&self, server: ServerId) -> u8 {
        self.twins[server.index()] as u8 + 1
    }

    /// Returns a server's twin as a configuration lists it.
    pub(crate) fn line(&self, server: ServerId, observes: bool) -> String {
        match &self.real {
            Real::At(_) => unreachable!("a standalone server is in no configuration"),
            Real::Ensemble(ensemble) => ensemble.line(self.twins[server.index()], observes),
        }
    }

    /// Waits until a server's twin reports this mode.
    ///
    /// # Errors
    /// Fails if it does not report it in time.
    pub(crate) fn wait_for_mode(
        &mut self,
        server: ServerId,
        wanted: &str,
    ) -> Result<(), ConformError> {
        match &mut self.real {
            Real::At(_) => Ok(()),
            Real::Ensemble(ensemble) => ensemble.wait_for_mode(self.twins[server.index()], wanted),
        }
    }

    /// Returns the last lines of an ensemble's logs, for when it becomes silent.
    pub fn logs(&self) -> Option<String> {
        match &self.real {
            Real::At(_) => None,
            Real::Ensemble(ensemble) => Some(ensemble.logs()),
        }
    }

    /// Returns the server that is down.
    pub fn down(&self) -> Option<ServerId> {
        self.up.iter().position(|up| !up).map(ServerId::at)
    }

    /// Kills a server's twin.
    pub fn kill(&mut self, server: ServerId) {
        if let Real::Ensemble(ensemble) = &mut self.real {
            ensemble.kill(self.twins[server.index()]);
            self.up[server.index()] = false;
        }
    }

    /// Restarts a killed twin.
    ///
    /// # Errors
    /// Fails if it does not serve in time.
    pub fn restart(&mut self, server: ServerId) -> Result<(), ConformError> {
        if let Real::Ensemble(ensemble) = &mut self.real {
            ensemble.restart(self.twins[server.index()])?;
            self.up[server.index()] = true;
        }
        self.wait()
    }

    /// Waits until all servers that are up serve, under a leader that is up: a follower that has not noticed the end of its
    /// leader serves, too.
    ///
    /// # Errors
    /// Fails if one does not serve in time.
    pub fn wait(&mut self) -> Result<(), ConformError> {
        let Real::Ensemble(ensemble) = &mut self.real else { return Ok(()) };
        let up = self.twins.iter().enumerate().filter(|(place, _)| self.up[*place]);
        let up: Vec<usize> = up.map(|(_, twin)| *twin).collect();
        ensemble.wait_for_leader(&up)?;
        up.into_iter().try_for_each(|twin| ensemble.wait(twin))
    }
}

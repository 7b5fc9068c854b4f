//! The real servers, and which of the model's servers is the twin of which.
//!
//! Of three real servers one came to lead, as their first election went. The model's leader is its
//! twin, and the followers are twins in the order of their ids: so later elections, which go by ids
//! where histories are equal, come out alike.

use super::{ConformError, RealEnsemble};
use std::net::SocketAddr;
use vivarium_model::id::ServerId;

/// One server, or three.
#[derive(Debug)]
pub struct Servers {
    real: Real,
    /// By the model's server: the place of its real twin.
    twins: Vec<usize>,
    up: Vec<bool>,
}

#[derive(Debug)]
enum Real {
    At(SocketAddr),
    Ensemble(Box<RealEnsemble>),
}

impl Servers {
    /// One server that runs, whoever started it.
    pub fn one(address: SocketAddr) -> Servers {
        Servers { real: Real::At(address), twins: vec![0], up: vec![true] }
    }

    /// An ensemble all of whose servers serve; the model's `leader` is the twin of the one that
    /// leads.
    ///
    /// # Errors
    /// When none of them says that it leads.
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

    /// Whether clients can be at different servers.
    pub fn are_many(&self) -> bool {
        self.twins.len() > 1
    }

    /// How many, up or down.
    pub fn count(&self) -> u8 {
        self.twins.len() as u8
    }

    /// The address of a server's twin.
    pub fn address(&self, server: ServerId) -> SocketAddr {
        match &self.real {
            Real::At(address) => *address,
            Real::Ensemble(ensemble) => ensemble.address(self.twins[server.index()]),
        }
    }

    /// This server, or the next that is up.
    pub fn up_from(&self, server: ServerId) -> ServerId {
        let count = self.up.len();
        let places = (0..count).map(|step| (server.index() + step) % count);
        let up = places.into_iter().find(|place| self.up[*place]);
        ServerId::at(up.expect("never are all of them down"))
    }

    /// The ends of the logs of an ensemble: for when it falls silent.
    pub fn logs(&self) -> Option<String> {
        match &self.real {
            Real::At(_) => None,
            Real::Ensemble(ensemble) => Some(ensemble.logs()),
        }
    }

    /// The server that is down.
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

    /// Starts a killed twin again.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn restart(&mut self, server: ServerId) -> Result<(), ConformError> {
        if let Real::Ensemble(ensemble) = &mut self.real {
            ensemble.restart(self.twins[server.index()])?;
            self.up[server.index()] = true;
        }
        self.wait()
    }

    /// Waits until all that are up serve.
    ///
    /// # Errors
    /// When one does not.
    pub fn wait(&mut self) -> Result<(), ConformError> {
        let Real::Ensemble(ensemble) = &mut self.real else { return Ok(()) };
        for (place, twin) in self.twins.iter().enumerate() {
            if self.up[place] {
                ensemble.wait(*twin)?;
            }
        }
        Ok(())
    }
}

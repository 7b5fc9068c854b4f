//! The size of a run.

use crate::record::case::{Case, GrainKind};
use crate::vocabulary::phrase::plural;
use crate::vocabulary::time::Time;
use serde::Serialize;
use std::fmt;

/// The size of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Extent {
    /// The number of steps.
    pub steps: u64,
    /// The number of faults.
    pub faults: u64,
    /// The number of servers; 0 at the service grain, where the ensemble is one log.
    pub servers: u8,
    /// The number of clients.
    pub clients: u8,
}

impl Extent {
    /// Returns the size of a recorded run. Its faults are those that are steps; steps of the same instant count once,
    /// because one partition cuts many links. (At the service grain no time passes, and each step counts.)
    pub fn of(case: &Case) -> Extent {
        let is_timed = case.grain == GrainKind::Ensemble && case.seed.is_some();
        let mut instants: Vec<Time> =
            case.steps.iter().filter(|(_, step)| step.is_fault()).map(|(at, _)| *at).collect();
        if is_timed {
            instants.dedup();
        }
        let servers = match case.grain {
            GrainKind::Ensemble => case.config.servers,
            GrainKind::Service => 0,
        };
        Extent {
            steps: case.steps.len() as u64,
            faults: instants.len() as u64,
            servers,
            clients: u8::try_from(case.config.clients.len()).unwrap_or(u8::MAX),
        }
    }
}

impl fmt::Display for Extent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Extent { steps, faults, servers, clients } = self;
        write!(
            f,
            "{} with {}",
            plural(*steps as usize, "step"),
            plural(*faults as usize, "fault")
        )?;
        if *servers > 0 {
            write!(f, ", {}", plural(usize::from(*servers), "server"))?;
        }
        write!(f, ", {}", plural(usize::from(*clients), "client"))
    }
}

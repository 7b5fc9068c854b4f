//! Tracks which programs have finished, and checks the two demands on every program: it ends without an error, and it
//! ends.

use crate::run::demands::{PROGRESS, ends_well};
use crate::run::subject::Subject;
use crate::scenario::aftermath::Aftermath;
use std::collections::BTreeMap;
use vivarium_model::config::Config;
use vivarium_model::event::Event;
use vivarium_model::id::{ClientId, ServerId};
use vivarium_model::property::Objection;

/// The programs that have finished or need not finish.
#[derive(Debug)]
pub(crate) struct Programs {
    finished: Vec<bool>,
    unfinished: usize,
    /// Servers whose process gave up and has not restarted, with the reason.
    exited: BTreeMap<ServerId, &'static str>,
}

impl Programs {
    /// No program has finished yet. Services count as finished from the start, because a run does not wait for their
    /// end.
    pub(crate) fn new(config: &Config) -> Programs {
        let finished: Vec<bool> = config.clients.iter().map(|client| client.serves).collect();
        let unfinished = finished.iter().filter(|finished| !**finished).count();
        Programs { finished, unfinished, exited: BTreeMap::new() }
    }

    /// Processes an event.
    ///
    /// # Errors
    /// Returns an objection if a program panicked or returned an error.
    pub(crate) fn event(&mut self, event: &Event) -> Result<(), Objection> {
        match event {
            Event::Finished { client, result: Ok(()) } => {
                let finished = &mut self.finished[client.index()];
                self.unfinished -= usize::from(!*finished);
                *finished = true;
            }
            Event::Exited { server, reason } => _ = self.exited.insert(*server, reason),
            Event::Restarted { server } => _ = self.exited.remove(server),
            _ => {}
        }
        ends_well(event)
    }

    pub(crate) fn all_finished(&self) -> bool {
        self.unfinished == 0
    }

    /// Returns true if all programs have finished, and all servers serve except those that the aftermath leaves down or
    /// cut off.
    pub(crate) fn is_all_done(&self, subject: &impl Subject, aftermath: &Aftermath) -> bool {
        let mut servers = (1..=subject.servers()).map(ServerId);
        self.all_finished()
            && servers.all(|server| aftermath.is_gone(server) || subject.is_serving(server))
    }

    /// Returns the unfinished programs if the outcome is a violation of [`PROGRESS`], else nothing.
    pub(crate) fn blamed(&self, outcome: &Result<(), Objection>) -> Vec<ClientId> {
        match outcome {
            Err(objection) if objection.property == PROGRESS => self.unfinished().collect(),
            _ => Vec::new(),
        }
    }

    fn unfinished(&self) -> impl Iterator<Item = ClientId> {
        (0..self.finished.len()).filter(|at| !self.finished[*at]).map(ClientId::at)
    }

    /// Builds the objection for missing progress: what each unfinished program waits for, and the state of each server.
    pub(crate) fn no_progress(&self, subject: &impl Subject, when: &str) -> Objection {
        let programs =
            self.unfinished().map(|client| format!("{client}: {}", subject.waits_for(client)));
        let servers = (1..=subject.servers()).map(|number| {
            let server = ServerId(number);
            let state = subject.state_of(server);
            match self.exited.get(&server) {
                Some(reason) => format!("{server}: {state}, its process gave up because {reason}"),
                None => format!("{server}: {state}"),
            }
        });
        let reasons: Vec<String> = programs.chain(servers).collect();
        let objection = Objection::new(PROGRESS, format!("{when}: {}", reasons.join("; ")));
        self.unfinished().fold(objection, Objection::about)
    }
}

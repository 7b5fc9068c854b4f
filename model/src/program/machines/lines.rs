//! A client machine and its program as text, and the messages that are under way to it.

use super::node::{ClientNode, ProgramState};
use crate::vocabulary::id::{ClientId, Machine};
use crate::vocabulary::parcel::{Parcel, Queue, Route};
use std::collections::BTreeMap;
use std::sync::Arc;

impl ClientNode {
    /// Describes the machine, one fact per line.
    pub(crate) fn lines(&self) -> Vec<String> {
        let program = match self.program {
            ProgramState::NotStarted => "the program has not started",
            ProgramState::Running => "the program runs",
            ProgramState::Finished => "the program has finished",
            ProgramState::Killed => "the program was killed",
        };
        let mut lines = vec![program.to_owned()];
        if self.paused {
            lines.push("the machine is paused".to_owned());
        }
        self.machine.lines(&mut lines);
        let inputs = self.inbox.iter().map(|told| format!("input under way: {}", told.input));
        lines.extend(inputs);
        lines.extend(self.to_resources.values().map(|request| format!("under way: {request}")));
        lines.extend(self.orphaned.iter().map(|request| format!("under way: {request}")));
        lines
    }

    /// Returns true if the program runs and has no input to take.
    pub(crate) fn is_waiting(&self) -> bool {
        self.program == ProgramState::Running && self.inbox.is_empty()
    }

    /// Adds the messages that are under way to this machine.
    pub(crate) fn messages(&self, to: ClientId, routes: &mut BTreeMap<Route, Queue>) {
        for (from, messages) in self.under_way.iter().filter(|(_, queue)| !queue.is_empty()) {
            let parcels = messages.iter().map(|body| Parcel::Message(Arc::clone(body))).collect();
            let machines = (Machine::Client(*from), Machine::Client(to));
            let queue = Queue { from: machines.0, to: machines.1, parcels };
            routes.insert(Route::Message { from: *from, to }, queue);
        }
    }
}

//! A monitor that records what is watched of a case and never objects.

use super::case::Watched;
use vivarium_model::event::Event;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::property::{Asked, LooksBack, Monitor, Objection, View};

/// Records the watched events, in order.
///
/// Only events of steps that are never eager can be watched, because a search must preserve their order. Eager steps
/// decide when a learner applies, serves, acknowledges or leaves its role, and how much of a log a crash removes.
#[derive(Clone, Hash)]
pub(super) struct Recorder {
    watched: Watched,
    /// The fingerprint of all events so far, in order.
    so_far: Fingerprint,
}

impl Recorder {
    /// Creates a recorder before the first event.
    pub(super) fn new(watched: Watched) -> Recorder {
        Recorder { watched, so_far: Fingerprint::default() }
    }

    fn line(&self, event: &Event) -> Option<String> {
        let line = match event {
            Event::Proposed { leader, txn } => format!("{leader} proposes {}", txn.zxid),
            Event::Committed { leader, txn } => format!("{leader} commits {}", txn.zxid),
            Event::Established { leader, epoch, last_zxid } => {
                format!("{leader} leads {epoch} from {last_zxid}")
            }
            _ if self.watched != Watched::Order => return None,
            Event::Elected { server, leader, .. } => format!("{server} is for {leader}"),
            Event::Synchronising { leader, learner, mode } => {
                format!("{leader} sends {} a {mode}", learner.learner)
            }
            Event::Crashed { server, .. } => format!("{server} crashes"),
            _ => return None,
        };
        Some(line)
    }
}

impl Monitor for Recorder {
    fn name(&self) -> &'static str {
        "recorder"
    }

    fn asked(&self) -> Asked {
        Asked::Everywhere
    }

    fn concerns(&self, event: &Event) -> bool {
        self.watched != Watched::States && self.line(event).is_some()
    }

    fn looks_back(&self) -> LooksBack {
        LooksBack::Nothing
    }

    fn event(&mut self, _view: View<'_>, event: &Event) -> Result<(), Objection> {
        if let Some(line) = self.line(event) {
            self.so_far = Fingerprint::of(&(self.so_far.0, line));
        }
        Ok(())
    }
}

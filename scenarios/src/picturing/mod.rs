//! Pictures of real runs: a film of a case and what is known about it, as the data of a space-time diagram.

mod beliefs;
#[cfg(feature = "cli")]
pub(crate) mod known;
mod lasting;
mod moments;

pub(crate) use moments::kind;

use std::collections::BTreeMap;
use vivarium_model::event::Event;
use vivarium_model::id::{ClientId, Machine, SessionId};
use vivarium_model::property::Objection;
use vivarium_model::subject::Subject;
use vivarium_model::trace::TraceLine;
use vivarium_reports::picture::{Arrow, Lane, LaneKind, Objected, Picture, Sentence};
use vivarium_reports::script::script;
use vivarium_sim::film::Film;

/// The number of steps up to which a picture has the run's script. A longer script hides the run.
const SCRIPTED: usize = 400;

/// What is known about a run besides its steps.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// The scenario with its bugs.
    pub title: String,
    /// Pairs of name and value, such as the seed, the hash, and the command that replays the run.
    pub facts: Vec<(String, String)>,
    /// What the seed stands for.
    pub options: Vec<String>,
    /// The violation, and the number of the step after which the monitor objected.
    pub violation: Option<(Objection, u64)>,
}

/// Makes the picture of a run.
pub fn picture(film: &Film, about: About) -> Picture {
    let lanes = Lanes::of(film);
    let last = film.frames.len() - 1;
    let violation = about.violation.as_ref().map(|(objection, step)| Objected {
        property: objection.property.to_string(),
        saw: objection.saw.clone(),
        step: Some(usize::try_from(*step).map_or(last, |step| step.min(last))),
        lanes: lanes.of_subjects(&objection.about),
    });
    Picture {
        title: about.title,
        facts: about.facts,
        options: about.options,
        lanes: film.machines.iter().map(|machine| lane(film, *machine)).collect(),
        steps: film.frames.iter().map(|frame| moments::step(frame, &lanes)).collect(),
        arrows: arrows(film, &lanes),
        spans: lasting::spans(film, &lanes),
        bars: beliefs::bars(film, &lanes),
        lines: film.lines.clone(),
        violation,
        script: sentences(film),
        curve: None,
    }
}

fn lane(film: &Film, machine: Machine) -> Lane {
    let kind = match machine {
        Machine::Server(_) => LaneKind::Server,
        Machine::Client(_) => LaneKind::Client,
    };
    Lane { name: film.name(machine), kind }
}

fn arrows(film: &Film, lanes: &Lanes) -> Vec<Arrow> {
    let arrow = |packet: &vivarium_sim::film::Packet| Arrow {
        from: lanes.of_machine(packet.from),
        sent: packet.sent,
        to: lanes.of_machine(packet.to),
        ended: packet.ended,
        lost: packet.lost,
        words: packet.words.clone(),
        ping: packet.ping,
    };
    film.packets.iter().map(arrow).collect()
}

/// Returns the script of a short run. The position of a step is its number, because the beginning is at 0.
fn sentences(film: &Film) -> Vec<Sentence> {
    let lines: Vec<TraceLine> = film.frames.iter().filter_map(|frame| frame.line.clone()).collect();
    if lines.len() > SCRIPTED {
        return Vec::new();
    }
    let sentence = |said: vivarium_reports::script::Sentence| Sentence {
        number: said.number,
        words: said.words,
        fault: said.fault,
        step: usize::try_from(said.step).ok(),
    };
    script(&lines).into_iter().map(sentence).collect()
}

/// The lanes of machines, and of the clients of sessions.
struct Lanes {
    machines: BTreeMap<Machine, usize>,
    sessions: BTreeMap<SessionId, ClientId>,
}

impl Lanes {
    fn of(film: &Film) -> Lanes {
        let machines = film.machines.iter().enumerate().map(|(lane, it)| (*it, lane)).collect();
        let lines = film.frames.iter().filter_map(|frame| frame.line.as_ref());
        let sessions = lines.flat_map(|line| &line.events).filter_map(|event| match event {
            Event::Session { client, session: Some(session), .. } => Some((*session, *client)),
            _ => None,
        });
        Lanes { machines, sessions: sessions.collect() }
    }

    fn of_machine(&self, machine: Machine) -> usize {
        self.machines[&machine]
    }

    fn of_client(&self, client: ClientId) -> Option<usize> {
        self.machines.get(&Machine::Client(client)).copied()
    }

    /// Returns the lanes of the machines and sessions among these subjects.
    fn of_subjects<'a>(&self, subjects: impl IntoIterator<Item = &'a Subject>) -> Vec<usize> {
        let machine = |subject: &Subject| match subject {
            Subject::Client(client) => Some(Machine::Client(*client)),
            Subject::Server(server) => Some(Machine::Server(*server)),
            Subject::Session(session) => {
                self.sessions.get(session).map(|client| Machine::Client(*client))
            }
            Subject::Zxid(_) | Subject::Text(_) => None,
        };
        let machines = subjects.into_iter().filter_map(machine);
        let mut lanes: Vec<usize> =
            machines.filter_map(|machine| self.machines.get(&machine).copied()).collect();
        lanes.sort_unstable();
        lanes.dedup();
        lanes
    }
}

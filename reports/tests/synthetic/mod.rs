//! Pictures of runs that never were, of any length: elections, roles, packets, losses, faults, beliefs and states, drawn
//! from a seed. They look like runs of the lock with a missing guard, and serve tests of the page and of the exports.

mod ensemble;

use ensemble::Ensemble;
use vivarium_reports::picture::{Curve, CurvePoint, Objected, Picture, Sentence, StepKind};

/// A source of numbers that is the same everywhere: a linear congruential generator.
pub(crate) struct Dice(u64);

impl Dice {
    /// Returns the generator of a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    /// Returns a number below `limit`.
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit
    }
}

/// Returns a picture of `steps` steps with `servers` servers and `clients` clients.
pub(crate) fn picture(seed: u64, steps: usize, servers: usize, clients: usize) -> Picture {
    let mut picture = Ensemble::new(seed, servers, clients).run(steps);
    let last = picture.steps.last().map_or(0, |step| step.number);
    picture.title = "lock with NoGuid".into();
    let saw = "client 2 was granted /locks/one with token 1:9 while client 1 held it with token 1:7, \
               and both sessions were alive";
    picture.facts = facts(seed, saw, &picture);
    picture.options = vec![
        format!("{servers} servers, {clients} clients, tick 2000 ms, release 3.8.0"),
        "fault plan: 4.1 s crash server 3; 9.0 s cut server 1 -> server 2".into(),
        "latency of links 1 to 12 ms, 1 packet in 40 lost with its connection".into(),
    ];
    let clients_of_violation = vec![servers, servers + clients.saturating_sub(1).min(1)];
    picture.violation = Some(Objected {
        property: "lock M1 mutual exclusion".into(),
        saw: saw.into(),
        step: picture.steps.len().checked_sub(3),
        lanes: clients_of_violation,
    });
    picture.script = script(&picture);
    picture.curve = Some(curve(last));
    picture
}

/// Returns a picture of a run in which no time passes, without a violation and all that belongs to one.
pub(crate) fn explored(seed: u64, steps: usize, servers: usize, clients: usize) -> Picture {
    let mut picture = Ensemble::new(seed, servers, clients).run(steps);
    picture.title = "lock".into();
    picture.facts = vec![("strategy".into(), "breadth first".into())];
    for step in &mut picture.steps {
        step.at = 0;
    }
    picture
}

fn facts(seed: u64, saw: &str, picture: &Picture) -> Vec<(String, String)> {
    let last = picture.steps.last();
    let at = last.map_or(String::new(), |step| {
        format!("{}.{:06}s, step {}", step.at / 1_000_000, step.at % 1_000_000, step.number)
    });
    [
        ("property", "lock M1 mutual exclusion".to_owned()),
        ("saw", saw.to_owned()),
        ("seed", seed.to_string()),
        ("at", at),
        ("hash", "0123456789abcdef0011223344556677".to_owned()),
        ("case file", format!("cases/lock-NoGuid-{seed}.json")),
        ("replay", format!("vivarium replay lock --bug NoGuid --seed {seed}")),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}

/// Makes a sentence of every few milestones.
fn script(picture: &Picture) -> Vec<Sentence> {
    let milestones: Vec<_> =
        picture.steps.iter().enumerate().filter(|(_, step)| step.milestone).collect();
    let stride = (milestones.len() / 9).max(1);
    let chosen = milestones.into_iter().step_by(stride).take(9).enumerate();
    chosen
        .map(|(index, (position, step))| Sentence {
            number: index + 1,
            words: step.words.clone(),
            fault: step.kind == StepKind::Fault,
            step: (index != 1).then_some(position),
        })
        .collect()
}

/// A probability that is low for long, and then rises within a tenth of the run.
fn curve(last: u64) -> Curve {
    let jump = last * 7 / 10;
    let points = (0..=24)
        .map(|index| {
            let step = last * index / 24;
            let x = (step as f64 - jump as f64) / (last as f64 / 18.0 + 1.0);
            let violating = (39.0 / (1.0 + (-2.0 * x).exp())).round() as u32 + u32::from(index > 8);
            CurvePoint { step, runs: 40, violating }
        })
        .collect();
    let words = format!(
        "From step {jump} on, nearly every run violates the property: client 1 has lost its connection, \
         and the server has its create."
    );
    Curve { points, jump, words }
}

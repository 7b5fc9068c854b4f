//! A search knows two things of a monitor by construction: its state, and how far it looks back.

use std::hash::Hash;
use vivarium::prelude::*;
use vivarium_model::handle::{Program, program};
use vivarium_model::setup::Setup;
use vivarium_sim::every::programs::{Budget, ProgramModel};
use vivarium_sim::every::{Ending, Options, Silent, Strategy, search};

/// Each reader checks once whether the flag exists and reports the result; the writer creates it.
fn readers_and_writer() -> Vec<Program> {
    let reader = |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        let seen = zookeeper.exists("/flag").await.map_err(|error| error.to_string())?;
        zookeeper.custom("looked", &[("seen", i64::from(seen.is_some()).into())]);
        Ok(())
    };
    let writer = |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        let created = zookeeper.create("/flag", b"", CreateMode::Persistent).await;
        created.map(drop).map_err(|error| error.to_string())
    };
    vec![program(reader), program(reader), program(reader), program(writer)]
}

/// Counts the readers that saw the wanted value, in a state of its own, and is violated by the third. Its only hash
/// is the derived one.
#[derive(Clone, Hash)]
struct Third<C> {
    wanted: [bool; 3],
    met: C,
}

/// The place where a monitor keeps its count.
trait Count: Clone + Hash + Send + Sync + 'static {
    fn up(&mut self) -> u32;
}

impl Count for u32 {
    fn up(&mut self) -> u32 {
        *self += 1;
        *self
    }
}

impl Count for Unhashed<u32> {
    fn up(&mut self) -> u32 {
        (**self).up()
    }
}

impl<C: Count> Monitor for Third<C> {
    fn name(&self) -> &'static str {
        "third"
    }

    fn asked(&self) -> Asked {
        Asked::Everywhere
    }

    fn event(&mut self, _view: View<'_>, event: &Event) -> Result<(), Objection> {
        let Some((client, Custom { fields, .. })) = event.observed() else { return Ok(()) };
        let seen = matches!(fields.as_slice(), [(_, Value::Number(1))]);
        if seen == self.wanted[client.index()] && self.met.up() == 3 {
            return Err(Objection::new(self.name(), "the third saw what was wanted"));
        }
        Ok(())
    }
}

/// Returns those combinations of wanted values that a search finds.
fn found<C: Count + Default>() -> Vec<[bool; 3]> {
    let all = (0..8).map(|bits| [1, 2, 4].map(|bit| bits & bit != 0));
    let happens = |wanted: &[bool; 3]| {
        let monitor = Third { wanted: *wanted, met: C::default() };
        let model = ProgramModel::new(
            readers_and_writer(),
            vec![Box::new(monitor)],
            Setup::NONE,
            Budget::default(),
        );
        match search(&model, &Options::new(Strategy::BreadthFirst), &Silent).ending {
            Ending::Violated(found) => found.objection.property == "third",
            Ending::Exhausted { .. } => false,
            Ending::Bounded { by, .. } => panic!("bounded by {by}"),
        }
    };
    all.filter(happens).collect()
}

/// Readers may see the flag or not, in every combination. A reader that has finished leaves a trace only in the
/// monitor, so the monitor's count must be part of the state.
#[test]
fn a_monitor_that_counts_is_part_of_the_state_without_a_word() {
    assert_eq!(found::<u32>().len(), 8);
}

/// The mistake, made on purpose: a field that is declared irrelevant, and is not, hides violations.
#[test]
fn a_count_that_is_unhashed_and_matters_is_missed() {
    assert!(found::<Unhashed<u32>>().len() < 8);
}

/// Violated if the visible history ends with another transaction than the one of the event.
#[derive(Clone, Hash)]
struct Peeks {
    looks_back: LooksBack,
    class: Asked,
    /// The last transaction of an event.
    told: Zxid,
}

impl Peeks {
    fn look(&self, view: View<'_>, of: Option<Zxid>) -> Result<(), Objection> {
        let shown: Vec<Zxid> = view.history.txns().iter().map(|txn| txn.zxid).collect();
        assert_eq!(view.history.get(self.told).is_some(), shown.contains(&self.told));
        match shown.iter().find(|zxid| Some(**zxid) != of) {
            None => Ok(()),
            Some(zxid) => Err(Objection::new(self.name(), format!("{zxid} is shown"))),
        }
    }
}

impl Monitor for Peeks {
    fn name(&self) -> &'static str {
        "peeks"
    }

    fn asked(&self) -> Asked {
        self.class
    }

    fn looks_back(&self) -> LooksBack {
        self.looks_back
    }

    fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), Objection> {
        let Event::Committed { txn, .. } = event else { return self.look(view, None) };
        assert_eq!(view.history.get(txn.zxid).map(|it| it.zxid), Some(txn.zxid));
        self.look(view, Some(txn.zxid))?;
        self.told = txn.zxid;
        Ok(())
    }

    fn at_rest(&mut self, view: View<'_>) -> Result<(), Objection> {
        self.look(view, None)
    }

    fn end(&mut self, view: View<'_>) -> Result<(), Objection> {
        self.look(view, None)
    }
}

/// Returns a test of a client that creates and deletes, with such a monitor, for searches and sweeps.
fn peeks(looks_back: LooksBack, class: Asked) -> Test {
    let work = |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        // The results do not matter: only the commits do.
        let _ = zookeeper.create("/a", b"", CreateMode::Persistent).await;
        let _ = zookeeper.delete("/a", Version::Any).await;
        Ok(())
    };
    Test::new("peeks", work).monitor(Peeks { looks_back, class, told: Zxid::ZERO })
}

/// In every state of a search, and in runs with all faults, for both classes of monitors.
#[test]
fn who_looks_at_the_tip_is_shown_nothing_of_the_past() {
    peeks(LooksBack::Tip, Asked::Everywhere)
        .explore(&Exploration::new().clients(2).lost(1).kills(1));
    for class in [Asked::Everywhere, Asked::InSweeps] {
        let test = peeks(LooksBack::Tip, class).clients(2).faults(Faults::ALL);
        test.seeds(50).run();
    }
}

#[test]
#[should_panic(expected = "is shown")]
fn who_looks_back_is_shown_the_past() {
    peeks(LooksBack::Whole, Asked::Everywhere).explore(&Exploration::new().clients(1));
}

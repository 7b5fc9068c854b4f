//! Tests that paths are shortened as far as possible, within the budget.

use super::super::Budget;
use super::*;
use crate::every::Silent;
use crate::every::{Ending, Strategy, search};
use stateright::Model as _;
use vivarium_model::event::Event;
use vivarium_model::handle::{Program, ZooKeeper, program};
use vivarium_model::op::CreateMode;
use vivarium_model::property::{Asked, Monitor, View};
use vivarium_model::setup::Setup;

/// Objects to the existence of a znode.
#[derive(Clone, Hash)]
struct Never(&'static str);

impl Monitor for Never {
    fn name(&self) -> &'static str {
        "never"
    }

    fn asked(&self) -> Asked {
        Asked::Everywhere
    }

    fn concerns(&self, event: &Event) -> bool {
        matches!(event, Event::Committed { .. })
    }

    fn event(&mut self, view: View<'_>, _event: &Event) -> Result<(), Objection> {
        match view.history.tree().node(self.0) {
            None => Ok(()),
            Some(_) => Err(Objection::new("never", format!("{} is there", self.0))),
        }
    }
}

/// Creates znodes one after the other; fails if the result of a create is unknown.
fn creates(paths: &'static [&'static str]) -> Program {
    program(move |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        for path in paths {
            let created = zookeeper.create(path, b"", CreateMode::Persistent).await;
            created.map_err(|error| error.to_string())?;
        }
        Ok(())
    })
}

fn model(programs: Vec<Program>, budget: Budget) -> ProgramModel {
    ProgramModel::new(programs, vec![Box::new(Never("/b"))], Setup::NONE, budget)
}

/// Builds a long path: always takes the first action, with `preferred` steps sorted to the front.
fn long_way(model: &ProgramModel, preferred: impl Fn(&Step) -> bool) -> Counterexample<Action> {
    let (mut state, mut path) = (model.init_states().swap_remove(0), Vec::new());
    loop {
        let mut actions = Vec::new();
        model.actions(&state, &mut actions);
        actions.sort_by_key(|action| !model.steps(&state, action).iter().all(&preferred));
        path.push(actions[0].clone());
        state = model.next_state(&state, actions[0].clone()).expect("it was offered");
        if let Some(objection) = &state.objection {
            let objection = Objection::clone(objection);
            let length = path.len() as u32;
            return Counterexample { objection, initial: 0, path, length, shortest: false };
        }
    }
}

fn is_of_client_1(step: &Step) -> bool {
    client_of(step) == Some(ClientId(1))
}

/// Client 1 takes all its steps before client 2 creates the objectionable znode; none of client 1's steps is needed.
#[test]
fn what_the_violation_does_not_need_is_left_out() {
    let model = model(vec![creates(&["/a", "/c"]), creates(&["/b"])], Budget::default());
    let unreduced = model.with_reductions(Reductions::NONE);
    let way = long_way(&unreduced, is_of_client_1);
    let all = unreduced.all_steps(&way);
    assert!(all.iter().any(is_of_client_1), "the long way is long");

    let (steps, objection) = model.shorten(&all, "never").expect("it leads there");
    assert_eq!(objection.saw, "/b is there");
    assert!(!steps.iter().any(is_of_client_1), "{steps:?}");

    let options = Options::new(Strategy::BreadthFirst);
    let shortest = unreduced.shortest(&way, &options, &Silent).expect("it leads there");
    assert_eq!(shortest.steps, steps);
    assert!(shortest.proven);
    assert_eq!(shortest.left_out, all.len() - steps.len());

    let Ending::Violated(found) = search(&unreduced, &options, &Silent).ending else {
        panic!("there is a violation");
    };
    assert_eq!(found.length as usize, steps.len());
}

/// A path with a lost connection is invalid if the budget has no lost connection.
#[test]
fn a_way_is_kept_within_the_budget() {
    let lost = |lost| model(vec![creates(&["/a"])], Budget { lost, ..Budget::default() });
    let options = Options::new(Strategy::BreadthFirst);
    let two = lost(2);
    let Ending::Violated(way) = search(&two, &options, &Silent).ending else {
        panic!("a lost create makes the program fail");
    };
    assert_eq!(way.objection.property, "program");
    let all = two.all_steps(&way);
    let (steps, _) = lost(1).shorten(&all, "program").expect("one is enough");
    assert_eq!(steps.iter().filter(|step| matches!(step, Step::BreakClient { .. })).count(), 1);
    assert_eq!(lost(0).shorten(&all, "program"), None);
}

#[test]
fn steps_that_violate_something_else_are_no_way() {
    let model = model(vec![creates(&["/b"])], Budget::default());
    let unreduced = model.with_reductions(Reductions::NONE);
    let all = unreduced.all_steps(&long_way(&unreduced, |_| false));
    assert!(model.shorten(&all, "never").is_some());
    assert_eq!(model.shorten(&all, "progress"), None);
    assert_eq!(model.shorten(&all[..all.len() - 1], "never"), None);
}

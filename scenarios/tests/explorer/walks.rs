//! A walk offers what a search tries: in the states of random ways, the steps that a reader can choose are those that
//! the unreduced search generates there. The two have no list of steps in common above the grain.

use proptest::prelude::*;
use stateright::Model as _;
use std::cell::LazyCell;
use std::collections::BTreeSet;
use std::sync::Arc;
use vivarium_model::case::{Case, GrainKind};
use vivarium_model::config::Config;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::property;
use vivarium_model::step::Step;
use vivarium_model::time::Time;
use vivarium_sim::every::programs::{Budget, ProgramModel};
use vivarium_sim::every::servers::{Budget as Faults, Election, EnsembleModel};
use vivarium_sim::walked::{Kind, Origin};
use vivarium_sim::{Explored, Run, Scenario};

/// The scenarios of programs whose offers are compared.
const PROGRAMS: [&str; 5] = ["lock", "double-barrier", "counter", "queue", "leader"];

/// How much of each account a search has, so that no way spends it all.
const PLENTY: u8 = 40;

fn scenario(name: &str) -> Scenario {
    let entries = vivarium::catalogue::catalogue();
    let entry = entries.iter().find(|entry| entry.name == name).expect("it is in the catalogue");
    (entry.build)(&entry.switches(&[]).expect("no switches"))
}

/// Returns a case without a step.
fn beginning(scenario: &Scenario, grain: GrainKind, config: &Config, budget: Budget) -> Case {
    Case {
        version: Case::VERSION,
        scenario: scenario.name.clone(),
        grain,
        parameters: budget.parameters(),
        seed: None,
        bugs: Vec::new(),
        config: config.clone(),
        outside: Vec::new(),
        steps: Vec::new(),
        hash: Fingerprint::default(),
        violation: None,
    }
}

/// Returns a step without the values that an engine chooses.
fn plain(step: Step) -> Step {
    match step {
        Step::Random { client, call, .. } => Step::Random { client, call, value: 0 },
        other => other,
    }
}

fn timed(steps: &[Step]) -> Vec<(Time, Step)> {
    steps.iter().map(|step| (Time::ZERO, *step)).collect()
}

/// Takes a number below a bound from a seed, and changes the seed.
fn roll(seed: &mut u64, below: usize) -> usize {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) as usize % below.max(1)
}

fn model_of(scenario: &Scenario, budget: Budget) -> (ProgramModel, Arc<Config>) {
    let Explored::Programs { setup } = &scenario.explored else { panic!("it has programs") };
    let whole = scenario.setup.clone().and(setup);
    let scenario = Scenario { explored: Explored::Programs { setup: whole }, ..scenario.clone() };
    let run = Run::smallest(&scenario, 2, budget);
    let (programs, monitors) = ((scenario.programs)(&run), (scenario.monitors)(&run));
    let model = ProgramModel::new(programs, monitors, run.config.setup.clone(), budget)
        .with_clients(&run.config.clients)
        .without_reductions();
    (model, Arc::new(run.config))
}

/// Compares what is offered along a random way through the states of a search of programs.
fn compare_programs(name: &str, mut seed: u64) -> usize {
    let budget = Budget::by(|_| PLENTY).deletions(0).delays(0);
    let scenario = scenario(name);
    let (model, config) = model_of(&scenario, budget);
    let case = beginning(&scenario, GrainKind::Service, &config, budget);
    let origin = Origin::new(Some(scenario), &case);
    let (mut state, mut way) = (model.init_states().remove(0), Vec::new());
    for at in 0..60 {
        let mut actions = Vec::new();
        model.actions(&state, &mut actions);
        if actions.is_empty() {
            return at;
        }
        let steps: Vec<Vec<Step>> =
            actions.iter().map(|action| model.steps(&state, action)).collect();
        let tried: BTreeSet<Step> = steps.iter().map(|steps| plain(steps[0])).collect();
        let position = origin.look(timed(&way)).expect("the case is right");
        assert_eq!(position.film.frames.len(), way.len() + 1, "{name}: every step is possible");
        let offered: BTreeSet<Step> =
            position.choices.iter().map(|choice| plain(choice.line.step)).collect();
        assert!(tried.is_subset(&offered), "{name} after {way:?}: {:?}", &tried - &offered);
        // Of steps with the same result, a search tries the first one.
        let after = |step: &Step| {
            let further: Vec<Step> = way.iter().chain([step]).copied().collect();
            origin.look(timed(&further)).expect("the case is right").fingerprint
        };
        let reached = LazyCell::new(|| {
            let tried = steps.iter().map(|steps| after(&steps[0]));
            tried.chain([position.fingerprint]).collect::<BTreeSet<Fingerprint>>()
        });
        let others = position.choices.iter().map(|choice| choice.line.step);
        for step in others.filter(|step| !tried.contains(&plain(*step))) {
            assert!(
                reached.contains(&after(&step)),
                "{name} after {way:?}: {step:?}, not in {tried:?}"
            );
        }
        let chosen = roll(&mut seed, actions.len());
        way.extend(&steps[chosen]);
        state = model.next_state(&state, actions.swap_remove(chosen)).expect("it was offered");
    }
    60
}

/// Compares what is offered along a random way through the states of a search of servers.
fn compare_servers(servers: u8, mut seed: u64) {
    let faults = Faults {
        servers,
        txns: 200,
        crashes: 200,
        breaks: 200,
        timeouts: 200,
        fsync_errors: 200,
        upsets: 200,
        observers: 0,
        reconfigs: 0,
    };
    let monitors = property::servers();
    let model =
        EnsembleModel::new(Config::new(servers, 0), faults, Election::Oracle, false, monitors);
    let scenario = scenario("broadcast");
    let mut case = beginning(&scenario, GrainKind::Ensemble, model.config(), Budget::by(|_| 0));
    case.parameters = faults.parameters();
    let origin = Origin::new(Some(scenario), &case);
    let (mut state, mut way) = (model.init_states().remove(0), Vec::new());
    for _ in 0..60 {
        let mut actions = Vec::new();
        model.actions(&state, &mut actions);
        let chosen: Vec<Step> = actions.iter().map(|action| model.chosen(action)[0]).collect();
        let tried: BTreeSet<Step> = chosen.iter().copied().collect();
        let position = origin.look(timed(&way)).expect("the case is right");
        let offered: BTreeSet<Step> =
            position.choices.iter().map(|choice| choice.line.step).collect();
        // A walk offers the faults that lose nothing and those that lose all, and a search all between them.
        let harmless = |steps: &BTreeSet<Step>| -> BTreeSet<Step> {
            steps.iter().copied().filter(|step| !step.is_fault()).collect()
        };
        assert_eq!(harmless(&offered), harmless(&tried), "after {way:?}");
        assert!(offered.is_subset(&tried), "after {way:?}: {:?}", &offered - &tried);
        let due = position.choices.iter().filter(|choice| choice.kind != Kind::Fault);
        assert!(due.clone().count() > 0, "something can happen after {way:?}");
        let next = roll(&mut seed, chosen.len());
        way.extend(model.steps(&state, &actions[next]));
        state = model.next_state(&state, actions[next]).expect("it was offered");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    #[test]
    fn a_walk_of_programs_offers_what_a_search_tries(seed: u64) {
        let longest = PROGRAMS.map(|name| compare_programs(name, seed)).into_iter().max();
        prop_assert!(longest > Some(20), "a way is long enough to say something");
    }

    #[test]
    fn a_walk_of_servers_offers_what_a_search_tries(seed: u64, servers in 2_u8..=3) {
        compare_servers(servers, seed);
    }
}

#[cfg(feature = "cli")]
mod command {
    use std::net::TcpListener;
    use std::process::Command;

    /// Returns the sentence with which a command is refused.
    fn refused(arguments: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_vivarium"));
        let output = command.args(arguments).output().expect("the binary was built");
        let text = String::from_utf8(output.stderr).expect("messages are text");
        assert_eq!(output.status.code(), Some(3), "{arguments:?}: {text}");
        assert_eq!(text.trim_end().lines().count(), 1, "{arguments:?}: {text}");
        text.trim_end().strip_prefix("error: ").expect("it is an error").to_string()
    }

    #[test]
    fn a_walk_that_cannot_begin_is_refused_in_one_sentence() {
        let sentence = refused(&["walk", "lokc"]);
        assert_eq!(
            sentence,
            "there is no case file `lokc`: did you mean the scenario, `walk lock`?"
        );
        let sentence = refused(&["walk", "lock", "--bug", "NoGid"]);
        assert_eq!(sentence, "unknown bug `NoGid` of scenario `lock`: did you mean `NoGuid`?");
        let sentence = refused(&["walk", "churn"]);
        assert!(sentence.contains("`walk churn --seed N`"), "{sentence}");
        let sentence = refused(&["walk", "no/such/case.json"]);
        assert!(sentence.contains("no/such/case.json"), "{sentence}");
        let sentence = refused(&["walk", "lock", "--seed", "many"]);
        assert!(sentence.contains("many"), "{sentence}");
        let sentence = refused(&["walk", "broadcast", "--seed", "1"]);
        assert!(sentence.contains("broadcast"), "{sentence}");
        let sentence = refused(&["walk", "lock", "--address", "nowhere"]);
        assert!(sentence.starts_with("no browser can be served at `nowhere`: "), "{sentence}");
    }

    #[test]
    fn an_address_in_use_is_refused_in_one_sentence() {
        let taken = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
        let address = taken.local_addr().expect("it has an address").to_string();
        for words in
            [["walk", "lock", "--address", &address], ["explore", "lock", "--serve", &address]]
        {
            let sentence = refused(&words);
            assert!(sentence.starts_with(&format!("no browser can be served at `{address}`: ")));
            assert!(sentence.contains("another port"), "{sentence}");
        }
    }
}

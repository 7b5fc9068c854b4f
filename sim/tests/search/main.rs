//! The search finds everything that exists: counts known by arithmetic, the shortest violations, every bound; in both
//! orders, in one thread and in two, and like stateright's own checkers.

mod checkpoints;
#[cfg(feature = "cluster")]
mod cluster;
mod models;
mod random;

use models::{Graph, Grid};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use vivarium_model::verdict::Verdict;
use vivarium_sim::every::{
    Bound, Counterexample, Cycles, Ending, Model, Options, Outcome, Progress, Silent, Strategy,
    cross_check, search,
};

const STRATEGIES: [Strategy; 2] = [Strategy::BreadthFirst, Strategy::DepthFirst];

/// Returns every strategy in one thread and in two.
fn ways() -> impl Iterator<Item = Options> {
    STRATEGIES.into_iter().flat_map(|strategy| [1, 2].map(|threads| options(strategy, threads)))
}

fn options(strategy: Strategy, threads: usize) -> Options {
    let threads = NonZeroUsize::new(threads).expect("at least one thread");
    Options { threads, ..Options::new(strategy) }
}

fn run<M: Model>(model: &M, options: &Options) -> Outcome<M::Action> {
    search(model, options, &Silent)
}

fn counterexample<M: Model>(model: &M, options: &Options) -> Counterexample<M::Action> {
    let outcome = run(model, options);
    outcome.counterexample().unwrap_or_else(|| panic!("{options:?}: no violation")).clone()
}

fn bound<A>(outcome: &Outcome<A>) -> (Bound, u64, u64) {
    match &outcome.ending {
        Ending::Bounded { by, states, frontier } => (by.clone(), *states, *frontier),
        Ending::Exhausted { states, .. } => panic!("exhausted with {states} states"),
        Ending::Violated(counterexample) => panic!("violated {}", counterexample.objection),
    }
}

fn exhausted<A>(outcome: &Outcome<A>) -> (u64, u32) {
    match &outcome.ending {
        Ending::Exhausted { states, depth } => (*states, *depth),
        Ending::Bounded { by, .. } => panic!("bounded by {by}"),
        Ending::Violated(counterexample) => panic!("violated {}", counterexample.objection),
    }
}

#[test]
fn a_grid_is_exhausted_with_the_counts_that_arithmetic_gives() {
    let grid = Grid { counters: 4, height: 6 };
    for options in ways() {
        let outcome = run(&grid, &options);
        assert_eq!(exhausted(&outcome), (grid.states(), 24), "{options:?}");
        assert_eq!(outcome.statistics.generated, grid.generated(), "{options:?}");
        assert_eq!(outcome.statistics.distinct, grid.states());
        assert_eq!(outcome.statistics.cycles, Cycles::None);
        assert_eq!(outcome.verdict(), Ok(Verdict::Exhausted { states: 2401, depth: 24 }));
    }
}

#[test]
fn stateright_counts_the_same() {
    let grid = Grid { counters: 4, height: 6 };
    for strategy in STRATEGIES {
        let ours = run(&grid, &options(strategy, 2)).statistics;
        let theirs = cross_check(grid.clone(), strategy);
        assert_eq!((theirs.generated, theirs.distinct), (ours.generated, ours.distinct));
        assert!(theirs.discoveries.is_empty());
        let mut graph = Graph::new(&[(0, 1, 1), (1, 2, 1)]);
        graph.bad.insert(2);
        assert_eq!(cross_check(graph, strategy).discoveries, ["no objection"]);
    }
}

#[test]
fn a_diamond_has_no_cycle_and_a_ring_has_one() {
    let diamond = Graph::new(&[(0, 1, 1), (0, 2, 1), (1, 3, 1), (2, 3, 1)]);
    let ring = Graph::new(&[(0, 1, 1), (1, 2, 1), (2, 1, 1)]);
    let itself = Graph::new(&[(0, 0, 1)]);
    for options in ways() {
        let told = |graph: &Graph| run(graph, &options).statistics.cycles;
        assert_eq!(exhausted(&run(&diamond, &options)).0, 4);
        assert_eq!(exhausted(&run(&ring, &options)).0, 3);
        if options.strategy == Strategy::DepthFirst && options.threads.get() == 1 {
            assert_eq!(told(&diamond), Cycles::None);
            assert_eq!(told(&ring), Cycles::Found { count: 1 });
            assert_eq!(told(&itself), Cycles::Found { count: 1 });
        } else {
            assert_eq!(told(&ring), Cycles::NotExamined { may_close: 1 });
            assert_eq!(told(&itself), Cycles::NotExamined { may_close: 1 });
        }
        if options.strategy == Strategy::BreadthFirst {
            assert_eq!(told(&diamond), Cycles::None);
        }
    }
}

#[test]
fn an_edge_back_that_closes_no_cycle_is_not_taken_for_one() {
    // Breadth first, node 2 is already known at level 1 when node 1 (level 1) leads to it.
    let graph = Graph::new(&[(0, 1, 1), (0, 2, 1), (1, 2, 1)]);
    let breadth = run(&graph, &options(Strategy::BreadthFirst, 1));
    assert_eq!(breadth.statistics.cycles, Cycles::NotExamined { may_close: 1 });
    assert!(breadth.statistics.cycles.to_string().contains("cycles were not examined"));
    let depth = run(&graph, &options(Strategy::DepthFirst, 1));
    assert_eq!(depth.statistics.cycles, Cycles::None);
}

#[test]
fn a_cycle_through_a_second_initial_state_is_seen() {
    let mut graph = Graph::new(&[(0, 1, 1), (1, 0, 1)]);
    graph.initial = vec![0, 1];
    let outcome = run(&graph, &options(Strategy::DepthFirst, 1));
    assert_eq!(outcome.statistics.cycles, Cycles::Found { count: 1 });
}

#[test]
fn the_violation_with_the_fewest_steps_is_found_though_its_way_has_more_actions() {
    // One action of 9 steps leads to a bad node; four actions of 2 steps lead to another.
    let mut graph = Graph::new(&[(0, 5, 9), (0, 1, 2), (1, 2, 2), (2, 3, 2), (3, 4, 2)]);
    graph.bad = BTreeSet::from([4, 5]);
    for threads in [1, 2] {
        let found = counterexample(&graph, &options(Strategy::BreadthFirst, threads));
        assert_eq!(found.path, [1, 0, 0, 0]);
        assert_eq!((found.length, found.shortest, found.initial), (8, true, 0));
        assert_eq!(found.objection.to_string(), "good nodes: at node 4");
    }
    for threads in [1, 2] {
        let found = counterexample(&graph, &options(Strategy::DepthFirst, threads));
        assert!(!found.shortest);
        assert!(found.length == 8 || found.length == 9);
    }
}

#[test]
fn a_state_found_again_more_cheaply_takes_the_cheaper_way() {
    // Node 2 is first found in 6 steps, then in 2; it is expanded once, at the lower level.
    let mut graph = Graph::new(&[(0, 2, 6), (0, 1, 1), (1, 2, 1), (2, 3, 1), (3, 4, 1)]);
    for threads in [1, 2] {
        let outcome = run(&graph, &options(Strategy::BreadthFirst, threads));
        assert_eq!(exhausted(&outcome), (5, 4));
        assert_eq!(outcome.statistics.generated, 6);
        assert_eq!(outcome.statistics.cycles, Cycles::None);
    }
    graph.bad.insert(4);
    for threads in [1, 2] {
        let found = counterexample(&graph, &options(Strategy::BreadthFirst, threads));
        assert_eq!((found.path, found.length), (vec![1, 0, 0, 0], 4));
    }
}

#[test]
fn a_violation_in_a_grid_has_the_length_that_arithmetic_gives() {
    /// Returns a grid with one bad point, as a graph.
    fn grid(height: usize, bad: (usize, usize)) -> Graph {
        let node = |x, y| x * (height + 1) + y;
        let mut edges = Vec::new();
        for x in 0..=height {
            for y in 0..=height {
                edges.extend((x < height).then_some((node(x, y), node(x + 1, y), 1)));
                edges.extend((y < height).then_some((node(x, y), node(x, y + 1), 1)));
            }
        }
        let mut graph = Graph::new(&edges);
        graph.bad.insert(node(bad.0, bad.1));
        graph
    }
    let graph = grid(40, (20, 13));
    let one = counterexample(&graph, &options(Strategy::BreadthFirst, 1));
    assert_eq!((one.length, one.path.len()), (33, 33));
    for _ in 0..20 {
        assert_eq!(one, counterexample(&graph, &options(Strategy::BreadthFirst, 2)));
    }
    for threads in [1, 2] {
        assert_eq!(counterexample(&graph, &options(Strategy::DepthFirst, threads)).length, 33);
    }
}

#[test]
fn a_stuck_state_is_a_violation_and_a_finished_one_is_not() {
    let mut graph = Graph::new(&[(0, 1, 1), (0, 2, 1), (2, 3, 1)]);
    // Node 0 waits for something, and has a successor; node 3 has edges, but none of them is possible.
    graph.waiting = BTreeSet::from([0, 3]);
    graph.edges[3] = vec![(None, 1), (None, 1)];
    for options in ways() {
        let found = counterexample(&graph, &options);
        assert_eq!(found.objection.to_string(), "progress: node 3 waits for ever");
        assert_eq!((found.path, found.length), (vec![1, 0], 2));
    }
    graph.waiting = BTreeSet::from([0]);
    for options in ways() {
        assert_eq!(exhausted(&run(&graph, &options)), (4, 2));
    }
}

#[test]
fn what_waits_for_something_withheld_is_not_stuck_and_the_search_is_bounded() {
    let mut graph = Graph::new(&[(0, 1, 1)]);
    graph.waiting.insert(1);
    graph.withholding.insert(1);
    for options in ways() {
        let reasons = BTreeSet::from(["2 timers"]);
        assert_eq!(bound(&run(&graph, &options)), (Bound::Withheld(reasons), 2, 1));
    }
}

#[test]
fn a_panic_in_the_model_is_a_violation_with_its_path() {
    let mut graph = Graph::new(&[(0, 1, 1), (1, 2, 1), (2, 3, 1)]);
    graph.panicking.insert(3);
    for options in ways() {
        let found = counterexample(&graph, &options);
        assert_eq!(found.objection.to_string(), "assertion: node 3 must never be");
        assert_eq!(found.path, [0, 0, 0]);
    }
}

#[test]
fn an_objectionable_initial_state_is_a_violation_without_a_step() {
    let mut graph = Graph::new(&[(0, 1, 1)]);
    graph.initial = vec![0, 1];
    graph.bad.insert(1);
    for threads in [1, 2] {
        let found = counterexample(&graph, &options(Strategy::BreadthFirst, threads));
        assert_eq!((found.initial, found.path.len(), found.length), (1, 0, 0));
    }
}

#[test]
fn states_are_counted_up_to_their_bound() {
    let grid = Grid { counters: 4, height: 9 };
    for options in ways() {
        let enough = Options { max_states: Some(grid.states()), ..options.clone() };
        assert_eq!(exhausted(&run(&grid, &enough)).0, grid.states());
        let less = Options { max_states: Some(1_000), ..options };
        let (by, states, frontier) = bound(&run(&grid, &less));
        assert_eq!(by, Bound::States(1_000));
        assert!((1_001..1_020).contains(&states), "{states}");
        assert!(frontier > 0);
    }
}

#[test]
fn time_memory_and_the_stop_flag_end_a_search() {
    // Far too large to be exhausted: only the bound can end the search.
    let grid = Grid { counters: 12, height: 20 };
    for options in ways() {
        let time = Duration::from_millis(30);
        let timed = Options { max_time: Some(time), ..options.clone() };
        let (by, _, frontier) = bound(&run(&grid, &timed));
        assert_eq!(by, Bound::Time(time));
        assert!(frontier > 0);
        let small = Options { max_memory: Some(1 << 20), ..options.clone() };
        assert_eq!(bound(&run(&grid, &small)).0, Bound::Memory(1 << 20));
        let stop = Some(Arc::new(AtomicBool::new(true)));
        let interrupted = Options { stop, ..options };
        assert_eq!(bound(&run(&grid, &interrupted)).0, Bound::Interrupted);
    }
}

/// A search that ends between two checks of the clock, and after the time limit, is not exhaustive: its model may
/// have left out checks since then.
#[test]
fn a_search_that_ends_too_late_is_bounded() {
    let (time, margin) = (Duration::from_millis(1), Duration::from_millis(1));
    for height in 1..=12 {
        for options in ways() {
            let timed = Options { max_time: Some(time), ..options };
            let outcome = run(&Grid { counters: 4, height }, &timed);
            if outcome.statistics.elapsed > time + margin {
                assert_eq!(bound(&outcome).0, Bound::Time(time), "height {height}");
            }
        }
    }
}

#[test]
fn a_greatest_depth_bounds_only_what_lies_beyond_it() {
    let grid = Grid { counters: 3, height: 4 };
    for options in ways() {
        let all = Options { max_depth: Some(12), ..options.clone() };
        assert_eq!(exhausted(&run(&grid, &all)), (grid.states(), 12));
        // Points whose coordinates add up to at most 2: 1 + 3 + 6, and the last 6 are cut off.
        let near = Options { max_depth: Some(2), ..options };
        assert_eq!(bound(&run(&grid, &near)), (Bound::Depth(2), 10, 6));
    }
}

#[test]
fn depth_first_looks_again_at_a_state_first_reached_at_the_bound() {
    // The long path is found first and reaches node 3 at the bound; the short path leaves room for node 4.
    let mut graph = Graph::new(&[(0, 1, 1), (1, 2, 1), (2, 3, 1), (0, 3, 1), (3, 4, 1)]);
    for options in ways() {
        let options = Options { max_depth: Some(3), ..options };
        assert_eq!(exhausted(&run(&graph, &options)).0, 5, "{options:?}");
    }
    graph.bad.insert(4);
    for options in ways() {
        let options = Options { max_depth: Some(3), ..options };
        assert_eq!(counterexample(&graph, &options).objection.property, "good nodes");
    }
}

#[test]
fn a_state_outside_of_the_boundary_keeps_the_search_from_being_exhaustive() {
    let mut graph = Graph::new(&[(0, 1, 1), (1, 2, 1)]);
    graph.outside.insert(2);
    for options in ways() {
        assert_eq!(bound(&run(&graph, &options)), (Bound::Boundary, 2, 1));
    }
}

#[test]
fn a_violation_outranks_a_bound_but_is_not_called_the_shortest() {
    let mut graph = Graph::new(&[(0, 1, 1), (0, 2, 1), (2, 3, 1)]);
    graph.bad.insert(1);
    let options = Options { max_states: Some(1), ..options(Strategy::BreadthFirst, 1) };
    let found = counterexample(&graph, &options);
    assert_eq!((found.length, found.shortest), (1, false));
}

#[test]
fn the_observer_is_told_the_final_figures() {
    let grid = Grid { counters: 3, height: 9 };
    let last = Cell::new(None);
    let outcome = search(&grid, &options(Strategy::BreadthFirst, 2), &|progress: &Progress| {
        last.set(Some(*progress));
    });
    let last = last.into_inner().expect("told at least once");
    assert_eq!((last.distinct, last.generated), (1_000, grid.generated()));
    assert_eq!((last.frontier, last.depth), (0, 27));
    assert_eq!(last.visited_bytes, outcome.statistics.visited_bytes);
    // The widest level is the middle one or its neighbour: 75 points each, whose sum is 13 or 14.
    assert!(outcome.statistics.peak_frontier >= 75);
    assert!(outcome.statistics.peak_frontier_bytes >= 75 * 3);
}

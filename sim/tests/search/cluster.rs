//! Searches in several processes, compared with searches in one. The processes are threads of the test here, each with a
//! model of its own; what they say goes through sockets all the same.

use super::models::{At, Graph, Grid};
use super::random::{any_graph, large_graph};
use super::{bound, exhausted, options, run};
use proptest::prelude::{ProptestConfig, prop_assert, prop_assert_eq, proptest};
use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use vivarium_model::fingerprint::Fingerprint;
use vivarium_model::property::Objection;
use vivarium_sim::every::{
    Bound, Checkpoints, Cluster, Counterexample, Ending, Model, Options, Outcome, Strategy,
    addresses,
};

fn cluster(processes: usize) -> Vec<Cluster> {
    Cluster::on_this_machine(processes).expect("there are free ports")
}

/// Searches in several processes, each with this many threads, and returns what each of them reports.
fn all_report<M: Model + Clone>(
    model: &M,
    processes: usize,
    asked: &Options,
) -> Vec<Outcome<M::Action>> {
    std::thread::scope(|scope| {
        let one = |cluster| {
            let options = Options { cluster: Some(Arc::new(cluster)), ..asked.clone() };
            let model = model.clone();
            scope.spawn(move || run(&model, &options))
        };
        let started: Vec<_> = cluster(processes).into_iter().map(one).collect();
        started.into_iter().map(|one| one.join().expect("it ends")).collect()
    })
}

/// The same, where all processes must report the same.
fn together<M: Model + Clone>(model: &M, processes: usize, asked: &Options) -> Outcome<M::Action>
where
    M::Action: Debug + PartialEq,
{
    let mut reports = all_report(model, processes, asked);
    let first = reports.swap_remove(0);
    for other in &reports {
        assert_eq!(alike(other), alike(&first));
    }
    first
}

/// What a number of processes must not change: the ending, and what was counted.
type Alike<A> = (String, Option<Counterexample<A>>, u64, u64, u32, String);

fn alike<A: Clone>(outcome: &Outcome<A>) -> Alike<A> {
    let ending = match &outcome.ending {
        Ending::Exhausted { states, depth } => format!("exhausted: {states} states, depth {depth}"),
        Ending::Bounded { by, states, frontier } => format!("{by}: {states} states, {frontier}"),
        Ending::Violated(_) => "violated".to_string(),
    };
    let statistics = &outcome.statistics;
    let found = outcome.counterexample().cloned();
    let cycles = format!("{:?}", statistics.cycles);
    (ending, found, statistics.generated, statistics.distinct, statistics.depth, cycles)
}

fn breadth_first(threads: usize) -> Options {
    options(Strategy::BreadthFirst, threads)
}

/// Four processes of one thread, two of two, and one: all visit each of 78,125 states once, and take each step once.
#[test]
fn a_grid_is_searched_together() {
    let grid = Grid { counters: 7, height: 4 };
    for (processes, threads) in [(4, 1), (2, 2), (1, 3)] {
        let outcome = together(&grid, processes, &breadth_first(threads));
        assert_eq!(exhausted(&outcome), (grid.states(), 28));
        assert_eq!(outcome.statistics.generated, grid.generated());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Whatever the graph: the ending, the counts and the way to a violation are those of one process.
    #[test]
    fn several_processes_find_what_one_finds(
        graph in any_graph(),
        processes in 1..4usize,
        threads in 1..3usize,
    ) {
        let whole = run(&graph, &breadth_first(1));
        prop_assert_eq!(alike(&together(&graph, processes, &breadth_first(threads))), alike(&whole));
    }

    /// The same of graphs with thousands of nodes, in which states are given away and many are reached in fewer steps
    /// later.
    #[test]
    fn several_processes_find_what_one_finds_in_large_graphs(
        nodes in 1_000..4_000usize,
        reach in 10..400usize,
        seed: u64,
        bad in 0..3usize,
        processes in 1..4usize,
        threads in 1..3usize,
    ) {
        let graph = large_graph(nodes, reach, seed, bad);
        let whole = run(&graph, &breadth_first(1));
        prop_assert_eq!(alike(&together(&graph, processes, &breadth_first(threads))), alike(&whole));
    }

    /// The same with a greatest depth.
    #[test]
    fn a_depth_bound_is_the_same_in_several(graph in any_graph(), depth in 0..9u32) {
        let whole = Options { max_depth: Some(depth), ..breadth_first(1) };
        let outcome = together(&graph, 3, &whole);
        prop_assert_eq!(alike(&outcome), alike(&run(&graph, &whole)));
    }
}

/// What a model withholds, what lies outside of its boundary, and a panic of one process are known to all.
#[test]
fn what_one_process_leaves_out_all_report() {
    let mut graph = Graph::new(&[(0, 1, 1), (0, 2, 1), (1, 3, 1), (2, 4, 1), (4, 5, 2)]);
    graph.withholding = [3, 5].into();
    let whole = run(&graph, &breadth_first(1));
    assert_eq!(bound(&whole).2, 2);
    assert_eq!(alike(&together(&graph, 3, &breadth_first(1))), alike(&whole));
    graph.withholding.clear();
    graph.outside = [4].into();
    let whole = run(&graph, &breadth_first(1));
    assert_eq!(bound(&whole).0, Bound::Boundary);
    assert_eq!(alike(&together(&graph, 3, &breadth_first(1))), alike(&whole));
    graph.panicking = [5].into();
    graph.outside.clear();
    let whole = run(&graph, &breadth_first(1));
    let found = whole.counterexample().expect("a panic is a violation");
    assert!(found.objection.saw.contains("node 5 must never be"));
    let there = together(&graph, 3, &breadth_first(1));
    assert_eq!(there.counterexample().expect("it is found").path, found.path);
}

/// A bound ends the search in all processes, although only one of them may have reached it.
#[test]
fn a_bound_of_one_process_ends_all() {
    let grid = Grid { counters: 8, height: 9 };
    let most = Options { max_states: Some(20_000), ..breadth_first(1) };
    let (by, states, _) = bound(&together(&grid, 3, &most));
    assert_eq!(by, Bound::States(20_000));
    assert!((20_001..100_000).contains(&states), "{states}");
    let time = Duration::from_millis(300);
    let late = Options { max_time: Some(time), ..breadth_first(1) };
    assert_eq!(bound(&together(&grid, 2, &late)).0, Bound::Time(time));
    let stop = Arc::new(AtomicBool::new(true));
    let stopped = Options { stop: Some(stop), ..breadth_first(1) };
    let reports = all_report(&grid, 1, &stopped);
    assert_eq!(bound(&reports[0]).0, Bound::Interrupted);
}

/// Runs two processes that search something else than each other, and returns why both end.
fn sentences(first: &Options, second: &Options) -> Vec<String> {
    let grid = Grid { counters: 3, height: 2 };
    let both = cluster(2).into_iter().zip([first, second]);
    std::thread::scope(|scope| {
        let started = both.map(|(cluster, asked)| {
            let options = Options { cluster: Some(Arc::new(cluster)), ..asked.clone() };
            let grid = &grid;
            scope.spawn(move || bound(&run(grid, &options)).0.to_string())
        });
        let started: Vec<_> = started.collect();
        started.into_iter().map(|one| one.join().expect("it ends")).collect()
    })
}

#[test]
fn processes_that_search_something_else_are_refused() {
    let of = |of: &str| Options { of: of.to_string(), ..breadth_first(1) };
    for sentence in sentences(&of("lock"), &of("queue")) {
        assert!(sentence.starts_with("process "), "{sentence}");
        assert!(sentence.contains("makes another search, or is another program"), "{sentence}");
    }
    let most = Options { max_states: Some(100), ..breadth_first(1) };
    for sentence in sentences(&breadth_first(1), &most) {
        assert!(sentence.contains("makes another search"), "{sentence}");
    }
    for sentence in sentences(&breadth_first(1), &breadth_first(2)) {
        assert!(sentence.contains("give `--threads` to all"), "{sentence}");
    }
}

/// A graph that ends the second process, by a panic in a place that a search does not expect it in.
#[derive(Clone, Debug)]
struct Deadly {
    graph: Graph,
    is_second: bool,
}

impl stateright::Model for Deadly {
    type State = At;
    type Action = usize;

    fn init_states(&self) -> Vec<At> {
        self.graph.init_states()
    }
    fn actions(&self, state: &At, actions: &mut Vec<usize>) {
        self.graph.actions(state, actions);
    }
    fn next_state(&self, state: &At, edge: usize) -> Option<At> {
        self.graph.next_state(state, edge)
    }
    fn properties(&self) -> Vec<stateright::Property<Deadly>> {
        vec![stateright::Property::always("no objection", |_, _| true)]
    }
}

impl Model for Deadly {
    fn fingerprint(&self, state: &At) -> Fingerprint {
        self.graph.fingerprint(state)
    }
    fn objection<'a>(&self, state: &'a At) -> Option<&'a Objection> {
        self.graph.objection(state)
    }
    fn length(&self, state: &At) -> u32 {
        self.graph.length(state)
    }
    fn at_rest(&self, state: &At) -> Result<(), Objection> {
        self.graph.at_rest(state)
    }
    fn withheld(&self, state: &At) -> Option<&'static str> {
        self.graph.withheld(state)
    }
    fn heap_bytes(&self, _state: &At) -> usize {
        assert!(!self.is_second, "this process ends");
        0
    }
}

/// A process is lost after another one has found a violation, while shorter ways to one are still possible. The way is not
/// known then; the search says so, and is neither held nor ended by a panic.
#[test]
fn a_process_is_lost_after_a_violation_was_found() {
    let nodes = 1..60;
    let mut edges: Vec<(usize, usize, u32)> = nodes.clone().map(|node| (0, node, 1)).collect();
    edges.extend(nodes.map(|node| (node, node + 60, 1)));
    edges.push((0, 200, 9));
    let mut graph = Graph::new(&edges);
    graph.bad = [200].into();
    let both: Vec<_> = std::thread::scope(|scope| {
        let one = |cluster: Cluster| {
            let model = Deadly { graph: graph.clone(), is_second: cluster.process() == 1 };
            let options = Options { cluster: Some(Arc::new(cluster)), ..breadth_first(1) };
            scope.spawn(move || bound(&run(&model, &options)).0.to_string())
        };
        let started: Vec<_> = cluster(2).into_iter().map(one).collect();
        started.into_iter().map(|one| one.join()).collect()
    });
    assert!(both[1].is_err(), "the second process ends");
    let sentence = both[0].as_ref().expect("the first one does not");
    assert!(sentence.starts_with("process 1 at 127.0.0.1:"), "{sentence}");
    let known = "which has ended, after a violation of \"good nodes\" was found,";
    assert!(sentence.ends_with(known), "{sentence}");
}

/// A model whose actions lead elsewhere in the second process.
#[derive(Clone, Debug)]
struct Fickle {
    grid: Grid,
    /// True in the second process.
    is_second: bool,
}

impl stateright::Model for Fickle {
    type State = Vec<u8>;
    type Action = usize;

    fn init_states(&self) -> Vec<Vec<u8>> {
        self.grid.init_states()
    }
    fn actions(&self, state: &Vec<u8>, actions: &mut Vec<usize>) {
        self.grid.actions(state, actions);
        if self.is_second {
            actions.reverse();
        }
    }
    fn next_state(&self, state: &Vec<u8>, action: usize) -> Option<Vec<u8>> {
        self.grid.next_state(state, action)
    }
    fn properties(&self) -> Vec<stateright::Property<Fickle>> {
        vec![stateright::Property::always("no objection", |_, _| true)]
    }
}

impl Model for Fickle {
    fn fingerprint(&self, state: &Vec<u8>) -> Fingerprint {
        self.grid.fingerprint(state)
    }
    fn objection<'a>(&self, _state: &'a Vec<u8>) -> Option<&'a Objection> {
        None
    }
    fn length(&self, _state: &Vec<u8>) -> u32 {
        1
    }
    fn at_rest(&self, _state: &Vec<u8>) -> Result<(), Objection> {
        Ok(())
    }
    fn withheld(&self, _state: &Vec<u8>) -> Option<&'static str> {
        None
    }
}

/// Where the same way leads to another state in another process, that is no quiet "held".
#[test]
fn processes_that_disagree_end_the_search() {
    let grid = Grid { counters: 6, height: 4 };
    let reports: Vec<String> = std::thread::scope(|scope| {
        let one = |cluster: Cluster| {
            let is_second = cluster.process() == 1;
            let model = Fickle { grid: grid.clone(), is_second };
            let options = Options { cluster: Some(Arc::new(cluster)), ..breadth_first(1) };
            scope.spawn(move || bound(&run(&model, &options)).0.to_string())
        };
        let started: Vec<_> = cluster(2).into_iter().map(one).collect();
        started.into_iter().map(|one| one.join().expect("it ends")).collect()
    });
    for sentence in reports {
        assert!(sentence.contains("lead to other states in another process"), "{sentence}");
    }
}

/// Searches in two processes of two threads, is stopped after every few states, and goes on.
fn in_parts<M: Model + Clone>(model: &M, name: &str, most: u64) -> (Outcome<M::Action>, usize)
where
    M::Action: Debug + PartialEq,
{
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("together").join(name);
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).expect("there is room for it");
    let file = directory.join("kept");
    let every = Duration::from_secs(3_600);
    let (mut states, mut resume_together) = (0, None);
    for stops in 0.. {
        let checkpoints = Some(Checkpoints { file: file.clone(), every });
        let of = "a search".to_string();
        let max_states = Some(states + most);
        let options = Options { checkpoints, of, max_states, resume_together, ..breadth_first(2) };
        let outcome = together(model, 2, &options);
        if !outcome.is_stopped() {
            return (outcome, stops);
        }
        assert!(outcome.statistics.resumed_at.is_some() == (stops > 0));
        states = outcome.statistics.distinct;
        resume_together = Some(file.clone());
    }
    unreachable!("a search ends")
}

/// In the end, a search in parts has visited as many states and taken as many steps as a whole one.
#[test]
fn a_search_in_parts_is_a_whole_one() {
    let grid = Grid { counters: 7, height: 3 };
    let (outcome, stops) = in_parts(&grid, "grid", 2_000);
    assert_eq!(exhausted(&outcome), (grid.states(), 21));
    assert_eq!(outcome.statistics.generated, grid.generated());
    assert!(stops >= 3, "stopped {stops} times");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Whatever the graph and wherever the search is stopped: the ending, the counts and the way are the same.
    #[test]
    fn parts_find_what_the_whole_finds(
        nodes in 300..2_000usize,
        reach in 10..200usize,
        seed: u64,
        bad in 0..3usize,
        most in 50..600u64,
    ) {
        let graph = large_graph(nodes, reach, seed, bad);
        let whole = run(&graph, &breadth_first(1));
        let (parts, _) = in_parts(&graph, "graph", most);
        match parts.counterexample() {
            // A bound stopped the search after it had found a violation, which need not be the shortest.
            Some(found) if !found.shortest => {
                let shortest = whole.counterexample().expect("there is a violation");
                prop_assert!(found.length >= shortest.length);
            }
            _ => prop_assert_eq!(alike(&parts), alike(&whole)),
        }
    }
}

/// Checkpoints with parts of different moments, or without one of their parts, are refused; those beside the last ones
/// count.
#[test]
fn parts_of_different_moments_are_not_taken_together() {
    let grid = Grid { counters: 7, height: 3 };
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("together").join("moments");
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).expect("there is room for it");
    let file = directory.join("kept");
    let keeping = |max_states, resumes: bool| {
        let every = Duration::from_secs(3_600);
        let checkpoints = Some(Checkpoints { file: file.clone(), every });
        let resume_together = resumes.then(|| file.clone());
        let of = "a search".to_string();
        Options { checkpoints, of, max_states, resume_together, ..breadth_first(1) }
    };
    let part = |worker: usize, end: &str| directory.join(format!("kept.{worker}{end}"));
    bound(&together(&grid, 2, &keeping(Some(1_000), false)));
    let early = std::fs::read(part(1, "")).expect("it was written");
    bound(&together(&grid, 2, &keeping(Some(5_000), true)));
    // One process was killed before its new part took the old one's place.
    std::fs::rename(part(1, ""), part(1, ".new")).expect("it is there");
    std::fs::write(part(1, ""), &early).expect("there is room for it");
    let outcome = together(&grid, 2, &keeping(None, true));
    assert_eq!(exhausted(&outcome), (grid.states(), 21));
    assert_eq!(outcome.statistics.generated, grid.generated());
    assert!(outcome.statistics.resumed_at > Some(5_000));
    // The new part is lost.
    std::fs::remove_file(part(1, ".new")).expect("it is there");
    let outcome = together(&grid, 2, &keeping(None, true));
    let sentence = outcome.unresumable().expect("it is refused");
    assert!(sentence.contains("its parts are not of one moment"), "{sentence}");
    // A part is damaged.
    let mut damaged = std::fs::read(part(0, "")).expect("it is there");
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    std::fs::write(part(0, ""), &damaged).expect("there is room for it");
    std::fs::remove_file(part(1, "")).expect("it is there");
    let outcome = together(&grid, 2, &keeping(None, true));
    let sentence = outcome.unresumable().expect("it is refused");
    assert!(sentence.contains("no process has a part of it that fits"), "{sentence}");
}

#[test]
fn a_file_of_hosts_is_read_line_by_line() {
    let text = "# two machines\nnode-1:4700\n\n  node-2:4700  # the slow one\n";
    let both = vec!["node-1:4700".to_string(), "node-2:4700".to_string()];
    assert_eq!(addresses(text, None), Ok(both.clone()));
    assert_eq!(addresses(text, Some(1)), Ok(both[..1].to_vec()));
    let few = addresses(text, Some(3)).expect_err("there are two");
    assert_eq!(few, "it names 2 addresses for 3 processes");
    let wrong = addresses("node-1", None).expect_err("it has no port");
    assert_eq!(wrong, "`node-1` is no address: write one `host:port` on each line");
}

//! Random graphs, compared with the simplest algorithms.

use super::models::Graph;
use super::{bound, exhausted, run, ways};
use proptest::collection::{btree_set, vec};
use proptest::option::weighted;
use proptest::prelude::{Strategy as _, prop_assert, prop_assert_eq, proptest};
use std::collections::BTreeSet;
use vivarium_sim::every::{Bound, Counterexample, Cycles, Options, Strategy, cross_check};

/// Returns the least number of steps to each node, by relaxing all edges until nothing changes; paths end at bad
/// nodes.
fn distances(graph: &Graph) -> Vec<Option<u32>> {
    let mut least = vec![None; graph.edges.len()];
    for node in &graph.initial {
        least[*node] = Some(0);
    }
    for _ in 0..graph.edges.len() {
        for (from, edges) in graph.edges.iter().enumerate() {
            let Some(here) = least[from].filter(|_| !graph.bad.contains(&from)) else {
                continue;
            };
            for (to, length) in edges {
                let Some(to) = *to else { continue };
                let there = here + length;
                least[to] = Some(least[to].map_or(there, |known: u32| known.min(there)));
            }
        }
    }
    least
}

/// Returns the least number of steps to a violation.
fn least_violation(graph: &Graph) -> Option<u32> {
    let least = distances(graph);
    let ends = |node: &usize| graph.edges[*node].iter().all(|(to, _)| to.is_none());
    let stuck = graph.waiting.iter().filter(|node| ends(node));
    graph.bad.iter().chain(stuck).filter_map(|node| least[*node]).min()
}

/// Returns true if a reachable node leads back to itself.
fn has_cycle(graph: &Graph) -> bool {
    let least = distances(graph);
    let reachable = |node: &usize| least[*node].is_some();
    (0..graph.edges.len()).filter(reachable).any(|start| {
        let mut seen = BTreeSet::new();
        let mut stack = vec![start];
        while let Some(node) = stack.pop() {
            for to in graph.edges[node].iter().filter_map(|(to, _)| *to) {
                if to == start {
                    return true;
                }
                if seen.insert(to) {
                    stack.push(to);
                }
            }
        }
        false
    })
}

pub(crate) fn any_graph() -> impl proptest::strategy::Strategy<Value = Graph> {
    (2..14usize).prop_flat_map(|nodes| {
        let edge = (weighted(0.9, 0..nodes), 1..5u32);
        let edges = vec(vec(edge, 0..4), nodes);
        let some = || btree_set(0..nodes, 0..4);
        let initial = vec(0..nodes, 1..3);
        (initial, edges, some(), some()).prop_map(|(initial, edges, bad, waiting)| Graph {
            initial,
            edges,
            bad,
            waiting,
            ..Graph::default()
        })
    })
}

/// Graphs whose nodes have numbers that say something about the progress, or nothing, or something wrong.
fn graph_with_progress() -> impl proptest::strategy::Strategy<Value = Graph> {
    let forwards = |mut graph: Graph| {
        for (from, edges) in graph.edges.iter_mut().enumerate() {
            edges.iter_mut().for_each(|(to, _)| *to = to.filter(|to| *to > from));
        }
        graph
    };
    (any_graph(), vec(-2..3i128, 14), 0..4u8).prop_map(move |(graph, noise, kind)| {
        let graph = if kind < 2 { forwards(graph) } else { graph };
        let number = |(at, noise): (usize, i128)| match kind {
            0 => at as i128,
            1 => at as i128 / 3 + noise / 2,
            _ => noise,
        };
        let progress = noise.into_iter().enumerate().map(number).collect();
        Graph { progress, bad: BTreeSet::new(), waiting: BTreeSet::new(), ..graph }
    })
}

/// Makes a graph of this number of nodes, whose edges lead this far forwards, or a little backwards: there are many levels.
#[cfg(feature = "cluster")]
pub(crate) fn large_graph(nodes: usize, reach: usize, seed: u64, bad: usize) -> Graph {
    let mut random = vivarium_model::fingerprint::Fingerprint::of(&seed).0;
    let mut draw = move |most: usize| {
        random = random.wrapping_mul(0x2d99_787f_c1d2_0a7b_8f14_3ac5_6a3d_9e45).wrapping_add(1);
        ((random >> 64) % most as u128) as usize
    };
    let mut graph = Graph { initial: vec![0, 1], ..Graph::default() };
    for node in 0..nodes {
        let edges = (0..draw(5)).map(|_| {
            let to = (node + draw(reach)).saturating_sub(reach / 8);
            let is_possible = to < nodes && draw(10) > 0;
            (is_possible.then_some(to), 1 + draw(4) as u32)
        });
        graph.edges.push(edges.collect());
    }
    graph.bad = (0..bad).map(|_| draw(nodes)).collect();
    // An eighth of the actions, and some more, lower it.
    graph.progress = (0..nodes).map(|node| (node + draw(reach)) as i128 / 4).collect();
    graph
}

/// Follows a path, and returns its steps and its last node.
fn follow(graph: &Graph, found: &Counterexample<usize>) -> (u32, usize) {
    let start = (0, graph.initial[found.initial]);
    found.path.iter().fold(start, |(steps, node), edge| {
        let (to, length) = graph.edges[node][*edge];
        (steps + length, to.expect("a possible edge"))
    })
}

proptest! {
    #[test]
    fn a_search_finds_what_the_simplest_algorithm_finds(graph in any_graph()) {
        let least = distances(&graph);
        let reachable = least.iter().flatten().count() as u64;
        let violation = least_violation(&graph);
        let mut found_breadth_first = Vec::new();
        for options in ways() {
            let breadth = options.strategy == Strategy::BreadthFirst;
            let outcome = run(&graph, &options);
            let Some(shortest) = violation else {
                let (states, depth) = exhausted(&outcome);
                prop_assert_eq!(states, reachable);
                let furthest = least.iter().flatten().max().copied();
                prop_assert!(Some(depth) == furthest || (!breadth && Some(depth) > furthest));
                let theirs = cross_check(graph.clone(), options.strategy);
                prop_assert_eq!(theirs.distinct, states);
                match outcome.statistics.cycles {
                    Cycles::None => prop_assert!(!has_cycle(&graph)),
                    Cycles::Found { .. } => prop_assert!(has_cycle(&graph)),
                    Cycles::NotExamined { may_close } => {
                        prop_assert!(breadth || options.threads.get() == 2);
                        prop_assert!(may_close > 0);
                    }
                }
                continue;
            };
            let found = outcome.counterexample().expect("a violation").clone();
            let (steps, node) = follow(&graph, &found);
            prop_assert_eq!(steps, found.length);
            prop_assert!(graph.bad.contains(&node) || graph.waiting.contains(&node));
            prop_assert_eq!(found.shortest, breadth);
            prop_assert!(steps == shortest || (!breadth && steps > shortest));
            if breadth {
                found_breadth_first.push(found);
            }
        }
        // One thread and two threads report the same.
        prop_assert!(found_breadth_first.windows(2).all(|pair| pair[0] == pair[1]));
    }

    /// There are no cycles if no action lowers the progress and those that lead no deeper raise it.
    #[test]
    fn no_cycle_is_overlooked(graph in graph_with_progress()) {
        let least = distances(&graph);
        let mut may_close = 0;
        for (from, edges) in graph.edges.iter().enumerate().filter(|(from, _)| least[*from].is_some()) {
            for to in edges.iter().filter_map(|(to, _)| *to) {
                let (here, there) = (graph.progress[from], graph.progress[to]);
                may_close += u64::from(there < here || there == here && least[to] <= least[from]);
            }
        }
        for options in ways() {
            let (breadth, threads) = (options.strategy == Strategy::BreadthFirst, options.threads.get());
            match run(&graph, &options).statistics.cycles {
                Cycles::None => {
                    prop_assert!(!has_cycle(&graph));
                    prop_assert!(!breadth || may_close == 0);
                }
                Cycles::Found { .. } => prop_assert!(has_cycle(&graph)),
                Cycles::NotExamined { may_close: told } => {
                    prop_assert!(told > 0 && (breadth || threads == 2));
                    prop_assert!(!breadth || told == may_close);
                }
            }
        }
    }

    #[test]
    fn a_depth_bound_keeps_exactly_what_is_near(mut graph in any_graph(), depth in 0..9u32) {
        graph.bad.clear();
        graph.waiting.clear();
        let least = distances(&graph);
        let near = |node: usize| least[node].is_some_and(|steps| steps < depth);
        let leads_to = |node: usize| {
            (0..graph.edges.len())
                .any(|from| near(from) && graph.edges[from].iter().any(|(to, _)| *to == Some(node)))
        };
        let seen = |node: &usize| graph.initial.contains(node) || leads_to(*node);
        let cut = |node: &usize| !near(*node) && !graph.edges[*node].is_empty();
        let states = (0..graph.edges.len()).filter(seen).count() as u64;
        let frontier = (0..graph.edges.len()).filter(seen).filter(cut).count() as u64;
        for options in ways() {
            let options = Options { max_depth: Some(depth), ..options };
            let outcome = run(&graph, &options);
            if frontier == 0 {
                prop_assert_eq!(exhausted(&outcome).0, states);
            } else {
                prop_assert_eq!(bound(&outcome), (Bound::Depth(depth), states, frontier));
            }
        }
    }
}

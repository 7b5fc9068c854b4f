//! Compares a search in several processes. Threads stand for them, each with a model of its own; what they say goes through
//! sockets, as it does between processes.

use super::difference::{Difference, Expected, differs_from};
use std::num::NonZeroUsize;
use std::sync::Arc;
use vivarium_sim::every::{Cluster, Ending, Model, Options, Silent, Strategy, search};

/// Searches in two or three processes. Each must come to what is expected.
pub(super) fn by_processes<M: Model>(
    model: &(dyn Fn() -> M + Sync),
    expected: &Expected<'_>,
    turn: u64,
) -> Option<Difference> {
    let (processes, threads) = if (turn / 8).is_multiple_of(2) { (2, 2) } else { (3, 1) };
    let title = format!("breadth first in {processes} processes of {threads} threads");
    let difference = |what| Some(Difference { search: title.clone(), what });
    let clusters = match Cluster::on_this_machine(processes) {
        Ok(clusters) => clusters,
        Err(error) => return difference(format!("no ports: {error}")),
    };
    let one = |cluster| -> Ending<M::Action> {
        let threads = NonZeroUsize::new(threads).expect("some threads");
        let cluster = Some(Arc::new(cluster));
        let options = Options { threads, cluster, ..Options::new(Strategy::BreadthFirst) };
        search(&model(), &options, &Silent).ending
    };
    let endings: Vec<_> = std::thread::scope(|scope| {
        let start = |cluster| scope.spawn(|| one(cluster));
        let started: Vec<_> = clusters.into_iter().map(start).collect();
        started.into_iter().map(|process| process.join()).collect()
    });
    for ending in endings {
        let what = match ending {
            Ok(ending) => differs_from(expected, ending),
            Err(_) => Some("a process panics".to_string()),
        };
        if let Some(what) = what {
            return difference(what);
        }
    }
    None
}

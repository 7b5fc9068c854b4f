//! Checks states without a further step.

use vivarium_model::ensemble::Ensemble;
use vivarium_model::property::Objection;

/// Checks that every server serves (so there is one leader) and that all trees are equal (L1, L2, L5).
pub(super) fn check(ensemble: &Ensemble) -> Result<(), Objection> {
    let stuck = |saw: String| Err(Objection::new("L2 everybody serves in the end", saw));
    let mut digests = Vec::new();
    for server in ensemble.config().server_ids() {
        let Some(process) = ensemble.server(server).filter(|process| process.is_serving()) else {
            let all: Vec<String> = ensemble
                .config()
                .server_ids()
                .map(|id| format!("{id} is {}", ensemble.state_of(id)))
                .collect();
            return stuck(format!("nothing can happen any more, and {}.", all.join(", ")));
        };
        digests.push((server, process.tree().digest()));
    }
    let differs = |pair: &&[(_, _)]| pair[0].1 != pair[1].1;
    match digests.windows(2).find(differs) {
        Some(pair) => stuck(format!(
            "nothing can happen any more, and the trees of {} and {} differ.",
            pair[0].0, pair[1].0
        )),
        None => Ok(()),
    }
}

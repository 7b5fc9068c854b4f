//! Who gives states to whom, so that all workers have as many to expand.

/// A difference to the mean that is not worth a move: taking a way anew costs more than a step.
pub(super) const SLACK: u64 = 256;

/// Worker `from` gives `states` states to worker `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Move {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) states: u64,
}

/// Returns the moves, the same for all workers. `held` are the states that each worker holds of the next level;
/// a difference to the mean of `slack` is not worth a move.
///
/// Nothing moves as long as no worker has half as many again as the mean, because a worker that goes on with its own
/// states has most of their successors' steps in its tables already.
pub(super) fn moves(held: &[u64], slack: u64) -> Vec<Move> {
    let mean = held.iter().sum::<u64>() / held.len().max(1) as u64;
    let most = held.iter().copied().max().unwrap_or(0);
    if most <= mean + mean / 2 + slack {
        return Vec::new();
    }
    let mut moves = Vec::new();
    let lacks = |worker: &usize| mean.saturating_sub(held[*worker]);
    let mut takers = (0..held.len()).filter(|worker| lacks(worker) > 0);
    let mut taker = takers.next().map(|worker| (worker, lacks(&worker)));
    for (from, states) in held.iter().enumerate() {
        let mut spare = states.saturating_sub(mean);
        while spare > 0
            && let Some((to, lacking)) = taker
        {
            let states = spare.min(lacking);
            moves.push(Move { from, to, states });
            spare -= states;
            taker = match lacking - states {
                0 => takers.next().map(|worker| (worker, lacks(&worker))),
                lacking => Some((to, lacking)),
            };
        }
    }
    moves
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_worker_gives_to_all() {
        let moves = moves(&[4_000, 0, 0, 800], SLACK);
        let to = |to, states| Move { from: 0, to, states };
        assert_eq!(moves, [to(1, 1_200), to(2, 1_200), to(3, 400)]);
    }

    #[test]
    fn small_differences_stay() {
        assert_eq!(moves(&[100, 60, 90, 150], 0), []);
        assert_eq!(moves(&[7], SLACK), []);
        assert_eq!(moves(&[], 0), []);
    }

    proptest! {
        #[test]
        fn no_worker_gives_more_than_it_has_and_all_come_near_the_mean(
            held in prop::collection::vec(0_u64..5_000, 1..12),
            slack in 0..300_u64,
        ) {
            let moves = moves(&held, slack);
            let mut after: Vec<i64> = held.iter().map(|states| *states as i64).collect();
            for Move { from, to, states } in moves.iter().copied() {
                prop_assert!(from != to && states > 0);
                after[from] -= states as i64;
                after[to] += states as i64;
            }
            prop_assert!(after.iter().all(|states| *states >= 0));
            let mean = (held.iter().sum::<u64>() / held.len() as u64) as i64;
            let workers = held.len() as i64;
            if !moves.is_empty() {
                prop_assert!(after.iter().all(|states| (mean..=mean + workers).contains(states)), "{after:?}");
            }
        }
    }
}

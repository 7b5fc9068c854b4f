//! The fault plan: the kinds of faults in a run, and the times of their turns.
//!
//! Every kind draws from random streams of its own, and every occurrence of a kind from a further one, so removing
//! one kind from a scenario does not change the turns and draws of the others. When a fault's turn comes, it looks at
//! the world and selects a victim (`faults/`); without one it is skipped. Some kinds have no turns: they wait for an
//! event, such as a write that a client sends or the beginning of a synchronisation, and strike each with some
//! probability.

use crate::random::{Random, Ratio, Seeds};
use crate::scenario::faults::{Await, Fault, FaultSet, Rate, purpose};
use std::fmt;
use vivarium_model::time::{Duration, Time};

/// The faults of one run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The turns in the order of time.
    pub turns: Vec<Turn>,
    /// The faults that wait for an event, with the probability that they strike it.
    pub ambushes: Vec<(Fault, Ratio)>,
}

/// One turn of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Turn {
    /// The time of the turn.
    pub at: Time,
    /// The kind of fault.
    pub kind: Fault,
    /// Its number among those of its kind, from 0.
    pub occurrence: u32,
}

impl Plan {
    /// Draws the plan of a seed. Each kind of the set is enabled in its share of all seeds, one half unless its rate
    /// or its kind says otherwise. A rate draws no random number that would not be drawn without it.
    pub fn draw(kinds: FaultSet, chaos: Duration, seeds: &Seeds) -> Plan {
        let mut plan = Plan::default();
        for kind in kinds.iter() {
            let mut random = seeds.stream(&purpose(kind), 0);
            let rate = kinds.rate(kind);
            if kind.holds_throughout() || !random.chance(rate.share(kind)) {
                continue;
            }
            match kind.awaits() {
                Some(awaited) => {
                    let drawn = frequency(awaited, &mut random);
                    let often = drawn.often(rate.said_times());
                    let ratio = rate.said_one_in().map_or(often, Ratio::one_in);
                    plan.ambushes.push((kind, ratio));
                }
                None => plan.draw_turns(kind, rate, chaos, &mut random),
            }
        }
        plan.turns.sort_unstable();
        plan
    }

    /// Returns true if there are no faults.
    pub fn is_empty(&self) -> bool {
        self.turns.is_empty() && self.ambushes.is_empty()
    }

    /// Draws the turns of a kind: on average one to four during the chaos (a third of that for faults that stop all
    /// servers), or as many as the rate says, at exponentially distributed distances.
    fn draw_turns(&mut self, kind: Fault, rate: Rate, chaos: Duration, random: &mut Random) {
        let rarity = if matches!(kind, Fault::PowerLoss | Fault::RejoinStorm) { 3 } else { 1 };
        let drawn = rarity * chaos / random.between(1, 4) as u32 / rate.said_times();
        let mean = rate.said_turns().map_or(drawn, |turns| chaos / turns.max(1));
        // A minimal distance, so that a chaos of zero length does not have an endless list of turns.
        let distance = |random: &mut Random| random.exponential_span(mean).as_micros().max(1_000);
        let end = chaos.as_micros();
        let mut at = distance(random);
        for occurrence in 0.. {
            if at >= end {
                break;
            }
            self.turns.push(Turn { at: Time(at as u64), kind, occurrence });
            at += distance(random);
        }
    }
}

/// Draws how often a fault that waits for an event strikes: a run has hundreds of proposals, and a few elections and
/// synchronisations.
fn frequency(awaited: Await, random: &mut Random) -> Ratio {
    let (most, least) = match awaited {
        Await::Write => (8, 40),
        Await::Synchronisation | Await::Election => (2, 12),
        Await::Proposal => (8, 100),
    };
    Ratio::one_in(random.between(most, least) as u32)
}

/// Returns the random stream from which one occurrence of a fault draws its victim and its extent.
pub(crate) fn occurrence(seeds: &Seeds, kind: Fault, occurrence: u32) -> Random {
    seeds.stream(&purpose(kind), 1 + u64::from(occurrence))
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for kind in Fault::ALL {
            let turns = self.turns.iter().filter(|turn| turn.kind == kind);
            let times: Vec<String> = turns.map(|turn| seconds(turn.at)).collect();
            if !times.is_empty() {
                writeln!(f, "fault              {kind}: at {}", times.join(", "))?;
            }
        }
        for (kind, ratio) in &self.ambushes {
            if let Some(awaited) = kind.awaits() {
                writeln!(f, "fault              {kind}: {ratio} of all {awaited}")?;
            }
        }
        Ok(())
    }
}

fn seconds(at: Time) -> String {
    format!("{}.{:03}s", at.milliseconds() / 1_000, at.milliseconds() % 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const CHAOS: Duration = Duration::from_secs(20);

    fn plan(kinds: FaultSet, seed: u64) -> Plan {
        Plan::draw(kinds, CHAOS, &Seeds::new(seed))
    }

    #[test]
    fn a_plan_is_printed() {
        insta::assert_snapshot!(plan(FaultSet::all(), 2), @r"
        fault              rejoin: at 0.805s, 1.058s, 9.305s
        fault              client connection reset: at 2.504s, 4.103s, 9.074s, 11.133s
        fault              learner connection reset: at 8.114s
        fault              partition: at 1.957s
        fault              delay burst: at 9.779s
        fault              session expiry: at 9.112s
        fault              pause: at 1.751s, 2.149s, 3.143s, 3.936s, 6.772s, 7.611s, 8.531s, 8.537s, 10.706s, 17.265s
        fault              lost reply, never applied: 1/15 of all writes
        fault              crash during synchronisation: 1/3 of all synchronisations
        fault              slow synchronisation: 1/4 of all synchronisations
        fault              crash after election: 1/6 of all elections
        ");
        assert!(plan(FaultSet::NONE, 2).is_empty());
    }

    #[test]
    fn a_run_has_its_share_of_turns() {
        let runs = 1_000;
        let turns: usize = (0..runs).map(|seed| plan(FaultSet::all(), seed).turns.len()).sum();
        let average = turns / runs as usize;
        assert!((8..=20).contains(&average), "{average} turns in a run");
        for kind in Fault::ALL.into_iter().filter(|kind| !kind.holds_throughout()) {
            let has = |seed: &u64| {
                let plan = plan(FaultSet::all(), *seed);
                plan.turns.iter().any(|turn| turn.kind == kind)
                    || plan.ambushes.iter().any(|(of, _)| *of == kind)
            };
            let having = (0..runs).filter(has).count();
            let is_rare = matches!(kind, Fault::PowerLoss | Fault::RejoinStorm);
            let is_seldom =
                matches!(kind, Fault::FsyncError | Fault::SyncFsyncError | Fault::LoneFsyncError);
            let expected = match (is_rare, is_seldom) {
                (true, _) => 200..=350,
                (_, true) => 70..=170,
                (false, false) => 350..=550,
            };
            assert!(expected.contains(&having), "{kind} in {having} of {runs} runs");
        }
    }

    #[test]
    fn no_chaos_no_turns() {
        for seed in 0..100 {
            let plan = Plan::draw(FaultSet::all(), Duration::ZERO, &Seeds::new(seed));
            assert_eq!(plan.turns, []);
        }
    }

    fn turns(plan: &Plan, kind: Fault) -> usize {
        plan.turns.iter().filter(|turn| turn.kind == kind).count()
    }

    #[test]
    fn a_rate_says_in_how_many_seeds_and_how_often() {
        let kind = Fault::SessionExpiry;
        let over_seeds = |rate: Rate| {
            let with = FaultSet::ALL.with_rate(kind, rate);
            let counts = (0..1_000).map(|seed| turns(&plan(with, seed), kind));
            let counts: Vec<usize> = counts.filter(|count| *count > 0).collect();
            (counts.len(), counts.iter().sum::<usize>() / counts.len())
        };
        let (seeds, each) = over_seeds(Rate::ALWAYS.turns(20));
        assert_eq!(seeds, 1_000);
        assert!((18..=22).contains(&each), "{each} turns in a run");
        let (seeds, each) = over_seeds(Rate::in_seeds(1, 10).turns(20));
        assert!((70..=130).contains(&seeds) && (18..=22).contains(&each), "{seeds}, {each}");
        let (seeds, each) = over_seeds(Rate::in_seeds(1, 10));
        assert!((70..=130).contains(&seeds) && (1..=4).contains(&each), "{seeds}, {each}");

        let traps = FaultSet::ALL.with_rate(Fault::SyncBreak, Rate::ALWAYS.one_in(7));
        for seed in 0..100 {
            let ambushes = plan(traps, seed).ambushes;
            assert!(ambushes.contains(&(Fault::SyncBreak, Ratio::one_in(7))), "seed {seed}");
        }
    }

    #[test]
    fn more_often_is_four_times_as_often_in_the_same_seeds() {
        for kind in [Fault::Crash, Fault::SessionExpiry] {
            let often = FaultSet::ALL.more_often(kind);
            let count = |faults: FaultSet, seed: u64| turns(&plan(faults, seed), kind);
            let (mut usual, mut more) = (0, 0);
            for seed in 0..500 {
                usual += count(FaultSet::ALL, seed);
                more += count(often, seed);
            }
            let factor = more as f64 / usual as f64;
            assert!((3.0..5.0).contains(&factor), "{kind}: {factor}");
        }
        let traps = FaultSet::ALL.more_often(Fault::SyncBreak);
        for seed in 0..200 {
            let ratio = |faults: FaultSet| {
                let plan = plan(faults, seed);
                let found = plan.ambushes.iter().find(|(kind, _)| *kind == Fault::SyncBreak);
                found.map(|(_, ratio)| *ratio)
            };
            assert_eq!(ratio(traps), ratio(FaultSet::ALL).map(|ratio| ratio.often(4)), "{seed}");
        }
    }

    fn rates() -> impl Strategy<Value = Rate> {
        let share = prop_oneof![
            Just(Rate::USUAL),
            Just(Rate::ALWAYS),
            (1..5u32).prop_map(|times| Rate::in_seeds(times, 5)),
        ];
        (share, 0..3u32, 1..50u32).prop_map(|(rate, often, number)| match often {
            0 => rate,
            1 => rate.turns(number),
            _ => rate.one_in(number),
        })
    }

    proptest! {
        /// Specifying the default rate changes nothing either.
        #[test]
        fn the_rate_of_one_kind_leaves_the_others_as_they_are(
            seed: u64,
            of in proptest::sample::select(&Fault::ALL[..]),
            rate in rates(),
        ) {
            let mut usual = plan(FaultSet::ALL, seed);
            prop_assert_eq!(&plan(FaultSet::ALL.with_rate(of, Rate::USUAL), seed), &usual);
            let mut rated = plan(FaultSet::ALL.with_rate(of, rate), seed);
            for plan in [&mut usual, &mut rated] {
                plan.turns.retain(|turn| turn.kind != of);
                plan.ambushes.retain(|(kind, _)| *kind != of);
            }
            prop_assert_eq!(rated, usual);
        }

        #[test]
        fn a_plan_is_a_function_of_the_seed(seed: u64) {
            prop_assert_eq!(plan(FaultSet::all(), seed), plan(FaultSet::all(), seed));
        }

        #[test]
        fn without_one_kind_the_others_stay_as_they_are(
            seed: u64,
            out in proptest::sample::select(&Fault::ALL[..]),
        ) {
            let mut expected = plan(FaultSet::all(), seed);
            expected.turns.retain(|turn| turn.kind != out);
            expected.ambushes.retain(|(kind, _)| *kind != out);
            prop_assert_eq!(plan(FaultSet::all().without(out), seed), expected);
        }
    }
}

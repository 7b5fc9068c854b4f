//! Which programs wait for which, and how long.

use super::*;
use proptest::prelude::*;

const ONE: ClientId = ClientId(1);
const TWO: ClientId = ClientId(2);
const THREE: ClientId = ClientId(3);

/// Priorities: client 1, then 2, then 3; times in milliseconds.
fn waiting(quiet: u64, longest: u64, changes: &[(u64, u64)]) -> Waiting {
    Waiting::new(&Priorities {
        order: vec![ONE, TWO, THREE],
        quiet: Duration::from_millis(quiet),
        longest: Duration::from_millis(longest),
        changes: changes.iter().map(|(at, others)| Change { at: *at, others: *others }).collect(),
    })
}

fn ms(at: u64) -> Time {
    Time(1_000 * at)
}

#[test]
fn a_program_of_lower_priority_waits_until_the_others_are_quiet() {
    let mut waiting = waiting(10, 100, &[]);
    assert_eq!(waiting.hold(ms(0), TWO), None, "nobody is busy");
    assert_eq!(waiting.hold(ms(1), ONE), None, "nobody is before it");
    assert_eq!(waiting.hold(ms(2), TWO), Some(ms(11)));
    assert_eq!(waiting.hold(ms(2), THREE), Some(ms(11)));
    assert_eq!(waiting.hold(ms(8), ONE), None);
    assert_eq!(waiting.hold(ms(11), TWO), Some(ms(18)), "it was busy again");
    assert_eq!(waiting.hold(ms(18), TWO), None);
    assert_eq!(waiting.hold(ms(18), THREE), Some(ms(28)), "now the second one is");
    assert_eq!(waiting.hold(ms(28), THREE), None);
}

#[test]
fn the_wait_before_a_reaction_is_bounded() {
    let mut waiting = waiting(10, 25, &[]);
    for at in [0, 8, 16] {
        assert_eq!(waiting.hold(ms(at), ONE), None);
        let until = ms((at + 10).min(26));
        assert_eq!(waiting.hold(ms(at + 1), TWO), Some(until), "since 1");
    }
    assert_eq!(waiting.hold(ms(24), ONE), None);
    assert_eq!(waiting.hold(ms(26), TWO), None);
    assert_eq!(waiting.hold(ms(27), TWO), Some(ms(34)), "the next one is another matter");
}

#[test]
fn at_a_change_the_one_whose_turn_it_is_falls_behind() {
    let mut waiting = waiting(10, 100, &[(2, 2)]);
    assert_eq!(waiting.hold(ms(0), ONE), None);
    assert_eq!(
        waiting.hold(ms(50), ONE),
        Some(ms(60)),
        "the second reaction, though all are quiet"
    );
    assert_eq!(waiting.hold(ms(60), ONE), Some(ms(70)), "others have not reacted");
    assert_eq!(waiting.hold(ms(61), THREE), None);
    assert_eq!(waiting.hold(ms(62), TWO), None, "it is before all now");
    assert_eq!(waiting.hold(ms(72), ONE), None, "they have, and are quiet");
    assert_eq!(waiting.hold(ms(73), TWO), None);
    assert_eq!(waiting.hold(ms(74), ONE), Some(ms(83)), "it is the last now");
}

#[test]
fn at_a_change_too_the_wait_is_bounded() {
    let mut waiting = waiting(10, 35, &[(1, 1_000)]);
    let mut at = ms(0);
    while let Some(until) = waiting.hold(at, ONE) {
        assert!(until > at);
        at = until;
    }
    assert_eq!(at, ms(35));
}

proptest! {
    /// Reactions in any order: each happens within its time, and each check is later than the one before.
    #[test]
    fn every_reaction_happens_in_time(
        quiet in 1..50u64,
        times in 10..20u64,
        changes in proptest::collection::vec((1..60u64, 1..32u64), 1..8),
        pauses in proptest::collection::vec((1..4u8, 0..80u64), 1..80),
    ) {
        let longest = quiet * times;
        let mut changes = changes;
        changes.sort_unstable();
        let mut waiting = waiting(quiet, longest, &changes);
        let mut now = 0;
        // The time of each reaction, and of its next check.
        let mut held: Vec<(Time, Time, ClientId)> = Vec::new();
        for (client, pause) in pauses {
            now += pause;
            held.push((ms(now), ms(now), ClientId(client.into())));
            while let Some(next) = held.iter().enumerate().min_by_key(|(_, (_, look, _))| *look) {
                let (at, &(since, look, client)) = next;
                if look > ms(now) {
                    break;
                }
                let again = waiting.hold(look, client);
                held.remove(at);
                if let Some(again) = again {
                    prop_assert!(again > look);
                    held.push((since, again, client));
                }
            }
        }
        let mut reacted = 0;
        while let Some((_, look, client)) = held.iter().min_by_key(|held| held.1).copied() {
            let at = held.iter().position(|held| (held.1, held.2) == (look, client)).expect("it is");
            let (since, ..) = held.remove(at);
            match waiting.hold(look, client) {
                Some(again) => held.push((since, again, client)),
                None => reacted += 1,
            }
            prop_assert!(reacted < 1_000 && look <= ms(now + 80 * longest), "they end");
        }
    }
}

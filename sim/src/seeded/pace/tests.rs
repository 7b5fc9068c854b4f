//! Drawing the pace, and its text.

use super::*;
use crate::random::Ratio;
use crate::scenario::faults::Rate;
use proptest::prelude::*;

const KINDS: [Fault; 2] = [Fault::SlowReactions, Fault::Priorities];

fn pace(kinds: FaultSet, seed: u64) -> Pace {
    Pace::draw(kinds, 3, 3, &Seeds::new(seed))
}

#[test]
fn a_pace_is_printed() {
    let both = FaultSet::ALL
        .with_rate(Fault::SlowReactions, Rate::ALWAYS)
        .with_rate(Fault::Priorities, Rate::ALWAYS);
    insta::assert_snapshot!(pace(both, 3), @r"
    fault              slow reactions of programs: 1/2 by up to 1s, 1/1 by up to 5s, 1/2 by up to 200ms
    fault              slow reactions of clients' packets: none, 1/1 by up to 50ms, 1/4 by up to 50ms
    fault              slow reactions of servers' packets: 1/2 by up to 50ms, none, 1/2 by up to 5ms
    fault              slow reactions of servers' commits: 1/4 by up to 5ms, 1/1 by up to 50ms, 1/2 by up to 500ms
    fault              priorities: client 2 before 3 before 1, busy for 41.444ms, at most 1s
                       change: reaction 5 waits for 15 of others
    ");
    assert_eq!(pace(FaultSet::NONE, 3).to_string(), "");
}

#[test]
fn each_kind_is_on_in_a_third_of_all_seeds_and_neither_in_four_ninths() {
    let all: Vec<Pace> = (0..1_000).map(|seed| pace(FaultSet::ALL, seed)).collect();
    let count = |is: fn(&Pace) -> bool| all.iter().filter(|pace| is(pace)).count();
    let slow = count(|pace| pace.slow.is_some());
    let priorities = count(|pace| pace.priorities.is_some());
    let neither = count(Pace::is_empty);
    assert!((290..=375).contains(&slow), "{slow} with slow reactions");
    assert!((290..=375).contains(&priorities), "{priorities} with priorities");
    assert!((400..=490).contains(&neither), "{neither} with neither");
}

#[test]
fn a_rate_says_in_how_many_seeds() {
    for kind in KINDS {
        let seeds_with = |rate: Rate| {
            let with = FaultSet::NONE.with_rate(kind, rate);
            (0..1_000).filter(|seed| pace(with, *seed).kinds().eq([kind])).count()
        };
        assert_eq!(seeds_with(Rate::ALWAYS), 1_000);
        let tenth = seeds_with(Rate::in_seeds(1, 10));
        assert!((70..=130).contains(&tenth), "{kind}: {tenth}");
    }
}

proptest! {
    #[test]
    fn what_is_drawn_is_within_its_bounds(seed: u64, servers in 1..8u8, clients in 1..8u8) {
        let kinds = KINDS.into_iter().fold(FaultSet::NONE, |kinds, kind| {
            kinds.with_rate(kind, Rate::ALWAYS)
        });
        let pace = Pace::draw(kinds, servers, clients, &Seeds::new(seed));
        let slow = pace.slow.as_ref().expect("always");
        let waits = pace.priorities.as_ref().expect("always");
        let counts = [slow.programs.len(), slow.clients.len(), slow.servers.len()];
        prop_assert_eq!(counts, [clients, clients, servers].map(usize::from));
        for packets in slow.clients.iter().chain(&slow.servers) {
            prop_assert!(packets.longest <= Duration::from_millis(300));
        }
        let mut order: Vec<u16> = waits.order.iter().map(|client| client.0).collect();
        order.sort_unstable();
        prop_assert!(order.into_iter().eq(1..=u16::from(clients)), "each client once");
        prop_assert!(waits.changes.is_sorted() && !waits.changes.is_empty());
        prop_assert!(waits.quiet * 10 <= waits.longest);
        prop_assert!(pace.longest() <= Duration::from_secs(10));
    }

    #[test]
    fn one_kind_leaves_the_other_as_it_is(seed: u64) {
        let whole = pace(FaultSet::ALL, seed);
        let slow = pace(FaultSet::ALL.without(Fault::Priorities), seed);
        let priorities = pace(FaultSet::ALL.without(Fault::SlowReactions), seed);
        prop_assert_eq!(&slow, &Pace { priorities: None, ..whole.clone() });
        prop_assert_eq!(&priorities, &Pace { slow: None, ..whole });
    }

    #[test]
    fn delays_are_within_their_bounds(seed: u64, longest in 1..5_000u64) {
        let stretch = Stretch { ratio: Ratio::one_in(3), longest: Duration::from_millis(longest) };
        let random = Seeds::new(seed).stream("stretch", 0);
        let mut stretched = Stretched::new(Some(stretch), random).expect("it is slow");
        let drawn: Vec<Duration> = (0..300).map(|_| stretched.longer()).collect();
        let longer = drawn.iter().filter(|span| !span.is_zero());
        prop_assert!((60..140).contains(&longer.clone().count()));
        for span in longer {
            prop_assert!((Duration::from_millis(1)..=stretch.longest).contains(span), "{span:?}");
        }
    }
}

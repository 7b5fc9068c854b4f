//! The same inputs yield the same outputs under every host.
//!
//! A puppeteer plays the world: it records the pending calls of the programs, and draws the next input from a tape of
//! random numbers. It gives both hosts the same inputs, and compares all outputs.

use proptest::prelude::*;
use vivarium_model::host::{Host, Input, Output};
use vivarium_model::id::ClientId;
use vivarium_sim::host::DirectHost;

mod programs;
mod puppeteer;

use puppeteer::{Move, Puppeteer};

/// Plays a tape on a host, and returns everything that the programs did, move by move.
fn play(mut host: impl Host, tape: &[u32]) -> Vec<(Move, Vec<Output>)> {
    let mut puppeteer = Puppeteer::new(programs::all().len(), tape);
    let mut played = Vec::new();
    while let Some(next) = puppeteer.next_move() {
        let mut outputs = Vec::new();
        match &next {
            Move::Start(client) => {
                host.start(*client);
                host.feed(*client, Input::Start, &mut outputs);
            }
            Move::Feed(client, input) => host.feed(*client, input.clone(), &mut outputs),
            Move::Kill(client) => host.kill(*client),
        }
        puppeteer.see(&next, &outputs);
        played.push((next, outputs));
    }
    played
}

fn long_tape(seed: u64) -> Vec<u32> {
    let mut state = seed;
    let mut next = || {
        // SplitMix64: any distribution will do.
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed >> 32) as u32
    };
    (0..20_000).map(|_| next()).collect()
}

/// Checks that the puppeteer reaches what the comparison is about: every operation is submitted, and programs are
/// abandoned, finish, panic and are killed.
#[test]
fn the_tapes_reach_everything() {
    let mut seen = std::collections::BTreeSet::new();
    for (next, outputs) in play(DirectHost::new(programs::all()), &long_tape(1)) {
        seen.insert(puppeteer::kind_of_move(&next));
        seen.extend(outputs.iter().map(puppeteer::kind_of_output));
    }
    let all = "Abandon Cancelled Close Connect Finished Now Observe Panicked Random Receive Request \
               Resource Send Sleep Watch feed kill start";
    assert_eq!(seen.into_iter().collect::<Vec<_>>().join(" "), all);
}

/// One incarnation's outputs depend only on its own inputs, not on those of other programs.
#[test]
fn programs_do_not_see_each_other() {
    let played = play(DirectHost::new(programs::all()), &long_tape(2));
    for index in 0..programs::all().len() {
        let client = ClientId::at(index);
        let mut alone = DirectHost::new(programs::all());
        for (next, expected) in played.iter().filter(|(next, _)| next.client() == client) {
            let mut outputs = Vec::new();
            match next {
                Move::Start(_) => {
                    alone.start(client);
                    alone.feed(client, Input::Start, &mut outputs);
                }
                Move::Feed(_, input) => alone.feed(client, input.clone(), &mut outputs),
                Move::Kill(_) => alone.kill(client),
            }
            assert_eq!(&outputs, expected, "{next:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// A killed or finished program leaves nothing that a later life could notice.
    #[test]
    fn replaying_a_tape_yields_the_same_run(tape in prop::collection::vec(any::<u32>(), 0..300)) {
        let host = || DirectHost::new(programs::all());
        prop_assert_eq!(play(host(), &tape), play(host(), &tape));
    }
}

#[cfg(madsim)]
mod madsim {
    use super::*;
    use vivarium_model::handle::{Program, program};
    use vivarium_sim::host::{MadsimHost, madsim_available};

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn madsim_and_direct_agree(
            tape in prop::collection::vec(any::<u32>(), 0..300),
            seed in any::<u64>(),
        ) {
            let direct = play(DirectHost::new(programs::all()), &tape);
            let madsim = play(MadsimHost::new(programs::all(), seed), &tape);
            prop_assert_eq!(direct, madsim);
        }
    }

    /// The same over thousands of inputs, with hundreds of lives in one runtime.
    #[test]
    fn madsim_and_direct_agree_for_long() {
        assert!(madsim_available());
        for seed in 0..4 {
            let tape = long_tape(seed);
            let direct = play(DirectHost::new(programs::all()), &tape);
            let madsim = play(MadsimHost::new(programs::all(), seed), &tape);
            assert!(direct.len() > 5_000);
            assert_eq!(direct, madsim);
        }
    }

    /// Effects of madsim (its clock advances with every poll) must not appear in a program's outputs: a planted
    /// offender shows that the comparison would detect them.
    #[test]
    fn the_comparison_sees_a_program_that_looks_at_madsim() {
        let offender = || -> Vec<Program> {
            let mut programs = programs::all();
            programs[0] = program(|zookeeper| async move {
                loop {
                    let inside = ::madsim::runtime::Handle::try_current().is_ok();
                    zookeeper.custom("looked", &[("inside madsim", inside.into())]);
                    zookeeper.random().await;
                }
            });
            programs
        };
        let tape = long_tape(1);
        assert_ne!(
            play(DirectHost::new(offender()), &tape),
            play(MadsimHost::new(offender(), 1), &tape)
        );
    }

    /// Futures that are alive at the end are freed with the host, and those of a killed life when it is killed.
    #[test]
    fn a_dropped_host_frees_its_programs() {
        let token = std::sync::Arc::new(());
        let held = std::sync::Arc::clone(&token);
        let holder = program(move |zookeeper| {
            let held = std::sync::Arc::clone(&held);
            async move {
                let _held = held;
                zookeeper.receive().await;
                Ok(())
            }
        });
        let mut host = MadsimHost::new(vec![holder.clone(), holder], 7);
        let mut outputs = Vec::new();
        for _ in 0..3 {
            for client in [ClientId(1), ClientId(2)] {
                host.start(client);
                host.feed(client, Input::Start, &mut outputs);
            }
        }
        // One in this test, one in the factory, and one in each of two living programs.
        assert_eq!(std::sync::Arc::strong_count(&token), 4);
        host.kill(ClientId(2));
        assert_eq!(std::sync::Arc::strong_count(&token), 3);
        drop(host);
        assert_eq!(std::sync::Arc::strong_count(&token), 1);
    }
}

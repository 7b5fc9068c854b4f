//! Properties of each process by itself, and properties that observe the ends of processes.

use super::{falls, holds};
use vivarium::prelude::*;

/// Counts to three, across sessions, and begins again if it is killed.
async fn counter(zookeeper: ZooKeeper) -> Result<(), String> {
    for to in 1..=3 {
        zookeeper.connect().await;
        zookeeper.custom("counted", &[("to", to.into())]);
        zookeeper.sleep(Duration::from_secs(5)).await;
    }
    Ok(())
}

fn counters() -> Test {
    Test::new("counters", counter)
        .clients(2)
        .faults(Faults::NONE.with_rate(Fault::ProgramCrash, Rate::ALWAYS.turns(5)))
}

fn killed() -> Exploration {
    Exploration::new().clients(2).kills(1)
}

#[test]
fn a_killed_process_begins_anew() {
    let per_client = || counters().monitor(grows("counted", "to").per_client());
    falls(per_client, 300, &killed(), "counted");
    let per_process = || counters().monitor(grows("counted", "to").per_process());
    holds(per_process, 100, &killed());
    let once = || counters().monitor(at_most_once("counted", "to").per_process());
    holds(once, 100, &killed());
}

/// A violation by one process is found.
#[test]
fn each_process_is_judged() {
    let too_far = || {
        let fold = |last: &mut i64, said: &Said<'_>| {
            *last = said.number("to")?;
            Ok::<bool, String>(*last < 3)
        };
        counters().monitor(always("below three", 0, fold).on("counted").per_process())
    };
    falls(too_far, 10, &killed(), "to = 3");
}

#[test]
fn ends_of_processes_are_heard_by_name() {
    let killed_often = || {
        let fold = |kills: &mut u32, _: &Said<'_>| {
            *kills += 1;
            *kills <= 1
        };
        counters().monitor(always("one kill at most", 0, fold).on(PROGRAM_KILLED))
    };
    falls(killed_often, 300, &Exploration::new().clients(2).kills(2), "was killed");
    let finished = || counters().monitor(eventually(PROGRAM_FINISHED).by_every_client());
    holds(finished, 100, &killed());
    let never = || {
        let fold = |_: &mut (), _: &Said<'_>| false;
        counters().monitor(always("nobody finishes", (), fold).on(PROGRAM_FINISHED))
    };
    falls(never, 10, &killed(), "finished");
}

/// A property that takes all observations gets the ends of processes only on request.
#[test]
fn who_names_nothing_hears_programs_only() {
    let all = || {
        let fold = |_: &mut (), said: &Said<'_>| said.number("to").map(|to| to <= 3);
        counters().monitor(always("counts", (), fold))
    };
    holds(all, 100, &killed());
}

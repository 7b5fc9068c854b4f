//! A lost create is settled by a sync alone (the mutant `RecoverBySync` of the lock). By default a leader processes a
//! session's requests after those that the session has sent through a learner, and sweeps find nothing wrong; with
//! `forward_learner_requests_to_commit_processor_disabled` the session misses its own create (rule 4.5.7).
//! `model/tests/scenarios/28_moved_session.txt` tells how, and `vivarium findings sync-at-leader` shows it.

use crate::entry;
use std::ops::ControlFlow;
use vivarium_sim::{HostKind, RunOptions, SweepOptions, SweepReport, sweep};

/// More than enough seeds to find the mutant if the property is set.
const SEEDS: u64 = 1_000;

fn swept(property: bool) -> SweepReport {
    let lock = entry("lock");
    let switches = lock.switches(&["RecoverBySync".to_owned()]).expect("its mutant");
    let mut scenario = (lock.build)(&switches);
    let servers = &mut scenario.settings.servers;
    assert!(servers.forward_learner_requests_to_commit_processor_disabled, "it comes with it");
    servers.forward_learner_requests_to_commit_processor_disabled = property;
    let which = SweepOptions { seeds: 0..SEEDS, jobs: 2, keep_going: false };
    let options = RunOptions { host: HostKind::Direct, ..RunOptions::default() };
    sweep(&scenario, &which, &options, &mut |_totals| ControlFlow::Continue(()))
}

#[test]
fn a_sync_settles_a_lost_create_unless_the_property_is_set() {
    let with = swept(true);
    let objection = with.first_violation.expect("it is found").violation.expect("by an objection");
    assert!(objection.objection.to_string().starts_with("lock M6"), "{}", objection.objection);
    let without = swept(false).first_violation;
    assert!(without.is_none(), "{without:?}");
}

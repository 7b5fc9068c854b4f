//! Directed tests: faults by rules.

use vivarium::prelude::*;
use vivarium::seeds::SeedRange;
use vivarium_model::step::Step;

/// Creates `/a` again and again for ten seconds, whatever happens.
async fn writes(zookeeper: ZooKeeper) -> Result<(), String> {
    for number in 0..100_u32 {
        zookeeper.connect().await;
        if zookeeper.create("/a", b"", CreateMode::Ephemeral).await.is_ok() {
            zookeeper.custom("created", &[("number", i64::from(number).into())]);
            let _ = zookeeper.delete("/a", Version::Any).await;
        }
        zookeeper.sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

fn test(rules: &str) -> Test {
    Test::new("writes", writes).clients(2).script(rules)
}

fn fails(test: Test) -> String {
    let seeds = SeedRange::count(5).expect("some");
    test.run_seeds(&seeds).expect_err("it should fail").to_string()
}

/// A rule that applies in no run fails the test, so each of these faults happens.
#[test]
fn every_fault_can_be_ordered() {
    let faults = [
        "crash leader for 300ms",
        "crash 1 for 1s",
        "power-loss 2 for 1s",
        "rejoin leader",
        "disk-full 3 for 200ms",
        "stall-disk leader for 300ms",
        "partition leader | 1 2 3 for 2s",
        "partition-one-way 1 2 for 1s",
        "pause client 1 for 5s",
        "kill client 2 for 100ms",
        "expire client 1",
        "disconnect client 2",
        "crash 2",
    ];
    for fault in faults {
        let report = test(&format!("at 2s: {fault}")).seeds(5).run();
        let struck: u64 = report.faults.iter().map(|fault| fault.count).sum();
        assert_eq!(struck, 5, "{fault}");
    }
    for lost in ["applied", "never", "pending"] {
        let rule = format!("when the 3rd time client 1 sends create /a: lose-reply {lost}");
        let report = test(&rule).seeds(20).run();
        let struck: u64 = report.faults.iter().map(|fault| fault.count).sum();
        assert_eq!(struck, 20, "{lost}");
    }
}

#[test]
fn rules_apply_upon_events_and_beside_other_faults() {
    let rules = "
        # Comments and empty lines are left out.

        when client 2 observes created: disconnect client 2
        each time a leader is established: stall-disk leader for 50ms
        when the 2nd time a leader is established: power-loss leader for 500ms
        when any client sends delete /a: crash leader for 500ms
    ";
    let report = test(rules).faults(Faults::ALL).seeds(30).run();
    let applied: Vec<u64> = report.marks.iter().map(|mark| mark.count).collect();
    assert_eq!(applied.len(), 4);
    assert!(applied[0] > 10 && applied[1] > 60 && applied[3] == 30, "{applied:?}");
}

/// A program that creates a znode, again after each failure: two if the reply to the first create was lost.
pub(crate) fn hasty() -> Test {
    async fn creates(zookeeper: ZooKeeper) -> Result<(), String> {
        loop {
            zookeeper.connect().await;
            let mode = CreateMode::PersistentSequential;
            if zookeeper.create("/once-", b"", mode).await.is_ok() {
                return Ok(());
            }
        }
    }
    let one = tree_at_end("one znode each", |tree: Tree<'_>| {
        tree.children("/").iter().filter(|name| name.starts_with("once-")).count() == 1
    });
    Test::new("hasty", creates).clients(1).monitor(one)
}

/// With the reply lost and the create applied or pending, a program that takes the failure for a refusal is wrong, in every
/// seed and without any other fault.
#[test]
fn a_rule_shows_a_mistake_in_the_first_seed() {
    let test = hasty;
    assert_eq!(test().seeds(20).run().violations, 0);
    for lost in ["applied", "pending"] {
        let rule = format!("when client 1 sends create /once-: lose-reply {lost}");
        let text = fails(test().script(&rule));
        assert!(text.contains("one znode each") && text.contains("seed       0"), "{lost}: {text}");
        assert!(text.contains(&format!("script             {rule}")), "{text}");
    }
    let never = "when client 1 sends create /once-: lose-reply never";
    assert_eq!(test().script(never).seeds(20).run().violations, 0);
}

/// A rule without a span lasts until the faults end, and no longer: then the programs must finish.
#[test]
fn what_is_broken_is_mended_when_the_faults_end() {
    let all = "at 1s: crash 1\nat 1s: crash 2\nat 1s: partition 1 | 2 | 3";
    for rules in [
        all,
        "at 1s: stall-disk leader",
        "at 7s: stall-disk 1 for 900s",
        "at 1s: pause client 1",
        "at 1s: crash leader for 18446744073709s",
        "at 1s: disk-full leader for 18446744073709s",
    ] {
        let report = test(rules).chaos(Duration::from_secs(8)).seeds(5).run();
        assert_eq!(report.violations, 0, "{rules}");
    }
}

#[test]
fn a_script_changes_nothing_else() {
    let hash = |rules: &str| test(rules).faults(Faults::ALL).seeds(10).run().hash;
    assert_eq!(hash(""), hash("# nothing"));
    assert_eq!(hash("at 1s: rejoin leader"), hash("at 1s: rejoin leader"));
    assert_ne!(hash(""), hash("at 1s: rejoin leader"));
    assert!(Step::Rejoin(ServerId(1)).is_fault());
}

#[test]
fn a_rule_that_cannot_apply_is_refused() {
    let refused = |rules: &str| fails(test(rules)).lines().next().unwrap_or_default().to_string();
    let starts = |rules: &str, sentence: &str| {
        let text = refused(rules);
        assert!(text.starts_with(&format!("writes: {sentence}")), "{rules}: {text}");
    };
    starts("at 2s: crash", "`at 2s: crash` is no rule; rules are `at SPAN: FAULT`");
    let too_long = "at 2s: crash 1 for 99999999999999999s";
    starts(too_long, &format!("`{too_long}` is no rule"));
    starts("at 2s : crash 1 for", "`at 2s : crash 1 for` is no rule");
    starts("at noon: crash 1", "`at noon: crash 1` is no rule");
    starts(
        "when client 1 sends craete /a: crash 1",
        "`when client 1 sends craete /a: crash 1` is no rule",
    );
    starts(
        "when the 2th time client 1 sends: crash 1",
        "`when the 2th time client 1 sends: crash 1` is no rule",
    );
    starts("at 2s: crash 4", "the rule `at 2s: crash 4` names server 4, and no run has that many");
    starts(
        "at 2s: kill client 3",
        "the rule `at 2s: kill client 3` names client 3, and no run has that many",
    );
    starts(
        "at 20s: crash 1",
        "the rule `at 20s: crash 1` can never apply: the faults end after 20s",
    );
    starts(
        "at 2s: lose-reply never",
        "the rule `at 2s: lose-reply never` loses the reply to a request, so it must say which",
    );
    starts(
        "at 2s: rejoin 1 for 2s",
        "the fault of the rule `at 2s: rejoin 1 for 2s` does not last: leave out its span",
    );
    starts(
        "at 2s: partition 1 2",
        "the rule `at 2s: partition 1 2` needs at least two groups of servers",
    );
    starts(
        "at 2s: partition-one-way 1 1",
        "the rule `at 2s: partition-one-way 1 1` cuts a server off from itself",
    );
    starts(
        "when client 1 sends getData: lose-reply applied",
        "the rule `when client 1 sends getData: lose-reply applied` loses the reply to a read",
    );
    starts(
        "when client 1 sends setData /a: crash 1",
        "no run reached: the rule `when client 1 sends setData /a: crash 1`",
    );
}

#[cfg(feature = "explore")]
#[test]
fn a_search_refuses_a_script() {
    let refused = test("at 2s: crash 1").explored(&Exploration::new());
    let sentence = "writes: `script` is for sweeps: a search tries every fault within its budget";
    assert_eq!(refused.expect_err("it is refused").to_string(), sentence);
}

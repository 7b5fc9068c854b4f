//! Directories with a used counter, or that are deleted: faults of a test's containers.

use vivarium::prelude::*;

const NONE: Faults = Faults::NONE;

/// Lines up by sequence number and works when no contender precedes it, as tutorials do it.
async fn by_number(zk: ZooKeeper) -> Result<(), String> {
    let worked = in_sessions(&zk, |zk, _session| async move {
        let prefix = format!("/line/{}-", zk.client().0);
        let (mine, _) = zk.create(&prefix, b"", CreateMode::EphemeralSequential).await?;
        let mine = number(&mine);
        while zk.get_children("/line").await?.iter().any(|name| number(name) < mine) {
            zk.sleep(Duration::from_millis(20)).await;
        }
        zk.custom("begins", &[]);
        zk.sleep(Duration::from_millis(100)).await;
        zk.custom("ends", &[]);
        // Its znode is deleted with its session.
        zk.close().await;
        Ok(())
    });
    worked.await.map_err(|error: Error| error.to_string())
}

fn number(name: &str) -> i64 {
    name.rsplit_once('-')
        .and_then(|(rest, digits)| {
            let sign = if rest.ends_with('-') { -1 } else { 1 };
            Some(sign * digits.parse::<i64>().ok()?)
        })
        .expect("a sequential znode")
}

fn line(faults: Faults) -> Result<ScenarioReport, TestFailure> {
    Test::new("line", by_number)
        .clients(3)
        .container("/line")
        .faults(faults)
        .monitor(never_two_at_once("begins", "ends"))
        .run_seeds(&SeedRange::parse("40").expect("a number"))
}

/// After 2147483647, numbers repeat: two contenders are the smallest.
#[test]
fn who_lines_up_by_numbers_fails_where_they_come_again() {
    assert_eq!(line(NONE).expect("it holds").seeds, 40);
    let wraps = NONE.with_rate(Fault::CounterWrap, Rate::ALWAYS);
    let failure = line(wraps).expect_err("two work at once");
    assert!(failure.to_string().contains("sequence counters near their end"), "{failure}");
    assert!(failure.finding().is_some(), "{failure}");
}

/// Puts an item into a directory that it assumes to exist, and deletes it again.
async fn puts(zk: ZooKeeper) -> Result<(), String> {
    let put = in_sessions(&zk, |zk, _session| async move {
        for _ in 0..3 {
            let mode = CreateMode::PersistentSequential;
            let (item, _) = zk.create("/queue/item-", b"", mode).await?;
            zk.delete(&item, Version::Any).await?;
            zk.sleep(Duration::from_secs(1)).await;
        }
        Ok(())
    });
    put.await.map_err(|error: Error| error.to_string())
}

fn queue(faults: Faults) -> Result<ScenarioReport, TestFailure> {
    Test::new("queue", puts)
        .clients(1)
        .container("/queue")
        .faults(faults)
        .run_seeds(&SeedRange::parse("20").expect("a number"))
}

#[test]
fn an_empty_container_is_deleted_under_who_takes_it_for_granted() {
    assert_eq!(queue(NONE).expect("it holds").seeds, 20);
    let deletes = NONE.with_rate(Fault::ContainerDeletion, Rate::ALWAYS);
    let failure = queue(deletes).expect_err("the directory is gone");
    assert!(failure.to_string().contains("NoNode"), "{failure}");
}

/// Neither kind of fault affects a znode that is no container.
#[test]
fn a_plain_directory_stays_as_it_is() {
    let test = |faults| {
        Test::new("queue", puts)
            .clients(1)
            .setup("/queue")
            .faults(faults)
            .run_seeds(&SeedRange::parse("20").expect("a number"))
    };
    let both = NONE.with(Fault::CounterWrap).with(Fault::ContainerDeletion);
    let (with, without) = (test(both).expect("it holds"), test(NONE).expect("it holds"));
    assert_eq!(with.hash, without.hash);
}

#[test]
fn what_cannot_be_a_container_is_refused() {
    let test = Test::new("refused", puts).container("queue");
    let failure = test.run_seeds(&SeedRange::parse("1").expect("a number")).expect_err("no path");
    assert!(
        failure.to_string().contains("`container`: `queue` is not the path of a znode"),
        "{failure}"
    );
}

/// A test that requests one of these faults by its rate needs a container.
#[test]
fn a_fault_of_containers_without_a_container_is_refused() {
    let seeds = SeedRange::parse("1").expect("a number");
    for kind in [Fault::CounterWrap, Fault::ContainerDeletion] {
        let faults = NONE.with_rate(kind, Rate::ALWAYS);
        let test = Test::new("queue", puts).setup("/queue").faults(faults);
        let refused = test.run_seeds(&seeds).expect_err("it never strikes").to_string();
        assert!(
            refused.contains(&format!("{kind}: no znode of the setup is a container")),
            "{refused}"
        );
    }
}

/// A plain znode can be the child of a container, and a container the child of a plain znode.
#[test]
fn containers_and_plain_znodes_are_parents_of_each_other() {
    async fn looks(zk: ZooKeeper) -> Result<(), String> {
        zk.connect().await;
        let found = until_known(&zk, || zk.exists("/a/b/c")).await.map_err(|it| it.to_string())?;
        found.map(drop).ok_or_else(|| "it is not there".to_string())
    }
    let test = Test::new("looks", looks).container("/a").setup("/a/b").container("/a/b/c");
    assert_eq!(test.run_seeds(&SeedRange::parse("20").expect("a number")).expect("held").seeds, 20);
}

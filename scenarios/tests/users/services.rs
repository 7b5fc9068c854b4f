//! Programs that need not finish: conditions on the end are checked while they continue to run.

use vivarium::TestFailure;
use vivarium::prelude::*;
use vivarium::seeds::SeedRange;

const OWN: &str = "/service";

/// Registers, and registers again whenever its znode has been deleted.
async fn service(zookeeper: ZooKeeper, again: bool) -> Result<(), String> {
    let registered = in_sessions(&zookeeper, |zookeeper, session| async move {
        loop {
            let create = || zookeeper.create(OWN, b"", CreateMode::Ephemeral);
            match until_known(&zookeeper, create).await {
                Ok(_) | Err(Error::NodeExists) => {}
                Err(error) => return Err::<(), _>(error),
            }
            let (stat, mut watch) = until_known(&zookeeper, || zookeeper.exists_watch(OWN)).await?;
            let Some(stat) = stat else { continue };
            if stat.ephemeral_owner == Some(session) {
                zookeeper.custom("registered", &[("session", session.into())]);
            }
            match watch.changed().await {
                Err(Error::SessionExpired) if !again => drop(zookeeper.receive().await),
                other => drop(other?),
            }
        }
    });
    registered.await.map_err(|error| error.to_string())
}

fn services(again: bool) -> Test {
    Test::new("service", move |zookeeper| service(zookeeper, again))
        .clients(1)
        .serves()
        .monitor(tree_at_end("still registered", |tree: Tree<'_>| tree.has(OWN)))
        .must_see("registered")
}

#[test]
fn a_service_is_still_registered_at_the_end() {
    services(true).faults(Faults::ALL).seeds(200).run();
}

#[test]
fn one_that_gives_up_is_found() {
    let expiring = services(false).faults(Faults::ALL.without(Fault::ProgramCrash));
    match expiring.run_seeds(&SeedRange::count(1000).expect("some")) {
        Err(TestFailure::Violated(finding)) => {
            let objection = finding.violation.objection;
            assert_eq!(objection.property, "still registered", "{}", objection.saw);
        }
        other => panic!("{other:?}"),
    }
}

/// Another program in the test must finish, and a run continues until it has.
#[test]
fn a_role_serves_and_another_one_finishes() {
    async fn looks(zookeeper: ZooKeeper) -> Result<(), String> {
        let found = in_sessions(&zookeeper, |zookeeper, _| async move {
            loop {
                match until_known(&zookeeper, || zookeeper.exists_watch(OWN)).await? {
                    (Some(_), _) => return Ok(()),
                    (None, mut watch) => drop(watch.changed().await?),
                }
            }
        });
        found.await.map_err(|error| error.to_string())?;
        zookeeper.custom("found", &[]);
        Ok(())
    }
    let roles = || {
        let service = Role::new("service", |zookeeper| service(zookeeper, true)).serves();
        Test::of_roles("found", [service, Role::new("looks", looks)])
            .monitor(eventually("found"))
            .must_see("found")
    };
    roles().faults(Faults::ALL).seeds(100).run();
    #[cfg(feature = "explore")]
    roles().explore(&Exploration::new().expiries(1));
}

#[test]
fn who_does_not_say_so_must_finish() {
    let test = Test::new("service", |zookeeper| service(zookeeper, true)).clients(1);
    match test.run_seeds(&SeedRange::count(1).expect("some")) {
        Err(TestFailure::Violated(finding)) => {
            assert_eq!(finding.violation.objection.property, "progress");
        }
        other => panic!("{other:?}"),
    }
}

#[cfg(feature = "explore")]
mod explored {
    use super::*;

    #[test]
    fn a_service_that_waits_is_not_stuck() {
        for exploration in [
            Exploration::new().lost(1),
            Exploration::new().expiries(1),
            Exploration::new().kills(1),
        ] {
            services(true).explore(&exploration);
        }
    }

    #[test]
    fn one_that_gives_up_is_found() {
        let expiring = Exploration::new().expiries(1).lost(1);
        let report = services(false).explored(&expiring).expect("it can be explored");
        let violation = report.verdict.violation().expect("it is not registered any more");
        assert_eq!(violation.objection.property, "still registered");
    }
}

//! Clients that give their sessions up by their own clocks: a search finds the same violations as sweeps, with and
//! without reductions.

use vivarium::prelude::*;

const MARK: &str = "/mark";

/// Reports whether it creates the znode or whose znode it finds, in each session until one lasts to the end.
async fn registers(zookeeper: ZooKeeper) -> Result<(), String> {
    let done = in_sessions(&zookeeper, |zookeeper, session| async move {
        match until_known(&zookeeper, || zookeeper.create(MARK, b"", CreateMode::Ephemeral)).await {
            Ok(_) => zookeeper.custom("created", &[]),
            Err(Error::NodeExists) => {
                let stat = until_known(&zookeeper, || zookeeper.exists(MARK)).await?;
                match stat.map(|stat| stat.ephemeral_owner == Some(session)) {
                    Some(true) => zookeeper.custom("own", &[]),
                    Some(false) => zookeeper.custom("of another session", &[]),
                    None => zookeeper.custom("gone", &[]),
                }
            }
            Err(error) => return Err(error),
        }
        Ok(())
    });
    done.await.map_err(|error| error.to_string())
}

fn test(gives_up: bool) -> Test {
    let options = ClientOptions::new();
    let options = if gives_up { options.expires_locally() } else { options };
    Test::new("registers", registers).clients(1).client_options(options)
}

/// Returns true if the search reaches a state in which a program has made this observation.
fn comes_to(name: &'static str, gives_up: bool, exploration: &Exploration) -> bool {
    let never = always("nobody says it", (), |_: &mut (), _: &Said<'_>| false).on(name);
    let verdicts = [exploration.clone(), exploration.clone().without_reductions()].map(|how| {
        let report = test(gives_up).monitor(never.clone()).explored(&how).expect("it can be");
        !matches!(report.verdict, Verdict::Exhausted { .. })
    });
    assert_eq!(verdicts[0], verdicts[1], "`{name}`, with reductions and without");
    verdicts[0]
}

#[test]
fn a_session_that_is_given_up_stands_while_the_next_one_works() {
    let (expired, none) = (Exploration::new().expiries(1), Exploration::new());
    assert!(comes_to("of another session", true, &expired));
    assert!(!comes_to("of another session", true, &none), "it is a fault, and counted");
    assert!(comes_to("gone", true, &expired), "its time is up in the end");
}

/// A request that is pending when the session is given up can still arrive while the next session makes requests.
#[test]
fn what_is_under_way_arrives_late() {
    let late = || {
        Test::new("late", |zookeeper: ZooKeeper| async move {
            let session = zookeeper.connect().await;
            let scope = zookeeper.scope(session);
            let Err(Error::ConnectionLoss) = scope.create(MARK, b"", CreateMode::Persistent).await
            else {
                return Ok(());
            };
            next_session(&zookeeper, session).await;
            let look = || zookeeper.exists(MARK);
            let before = until_known(&zookeeper, look).await.map_err(|error| error.to_string())?;
            let after = until_known(&zookeeper, look).await.map_err(|error| error.to_string())?;
            match before.is_none() && after.is_some() {
                true => Err("it came late".to_string()),
                false => Ok(()),
            }
        })
        .clients(1)
    };
    let gives_up = ClientOptions::new().expires_locally();
    for exploration in
        [Exploration::new().expiries(1), Exploration::new().expiries(1).without_reductions()]
    {
        let report = late().client_options(gives_up.clone()).explored(&exploration);
        let verdict = report.expect("it can be").verdict;
        let violation = verdict.violation().unwrap_or_else(|| panic!("{verdict}"));
        assert!(violation.objection.saw.contains("it came late"), "{}", violation.objection.saw);
    }
}

//! A search with interchangeable clients checks that their programs are interchangeable.

use vivarium::prelude::*;
use vivarium_model::verdict::Verdict;

fn verdict<P, F>(program: P) -> Verdict
where
    P: Fn(ZooKeeper) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Result<(), String>> + Send + 'static,
{
    let test = Test::new("interchangeable", program);
    test.explored(&Exploration::new().clients(2).interchangeable()).expect("it can be").verdict
}

fn is_refused(verdict: &Verdict) {
    let says = verdict.to_string();
    assert!(matches!(verdict, Verdict::Violated(_)), "{says}");
    assert!(says.contains("the clients are not interchangeable"), "{says}");
}

fn is_fine(verdict: &Verdict) {
    assert!(matches!(verdict, Verdict::Exhausted { .. }), "{verdict}");
}

#[test]
fn clients_that_go_by_their_numbers_are_not() {
    is_refused(&verdict(|zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        if zookeeper.client() == ClientId(2) {
            let _ = zookeeper.create("/second", b"", CreateMode::Persistent).await;
        }
        Ok(())
    }));
}

#[test]
fn clients_whose_znodes_have_their_numbers_are_not() {
    is_refused(&verdict(|zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        let path = format!("/member-{}", zookeeper.client().0);
        let _ = zookeeper.create(&path, b"", CreateMode::Ephemeral).await;
        Ok(())
    }));
}

#[test]
fn clients_that_put_sessions_in_an_order_are_not() {
    is_refused(&verdict(|zookeeper: ZooKeeper| async move {
        let own = zookeeper.connect().await;
        let _ = zookeeper.create("/first", b"", CreateMode::Ephemeral).await;
        if let Ok((_, stat)) = zookeeper.get_data("/first").await
            && stat.ephemeral_owner.is_some_and(|owner| owner > own)
        {
            zookeeper.custom("larger", &[]);
        }
        Ok(())
    }));
}

#[test]
fn clients_that_put_random_names_in_an_order_are_not() {
    is_refused(&verdict(|zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        let own = format!("{:016x}", zookeeper.random().await);
        let _ = zookeeper.create(&format!("/{own}"), b"", CreateMode::Persistent).await;
        let all = zookeeper.get_children("/").await.unwrap_or_default();
        let ids = || all.iter().filter(|name| name.len() == 16);
        if ids().count() == 2 && ids().next().map(|name| &**name) == Some(&*own) {
            let _ = zookeeper.create("/smallest", b"", CreateMode::Persistent).await;
        }
        Ok(())
    }));
}

#[test]
fn names_in_paths_and_data_may_be_anything() {
    is_fine(&verdict(|zookeeper: ZooKeeper| async move {
        let session = zookeeper.connect().await;
        let id = zookeeper.random().await;
        let held = format!("{id} of {:x}", session.0);
        let path = format!("/{id:016x}-");
        let made = zookeeper.create(&path, held.as_bytes(), CreateMode::EphemeralSequential).await;
        let (path, _) = made.map_err(|error| error.to_string())?;
        let (data, stat) = zookeeper.get_data(&path).await.map_err(|error| error.to_string())?;
        let is_own = stat.ephemeral_owner == Some(session) && *data == *held.as_bytes();
        if is_own { Ok(()) } else { Err("it is another one's".to_string()) }
    }));
}

#[test]
fn the_first_to_begin_is_tried_once() {
    let race = |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        let _ = zookeeper.create("/first", b"", CreateMode::Persistent).await;
        zookeeper.exists("/first").await.map(|_| ()).map_err(|error| error.to_string())
    };
    let states = |exploration: &Exploration| {
        let verdict = Test::new("race", race).explored(exploration).expect("it can be").verdict;
        let Verdict::Exhausted { states, .. } = verdict else { panic!("{verdict}") };
        states
    };
    let three = Exploration::new().clients(3);
    let (all, fewer) = (states(&three), states(&three.clone().interchangeable()));
    assert!(all > 3 * fewer, "{fewer} states are left of {all}");
}

//! A search takes clients for each other as long as neither programs nor properties tell them apart. Each test plants
//! something that does, in another place; the verdict must be that of a search without symmetry.

use vivarium::prelude::*;

/// Returns what a search says, after comparing it with a search without symmetry: "all", "one of each", or the way in
/// which clients can be told apart.
fn searched(test: impl Fn() -> Test, exploration: &Exploration) -> String {
    let explored = |exploration| test().explored(&exploration).expect("it can be");
    let reduced = explored(exploration.clone());
    let plain = explored(exploration.clone().without_symmetry());
    let states = |report: &ExplorationReport| report.figures.distinct;
    match (&reduced.verdict, &plain.verdict) {
        (Verdict::Exhausted { depth, .. }, Verdict::Exhausted { depth: all, .. }) => {
            assert_eq!(depth, all);
        }
        (Verdict::Violated(one), Verdict::Violated(other)) => {
            assert_eq!(one.objection.property, other.objection.property);
        }
        (one, other) => panic!("{one}, and without symmetry {other}"),
    }
    let clients = reduced.dimensions.iter().find(|row| row.name == "clients").expect("a row");
    let says = clients.says.split_once("take turns").expect("the usual words").1;
    match says.split_once("can be told apart: ") {
        Some((_, how)) => how.to_string(),
        None if says.is_empty() => "all".to_string(),
        None => {
            let is_violated = matches!(reduced.verdict, Verdict::Violated(_));
            assert!(is_violated || states(&reduced) < states(&plain), "{says}");
            "one of each".to_string()
        }
    }
}

fn test<P, F>(program: P) -> Test
where
    P: Fn(ZooKeeper) -> F + Clone + Send + Sync + 'static,
    F: Future<Output = Result<(), String>> + Send + 'static,
{
    Test::new("symmetry", program)
}

fn two() -> Exploration {
    Exploration::new().clients(2)
}

#[test]
fn a_program_that_goes_by_its_number() {
    let says = searched(
        || {
            test(|zookeeper: ZooKeeper| async move {
                zookeeper.connect().await;
                if zookeeper.client() == ClientId(2) {
                    let _ = zookeeper.create("/second", b"", CreateMode::Persistent).await;
                }
                Ok(())
            })
        },
        &two(),
    );
    assert_eq!(
        says,
        "after the same steps with the clients exchanged, client 1's program \"returns Ok\", and client 2's \
         \"asks: create /second (Persistent) (call 0)\""
    );
}

/// Such programs need not differ in a way that anyone can observe: the names of their znodes are exchanged with them.
#[test]
fn a_program_whose_znode_has_its_number() {
    let named = || {
        test(|zookeeper: ZooKeeper| async move {
            zookeeper.connect().await;
            let path = format!("/member-{}", zookeeper.client().0);
            let _ = zookeeper.create(&path, b"", CreateMode::Ephemeral).await;
            Ok(())
        })
    };
    assert_eq!(searched(named, &two()), "one of each");
    assert_eq!(searched(named, &two().lost(1).expiries(1)), "one of each");
}

#[test]
fn a_program_that_puts_sessions_in_an_order() {
    let says = searched(
        || {
            test(|zookeeper: ZooKeeper| async move {
                let own = zookeeper.connect().await;
                let _ = zookeeper.create("/first", b"", CreateMode::Ephemeral).await;
                if let Ok((_, stat)) = zookeeper.get_data("/first").await
                    && stat.ephemeral_owner.is_some_and(|owner| owner > own)
                {
                    zookeeper.custom("larger", &[]);
                }
                Ok(())
            })
        },
        &two(),
    );
    assert!(says.contains("larger"), "{says}");
}

#[test]
fn a_program_that_puts_random_names_in_an_order() {
    let says = searched(
        || {
            test(|zookeeper: ZooKeeper| async move {
                zookeeper.connect().await;
                let own = format!("{:016x}", zookeeper.random().await);
                let _ = zookeeper.create(&format!("/{own}"), b"", CreateMode::Persistent).await;
                let all = zookeeper.get_children("/").await.unwrap_or_default();
                let ids = || all.iter().filter(|name| name.len() == 16);
                if ids().count() == 2 && ids().next().map(|name| &**name) == Some(&*own) {
                    let _ = zookeeper.create("/smallest", b"", CreateMode::Persistent).await;
                }
                Ok(())
            })
        },
        &two(),
    );
    assert!(says.contains("create"), "{says}");
}

#[test]
fn names_in_paths_and_data_may_be_anything() {
    let named = || {
        test(|zookeeper: ZooKeeper| async move {
            let session = zookeeper.connect().await;
            let id = zookeeper.random().await;
            // No renaming of texts would find these.
            let held = format!("{:?} of {}", id.wrapping_mul(3), session.0 ^ id);
            let path = format!("/{:016x}-", id.rotate_left(7));
            let made =
                zookeeper.create(&path, held.as_bytes(), CreateMode::EphemeralSequential).await;
            let (path, _) = made.map_err(|error| error.to_string())?;
            let (data, stat) =
                zookeeper.get_data(&path).await.map_err(|error| error.to_string())?;
            let is_own = stat.ephemeral_owner == Some(session) && *data == *held.as_bytes();
            if is_own { Ok(()) } else { Err("it is another one's".to_string()) }
        })
    };
    assert_eq!(searched(named, &two()), "one of each");
}

/// Says the order in which clients saw their own znode, to which a property listens.
fn says_its_turn() -> Test {
    test(|zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        let made = zookeeper.create("/turn-", b"", CreateMode::PersistentSequential).await;
        let (path, _) = made.map_err(|error| error.to_string())?;
        zookeeper.custom(if path.ends_with('0') { "first" } else { "later" }, &[]);
        Ok(())
    })
}

/// How a property tells clients apart.
#[derive(Clone, Copy, Debug, Hash, PartialEq)]
enum By {
    Nothing,
    /// Objects if client 2 says a certain word.
    Objection,
    /// Counts what client 1 says.
    State,
    /// Remembers the largest client.
    Order,
    /// Is concerned by client 1 alone.
    Concern,
    /// Objects at the end of a run in which client 2 was first.
    End,
}

#[derive(Clone, Hash)]
struct Tells {
    by: By,
    heard: u16,
}

impl Monitor for Tells {
    fn name(&self) -> &'static str {
        "tells"
    }
    fn asked(&self) -> Asked {
        Asked::Everywhere
    }
    fn concerns(&self, event: &Event) -> bool {
        let Event::Observed { client, .. } = event else { return false };
        self.by != By::Concern || *client == ClientId(1)
    }
    fn event(&mut self, _view: View<'_>, event: &Event) -> Result<(), Objection> {
        let Event::Observed { client, observation, .. } = event else { return Ok(()) };
        match self.by {
            By::Objection if *client == ClientId(2) && observation.name() == "later" => {
                return Err(Objection::new("tells", "client 2 is late"));
            }
            By::State if *client == ClientId(1) => self.heard += 1,
            By::Order => self.heard = self.heard.max(client.0),
            By::End if observation.name() == "first" => self.heard = client.0,
            _ => {}
        }
        Ok(())
    }
    fn end(&mut self, _view: View<'_>) -> Result<(), Objection> {
        match self.by == By::End && self.heard == 2 {
            true => Err(Objection::new("tells", "client 2 was first")),
            false => Ok(()),
        }
    }
}

#[test]
fn a_property_that_tells_clients_apart() {
    let says = |by| searched(|| says_its_turn().monitor(Tells { by, heard: 0 }), &two());
    assert_eq!(says(By::Nothing), "one of each");
    let objects = says(By::Objection);
    assert!(objects.contains("the property that objects is not"), "{objects}");
    let changes = says(By::State);
    assert!(changes.contains("does not follow the clients"), "{changes}");
    let changes = says(By::Order);
    assert!(changes.contains("does not follow the clients"), "{changes}");
    let concerned = says(By::Concern);
    assert!(concerned.contains("which events concern a property"), "{concerned}");
    // Its state is a client, and it follows.
    let ends = says(By::End);
    assert!(ends.contains("at the end of a run"), "{ends}");
}

#[test]
fn one_of_all_orders_of_three_clients() {
    let race = || {
        test(|zookeeper: ZooKeeper| async move {
            zookeeper.connect().await;
            let _ = zookeeper.create("/first", b"", CreateMode::Persistent).await;
            zookeeper.exists("/first").await.map(|_| ()).map_err(|error| error.to_string())
        })
    };
    let states = |exploration: &Exploration| {
        let verdict = race().explored(exploration).expect("it can be").verdict;
        let Verdict::Exhausted { states, .. } = verdict else { panic!("{verdict}") };
        states
    };
    let three = Exploration::new().clients(3);
    let (all, fewer) = (states(&three.clone().without_symmetry()), states(&three));
    assert!(all > 5 * fewer && all <= 6 * fewer, "{fewer} states are left of {all}");
}

/// Where one client has a part of its own, the others are still taken for each other.
#[test]
fn two_of_three() {
    let first_differs = || {
        test(|zookeeper: ZooKeeper| async move {
            zookeeper.connect().await;
            let mode = match zookeeper.client() {
                ClientId(1) => CreateMode::PersistentSequential,
                _ => CreateMode::EphemeralSequential,
            };
            zookeeper.create("/turn-", b"", mode).await.map(drop).map_err(|error| error.to_string())
        })
    };
    let three = Exploration::new().clients(3);
    let report = first_differs().explored(&three).expect("it can be");
    let says = &report.dimensions[0].says;
    let which = "states that differ only in which of clients 2 and 3 is which count as one; client 1 and client 2 can be \
                 told apart: ";
    assert!(says.contains(which), "{says}");
    let plain = first_differs().explored(&three.without_symmetry()).expect("it can be");
    let (fewer, all) = (report.figures.distinct, plain.figures.distinct);
    assert!(all > fewer * 3 / 2 && all <= fewer * 2, "{fewer} states are left of {all}");
}

/// The way to a violation is one of the programs as they are: each step is that of the client that takes it.
#[test]
fn a_way_to_a_violation_is_a_run() {
    let third = || {
        test(|zookeeper: ZooKeeper| async move {
            zookeeper.connect().await;
            let made = zookeeper.create("/turn-", b"", CreateMode::PersistentSequential).await;
            let (path, _) = made.map_err(|error| error.to_string())?;
            if path.ends_with('2') {
                Err(format!("{} was third", zookeeper.client()))
            } else {
                Ok(())
            }
        })
    };
    let three = Exploration::new().clients(3);
    let length = |exploration: Exploration| {
        let report = third().explored(&exploration).expect("it can be");
        let violation = report.verdict.violation().expect("one of them is third").clone();
        assert!(violation.objection.saw.contains("was third"), "{}", violation.objection);
        let way = report.finding.and_then(|finding| finding.way).expect("there is a way");
        assert!(way.proven, "breadth first");
        way.length
    };
    assert_eq!(length(three.clone()), length(three.without_symmetry()));
}

//! Helpers that nearly every program needs, under every fault and in every order.

use vivarium::prelude::*;

fn text<T>(result: Result<T, Error>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}

/// Registers an ephemeral znode in each session until one session lasts to the end.
async fn members(zookeeper: ZooKeeper) -> Result<(), String> {
    let own = format!("/app/members/{}", zookeeper.client().0);
    text(in_sessions(&zookeeper, |zookeeper, session| register(zookeeper, session, &own)).await)
}

async fn register(zookeeper: ZooKeeper, session: SessionId, own: &str) -> Result<(), Error> {
    ensure_path(&zookeeper, "/app/members").await?;
    loop {
        match until_known(&zookeeper, || zookeeper.create(own, b"", CreateMode::Ephemeral)).await {
            Ok(_) => break,
            Err(Error::NodeExists) => {}
            Err(error) => return Err(error),
        }
        match until_known(&zookeeper, || zookeeper.exists(own)).await? {
            Some(stat) if stat.ephemeral_owner == Some(session) => break,
            // The znode of an earlier session.
            _ => ensure_deleted(&zookeeper, own).await?,
        }
    }
    zookeeper.custom("registered", &[("session", i64::from(session.0 as u32).into())]);
    Ok(())
}

#[test]
fn everybody_registers_whatever_happens() {
    let test = Test::new("members", members).faults(Faults::ALL).must_see("registered");
    let report = test.seeds(200).run();
    assert!(report.fault_total() > 0);
}

/// Creates a path that does not exist, or exists in part.
async fn makes_a_path(zookeeper: ZooKeeper) -> Result<(), String> {
    let made = in_sessions(&zookeeper, |zookeeper, _session| async move {
        ensure_path(&zookeeper, "/a/b/c").await?;
        until_known(&zookeeper, || zookeeper.get_data("/a/b")).await
    });
    match text(made.await)?.1.num_children {
        1 => Ok(()),
        children => Err(format!("/a/b has {children} children")),
    }
}

#[test]
fn a_path_is_made_with_its_parents() {
    for setup in [&[][..], &["/a"], &["/a", "/a/b", "/a/b/c"]] {
        let test = Test::new("paths", makes_a_path).clients(2).faults(Faults::ALL);
        setup.iter().fold(test, |test, path| test.setup(path)).seeds(50).run();
    }
}

#[test]
fn a_path_behind_a_chroot_that_is_missing_is_refused() {
    let refused = |zookeeper: ZooKeeper| async move {
        zookeeper.connect().await;
        match ensure_path(&zookeeper, "/a/b").await {
            Err(Error::NoNode) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    };
    let below = ClientOptions::new().chroot("/app");
    Test::new("chroot", refused).client_options(below).seeds(10).run();
}

#[cfg(feature = "explore")]
mod explored {
    use super::*;

    /// The way in which a program finds out whether its create was applied.
    #[derive(Clone, Copy)]
    enum Looks {
        /// After the fate of the create is settled.
        Settled,
        /// Immediately: this is the mistake.
        AtOnce,
    }

    /// Creates its znode once, and deletes it if it knows of it. No znode must remain.
    async fn leaves_nothing(zookeeper: ZooKeeper, looks: Looks) -> Result<(), String> {
        let session = zookeeper.connect().await;
        let zookeeper = zookeeper.scope(session);
        match once(&zookeeper, looks).await {
            Ok(()) => zookeeper.custom("cleaned", &[]),
            Err(Error::SessionExpired) => {}
            Err(error) => return Err(error.to_string()),
        }
        Ok(())
    }

    async fn once(zookeeper: &ZooKeeper, looks: Looks) -> Result<(), Error> {
        let is_there = match zookeeper.create("/mine", b"", CreateMode::Persistent).await {
            Ok(_) => true,
            Err(Error::ConnectionLoss) => {
                zookeeper.connect().await;
                if let Looks::Settled = looks {
                    settle(zookeeper).await?;
                }
                until_known(zookeeper, || zookeeper.exists("/mine")).await?.is_some()
            }
            Err(error) => return Err(error),
        };
        if is_there {
            ensure_deleted(zookeeper, "/mine").await?;
        }
        Ok(())
    }

    #[derive(Clone, Default, Hash)]
    struct NothingIsLeft(bool);

    impl Monitor for NothingIsLeft {
        fn name(&self) -> &'static str {
            "nothing is left"
        }
        fn asked(&self) -> Asked {
            Asked::Everywhere
        }
        fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), Objection> {
            if let Event::Observed { observation, .. } = event {
                self.0 |= observation.name() == "cleaned";
            }
            match self.0 && view.history.tree().node("/mine").is_some() {
                true => Err(Objection::new(self.name(), "/mine stands")),
                false => Ok(()),
            }
        }
    }

    fn leaving(looks: Looks) -> Test {
        let program = move |zookeeper| leaves_nothing(zookeeper, looks);
        Test::new("leaves nothing", program).clients(1).monitor(NothingIsLeft::default())
    }

    fn exploration() -> Exploration {
        Exploration::new().lost(2).expiries(1)
    }

    #[test]
    fn what_is_settled_stays() {
        leaving(Looks::Settled).must_see("cleaned").explore(&exploration());
    }

    #[test]
    fn a_look_alone_proves_nothing() {
        let report = leaving(Looks::AtOnce).explored(&exploration()).expect("it can be");
        let Verdict::Violated(violation) = &report.verdict else { panic!("{}", report.verdict) };
        assert_eq!(violation.objection.property, "nothing is left");
    }

    #[test]
    fn a_path_is_made_in_every_order() {
        let test = Test::new("paths", makes_a_path).clients(2).setup("/a");
        test.explore(&Exploration::new().lost(1));
    }

    #[test]
    fn sessions_follow_one_another_in_every_order() {
        let test = Test::new("members", members).setup("/app").setup("/app/members");
        test.must_see("registered").explore(&Exploration::new().clients(1).expiries(2).lost(1));
    }
}

//! Clients with roles and options of their own, in a user's test.

use vivarium::TestFailure;
use vivarium::prelude::*;
use vivarium::seeds::SeedRange;

const SITES: u8 = 2;

/// Waits for both sites' votes, and reports them.
async fn coordinator(zookeeper: ZooKeeper) -> Result<(), String> {
    zookeeper.connect().await;
    for site in 2..=1 + SITES {
        let vote = format!("/{site}");
        while let (None, mut watch) = text(zookeeper.exists_watch(&vote).await)? {
            text(watch.changed().await)?;
        }
        zookeeper.custom("answered", &[("site", i64::from(site).into())]);
    }
    Ok(())
}

async fn site(zookeeper: ZooKeeper) -> Result<(), String> {
    registers(zookeeper).await
}

fn text<T>(result: Result<T, Error>) -> Result<T, String> {
    result.map_err(|error| error.to_string())
}

fn votes() -> Test {
    let roles = [Role::new("coordinator", coordinator), Role::new("site", site).clients(SITES)];
    Test::of_roles("votes", roles).must_see("answered")
}

fn refused(test: Test) -> String {
    match test.run_seeds(&SeedRange::count(3).expect("some")) {
        Err(failure @ TestFailure::Refused { .. }) => failure.to_string(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_role_runs_its_own_program() {
    let report = votes().seeds(20).run();
    let answers = report.observed.iter().find(|count| count.name == "answered");
    assert_eq!(answers.expect("it is counted").count, 20 * u64::from(SITES));
}

#[test]
fn numbers_of_clients_are_the_roles_own() {
    let text = refused(votes().clients(5));
    assert_eq!(text, "votes: `clients(5)`: each role says how many clients it has");
    let nobody = [Role::new("coordinator", coordinator), Role::new("site", site).clients(0)];
    let text = refused(Test::of_roles("votes", nobody));
    assert_eq!(text, "votes: `clients(0)` of the role `site`: give at least 1");
    assert_eq!(refused(Test::of_roles("votes", [])), "votes: `clients(0)`: give at least 1");
    let many = || Role::new("site", site).clients(200);
    let text = refused(Test::of_roles("votes", [many(), many()]));
    assert_eq!(text, "votes: `clients(400)` is too many: give at most 255");
}

/// The report of a failing run names the roles.
#[test]
fn a_failure_says_who_is_who() {
    let fails = |_zookeeper| async { Err("no".to_string()) };
    let roles = [Role::new("coordinator", fails), Role::new("site", site).clients(SITES)];
    let failure = Test::of_roles("votes", roles)
        .run_seeds(&SeedRange::only(7))
        .expect_err("the coordinator fails");
    let options = &failure.finding().expect("it is a violation").options;
    assert!(options.contains("client 1           coordinator, session timeout"), "{options}");
    assert!(options.contains("client 3           site, session timeout"), "{options}");
}

/// Creates a znode with its client's number.
async fn registers(zookeeper: ZooKeeper) -> Result<(), String> {
    zookeeper.connect().await;
    let own = format!("/{}", zookeeper.client().0);
    text(zookeeper.create(&own, b"", CreateMode::Persistent).await).map(drop)
}

/// Properties see whole paths, including the chroot.
#[derive(Clone, Default, Hash)]
struct CreatedBelow;

impl Declared for CreatedBelow {
    const DECLARATION: Declaration<Self> = Declaration::everywhere(
        "created below",
        LooksBack::Whole,
        minds! { |this, view, event|
            Event::Finished { client, .. } => {
                let path = match client.0 {
                    1 => "/1".to_string(),
                    other => format!("/app/{other}"),
                };
                match view.history.tree().node(&path) {
                    Some(_) => Ok(()),
                    None => Err(this.objection(format!("there is no {path}"))),
                }
            },
        },
    );
}

fn below_app() -> Test {
    let below = || ClientOptions::new().chroot("/app");
    let role = |name| Role::new(name, registers);
    let roles = [role("whole").client_options(ClientOptions::new()), role("behind").clients(2)];
    let test = Test::of_roles("chroots", roles).client_options(below()).setup("/app");
    test.monitor(CreatedBelow)
}

#[test]
fn each_role_has_its_own_chroot() {
    below_app().seeds(20).run();
}

#[test]
fn options_of_clients_show() {
    let timeout = Duration::from_millis(1_234);
    let options = ClientOptions::new().session_timeout(timeout);
    let fails = |_zookeeper| async { Err("no".to_string()) };
    let test = Test::new("options", fails).clients(2).client_options(options);
    let failure = test.run_seeds(&SeedRange::only(0)).expect_err("it fails");
    let finding = failure.finding().expect("it is a violation");
    assert!(finding.config.clients.iter().all(|client| client.session_timeout == timeout));
}

#[test]
fn options_that_make_no_sense_are_refused() {
    let refuses = |options| refused(Test::new("options", site).client_options(options));
    let text = refuses(ClientOptions::new().chroot("app/"));
    assert_eq!(text, "options: `chroot(\"app/\")` is not a valid path");
    let text = refuses(ClientOptions::new().session_timeout(Duration::ZERO));
    assert_eq!(text, "options: `session_timeout(0ns)`: give more than no time");
    let servers =
        ServerOptions { container_check_interval: Duration::ZERO, ..ServerOptions::default() };
    let text = refused(Test::new("options", site).server_options(servers));
    assert_eq!(text, "options: `container_check_interval(0ns)`: give more than no time");
    let servers = ServerOptions { max_container_deletions: 0, ..ServerOptions::default() };
    let text = refused(Test::new("options", site).server_options(servers));
    assert_eq!(text, "options: `max_container_deletions(0)`: give at least 1");
}

#[cfg(feature = "explore")]
mod explored {
    use super::*;

    fn refused(test: Test, exploration: &Exploration) -> String {
        match test.explored(exploration) {
            Err(failure @ TestFailure::NotExplored { .. }) => failure.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_search_has_the_roles_and_their_chroots() {
        votes().explore(&Exploration::new().kills(0));
        below_app().explore(&Exploration::new());
    }

    #[test]
    fn what_a_search_does_not_know_is_refused() {
        let exploration = Exploration::new();
        let options = ClientOptions::new().can_be_read_only();
        let text = refused(votes().client_options(options), &exploration);
        let says = "votes: a search knows no clients of read-only servers: leave that to a sweep";
        assert_eq!(text, says);
        let options = ServerOptions { enforce_quota: true, ..ServerOptions::default() };
        let text = refused(votes().server_options(options), &exploration);
        assert!(text.contains("no server options but ZooKeeper's own defaults"), "{text}");
        let patient = ServerOptions {
            min_session_timeout: Some(Duration::from_secs(9)),
            ..Default::default()
        };
        votes().server_options(patient).explore(&exploration);
        let text = refused(votes(), &Exploration::new().clients(2));
        assert_eq!(text, "votes: `clients(2)`: the roles of `votes` say how many");
    }
}

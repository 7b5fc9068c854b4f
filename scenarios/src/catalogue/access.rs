//! `access`: clients with several identities, and ACLs that each client sets for the others.
//!
//! There is no recipe here (as in `churn`): the properties are ZooKeeper's own, mainly H17. Clients prove identities,
//! have addresses of their own, create znodes with ACLs of every scheme, change the ACLs, and send requests that these
//! grant or refuse, some of them below a chroot. A subtree has a quota that all its znodes together do not reach; a
//! program fails if a create exceeds it. Records are short: some sessions own more ephemerals, and some multis name
//! more identities, than a record can hold.

use super::{Entry, Switches, some_observers};
use std::sync::Arc;
use vivarium_model::acl::{Acl, AclList, Id, Permissions};
use vivarium_model::config::ServerOptions;
use vivarium_model::error::Error;
use vivarium_model::handle::{Watch, ZooKeeper, program};
use vivarium_model::mark::Mark;
use vivarium_model::op::{CreateMode, Data, Op, ReadOp, Version};
use vivarium_model::property;
use vivarium_model::property::AskedOfServers;
use vivarium_model::setup::Setup;
use vivarium_model::time::Duration;
use vivarium_sim::scenario::script::Script;
use vivarium_sim::{Choice, ClientOptions, Explored, FaultSet, Limits, Scenario, Settings};

/// The marks that a sweep must reach.
const MARKS: [Mark; 6] = [
    Mark::SessionMoved,
    Mark::SessionExpired,
    Mark::SessionReattached,
    Mark::MultiRolledBack,
    Mark::LostReplyApplied,
    Mark::RefusedByAcl,
];

/// Users with their passwords. The last one is the superuser.
const USERS: [&str; 3] = ["ann:a", "bob:b", "super:admin"];

/// `user:hash` of the first and the last of the [`USERS`].
const DIGESTS: [&str; 2] =
    ["ann:i9V/d2HTT0sehGWzvQcFNipywIQ=", "super:xQJmxLMiHGwaqBvst5y6rkB6HQs="];

/// The subtree that has a quota, and the number of names of znodes in it. With its root, the subtree has five znodes.
const QUOTA: &str = "/q";
const BELOW_QUOTA: u64 = 4;

/// `jute.maxbuffer`, in bytes. A record can have 1,024 bytes more.
const LONGEST_PACKET: usize = 1_024;

/// The number of ephemerals created at a time, and the length of their names in bytes: three times as many ephemerals
/// exceed the length of a record.
const HOARD: u64 = 4;
const NAME: usize = 200;

/// The number of operations in a multi that names identities. For each `auth`, the record has up to three identities,
/// which take ten times as many bytes.
const WIDE: u64 = 8;

/// The entry of the catalogue.
pub(super) fn entry() -> Entry {
    Entry::of_zookeeper(
        "access",
        "clients with several identities set ACLs and meet those of others",
        1_000,
        build,
    )
}

fn build(switches: &Switches) -> Scenario {
    let at = |address: &str| ClientOptions::new().address(address);
    Scenario {
        name: entry().name.to_string(),
        summary: entry().summary.to_string(),
        servers: Choice::OneOf(vec![3, 3, 3, 5]),
        observers: some_observers(),
        joiners: Choice::from(0),
        clients: Choice::from(3..=4),
        rounds: Choice::from(30..=70),
        limits: Limits::Tight,
        setup: Setup::of(["/app", QUOTA]).expect("paths with parents"),
        settings: Settings {
            clients: vec![
                at("10.1.0.1"),
                at("10.2.0.1"),
                at("10.1.0.2").chroot("/app"),
                at("192.168.0.1").chroot("/app"),
            ],
            servers: ServerOptions {
                super_digest: Some(Arc::from(DIGESTS[1])),
                enforce_quota: true,
                extended_types: true,
                container_check_interval: Duration::from_secs(2),
                max_container_deletions: 60,
                max_never_used_interval: Some(Duration::from_secs(3)),
                max_buffer: LONGEST_PACKET,
                ..ServerOptions::default()
            },
            ..Settings::default()
        },
        programs: Arc::new(|run| {
            let rounds = run.rounds;
            let one = || program(move |zookeeper| visit(zookeeper, rounds));
            (0..run.clients()).map(|_client| one()).collect()
        }),
        monitors: Arc::new(|_drawn| property::zookeeper()),
        of_servers: AskedOfServers::ALL,
        awaits_expiry: true,
        marks: MARKS.to_vec(),
        script: Script::default(),
        faults: FaultSet::all(),
        bugs: switches.bugs,
        chaos: Duration::from_secs(20),
        progress_bound: Duration::from_secs(120),
        explored: Explored::No(
            "its programs try the servers, and a search over the service grain has none (`broadcast` \
             and `election` explore servers)"
                .to_string(),
        ),
    }
}

/// Makes `rounds` random requests, one after the other.
async fn visit(zookeeper: ZooKeeper, rounds: u32) -> Result<(), String> {
    for _round in 0..rounds {
        zookeeper.connect().await;
        if let Err(error) = act(&zookeeper).await
            && !is_expected(error)
        {
            return Err(format!("an error that none of these requests can meet: {error}"));
        }
        let pause = below(&zookeeper, 120).await;
        if pause < 60 {
            zookeeper.sleep(Duration::from_millis(pause)).await;
        }
    }
    Ok(())
}

/// Returns true for errors that interfering clients can meet under faults. Exceeding the quota is not one of them.
fn is_expected(error: Error) -> bool {
    matches!(
        error,
        Error::ConnectionLoss
            | Error::SessionExpired
            | Error::NoNode
            | Error::NodeExists
            | Error::BadVersion
            | Error::NotEmpty
            | Error::NoChildrenForEphemerals
            // Of a release that does not know the operation.
            | Error::Unimplemented
            | Error::NoAuth
            | Error::InvalidAcl
            | Error::MarshallingError
    )
}

async fn act(zookeeper: &ZooKeeper) -> Result<(), Error> {
    let name = name(zookeeper).await;
    match below(zookeeper, 20).await {
        0 | 1 => prove(zookeeper).await?,
        2 | 3 => drop(zookeeper.who_am_i().await?),
        4..=6 => {
            let (mode, acl) = (mode(zookeeper).await, acl(zookeeper).await);
            zookeeper.create_with_acl(&name, b"", mode, acl).await?;
        }
        7 => {
            let (mode, acl) = (mode(zookeeper).await, acl(zookeeper).await);
            zookeeper.create_with_acl(&format!("{name}/c"), b"", mode, acl).await?;
        }
        8 | 9 => {
            let acl = acl(zookeeper).await;
            zookeeper.set_acl(&name, acl, Version::Any).await?;
        }
        10 => {
            let (_, stat) = zookeeper.get_acl(&name).await?;
            let acl = acl(zookeeper).await;
            zookeeper.set_acl(&name, acl, Version::Is(stat.aversion)).await?;
        }
        11 => drop(zookeeper.set_data(&name, b"any", Version::Any).await?),
        12 => drop(zookeeper.get_data(&name).await?),
        13 => drop(zookeeper.get_children(&name).await?),
        14 => zookeeper.delete(&format!("{name}/c"), Version::Any).await?,
        15 => zookeeper.delete(&name, Version::Any).await?,
        16 => replace(zookeeper, &name).await?,
        17 => watch(zookeeper, &name).await?,
        18 => match below(zookeeper, 4).await {
            0 => hoard(zookeeper).await?,
            1 => create_for_all_identities(zookeeper).await?,
            _ => fill(zookeeper).await?,
        },
        _ => match below(zookeeper, 4).await {
            0 => zookeeper.close().await,
            _ => {
                let path: Arc<str> = Arc::from(name);
                let ops =
                    vec![ReadOp::GetData { path: Arc::clone(&path) }, ReadOp::GetChildren { path }];
                drop(zookeeper.multi_read(ops).await?);
            }
        },
    }
    Ok(())
}

/// Proves a further identity.
async fn prove(zookeeper: &ZooKeeper) -> Result<(), Error> {
    // The superuser comes rarely, because no ACL restricts it and most requests should meet ACLs.
    let user = match below(zookeeper, 8).await {
        0..=2 => USERS[0],
        3..=6 => USERS[1],
        _ => USERS[2],
    };
    zookeeper.add_auth_info("digest", user.as_bytes()).await.map(drop)
}

/// Replaces a znode and its children in one transaction, as far as its ACL allows.
async fn replace(zookeeper: &ZooKeeper, name: &str) -> Result<(), Error> {
    let create = |end: &str, acl| Op::Create {
        path: Arc::from(format!("{name}{end}")),
        data: Data::from(&b""[..]),
        mode: CreateMode::Persistent,
        acl,
    };
    let ops = vec![
        Op::check(name, Version::Any),
        Op::delete(name, Version::Any),
        create("", acl(zookeeper).await),
        create("/c", acl(zookeeper).await),
        Op::set_data(format!("{name}/c"), *b"new", Version::Any),
    ];
    Ok(zookeeper.multi(ops).await.map(drop)?)
}

/// Watches a znode and waits a little.
async fn watch(zookeeper: &ZooKeeper, name: &str) -> Result<(), Error> {
    let mut watch: Watch = match below(zookeeper, 2).await {
        0 => zookeeper.exists_watch(name).await?.1,
        _ => zookeeper.get_children_watch(name).await?.1,
    };
    let patience = Duration::from_millis(300);
    match zookeeper.timeout(patience, watch.changed()).await {
        Ok(changed) => changed.map(drop),
        Err(_) => Ok(()),
    }
}

/// Creates or deletes below the subtree that has a quota. Its limit can never be reached.
async fn fill(zookeeper: &ZooKeeper) -> Result<(), Error> {
    let path = format!("{QUOTA}/{}", below(zookeeper, BELOW_QUOTA).await);
    match below(zookeeper, 4).await {
        0 => {
            let limits = format!("count=-1,bytes=-1=;countHardLimit={}", BELOW_QUOTA + 2);
            let at = format!("/zookeeper/quota{QUOTA}");
            // Below a chroot, these are ordinary znodes, whose parents are missing.
            for (end, data) in [("", ""), ("/zookeeper_limits", &*limits), ("/zookeeper_stats", "")]
            {
                let path = format!("{at}{end}");
                match zookeeper.create(&path, data.as_bytes(), CreateMode::Persistent).await {
                    Ok(_) | Err(Error::NodeExists) => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(())
        }
        1 => zookeeper.create(&path, b"", CreateMode::Persistent).await.map(drop),
        2 => zookeeper.create(&path, b"", CreateMode::Ephemeral).await.map(drop),
        _ => zookeeper.delete(&path, Version::Any).await,
    }
}

/// Creates ephemerals with long names, which belong to the session until it ends.
async fn hoard(zookeeper: &ZooKeeper) -> Result<(), Error> {
    for _znode in 0..HOARD {
        let path = format!("/{:0NAME$}", below(zookeeper, 1 << 32).await);
        zookeeper.create(&path, b"", CreateMode::Ephemeral).await?;
    }
    Ok(())
}

/// Creates znodes for the identities of its connection, all or none, and deletes them.
async fn create_for_all_identities(zookeeper: &ZooKeeper) -> Result<(), Error> {
    let name = |number| format!("/i{number}");
    let acl = AclList::new(vec![
        Acl::new(Permissions::READ, Id::AUTH),
        Acl::new(Permissions::CREATE | Permissions::DELETE, Id::AUTH),
    ]);
    let create = |number| Op::Create {
        path: Arc::from(name(number)),
        data: Data::from(&b""[..]),
        mode: CreateMode::Persistent,
        acl: acl.clone(),
    };
    zookeeper.multi((0..WIDE).map(create).collect()).await?;
    let delete = |number| Op::delete(name(number), Version::Any);
    Ok(zookeeper.multi((0..WIDE).map(delete).collect()).await.map(drop)?)
}

async fn mode(zookeeper: &ZooKeeper) -> CreateMode {
    match below(zookeeper, 8).await {
        0 => CreateMode::Ephemeral,
        1 => CreateMode::Container,
        2 => CreateMode::PersistentWithTtl(Duration::from_secs(2)),
        _ => CreateMode::Persistent,
    }
}

/// Returns an ACL of one or two entries, of any scheme, mostly valid.
async fn acl(zookeeper: &ZooKeeper) -> AclList {
    let mut entries = Vec::new();
    for _entry in 0..=below(zookeeper, 2).await {
        let id = match below(zookeeper, 16).await {
            0..=2 => Id::ANYONE,
            3..=6 => Id::AUTH,
            7..=9 => Id::new("digest", DIGESTS[0]),
            10 | 11 => Id::new("ip", "10.1.0.0/16"),
            12 | 13 => Id::new("ip", "10.2.0.1"),
            14 => Id::new("ip", "192.168.0.0/15"),
            _ => Id::new("digest", "nobody"),
        };
        let permissions = match below(zookeeper, 6).await {
            0 => Permissions::READ,
            1 => Permissions::READ | Permissions::CREATE,
            2 => Permissions::WRITE | Permissions::DELETE,
            3 => Permissions::CREATE | Permissions::DELETE | Permissions::ADMIN,
            _ => Permissions::ALL,
        };
        entries.push(Acl::new(permissions, id));
    }
    AclList::new(entries)
}

/// Returns one of a few names, so that clients interfere with each other.
async fn name(zookeeper: &ZooKeeper) -> String {
    format!("/a{}", below(zookeeper, 4).await)
}

async fn below(zookeeper: &ZooKeeper, bound: u64) -> u64 {
    zookeeper.random().await % bound
}

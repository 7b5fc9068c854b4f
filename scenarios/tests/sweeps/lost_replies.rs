//! After a lost reply a write may have been applied or not, and a program that takes the answer to its second try for
//! that to the first is wrong. A sweep finds this soon, for each kind of write.

use vivarium::prelude::*;
use vivarium::seeds::SeedRange;

/// A sweep has to find the mistake within this number of seeds.
const SOON: u64 = 500;

/// The kind of write.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Create,
    Delete,
    SetData,
    SetAcl,
    Multi,
}

const KINDS: [Kind; 5] = [Kind::Create, Kind::Delete, Kind::SetData, Kind::SetAcl, Kind::Multi];

async fn write(zookeeper: &ZooKeeper, kind: Kind, path: &str) -> Result<(), Error> {
    let create = || Op::create(format!("{path}/new"), [], CreateMode::Persistent);
    match kind {
        Kind::Create => {
            let path = format!("{path}/new");
            zookeeper.create(&path, b"", CreateMode::Persistent).await.map(drop)
        }
        Kind::Delete => zookeeper.delete(path, Version::Is(0)).await,
        Kind::SetData => zookeeper.set_data(path, b"new", Version::Is(0)).await.map(drop),
        Kind::SetAcl => zookeeper.set_acl(path, AclList::OPEN, Version::Is(0)).await.map(drop),
        Kind::Multi => {
            zookeeper.multi(vec![create()]).await.map(drop).map_err(|failed| failed.error)
        }
    }
}

/// Each client writes to a znode of its own, and repeats the write if the reply is lost. A `careful` client knows
/// what an error of a second try can mean.
fn writes(kind: Kind, careful: bool) -> Test {
    Test::new("writes", move |zookeeper: ZooKeeper| async move {
        let path = format!("/{}", zookeeper.client().0);
        let mut tries = 0;
        loop {
            zookeeper.connect().await;
            tries += 1;
            match write(&zookeeper, kind, &path).await {
                Ok(()) => return Ok(()),
                Err(Error::ConnectionLoss | Error::SessionMoved) => continue,
                // If the lost session writes, the writer is not this client any more.
                Err(Error::SessionExpired) => return Ok(()),
                Err(_error) if careful && tries > 1 => return Ok(()),
                Err(error) => return Err(format!("{error}, though nobody else writes here")),
            }
        }
    })
    .setup("/1")
    .setup("/2")
    .clients(2)
    .faults(Faults::ALL.without(Fault::ProgramCrash))
}

#[test]
fn who_takes_the_second_answer_for_the_first_is_found_whatever_it_writes() {
    for kind in KINDS {
        let seeds = SeedRange::count(SOON).expect("some");
        let failure = writes(kind, false).run_seeds(&seeds).expect_err("it is wrong");
        let saw = &failure.finding().unwrap_or_else(|| panic!("{failure}")).violation.objection.saw;
        assert!(saw.contains("though nobody else writes here"), "{kind:?}: {saw}");
    }
}

#[test]
fn who_knows_what_it_can_mean_is_right() {
    for kind in KINDS {
        let seeds = SeedRange::count(SOON).expect("some");
        if let Err(failure) = writes(kind, true).run_seeds(&seeds) {
            panic!("{kind:?}: {failure}");
        }
    }
}

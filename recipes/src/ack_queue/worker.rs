//! A program that uses an acknowledged queue as its contract asks for, for scenarios and as an example.

use super::{AckQueue, AckSeen, Claim, Kept, Mutant, Mutants};
use std::ops::ControlFlow;
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Program, Round, ZooKeeper, rounds};
use vivarium_model::time::Duration;

/// What an [`ack_worker`] does: it puts its items, and then works on whatever is there until there is
/// nothing left to come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AckWork {
    /// The queue's directory.
    pub directory: Arc<str>,
    /// How many items to put, if this is one of the producers.
    pub puts: Option<u32>,
    /// Whether to take.
    pub takes: bool,
    /// How many producers there are.
    pub producers: usize,
    /// How many of the first claims to requeue.
    pub requeues: u32,
    /// How many claims behind those to release.
    pub releases: u32,
    /// Whether a consumer stops when it is told that its claim is lost ([`Claim::while_held`]).
    pub guard_watch: bool,
    /// Whether claims, and the work, may be cancelled by the engine, to begin anew.
    pub cancel: bool,
    /// How long to rest before each put, and to work on each item.
    pub pause: Duration,
    /// Whether to close the session at the end, and take the ledger away before. Who can be cancelled must:
    /// what a claim does in the background ends with the program, done or not.
    pub close: bool,
    /// The queue's mutants.
    pub mutants: Mutants,
}

impl AckWork {
    /// One item, on which the same program works.
    pub fn new(directory: impl Into<Arc<str>>) -> AckWork {
        AckWork {
            directory: directory.into(),
            puts: Some(1),
            takes: true,
            producers: 1,
            requeues: 0,
            releases: 0,
            guard_watch: false,
            cancel: false,
            pause: Duration::ZERO,
            close: false,
            mutants: Mutants::NONE,
        }
    }
}

/// Where a worker stands between its rounds; it remembers nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Stage {
    /// At the beginning.
    Open,
    /// Before the put of this number, or behind all of them.
    Put(u32, Kept),
    /// Before a look at what there is to claim, with so many claims of those that are not acknowledged.
    Look(u32, Kept),
    /// Behind the last claim.
    Leave(Kept),
}

/// A program that puts, claims and acknowledges. It returns the server's refusal of the path.
pub fn ack_worker(work: AckWork) -> Program {
    rounds(Stage::Open, move |zookeeper, stage| {
        let work = work.clone();
        async move { next(zookeeper, &work, stage).await.map_err(|error| error.to_string()) }
    })
}

async fn next(zookeeper: ZooKeeper, work: &AckWork, stage: Stage) -> Result<Round<Stage>, Error> {
    Ok(Round::Again(match stage {
        Stage::Open => {
            let directory = Arc::clone(&work.directory);
            let queue = AckQueue::open(zookeeper, directory).await.with_mutants(work.mutants);
            let kept = queue.with_producers(work.producers).keep();
            if work.puts.is_some() { Stage::Put(0, kept) } else { behind_puts(work, kept) }
        }
        Stage::Put(at, kept) => {
            let mut queue = kept.with(zookeeper.clone());
            if work.puts.is_some_and(|puts| at < puts) {
                rest(&zookeeper, work).await;
                let item = queue.item(at);
                queue.put(item.as_bytes()).await?;
                Stage::Put(at + 1, queue.keep())
            } else {
                queue.end(&zookeeper.client().0.to_string()).await?;
                behind_puts(work, queue.keep())
            }
        }
        Stage::Look(claimed, kept) => look(zookeeper, work, claimed, kept).await?,
        Stage::Leave(kept) => {
            if work.close {
                kept.with(zookeeper.clone()).close().await?;
                zookeeper.close().await;
            }
            return Ok(Round::Done);
        }
    }))
}

fn behind_puts(work: &AckWork, kept: Kept) -> Stage {
    if work.takes { Stage::Look(0, kept) } else { Stage::Leave(kept) }
}

/// Claims an item and works on it, or waits until it is time to look again.
async fn look(
    zookeeper: ZooKeeper,
    work: &AckWork,
    claimed: u32,
    kept: Kept,
) -> Result<Stage, Error> {
    let mut queue = kept.with(zookeeper.clone());
    let mut claimed = claimed;
    let consuming = async {
        match queue.claim_or_wait().await? {
            ControlFlow::Continue(()) => Ok(true),
            ControlFlow::Break(None) => Ok(false),
            ControlFlow::Break(Some(claim)) => {
                claimed += 1;
                finish(&zookeeper, claim, work, claimed).await;
                Ok(true)
            }
        }
    };
    let goes_on: Result<bool, Error> = match work.cancel {
        // What it had claimed is released.
        true => zookeeper.cancellable(consuming).await.unwrap_or(Ok(true)),
        false => consuming.await,
    };
    // Behind those that are not acknowledged, their number makes no difference.
    let claimed = claimed.min(work.requeues + work.releases);
    Ok(match goes_on? {
        true => Stage::Look(claimed, queue.keep()),
        false => Stage::Leave(queue.keep()),
    })
}

/// Works on an item, and says what became of it.
async fn finish(zookeeper: &ZooKeeper, claim: Claim, work: &AckWork, at: u32) {
    let requeued = at <= work.requeues;
    if requeued {
        claim.requeue().await;
        return;
    }
    if at <= work.requeues + work.releases {
        claim.release().await;
        return;
    }
    let (queue, token) = (Arc::clone(&work.directory), claim.token());
    let working = toil(zookeeper, &claim, work);
    let is_done = match work.guard_watch {
        true => claim.while_held(working).await.is_ok_and(|done| done),
        false => working.await,
    };
    if is_done {
        claim.ack().await;
        return;
    }
    // Somebody else has claimed it by now, or will.
    let node = format!("{queue}/{}", claim.name()).into();
    zookeeper.observe(AckSeen::Lost { queue, node, token });
}

/// Does what the item asks for: a write outside of ZooKeeper. False where it was refused, since a later
/// claimer has done it.
async fn toil(zookeeper: &ZooKeeper, claim: &Claim, work: &AckWork) -> bool {
    rest(zookeeper, work).await;
    let item = String::from_utf8_lossy(claim.data());
    let token = match work.mutants.has(Mutant::NoFenceForConsumer) {
        true => None,
        false => Some(claim.token()),
    };
    zookeeper.write_resource(&item, token, claim.token().0).await.is_ok()
}

async fn rest(zookeeper: &ZooKeeper, work: &AckWork) {
    if !work.pause.is_zero() {
        zookeeper.sleep(work.pause).await;
    }
}

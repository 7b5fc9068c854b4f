//! A program that uses an acknowledged queue according to its contract, for scenarios and as an example.

use super::{AckQueue, AckSeen, Claim, Kept, Mutant, Mutants};
use std::ops::ControlFlow;
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_model::handle::{Program, Round, ZooKeeper, rounds};
use vivarium_model::time::Duration;

/// Configures an [`ack_worker`]: it puts its items, and then processes items until no more can come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AckWork {
    /// The queue's directory.
    pub directory: Arc<str>,
    /// How many items to put; `None` if this worker is no producer.
    pub puts: Option<u32>,
    /// Whether this worker takes items.
    pub takes: bool,
    /// How many producers there are.
    pub producers: usize,
    /// How many claims to requeue; these come first.
    pub requeues: u32,
    /// How many claims to release; these follow the requeued ones.
    pub releases: u32,
    /// Whether a consumer stops its work when its claim is lost ([`Claim::while_held`]).
    pub guard_watch: bool,
    /// Whether the engine may cancel a claim and the work on its item; the worker then claims again.
    pub cancel: bool,
    /// How long to wait before each put, and to work on each item.
    pub pause: Duration,
    /// Whether to delete the ledger and close the session at the end. Required with `cancel`: background tasks of a
    /// claim end with the program, finished or not.
    pub close: bool,
    /// The queue's mutants.
    pub mutants: Mutants,
}

impl AckWork {
    /// One item, which the same program puts and processes.
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

/// The state of a worker between its rounds; nothing else survives a round.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Stage {
    Open,
    /// Before the put of this number, or after all puts.
    Put(u32, Kept),
    /// Before it looks for an item to claim; the number counts the claims so far, up to the last one to requeue or
    /// release.
    Look(u32, Kept),
    /// After the last claim.
    Leave(Kept),
}

/// Returns a program that puts, claims and acknowledges. It fails with the server's error for the path.
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

/// Claims an item and processes it, or waits until it is time to look again.
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
        // A claim that was cancelled is released.
        true => zookeeper.cancellable(consuming).await.unwrap_or(Ok(true)),
        false => consuming.await,
    };
    // The number of claims matters only up to the last one to requeue or release.
    let claimed = claimed.min(work.requeues + work.releases);
    Ok(match goes_on? {
        true => Stage::Look(claimed, queue.keep()),
        false => Stage::Leave(queue.keep()),
    })
}

/// Processes an item, and acknowledges, requeues or releases it.
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
    // Another consumer has claimed the item by now, or will.
    let node = format!("{queue}/{}", claim.name()).into();
    zookeeper.observe(AckSeen::Lost { queue, node, token });
}

/// Does the work of an item: a write outside of ZooKeeper. Returns false if the write was refused, because a later
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

//! The leader lists the empty containers and then deletes them one after the other, without checking each again (rules
//! 1.5.4 and 1.5.5). So it deletes a persistent znode that has replaced a listed container. One server; no faults.

use super::Variant;
use super::error::FindingError;
use super::narration::{Narration, Outcome};
use super::session::Session;
use crate::conform::{Installation, Options, RealServer};
use std::thread;
use std::time::{Duration, Instant};
use vivarium_model::op::{CreateMode, Op, Request, Version};

/// The number of containers that are empty at the leader's check.
const JOBS: usize = 8;

/// The interval between checks, shorter than the deletions of one check take.
const LOOKS: Duration = Duration::from_secs(6);

/// One deletion every two seconds, so that the order of events is easy to follow.
const DELETIONS_A_MINUTE: u32 = 30;

/// Longer than two checks and the deletions of one.
const WAITS: Duration = Duration::from_secs(30);

/// The longest wait until a listed container is deleted.
const FIRST_DELETION: Duration = Duration::from_secs(60);

/// Empties containers, replaces each by a persistent znode, and checks whether these stay.
pub(super) fn reproduce(
    installation: &Installation,
    variant: Variant,
    tale: &mut Narration<'_>,
) -> Result<Outcome, FindingError> {
    let options = Options {
        container_check_interval: LOOKS,
        java_arguments: vec![format!("-Dznode.container.maxPerMinute={DELETIONS_A_MINUTE}")],
        ..Options::default()
    };
    let server = RealServer::start_with(installation, &options)?;
    let mut client = Session::begin(server.address())?;
    for job in jobs() {
        empty_container(&mut client, &job)?;
    }
    tale.say(format!(
        "a server serves, looks for empty containers every {LOOKS:?}, and deletes {DELETIONS_A_MINUTE} of them a \
         minute; a client has made {JOBS} containers, /job-0 to /job-{}, and emptied them",
        JOBS - 1
    ));
    if variant == Variant::Defect {
        let first = wait_for_a_deletion(&mut client)?;
        tale.say(format!("the leader has deleted {first}"));
    }
    let mut replaced = Vec::new();
    for job in jobs() {
        if client.has(&job)? {
            done(&mut client, Request::Write(Op::delete(job.as_str(), Version::Any)))?;
            client.create(&job)?;
            replaced.push(job);
        }
    }
    tale.say(format!(
        "the client deletes those that are left, {}, and creates persistent znodes in their places",
        replaced.join(", ")
    ));
    thread::sleep(WAITS);
    let mut gone = Vec::new();
    for job in &replaced {
        if !client.has(job)? {
            gone.push(job.as_str());
        }
    }
    tale.say(match gone.len() {
        0 => format!("{WAITS:?} later all of them are there"),
        _ => format!("{WAITS:?} later {} are gone", gone.join(", ")),
    });
    Ok(match (gone.len(), replaced.len()) {
        (_, 0) => Outcome::Inconclusive("the leader had deleted all containers".to_owned()),
        (0, _) => Outcome::Kept("every persistent znode is there".to_owned()),
        (gone, all) => Outcome::Shown(format!(
            "{gone} of {all} persistent znodes are gone, and no client has deleted them"
        )),
    })
}

fn jobs() -> impl Iterator<Item = String> {
    (0..JOBS).map(|number| format!("/job-{number}"))
}

/// Creates a container, and creates and deletes a child in it.
fn empty_container(client: &mut Session, path: &str) -> Result<(), FindingError> {
    let child = format!("{path}/part");
    done(client, Request::Write(Op::create(path, *b"", CreateMode::Container)))?;
    client.create(&child)?;
    done(client, Request::Write(Op::delete(child.as_str(), Version::Any)))
}

/// Waits for the first deletion of a container, and returns its path.
fn wait_for_a_deletion(client: &mut Session) -> Result<String, FindingError> {
    let end = Instant::now() + FIRST_DELETION;
    while Instant::now() < end {
        for job in jobs() {
            if !client.has(&job)? {
                return Ok(job);
            }
        }
        thread::sleep(Duration::from_millis(50));
    }
    let what = "the deletion of an empty container".to_owned();
    Err(FindingError::NotSeen { what, patience: FIRST_DELETION })
}

fn done(client: &mut Session, request: Request) -> Result<(), FindingError> {
    match client.ask(request)?.result {
        Ok(_) => Ok(()),
        Err(error) => Err(FindingError::Otherwise(format!("a write was refused: {error}"))),
    }
}

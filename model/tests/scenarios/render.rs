//! Formats events, disks and trees in ZooKeeper's words.

use vivarium_model::acl::AclList;
use vivarium_model::ensemble::Ensemble;
use vivarium_model::event::Event;
use vivarium_model::id::ServerId;
use vivarium_model::op::{OpResult, Request, Response, SessionState};

/// Returns one line for an event that belongs in a story, `None` for others. `all` includes acks and applies.
pub(crate) fn event(event: &Event, all: bool) -> Option<String> {
    Some(match event {
        Event::Elected { server, leader, round } if server == leader => {
            format!("{server} leads (round {round})")
        }
        Event::Elected { server, leader, round } => {
            format!("{server} follows server {} (round {round})", leader.0)
        }
        Event::LeftRole { server, reason } => format!("{server} goes back to LOOKING: {reason}"),
        Event::Established { leader, epoch, last_zxid } => {
            format!("{leader} is established in epoch {epoch}, history up to {last_zxid}")
        }
        Event::AcksStalled { leader, learner } => {
            format!("{leader} hangs up on server {}: its acks stall", learner.learner.0)
        }
        Event::Synchronising { leader, learner, mode } => {
            format!("{leader} synchronises server {} by {mode}", learner.learner.0)
        }
        Event::AtMaster { master, observer, what } => {
            format!("{master}, observer master of server {}: {what:?}", observer.learner.0)
        }
        Event::Proposed { leader, txn } => format!("{leader} proposes {} {}", txn.zxid, txn.body),
        Event::Committed { leader, txn } => format!("{leader} commits {} {}", txn.zxid, txn.body),
        Event::Serving { server, zxid, .. } => format!("{server} serves at {zxid}"),
        Event::AckedNewLeader { server, epoch, history, durable, current_epoch } => format!(
            "{server} acks NEWLEADER {epoch}: history {history}, durable {durable}, \
             currentEpoch {current_epoch}"
        ),
        Event::Acked { server, zxid, durable } if all => {
            format!("{server} acks {zxid} (durable {durable})")
        }
        Event::Applied { server, txn, .. } if all => {
            format!("{server} applies {} {}", txn.zxid, txn.body)
        }
        Event::SnapshotTruncated { server, label, before, after } => {
            format!("{server} truncates its snapshot {label}: a start loads {after}, not {before}")
        }
        Event::EpochUndone { server, file, written, found } => {
            format!("{server} has lost {file} {written}: it is {found} again")
        }
        Event::Crashed { server, lost } => {
            format!("{server} crashes, {lost} unsynced transactions lost")
        }
        Event::Restarted { server } => format!("{server} starts"),
        Event::Exited { server, reason } => format!("{server} exits: {reason}"),
        Event::Replied { client, xid, zxid, request, result, .. } => {
            let result = match result {
                Ok(response) => self::response(response),
                Err(error) => format!("{error:?}"),
            };
            format!("{client}: {} = {result} (xid {}, zxid {zxid})", in_short(request), xid.0)
        }
        Event::Lost { client, request, .. } => {
            format!("{client}: {} = ConnectionLoss", in_short(request))
        }
        Event::Session { client, server, state, .. } => match server {
            Some(server) if *state != SessionState::Expired => {
                format!("{client}: {state} to {server}")
            }
            _ => format!("{client}: {state}"),
        },
        Event::Notified { client, event, .. } => {
            format!("{client}: event {:?} {} (zxid {})", event.kind, event.path, event.zxid)
        }
        Event::Activated { server, configuration } => format!(
            "{server} activates the configuration of {}: {}",
            configuration.version(),
            configuration.members()
        ),
        Event::Designated { server, leader } if server == leader => {
            format!("{server} leads, as the reconfiguration designates it")
        }
        Event::Designated { server, leader } => {
            format!("{server} follows the designated server {}", leader.0)
        }
        _ => return None,
    })
}

fn in_short(request: &Request) -> String {
    request.to_string().replace(" (Persistent)", "").replace(" (watch)", "")
}

fn response(response: &Response) -> String {
    match response {
        Response::Written(result) => op_result(result),
        Response::Multi(results) => {
            format!("[{}]", results.iter().map(op_result).collect::<Vec<_>>().join(", "))
        }
        Response::Exists(stat) => format!("czxid {}, version {}", stat.czxid, stat.version),
        Response::Data(data, stat) => {
            format!("'{}' (version {})", String::from_utf8_lossy(data), stat.version)
        }
        Response::Children(names, _) => format!("[{}]", names.join(", ")),
        Response::Synced | Response::Closed => "ok".into(),
        other => other.to_string(),
    }
}

fn op_result(result: &OpResult) -> String {
    match result {
        OpResult::Created(path, _) => path.to_string(),
        OpResult::Set(stat) => format!("version {}", stat.version),
        OpResult::Deleted | OpResult::Checked => "ok".into(),
        OpResult::Failed(code) => code.map_or("0".into(), |code| format!("{code:?}")),
    }
}

/// Returns the log (transactions to the right of `|` are not durable), the snapshots and the epoch files.
pub(crate) fn disk(ensemble: &Ensemble, server: ServerId) -> String {
    let disk = ensemble.disk(server);
    let durable = disk.log().len() - disk.unsynced();
    let mut log: Vec<String> = disk.log().iter().map(|txn| txn.zxid.to_string()).collect();
    log.insert(durable, "|".into());
    let torn = if disk.is_torn() { " (torn)" } else { "" };
    let tmp = disk.current_epoch_tmp().map(|epoch| format!(", currentEpoch.tmp {epoch}"));
    let snapshots = disk.snapshots().iter().map(|snapshot| {
        format!("{}{}", snapshot.label, if snapshot.durable { "" } else { " (unsynced)" })
    });
    format!(
        "log {}{torn}; snapshots {}; acceptedEpoch {}, currentEpoch {}{}",
        log.join(" "),
        snapshots.collect::<Vec<_>>().join(", "),
        disk.accepted_epoch(),
        disk.current_epoch(),
        tmp.unwrap_or_default()
    )
}

/// Returns the znodes of a server's memory, without those of every database.
pub(crate) fn tree(ensemble: &Ensemble, server: ServerId) -> String {
    let Some(process) = ensemble.server(server) else { return "down".into() };
    let tree = process.tree();
    let own = tree.nodes().filter(|(path, _)| {
        let path = path.as_str();
        path != "/" && !path.starts_with("/zookeeper")
    });
    let paths: Vec<String> = own
        .map(|(path, node)| match node.acl.entries() {
            _ if node.acl == AclList::OPEN => path.to_string(),
            [] => format!("{path} (for nobody)"),
            [first, ..] => match first.id.id.split_once(':') {
                Some((user, _)) => format!("{path} (for {user})"),
                None => format!("{path} (for {})", first.id.id),
            },
        })
        .collect();
    format!("{} at {}", paths.join(" "), tree.last_processed()).trim_start().into()
}

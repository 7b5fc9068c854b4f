//! Which monitors judge a run: of servers, of the clients of a sweep, of clients outside of the run.

use super::{
    AccessDecisions, AcknowledgedWrite, ActivatedByQuorums, Bridge, CommittedPrefix,
    CompleteLeader, DueContainers, DurableAck, EarlyExpiry, EndedSession, FaithfulClient,
    KeptPromises, KeptWatches, KnownPackets, LedByQuorum, LiveOwners, Livelock, Monitor,
    MonotoneZxid, MovedSession, NoExit, NoPhantom, OneLeader, PrefixRead, Protocol, PunctualClient,
    ReconfigurationEnds, ReplyOrder, SequenceOrder, SyncedReads, WholeSnapshots,
};

type Monitors = Vec<Box<dyn Monitor>>;

/// Returns the monitors of ZooKeeper's own properties: those of the servers (S*) before those of the clients (H*),
/// since a client's wrong observation has its cause at a server. The bridge to the service grain is last, because it
/// covers every observation of a client.
pub fn zookeeper() -> Monitors {
    let machines: Monitors = vec![Box::new(FaithfulClient::new()), Box::new(PunctualClient::new())];
    let last: Monitors = vec![Box::new(AccessDecisions::new()), Box::new(Bridge::new())];
    let members: Monitors =
        vec![Box::new(ActivatedByQuorums::new()), Box::new(ReconfigurationEnds::new())];
    among_servers()
        .into_iter()
        .chain(members)
        .chain(to_clients())
        .chain(machines)
        .chain(last)
        .collect()
}

/// Returns the monitors of properties that hold for any program. Sweeps check them in addition to [`zookeeper()`] and
/// the program's own.
pub fn programs() -> Monitors {
    vec![Box::new(Livelock::new())]
}

/// Returns the monitors of servers alone (S*), for a search without clients, which also checks the state properties
/// ([`invariants`](super::invariants)). [`NoExit`] is not in [`zookeeper()`]: a sweep detects its violation as a server
/// that is missing at the end.
pub fn servers() -> Monitors {
    let mut monitors: Monitors = vec![Box::new(NoExit)];
    monitors.extend(among_servers());
    monitors
}

/// Returns the monitors of clients outside of the run ([`Outside`](crate::outside::Outside)), besides those of
/// [`servers()`]: what servers promise a client of any language. What a client machine of ours owes its program is no matter
/// here.
pub fn outside() -> Monitors {
    let mut monitors = to_clients();
    monitors.push(Box::new(AccessDecisions::new()));
    monitors
}

/// Returns true if a monitor of ZooKeeper's own properties with this name judges the times of steps. Such a property fails
/// without a cause in a replay of steps that another build has recorded: a timer that is not in the record fires too late,
/// and one that is in it may fire too early.
pub fn goes_by_times(property: &str) -> bool {
    let names =
        [EarlyExpiry::new().name(), DueContainers::new().name(), PunctualClient::new().name()];
    names.contains(&property)
}

/// What servers owe each other and their disks.
fn among_servers() -> Monitors {
    vec![
        Box::new(DurableAck::new()),
        Box::new(WholeSnapshots),
        Box::new(KeptPromises),
        Box::new(OneLeader::new()),
        Box::new(LedByQuorum::new()),
        Box::new(CompleteLeader::new()),
        Box::new(CommittedPrefix::new()),
        Box::new(NoPhantom::new()),
        Box::new(KnownPackets),
    ]
}

/// What servers owe their clients, but for access.
fn to_clients() -> Monitors {
    vec![
        Box::new(LiveOwners),
        Box::new(EarlyExpiry::new()),
        Box::new(DueContainers::new()),
        Box::new(Protocol),
        Box::new(ReplyOrder::new()),
        Box::new(MonotoneZxid::new()),
        Box::new(PrefixRead::new()),
        Box::new(AcknowledgedWrite::new()),
        Box::new(SyncedReads::new()),
        Box::new(KeptWatches::new()),
        Box::new(MovedSession::new()),
        Box::new(SequenceOrder::new()),
        Box::new(EndedSession::new()),
    ]
}

//! The texts of four-letter words.

use super::java::{Date, Double, SocketAddress};
use super::json::Json;
use super::role::Role;
use super::status::Status;
use super::{Address, Connection, NOT_SERVING, Peer, Word, monitor};
use std::collections::BTreeMap;
use std::fmt;

impl Word {
    /// Returns the text with which a server answers before it closes the connection.
    ///
    /// A real server counts the word as a packet received before it answers, and the answer as a packet sent. Its
    /// answer includes the connection that asks, without interest in events and without a session.
    #[must_use]
    pub fn answer(self, status: &Status) -> String {
        Answer { word: self, status }.to_string()
    }
}

/// The answer to a word, which `Display` writes.
pub(super) struct Answer<'a> {
    pub(super) word: Word,
    pub(super) status: &'a Status,
}

impl fmt::Display for Answer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = self.status;
        match self.word {
            Word::Ruok => f.write_str("imok"),
            Word::Envi => environment(f, status),
            Word::Gtmk | Word::Stmk => write!(f, "{}", status.trace_mask),
            Word::Isro if !status.serving => f.write_str("null"),
            Word::Hash if !status.serving => f.write_str(NOT_SERVING),
            _ if !status.serving => writeln!(f, "{NOT_SERVING}"),
            Word::Isro => f.write_str(if read_only(status) { "ro" } else { "rw" }),
            Word::Conf => configuration(f, status),
            Word::Cons => connections(f, status, false),
            Word::Crst => f.write_str("Connection stats reset.\n"),
            Word::Srst => f.write_str("Server stats reset.\n"),
            Word::Dirs => directories(f, status),
            Word::Dump => dump(f, status),
            Word::Hash => digests(f, status),
            Word::Mntr => metrics(f, status),
            Word::Srvr => server(f, status, false),
            Word::Stat => server(f, status, true),
            Word::Wchs => watch_summary(f, status),
            Word::Wchc => watches(f, status),
            Word::Wchp => watches_by_path(f, status),
        }
    }
}

fn read_only(status: &Status) -> bool {
    matches!(status.role, Role::ReadOnly)
}

fn environment(f: &mut fmt::Formatter<'_>, status: &Status) -> fmt::Result {
    f.write_str("Environment:\n")?;
    status.environment.iter().try_for_each(|(key, value)| writeln!(f, "{key}={value}"))
}

fn configuration(f: &mut fmt::Formatter<'_>, status: &Status) -> fmt::Result {
    let configuration = &status.configuration;
    let (data_dir_size, log_dir_size) = status.reported_sizes();
    writeln!(f, "clientPort={}", configuration.client_port)?;
    writeln!(f, "secureClientPort={}", configuration.secure_client_port.map_or(-1, i32::from))?;
    writeln!(f, "dataDir={}", configuration.data_dir)?;
    writeln!(f, "dataDirSize={data_dir_size}")?;
    writeln!(f, "dataLogDir={}", configuration.data_log_dir)?;
    writeln!(f, "dataLogSize={log_dir_size}")?;
    writeln!(f, "tickTime={}", configuration.tick_time)?;
    writeln!(f, "maxClientCnxns={}", configuration.max_client_cnxns)?;
    writeln!(f, "minSessionTimeout={}", configuration.min_session_timeout)?;
    writeln!(f, "maxSessionTimeout={}", configuration.max_session_timeout)?;
    writeln!(f, "clientPortListenBacklog={}", configuration.client_port_listen_backlog)?;
    writeln!(f, "serverId={}", configuration.server_id)?;
    match &status.peer {
        Some(peer) if status.role.is_quorum_server() || read_only(status) => {
            quorum_configuration(f, status, peer)
        }
        _ => Ok(()),
    }
}

fn quorum_configuration(f: &mut fmt::Formatter<'_>, status: &Status, peer: &Peer) -> fmt::Result {
    let this = peer.members.get(&status.configuration.server_id);
    writeln!(f, "initLimit={}", peer.init_limit)?;
    writeln!(f, "syncLimit={}", peer.sync_limit)?;
    writeln!(f, "electionAlg={}", peer.election_alg)?;
    writeln!(f, "electionPort={}", this.map_or(String::new(), |member| ports(&member.election)))?;
    writeln!(f, "quorumPort={}", this.map_or(String::new(), |member| ports(&member.quorum)))?;
    writeln!(f, "peerType={}", peer.learner_type as u8)?;
    if read_only(status) {
        return Ok(());
    }
    f.write_str("membership: \n")?;
    for (id, member) in &peer.members {
        writeln!(f, "server.{id}={member}")?;
    }
    write!(f, "version={:x}", peer.version)
}

fn ports(addresses: &[Address]) -> String {
    let ports: Vec<String> = addresses.iter().map(|address| address.port.to_string()).collect();
    ports.join("|")
}

fn connections(f: &mut fmt::Formatter<'_>, status: &Status, brief: bool) -> fmt::Result {
    for connection in &status.connections {
        self::connection(f, connection, brief)?;
        f.write_str("\n")?;
    }
    f.write_str("\n")
}

fn connection(f: &mut fmt::Formatter<'_>, connection: &Connection, brief: bool) -> fmt::Result {
    write!(f, " {}[{:x}]", SocketAddress(connection.remote), connection.interest_ops)?;
    write!(f, "(queued={}", connection.outstanding_requests)?;
    write!(f, ",recved={}", connection.packets_received)?;
    write!(f, ",sent={}", connection.packets_sent)?;
    if !brief && connection.session_id != 0 {
        write!(f, ",sid=0x{:x}", connection.session_id)?;
        write!(f, ",lop={}", connection.last_operation.as_deref().unwrap_or("null"))?;
        write!(f, ",est={}", connection.established)?;
        write!(f, ",to={}", connection.session_timeout)?;
        if connection.last_cxid >= 0 {
            write!(f, ",lcxid=0x{:x}", connection.last_cxid)?;
        }
        write!(f, ",lzxid=0x{:x}", connection.last_zxid)?;
        write!(f, ",lresp={}", connection.last_response_time)?;
        write!(f, ",llat={}", connection.last_latency)?;
        write!(f, ",minlat={}", connection.min_latency)?;
        write!(f, ",avglat={}", connection.avg_latency)?;
        write!(f, ",maxlat={}", connection.max_latency)?;
    }
    f.write_str(")")
}

fn directories(f: &mut fmt::Formatter<'_>, status: &Status) -> fmt::Result {
    let (data_dir_size, log_dir_size) = status.reported_sizes();
    writeln!(f, "datadir_size: {data_dir_size}")?;
    writeln!(f, "logdir_size: {log_dir_size}")
}

fn dump(f: &mut fmt::Formatter<'_>, status: &Status) -> fmt::Result {
    f.write_str("SessionTracker dump:\n")?;
    if status.role.is_learner() {
        writeln!(f, "Global Sessions({}):", status.sessions.len())?;
        for (id, session) in &status.sessions {
            writeln!(f, "0x{id:x}\t{}ms", session.timeout)?;
        }
    } else {
        let sessions = status.sessions.iter();
        let sessions = sessions.map(|(id, session)| (session.expires, format!("0x{id:x}")));
        f.write_str("Session ")?;
        expiry_queue(f, status, sessions)?;
    }
    f.write_str("ephemeral nodes dump:\n")?;
    let ephemerals = &status.database.ephemerals;
    writeln!(f, "Sessions with Ephemerals ({}):", ephemerals.len())?;
    for (session, paths) in ephemerals {
        writeln!(f, "0x{session:x}:")?;
        paths.iter().try_for_each(|path| writeln!(f, "\t{path}"))?;
    }
    f.write_str("Connections dump:\nConnections ")?;
    let connections = status.connections.iter().filter_map(|connection| {
        let remote = SocketAddress(connection.remote);
        let text = format!("ip: {remote} sessionId: 0x{:x}", connection.session_id);
        Some((connection.expires?, text))
    });
    expiry_queue(f, status, connections)
}

/// Writes the elements by the time at which they expire.
fn expiry_queue(
    f: &mut fmt::Formatter<'_>,
    status: &Status,
    elements: impl Iterator<Item = (i64, String)>,
) -> fmt::Result {
    let mut sets = BTreeMap::<i64, Vec<String>>::new();
    for (time, element) in elements {
        sets.entry(time).or_default().push(element);
    }
    let total: usize = sets.values().map(Vec::len).sum();
    writeln!(f, "Sets ({})/({total}):", sets.len())?;
    for (time, set) in sets {
        writeln!(f, "{} expire at {}:", set.len(), Date(status.clock.wall_time(time)))?;
        set.iter().try_for_each(|element| writeln!(f, "\t{element}"))?;
    }
    Ok(())
}

fn digests(f: &mut fmt::Formatter<'_>, status: &Status) -> fmt::Result {
    let mut digests = status.database.digests.iter();
    digests.try_for_each(|digest| writeln!(f, "{:x}: {}", digest.zxid, digest.digest))
}

fn metrics(f: &mut fmt::Formatter<'_>, status: &Status) -> fmt::Result {
    for (name, value) in monitor::metrics(status) {
        write!(f, "zk_{name}\t")?;
        match value {
            Json::Text(text) => writeln!(f, "{text}")?,
            Json::Decimal(value) => writeln!(f, "{}", Double(value))?,
            value => writeln!(f, "{value}")?,
        }
    }
    Ok(())
}

fn server(f: &mut fmt::Formatter<'_>, status: &Status, with_clients: bool) -> fmt::Result {
    writeln!(f, "Zookeeper version: {}", status.version)?;
    if read_only(status) {
        f.write_str("READ-ONLY mode; serving only read-only clients\n")?;
    }
    if with_clients {
        f.write_str("Clients:\n")?;
        connections(f, status, true)?;
    }
    let stats = &status.stats;
    let average = Double(stats.avg_latency);
    writeln!(f, "Latency min/avg/max: {}/{average}/{}", stats.min_latency, stats.max_latency)?;
    writeln!(f, "Received: {}", stats.packets_received)?;
    writeln!(f, "Sent: {}", stats.packets_sent)?;
    writeln!(f, "Connections: {}", status.connections.len())?;
    writeln!(f, "Outstanding: {}", stats.outstanding_requests)?;
    writeln!(f, "Zxid: 0x{:x}", status.database.last_processed_zxid)?;
    writeln!(f, "Mode: {}", status.role.name())?;
    writeln!(f, "Node count: {}", status.database.node_count)?;
    if let Role::Leader(leading) = &status.role {
        let sizes = leading.proposals;
        writeln!(f, "Proposal sizes last/min/max: {}/{}/{}", sizes.last, sizes.min, sizes.max)?;
    }
    Ok(())
}

fn watch_summary(f: &mut fmt::Formatter<'_>, status: &Status) -> fmt::Result {
    let watches = &status.database.data_watches;
    let paths = status.database.watches_by_path().len();
    writeln!(f, "{} connections watching {paths} paths", watches.len())?;
    writeln!(f, "Total watches:{}", status.database.data_watch_count())
}

fn watches(f: &mut fmt::Formatter<'_>, status: &Status) -> fmt::Result {
    for (session, paths) in &status.database.data_watches {
        writeln!(f, "0x{session:x}")?;
        paths.iter().try_for_each(|path| writeln!(f, "\t{path}"))?;
    }
    f.write_str("\n")
}

fn watches_by_path(f: &mut fmt::Formatter<'_>, status: &Status) -> fmt::Result {
    for (path, sessions) in status.database.watches_by_path() {
        writeln!(f, "{path}")?;
        sessions.iter().try_for_each(|session| writeln!(f, "\t0x{session:x}"))?;
    }
    f.write_str("\n")
}

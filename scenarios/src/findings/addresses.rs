//! How the servers of an ensemble reach each other: by a port of a proxy for each pair of servers, or by names.
//!
//! A reconfiguration gives all servers one text, in which each server has one address. So there each server has a name,
//! which every other process resolves to an address of its own on the loopback interface, where a proxy listens.

use super::error::FindingError;
use super::link::Link;
use super::quorum::Content;
use crate::conform::{ConformError, Member, Options};
use std::fmt::Write as _;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use vivarium_model::id::ServerId;

/// The first configuration, which lists the first servers, and those that are to join it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Members {
    pub(super) voters: usize,
    pub(super) observers: usize,
    pub(super) joiners: usize,
}

/// The addresses of servers, and the proxies between them.
#[derive(Debug)]
pub(super) struct Addresses {
    /// Where each server serves clients.
    pub(super) clients: Vec<SocketAddr>,
    /// The lines of each server's `zoo.cfg` that list its ensemble.
    pub(super) lines: Vec<Vec<String>>,
    /// The links between quorum ports: those of the first learner to each other server, then those of the second.
    pub(super) links: Vec<Link>,
    /// The links between election ports, in the same order. There are none by ports.
    pub(super) elections: Vec<Link>,
    /// Each server as a configuration lists it as a voter. There are none by ports.
    pub(super) members: Vec<String>,
    /// An argument of each server's process. There are none by ports.
    pub(super) arguments: Vec<String>,
}

impl Addresses {
    /// Gives each pair of servers a port for quorum packets. Notifications of elections go directly.
    pub(super) fn by_ports(options: &Options, count: usize) -> Result<Addresses, FindingError> {
        let ports = free_ports(count * (count + 2))?;
        let (clients, rest) = ports.split_at(count);
        let (elections, rest) = rest.split_at(count);
        // Each server's own quorum port, and the ports of the proxies for its learners.
        let quorum: Vec<&[u16]> = rest.chunks(count).collect();
        let own = |learner| options.own_line(learner, count);
        let lines = |learner: usize| {
            let member = |leader: usize| {
                let (quorum, election) = (quorum[leader][learner], elections[leader]);
                let member = Member { quorum, election, client: clients[leader] };
                options.member(leader, count, member)
            };
            own(learner).into_iter().chain((0..count).map(member)).collect()
        };
        Ok(Addresses {
            clients: clients.iter().map(|port| loopback(*port)).collect(),
            lines: (0..count).map(lines).collect(),
            links: links(count, |learner, leader| {
                let (listens, target) = (quorum[leader][learner], quorum[leader][leader]);
                Link::open(
                    ServerId::at(learner),
                    ServerId::at(leader),
                    loopback(listens),
                    loopback(target),
                    Content::Packets,
                )
            })?,
            elections: Vec::new(),
            members: Vec::new(),
            arguments: Vec::new(),
        })
    }

    /// Gives each server a name. Each server that is to join the first configuration lists itself, too. The table of names
    /// of each process is written into `directory`.
    pub(super) fn by_names(members: Members, directory: &Path) -> Result<Addresses, FindingError> {
        let Members { voters, observers, joiners } = members;
        let count = voters + observers + joiners;
        let ports = free_ports(3 * count)?;
        let (clients, rest) = ports.split_at(count);
        let (quorum, election) = rest.split_at(count);
        let member = |at: usize| {
            let (own, quorum, election, client) = (at + 1, quorum[at], election[at], clients[at]);
            format!("server.{own}=server{own}:{quorum}:{election}:participant;127.0.0.1:{client}")
        };
        let members: Vec<String> = (0..count).map(member).collect();
        let observes = |at: &usize| (voters..voters + observers).contains(at);
        let lists = |own: usize| {
            let listed = |at: &usize| *at < voters || observes(at) || *at == own;
            let line = |at: usize| match observes(&at) {
                true => members[at].replace("participant", "observer"),
                false => members[at].clone(),
            };
            let role = observes(&own).then(|| "peerType=observer".to_owned());
            role.into_iter().chain((0..count).filter(listed).map(line)).collect()
        };
        let through = |ports: &[u16], content| {
            links(count, |learner, leader| {
                let listens = SocketAddr::new(seen_from(learner, leader), ports[leader]);
                let target = loopback(ports[leader]);
                let (learner, leader) = (ServerId::at(learner), ServerId::at(leader));
                Link::open(learner, leader, listens, target, content)
            })
        };
        Ok(Addresses {
            clients: clients.iter().map(|port| loopback(*port)).collect(),
            lines: (0..count).map(lists).collect(),
            links: through(quorum, Content::Packets)?,
            elections: through(election, Content::Notifications)?,
            members,
            arguments: (0..count)
                .map(|own| names(own, count, directory))
                .collect::<Result<_, _>>()?,
        })
    }
}

/// Opens a link from each server to each other one.
fn links(
    count: usize,
    open: impl Fn(usize, usize) -> Result<Link, FindingError>,
) -> Result<Vec<Link>, FindingError> {
    let pairs = (0..count).flat_map(|learner| (0..count).map(move |leader| (learner, leader)));
    let others = pairs.filter(|(learner, leader)| learner != leader);
    others.map(|(learner, leader)| open(learner, leader)).collect()
}

/// Returns the address that a process resolves a server's name to: its own name to 127.0.0.1.
fn seen_from(process: usize, server: usize) -> IpAddr {
    let number = |at: usize| u8::try_from(at + 1).expect("there are few servers");
    match process == server {
        true => Ipv4Addr::LOCALHOST.into(),
        false => Ipv4Addr::new(127, 0, number(process), number(server)).into(),
    }
}

/// Writes the names as a process resolves them, and returns the argument by which Java reads them.
fn names(process: usize, count: usize, directory: &Path) -> Result<String, FindingError> {
    let mut text = "127.0.0.1 localhost\n".to_owned();
    for server in 0..count {
        let _ = writeln!(text, "{} server{}", seen_from(process, server), server + 1);
    }
    let file = directory.join(format!("names-{}", process + 1));
    fs::write(&file, text).map_err(ConformError::Start)?;
    Ok(format!("-Djdk.net.hosts.file={}", file.display()))
}

fn loopback(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

/// Returns unused ports. They are below the range for outgoing connections, because a killed server needs its own port
/// again when it restarts.
fn free_ports(count: usize) -> Result<Vec<u16>, FindingError> {
    let first = 18_000 + u16::try_from(std::process::id() % 97).unwrap_or(0) * 100;
    let listeners: Vec<TcpListener> = (first..32_000)
        .filter_map(|port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).ok())
        .take(count)
        .collect();
    let addresses = listeners.iter().filter_map(|listener| listener.local_addr().ok());
    let ports: Vec<u16> = addresses.map(|address| address.port()).collect();
    match ports.len() == count {
        true => Ok(ports),
        false => Err(FindingError::Otherwise("there are not enough free ports".to_owned())),
    }
}

//! Connect strings: `host1:2181,host2:2181/chroot`.

use std::fmt;
use thiserror::Error;
use vivarium_model::path::ZnodePath;

/// The port of a server whose address names none.
const DEFAULT_PORT: u16 = 2181;

/// The most servers of a connect string.
pub(crate) const MAX_SERVERS: usize = 255;

/// A server's address. The name is resolved anew for each connection.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// A host name or an IP address, an IPv6 address without brackets.
    pub host: String,
    /// The port for clients.
    pub port: u16,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// Why a connect string is refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AddressError {
    /// It names no server.
    #[error("the connect string {0:?} names no server")]
    Empty(String),
    /// It names more than 255 servers.
    #[error("the connect string names {0} servers; at most {MAX_SERVERS} are possible")]
    TooMany(usize),
    /// One of the servers has no host.
    #[error("{0:?} is not the address of a server: it has no host")]
    NoHost(String),
    /// The port is not a number from 1 to 65,535.
    #[error("{0:?} is not the address of a server: its port is not a number from 1 to 65535")]
    BadPort(String),
    /// An IPv6 address without brackets, whose last part may or may not be a port.
    #[error("{0:?} is ambiguous: an IPv6 address needs brackets, as in [::1]:2181")]
    NoBrackets(String),
    /// The chroot is no path of a znode.
    #[error("the chroot {0:?} is not a valid path")]
    BadChroot(String),
}

/// Returns the servers and the chroot of a connect string. The chroot is empty if there is none.
pub(crate) fn parse(text: &str) -> Result<(Vec<Address>, String), AddressError> {
    let (servers, chroot) = match text.find('/') {
        Some(at) => text.split_at(at),
        None => (text, ""),
    };
    let chroot = if chroot == "/" { "" } else { chroot };
    if !chroot.is_empty() && ZnodePath::new(chroot).is_err() {
        return Err(AddressError::BadChroot(chroot.to_owned()));
    }
    let servers = servers.split(',').map(str::trim).filter(|server| !server.is_empty());
    let servers = servers.map(server).collect::<Result<Vec<_>, _>>()?;
    match servers.len() {
        0 => Err(AddressError::Empty(text.to_owned())),
        1..=MAX_SERVERS => Ok((servers, chroot.to_owned())),
        many => Err(AddressError::TooMany(many)),
    }
}

fn server(text: &str) -> Result<Address, AddressError> {
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, "")) => (host, None),
        Some((host, rest)) => match rest.strip_prefix(':') {
            Some(port) => (host, Some(port)),
            None => return Err(AddressError::BadPort(text.to_owned())),
        },
        None => match text.split_once(':') {
            Some((_, rest)) if rest.contains(':') => {
                return Err(AddressError::NoBrackets(text.to_owned()));
            }
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    if host.is_empty() {
        return Err(AddressError::NoHost(text.to_owned()));
    }
    let port = match port {
        None => DEFAULT_PORT,
        Some(port) => match port.parse() {
            Ok(port) if port > 0 => port,
            _ => return Err(AddressError::BadPort(text.to_owned())),
        },
    };
    Ok(Address { host: host.to_owned(), port })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (String, String) {
        let (servers, chroot) = parse(text).unwrap();
        let servers: Vec<String> = servers.iter().map(Address::to_string).collect();
        (servers.join(" "), chroot)
    }

    #[test]
    fn a_connect_string_has_servers_and_perhaps_a_chroot() {
        let read = |text| {
            let (servers, chroot) = read(text);
            format!("{servers} {chroot:?}")
        };
        assert_eq!(read("zk1"), "zk1:2181 \"\"");
        assert_eq!(read("zk1:2182, zk2,/"), "zk1:2182 zk2:2181 \"\"");
        assert_eq!(read("10.0.0.1:1/app/jobs"), "10.0.0.1:1 \"/app/jobs\"");
        assert_eq!(read("[::1]:2182,[fe80::2]/x"), "[::1]:2182 [fe80::2]:2181 \"/x\"");
    }

    #[test]
    fn what_is_no_connect_string_is_refused_with_the_part_that_is_wrong() {
        let why = |text: &str| parse(text).unwrap_err();
        assert_eq!(why(""), AddressError::Empty(String::new()));
        assert_eq!(why(" ,/x"), AddressError::Empty(" ,/x".into()));
        assert_eq!(why("a,:2181"), AddressError::NoHost(":2181".into()));
        assert_eq!(why("a:0"), AddressError::BadPort("a:0".into()));
        assert_eq!(why("a:65536"), AddressError::BadPort("a:65536".into()));
        assert_eq!(why("[::1]2181"), AddressError::BadPort("[::1]2181".into()));
        assert_eq!(why("::1:2181"), AddressError::NoBrackets("::1:2181".into()));
        assert_eq!(why("a/x/"), AddressError::BadChroot("/x/".into()));
        assert_eq!(why("a//"), AddressError::BadChroot("//".into()));
        assert_eq!(why(&vec!["a"; 256].join(",")), AddressError::TooMany(256));
    }
}

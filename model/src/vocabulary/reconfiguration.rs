//! The change of the ensemble's members that a `reconfig` asks for (rule 5.8.3), in the texts of ZooKeeper's own call.

use crate::vocabulary::error::Error;
use crate::vocabulary::hierarchy::Hierarchy;
use crate::vocabulary::id::{ServerId, ServerSet};
use crate::vocabulary::quorum::QuorumVerifier;
use crate::vocabulary::zxid::Zxid;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// The arguments of `reconfig`. A server is written as in `zoo.cfg`, for example
/// `server.4=host4:2888:3888:observer;2181`.
///
/// ```
/// use vivarium_model::reconfiguration::Reconfiguration;
///
/// let grow = Reconfiguration::incremental(["server.4=d:2888:3888;2181"], [2]);
/// assert_eq!(grow.to_string(), "joining server.4=d:2888:3888;2181, leaving 2");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Reconfiguration {
    /// `joiningServers`: servers that join, or get another role or address, separated by commas.
    pub joining: Option<Arc<str>>,
    /// `leavingServers`: the ids of servers that leave, separated by commas. They leave before the others join.
    pub leaving: Option<Arc<str>>,
    /// `newMembers`: the whole configuration, separated by commas or by line ends. It can have groups and weights
    /// (`group.1=1:2:3`, `weight.3=0`). The other two do not count then.
    pub members: Option<Arc<str>>,
    /// `fromConfig`: the version of the configuration to be replaced; `None` for any (-1 in the wire format).
    pub version: Option<Zxid>,
}

impl Reconfiguration {
    /// Returns an incremental change.
    pub fn incremental<'a>(
        joining: impl IntoIterator<Item = &'a str>,
        leaving: impl IntoIterator<Item = u8>,
    ) -> Reconfiguration {
        let leaving: Vec<String> = leaving.into_iter().map(|id| id.to_string()).collect();
        Reconfiguration {
            joining: listed(&joining.into_iter().collect::<Vec<_>>()),
            leaving: listed(&leaving),
            ..Reconfiguration::default()
        }
    }

    /// Returns a change to these members.
    pub fn whole<'a>(members: impl IntoIterator<Item = &'a str>) -> Reconfiguration {
        let members = listed(&members.into_iter().collect::<Vec<_>>());
        Reconfiguration { members, ..Reconfiguration::default() }
    }

    /// Returns the same change of the configuration of this version only.
    #[must_use]
    pub fn of_version(self, version: Zxid) -> Reconfiguration {
        Reconfiguration { version: Some(version), ..self }
    }

    /// Returns the configuration that becomes of `last`, with the version `zxid`.
    ///
    /// # Errors
    /// `BadArguments` for a server that is not written as one, and for an incremental change of a configuration with groups;
    /// `MarshallingError` for an id that is no number. Groups fail as [`Hierarchy::read`] does.
    pub fn of(&self, last: QuorumVerifier, zxid: Zxid) -> Result<QuorumVerifier, Error> {
        if let Some(members) = &self.members {
            return whole(members, zxid);
        }
        if last.hierarchy().is_some() {
            return Err(Error::BadArguments);
        }
        let mut next = Roles { voters: last.voters(), observers: last.observers() };
        for id in self.leaving.iter().flat_map(|leaving| leaving.split(',')) {
            let id: i64 = id.parse().map_err(|_| Error::MarshallingError)?;
            if let Some(server) = server_id(id) {
                next.remove(server);
            }
        }
        if let Some(joining) = &self.joining {
            let joining = Member::each(joining)?;
            if joining.iter().any(|member| !member.has_client_port) {
                return Err(Error::BadArguments);
            }
            joining.iter().for_each(|member| next.put(member));
        }
        Ok(QuorumVerifier::new(zxid, next.voters, next.observers))
    }
}

/// Returns the configuration with these lines.
fn whole(text: &str, zxid: Zxid) -> Result<QuorumVerifier, Error> {
    let is_of_groups = |line: &&str| Hierarchy::has_line(line);
    let (groups, servers): (Vec<&str>, Vec<&str>) = lines(text).partition(is_of_groups);
    let mut next = Roles::default();
    for server in servers {
        next.put(&Member::read(server).ok_or(Error::BadArguments)?);
    }
    let hierarchy = match groups.is_empty() {
        true => None,
        false => Some(Hierarchy::read(groups, next.voters)?),
    };
    Ok(QuorumVerifier::new(zxid, next.voters, next.observers).with_hierarchy(hierarchy))
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split([',', '\n']).map(str::trim).filter(|line| !line.is_empty())
}

/// The servers of a configuration that is being made.
#[derive(Default)]
struct Roles {
    voters: ServerSet,
    observers: ServerSet,
}

impl Roles {
    fn put(&mut self, member: &Member) {
        self.remove(member.server);
        match member.observes {
            true => self.observers.insert(member.server),
            false => self.voters.insert(member.server),
        }
    }

    fn remove(&mut self, server: ServerId) {
        self.voters.remove(server);
        self.observers.remove(server);
    }
}

/// A server as a configuration lists it.
struct Member {
    server: ServerId,
    observes: bool,
    has_client_port: bool,
}

impl Member {
    /// Reads a list of servers.
    fn each(text: &str) -> Result<Vec<Member>, Error> {
        lines(text).map(|server| Member::read(server).ok_or(Error::BadArguments)).collect()
    }

    /// Reads `server.ID=HOST:PORT:PORT[:ROLE][;[HOST:]PORT]`.
    fn read(text: &str) -> Option<Member> {
        let (key, address) = text.split_once('=')?;
        let server = server_id(key.strip_prefix("server.")?.parse().ok()?)?;
        let (quorum, client) = match address.split_once(';') {
            Some((quorum, client)) => (quorum, Some(client)),
            None => (address, None),
        };
        let mut parts: Vec<&str> = quorum.rsplitn(4, ':').collect();
        parts.reverse();
        let observes = match *parts.last()? {
            "observer" => true,
            "participant" => false,
            _ => {
                parts.push("");
                false
            }
        };
        parts.pop();
        let [.., one, other] = &parts[..] else { return None };
        let is_port = |text: &str| text.parse::<u16>().is_ok();
        let client_port = client.map(|client| client.rsplit(':').next().unwrap_or(client));
        let is_sound = is_port(one) && is_port(other) && client_port.is_none_or(is_port);
        is_sound.then_some(Member { server, observes, has_client_port: client.is_some() })
    }
}

/// Returns the server with this id. A model has at most 64 servers.
fn server_id(id: i64) -> Option<ServerId> {
    u8::try_from(id).ok().filter(|id| (1..=64).contains(id)).map(ServerId)
}

fn listed<T: AsRef<str>>(all: &[T]) -> Option<Arc<str>> {
    let all: Vec<&str> = all.iter().map(AsRef::as_ref).collect();
    (!all.is_empty()).then(|| Arc::from(all.join(",")))
}

impl fmt::Display for Reconfiguration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [("joining", &self.joining), ("leaving", &self.leaving)];
        let mut texts: Vec<String> = match &self.members {
            Some(members) => vec![format!("to {}", members.replace('\n', ","))],
            None => parts
                .iter()
                .filter_map(|(name, list)| Some(format!("{name} {}", list.as_ref()?)))
                .collect(),
        };
        texts.extend(self.version.map(|version| format!("from version {version}")));
        f.write_str(&texts.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(set: ServerSet) -> Vec<u8> {
        set.iter().map(|server| server.0).collect()
    }

    fn of_three(asked: &Reconfiguration) -> Result<(Vec<u8>, Vec<u8>), Error> {
        let next = asked.of(QuorumVerifier::majority(3), Zxid(7))?;
        assert_eq!(next.version(), Zxid(7));
        Ok((ids(next.voters()), ids(next.observers())))
    }

    #[test]
    fn servers_leave_then_join() {
        let four = "server.4=d:1:2;3";
        let asked = Reconfiguration::incremental([four, "server.2=b:1:2:observer;h:3"], [1]);
        assert_eq!(of_three(&asked), Ok((vec![3, 4], vec![2])));
        let again = Reconfiguration::incremental([four], [4]);
        assert_eq!(of_three(&again), Ok((vec![1, 2, 3, 4], vec![])), "it leaves first");
        let whole =
            Reconfiguration::whole(["server.5=[::1]:1:2:participant", "server.1=a:1:2:observer;3"]);
        assert_eq!(of_three(&whole), Ok((vec![5], vec![1])));
        let both = Reconfiguration { leaving: Some("5".into()), ..whole };
        assert_eq!(of_three(&both), Ok((vec![5], vec![1])), "the whole configuration decides");
    }

    #[test]
    fn a_server_that_is_not_written_as_one_is_refused() {
        for text in [
            "x",
            "server.4",
            "server.4=d",
            "server.4=d:1;3",
            "server.x=d:1:2;3",
            "server.4=d:1:2:voter;3",
            "server.4=d:1:2;x",
            "server.0=d:1:2;3",
            "server.65=d:1:2;3",
            "server.4=d:1:2",
        ] {
            let asked = Reconfiguration::incremental([text], []);
            assert_eq!(of_three(&asked), Err(Error::BadArguments), "{text}");
        }
        let asked = Reconfiguration { leaving: Some("two".into()), ..Reconfiguration::default() };
        assert_eq!(of_three(&asked), Err(Error::MarshallingError));
        assert_eq!(of_three(&Reconfiguration::incremental([], [9])), Ok((vec![1, 2, 3], vec![])));
    }

    #[test]
    fn only_a_whole_configuration_has_groups() {
        let servers = ["server.1=a:1:2", "server.2=b:1:2", "server.3=c:1:2:observer"];
        let groups = ["group.1=1", "group.2=2", "weight.2=3"];
        let asked = Reconfiguration::whole(servers.into_iter().chain(groups));
        let next = asked.of(QuorumVerifier::majority(3), Zxid(7)).expect("it is sound");
        assert_eq!(
            next.members(),
            "servers 1 and 2, observing servers 3, in groups 1 and 2 (weights 2=3)"
        );
        assert_eq!(QuorumVerifier::read(&next.to_string()), Some(next));
        let leaves = Reconfiguration::incremental([], [3]);
        assert_eq!(leaves.of(next, Zxid(8)), Err(Error::BadArguments));
        let without = Reconfiguration::whole(servers).of(next, Zxid(8)).expect("it is sound");
        assert_eq!(without.hierarchy(), None);
        assert!(!without.is_same(next) && next.is_same(next.with_version(Zxid(9))));
    }

    /// The bridge rests on this: a change made twice is the change made once.
    #[test]
    fn a_change_made_again_changes_nothing() {
        for asked in [
            Reconfiguration::incremental(["server.4=d:1:2;3", "server.1=a:1:2:observer;3"], [2, 4]),
            Reconfiguration::whole(["server.2=b:1:2"]),
        ] {
            let once = asked.of(QuorumVerifier::majority(3), Zxid(7)).expect("it is sound");
            assert_eq!(asked.of(once, Zxid(7)), Ok(once));
        }
    }
}

//! Groups and weights of servers, in place of a majority (rule 5.8.11; ZooKeeper's `QuorumHierarchical`).

use super::error::Error;
use super::id::{ServerId, ServerSet};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::num::NonZeroU64;
use std::str::FromStr;

/// The highest id of a server in a group. A real ensemble has no such bound.
const SERVERS: u8 = 16;

/// Bits of a group and of a weight.
const BITS: u32 = 4;

/// The groups of an ensemble's servers, and their weights.
///
/// A group agrees if servers with more than half of its weight agree. More than half of the groups are a quorum. Groups
/// without weight do not count. A server without weight follows, logs and acknowledges, and decides nothing.
///
/// The model has servers 1 to 16 in groups 1 to 15, with weights from 0 to 15; a real ensemble has no such bounds.
///
/// ```
/// use vivarium_model::hierarchy::Hierarchy;
/// use vivarium_model::id::{ServerId, ServerSet};
///
/// let sites: Hierarchy = "group.1=1:2:3,group.2=4:5,weight.3=0".parse().expect("it is well formed");
/// let servers = |ids: &[u8]| -> ServerSet { ids.iter().copied().map(ServerId).collect() };
/// assert!(sites.contains_quorum(servers(&[1, 2, 4, 5])));
/// assert!(!sites.contains_quorum(servers(&[1, 3, 4, 5])), "server 3 has no weight");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Hierarchy {
    /// For each server from the lowest bits, its group; 0 for none.
    groups: NonZeroU64,
    /// For each server from the lowest bits, its weight; 0 for a server without a group.
    weights: u64,
}

impl Hierarchy {
    /// Returns the server's weight: 0 outside of the groups.
    pub fn weight_of(self, server: ServerId) -> u8 {
        at(self.weights, server)
    }

    /// Returns the server's group.
    pub fn group_of(self, server: ServerId) -> Option<u8> {
        Some(at(self.groups.get(), server)).filter(|group| *group > 0)
    }

    /// Returns the servers of all groups.
    pub fn servers(self) -> ServerSet {
        let all = (1..=SERVERS).map(ServerId);
        all.filter(|server| self.group_of(*server).is_some()).collect()
    }

    /// Returns true if more than half of the groups with weight have more than half of their weight in these servers.
    pub fn contains_quorum(self, servers: ServerSet) -> bool {
        let mut groups = [(0_u32, 0_u32); 1 << BITS];
        for server in self.servers().iter() {
            let (weight, group) = (self.weight_of(server), at(self.groups.get(), server));
            let (all, agree) = &mut groups[usize::from(group)];
            *all += u32::from(weight);
            *agree += u32::from(weight) * u32::from(servers.contains(server));
        }
        let counted = groups.iter().filter(|(all, _)| *all > 0).count();
        let agreeing = groups.iter().filter(|(all, agree)| 2 * agree > *all).count();
        2 * agreeing > counted
    }

    /// Returns true if a configuration's line with this key belongs to its groups (`group.2`, `weight.5`).
    pub fn has_line(key: &str) -> bool {
        key.starts_with("group") || key.starts_with("weight")
    }

    /// Reads the lines of groups and weights of a configuration with these voters. A voter has weight 1 unless a line says
    /// otherwise. Of two lines with one key the later one counts.
    ///
    /// # Errors
    /// As a leader answers a `reconfig`: `BadArguments` for a server in two groups and for a voter in none;
    /// `MarshallingError` for what is no number, for a server that neither votes nor has a weight, and for what is beyond
    /// the bounds of the model.
    pub fn read<'a>(
        lines: impl IntoIterator<Item = &'a str>,
        voters: ServerSet,
    ) -> Result<Hierarchy, Error> {
        let (mut groups, mut weights) = (BTreeMap::new(), BTreeMap::new());
        for line in lines {
            let (key, value) = line.split_once('=').ok_or(Error::MarshallingError)?;
            match key.trim().split_once('.') {
                Some(("group", id)) => groups.insert(number(id, 1)?, members(value)?).is_some(),
                Some(("weight", id)) => weights.insert(server(id)?, number(value, 0)?).is_some(),
                _ => return Err(Error::MarshallingError),
            };
        }
        let mut grouped = BTreeMap::new();
        for (group, members) in &groups {
            for member in members {
                if grouped.insert(*member, *group).is_some() {
                    return Err(Error::BadArguments);
                }
            }
        }
        if voters.iter().any(|voter| !grouped.contains_key(&voter)) {
            return Err(Error::BadArguments);
        }
        let mut read = (0, 0);
        for (member, group) in grouped {
            let by_default = voters.contains(member).then_some(1);
            let weight = weights.get(&member).copied().or(by_default);
            read.0 |= placed(group, member);
            read.1 |= placed(weight.ok_or(Error::MarshallingError)?, member);
        }
        let groups = NonZeroU64::new(read.0).ok_or(Error::BadArguments)?;
        Ok(Hierarchy { groups, weights: read.1 })
    }

    /// The groups in words: `groups 1:2:3 and 4:5 (weights 3=0)`.
    pub(super) fn in_words(self) -> String {
        let groups: Vec<String> = self.by_group().into_values().collect();
        let mut words = format!("groups {}", groups.join(" and "));
        let weighted = self.servers().iter().filter(|server| self.weight_of(*server) != 1);
        let weights: Vec<String> =
            weighted.map(|server| format!("{}={}", server.0, self.weight_of(server))).collect();
        if !weights.is_empty() {
            let _ = write!(words, " (weights {})", weights.join(" "));
        }
        words
    }

    /// Returns each group's servers as its line lists them.
    fn by_group(self) -> BTreeMap<u8, String> {
        let mut groups: BTreeMap<u8, String> = BTreeMap::new();
        for server in self.servers().iter() {
            let members = groups.entry(at(self.groups.get(), server)).or_default();
            let separator = if members.is_empty() { "" } else { ":" };
            let _ = write!(members, "{separator}{}", server.0);
        }
        groups
    }
}

/// The lines of a configuration, each with its end.
impl fmt::Display for Hierarchy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (group, members) in self.by_group() {
            writeln!(f, "group.{group}={members}")?;
        }
        for server in self.servers().iter() {
            writeln!(f, "weight.{}={}", server.0, self.weight_of(server))?;
        }
        Ok(())
    }
}

/// Reads lines of `zoo.cfg`, separated by commas or line ends. All servers of the groups vote.
impl FromStr for Hierarchy {
    type Err = String;

    fn from_str(text: &str) -> Result<Hierarchy, String> {
        let lines = || text.split([',', '\n']).map(str::trim).filter(|line| !line.is_empty());
        let members = lines().filter(|line| line.starts_with("group"));
        let members =
            members.flat_map(|line| line.rsplit('=').next()).flat_map(|all| all.split(':'));
        let voters = members.filter_map(|id| server(id).ok()).collect();
        Hierarchy::read(lines(), voters).map_err(|_| {
            format!(
                "{text:?} is no list of groups: it must have lines such as group.1=1:2:3 and weight.3=0, each server (1 to \
                 {SERVERS}) in one group (1 to 15), and weights from 0 to 15"
            )
        })
    }
}

impl TryFrom<String> for Hierarchy {
    type Error = String;

    fn try_from(text: String) -> Result<Hierarchy, String> {
        text.parse()
    }
}

impl From<Hierarchy> for String {
    fn from(hierarchy: Hierarchy) -> String {
        hierarchy.to_string().trim_end().replace('\n', ",")
    }
}

/// Returns the number at the server's place.
fn at(numbers: u64, server: ServerId) -> u8 {
    match server.0 {
        1..=SERVERS => (numbers >> (BITS * (u32::from(server.0) - 1))) as u8 & 0xf,
        _ => 0,
    }
}

/// Returns a number at the server's place.
fn placed(number: u8, server: ServerId) -> u64 {
    u64::from(number) << (BITS * (u32::from(server.0) - 1))
}

fn members(text: &str) -> Result<Vec<ServerId>, Error> {
    text.split(':').map(server).collect()
}

fn server(text: &str) -> Result<ServerId, Error> {
    let id = text.trim().parse().ok().filter(|id| (1..=SERVERS).contains(id));
    id.map(ServerId).ok_or(Error::MarshallingError)
}

fn number(text: &str, least: u8) -> Result<u8, Error> {
    let number = text.trim().parse().ok().filter(|number| (least..=15).contains(number));
    number.ok_or(Error::MarshallingError)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Server, group, weight.
    type Place = (u8, u8, u8);

    /// Draws places of five servers from a number, in a way that reaches each of three groups and four weights.
    fn drawn(seed: u32) -> Vec<Place> {
        (0..5)
            .map(|at| seed >> (4 * at))
            .zip(1..)
            .map(|(bits, id)| (id, (bits % 3 + 1) as u8, (bits / 3 % 4) as u8))
            .collect()
    }

    fn text(places: &[Place]) -> String {
        let of_group = |group| {
            let ids = places
                .iter()
                .filter(move |place| place.1 == group)
                .map(|place| place.0.to_string());
            let ids: Vec<String> = ids.collect();
            (!ids.is_empty()).then(|| format!("group.{group}={}", ids.join(":")))
        };
        let groups = (1..=3).filter_map(of_group);
        let weights = places.iter().map(|place| format!("weight.{}={}", place.0, place.2));
        groups.chain(weights).collect::<Vec<_>>().join("\n")
    }

    /// What the manual says of groups, over lists in place of bits.
    fn is_quorum(places: &[Place], agree: &[u8]) -> bool {
        let weight = |group: u8, of: &dyn Fn(u8) -> bool| -> u32 {
            let members = places.iter().filter(|place| place.1 == group && of(place.0));
            members.map(|place| u32::from(place.2)).sum()
        };
        let groups: Vec<u8> = (1..=3).filter(|group| weight(*group, &|_| true) > 0).collect();
        let agrees = |group: &&u8| {
            weight(**group, &|id| agree.contains(&id)) > weight(**group, &|_| true) / 2
        };
        groups.iter().filter(agrees).count() > groups.len() / 2
    }

    #[test]
    fn more_than_half_of_the_weight_in_more_than_half_of_the_groups_is_a_quorum() {
        let (mut quorums, mut others) = (0, 0);
        for seed in (0..1 << 20).step_by(53) {
            let places = drawn(seed);
            let hierarchy: Hierarchy = text(&places).parse().expect("it is well formed");
            for bits in 0_u32..32 {
                let agree: Vec<u8> = (1..=5).filter(|id| bits >> (id - 1) & 1 == 1).collect();
                let set = agree.iter().copied().map(ServerId).collect();
                let expected = is_quorum(&places, &agree);
                assert_eq!(hierarchy.contains_quorum(set), expected, "{hierarchy} {agree:?}");
                *(if expected { &mut quorums } else { &mut others }) += 1;
            }
        }
        assert!(quorums > 100_000 && others > 100_000, "{quorums} {others}");
    }

    /// ZAB rests on this: what one quorum has logged, each other one knows.
    #[test]
    fn two_quorums_have_a_server_with_weight_in_common() {
        for seed in (0..1 << 20).step_by(997) {
            let hierarchy: Hierarchy = text(&drawn(seed)).parse().expect("it is well formed");
            let sets = (0_u32..32).map(|bits| -> ServerSet {
                (0..5).filter(|at| bits >> at & 1 == 1).map(ServerId::at).collect()
            });
            let quorums: Vec<ServerSet> =
                sets.filter(|set| hierarchy.contains_quorum(*set)).collect();
            let has_weight = |server: ServerId| hierarchy.weight_of(server) > 0;
            for one in &quorums {
                assert!(
                    quorums.iter().all(|other| one.intersection(*other).iter().any(has_weight))
                );
            }
        }
    }

    #[test]
    fn groups_are_read_as_they_were_written() {
        for seed in (0..1 << 20).step_by(1_009) {
            let hierarchy: Hierarchy = text(&drawn(seed)).parse().expect("it is well formed");
            assert_eq!(hierarchy.to_string().parse(), Ok(hierarchy));
            let json = serde_json::to_string(&hierarchy).expect("it has a form in JSON");
            assert_eq!(serde_json::from_str::<Hierarchy>(&json).expect("the same"), hierarchy);
            assert_eq!(hierarchy.to_string().trim_end(), text(&drawn(seed)));
        }
        let sites: Hierarchy = "group.1=1:2:3, group.2=4:16, weight.3=0".parse().expect("sites");
        assert_eq!(sites.in_words(), "groups 1:2:3 and 4:16 (weights 3=0)");
        assert_eq!((sites.group_of(ServerId(16)), sites.group_of(ServerId(17))), (Some(2), None));
    }

    #[test]
    fn what_a_leader_cannot_read_it_refuses() {
        let read =
            |text: &str, voters: u8| Hierarchy::read(text.split(','), ServerSet::first(voters));
        assert_eq!(read("group.1=1:2,group.2=2", 2), Err(Error::BadArguments), "in two groups");
        assert_eq!(read("group.1=1:2", 3), Err(Error::BadArguments), "server 3 is in none");
        assert_eq!(read("weight.1=2", 1), Err(Error::BadArguments), "no group");
        for text in ["group.1=1:x", "group.x=1", "groups=1", "weight.1=x,group.1=1", "group.1="] {
            assert_eq!(read(text, 1), Err(Error::MarshallingError), "{text}");
        }
        assert_eq!(read("group.1=1:2", 1), Err(Error::MarshallingError), "server 2 has no weight");
        assert!(read("group.1=1:2,weight.2=1", 1).is_ok(), "an observer in a group");
        for text in ["group.16=1", "group.1=17", "group.1=1,weight.1=16", "", "weight.1=1"] {
            assert!(text.parse::<Hierarchy>().is_err(), "{text}");
        }
    }
}

//! The configurations of real servers, in the words of the model: real ones have addresses, and the numbers of twins.

use std::collections::BTreeMap;
use vivarium_model::hierarchy::Hierarchy;
use vivarium_model::id::ServerId;
use vivarium_model::op::Data;
use vivarium_model::quorum::QuorumVerifier;
use vivarium_model::zxid::Zxid;

/// The real servers as configurations list them. Without any, texts are the model's own.
#[derive(Clone, Debug, Default)]
pub(super) struct Members(BTreeMap<ServerId, [String; 2]>);

impl Members {
    /// Makes a list: by the model's server, its twin's lines as a participant and as an observer.
    pub(super) fn new(lines: BTreeMap<ServerId, [String; 2]>) -> Members {
        Members(lines)
    }

    /// Returns a configuration in the model's words, with its version normalised; `None` if the data are none. A line that
    /// is no server's stays as it is.
    pub(super) fn in_words(&self, data: &Data, zxid: impl Fn(Zxid) -> Zxid) -> Option<Data> {
        let text = std::str::from_utf8(data).ok()?;
        let (lines, version) = text.rsplit_once("version=")?;
        let version = zxid(Zxid(u64::from_str_radix(version, 16).ok()?));
        let mut lines: Vec<String> = lines.lines().map(|line| self.line(line)).collect();
        lines.sort();
        let text = format!("{}\nversion={:x}", lines.join("\n"), version.0);
        Some(Data::from(text.into_bytes()))
    }

    fn line(&self, line: &str) -> String {
        if let Some((key, value)) = line.split_once('=').filter(|(key, _)| Hierarchy::has_line(key))
        {
            return self.line_of_groups(key, value);
        }
        let observes = |own: &[String; 2]| own.iter().position(|it| it == line).map(|at| at == 1);
        let known = self.0.iter().find_map(|(server, own)| Some((*server, observes(own)?)));
        known.map_or(line.to_owned(), |(server, observes)| QuorumVerifier::line(server, observes))
    }
}

impl Members {
    /// Returns a line `group.N=ID:ID` or `weight.ID=W` with the model's servers in their order.
    fn line_of_groups(&self, key: &str, value: &str) -> String {
        if let Some(id) = key.strip_prefix("weight.") {
            return format!("weight.{}={value}", self.server(id));
        }
        let mut members: Vec<String> = value.split(':').map(|id| self.server(id)).collect();
        members.sort_by_key(|id| id.parse::<u8>().ok());
        format!("{key}={}", members.join(":"))
    }

    /// Returns the model's number of a real server; the same number if no server has it.
    fn server(&self, id: &str) -> String {
        let prefix = format!("server.{id}=");
        let twin = self.0.iter().find(|(_, own)| own[0].starts_with(&prefix));
        twin.map_or(id.to_owned(), |(server, _)| server.0.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_configuration_is_told_by_the_models_servers() {
        let twin = |number: u8| {
            ["participant", "observer"]
                .map(|role| format!("server.{number}=h:1:2:{role};h:{number}"))
        };
        let twins = [(ServerId(1), twin(2)), (ServerId(2), twin(1))];
        let members = Members::new(twins.into_iter().collect());
        let real = "server.1=h:1:2:observer;h:1\nserver.2=h:1:2:participant;h:2\nversion=10000000a";
        let groups = "weight.1=3\ngroup.7=1:2\nversion=0";
        let told = members.in_words(&Data::from(groups.as_bytes()), |zxid| zxid);
        assert_eq!(told.as_deref(), Some(b"group.7=1:2\nweight.2=3\nversion=0".as_slice()));
        let told =
            members.in_words(&Data::from(real.as_bytes()), |zxid| Zxid(zxid.0 - 0x1_0000_0000));
        let own = QuorumVerifier::new(
            Zxid(10),
            [ServerId(1)].into_iter().collect(),
            [ServerId(2)].into_iter().collect(),
        );
        let own = own.to_string();
        assert_eq!(told.as_deref(), Some(own.as_bytes()));
        // The model's own text is in these words already.
        let again = Members::default().in_words(&Data::from(own.as_bytes()), |zxid| zxid);
        assert_eq!(again.as_deref(), Some(own.as_bytes()));
        let strange = real.replace("h:1:2:observer", "h:1:3:observer");
        let strange =
            members.in_words(&Data::from(strange.as_bytes()), |zxid| zxid).expect("a text");
        assert!(String::from_utf8_lossy(&strange).contains("server.1=h:1:3:observer"));
        assert_eq!(members.in_words(&Data::from(b"data".as_slice()), |zxid| zxid), None);
    }
}

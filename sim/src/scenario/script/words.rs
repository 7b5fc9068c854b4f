//! The words of rules.

use super::{Lost, Moment, Rule, What, When, Which, Who};
use std::fmt;
use std::str::FromStr;
use vivarium_model::id::{ClientId, ServerId};
use vivarium_model::time::Duration;

/// The forms of a rule, for messages.
pub const RULES: &str = "`at SPAN: FAULT`, `when EVENT: FAULT`, `when the 2nd time EVENT: FAULT` and \
    `each time EVENT: FAULT`; an EVENT is `client N sends [REQUEST] [PATH]`, `client N observes NAME` (`any client` for \
    each of them) or `a leader is established`; a FAULT is `crash S`, `power-loss S`, `rejoin S`, `disk-full S`, \
    `stall-disk S`, `partition S.. | S..`, `partition-one-way S S`, `pause client N`, `kill client N`, \
    `cancel client N`, `expire client N`, `disconnect client N` or `lose-reply applied|never|pending`, and can end with \
    `for SPAN`; S is the number of a server, or `leader`; a SPAN is such as 500ms or 2s";

impl FromStr for Rule {
    type Err = String;

    fn from_str(line: &str) -> Result<Rule, String> {
        let rule = parsed(line).ok_or_else(|| format!("`{line}` is no rule; rules are {RULES}"))?;
        rule.check()?;
        Ok(rule)
    }
}

fn parsed(line: &str) -> Option<Rule> {
    // A path may contain colons.
    let (when, what) = line.split_once(": ")?;
    let when: Vec<&str> = when.split_whitespace().collect();
    let what: Vec<&str> = what.split_whitespace().collect();
    let (what, lasts) = match &what[..] {
        [what @ .., "for", lasts] => (what, Some(span(lasts)?)),
        what => (what, None),
    };
    Some(Rule { when: parsed_when(&when)?, what: parsed_what(what)?, lasts })
}

fn parsed_when(words: &[&str]) -> Option<When> {
    let (which, words) = match words {
        ["at", at] => return span(at).map(When::At),
        ["when", "the", number, "time", event @ ..] => (Which::Nth(ordinal(number)?), event),
        ["when", event @ ..] => (Which::Nth(1), event),
        ["each", "time", event @ ..] => (Which::Each, event),
        _ => return None,
    };
    let (client, words) = match words {
        ["a", "leader", "is", "established"] => {
            return Some(When::Upon(which, Moment::Established));
        }
        ["any", "client", words @ ..] => (None, words),
        ["client", number, words @ ..] => (Some(client(number)?), words),
        _ => return None,
    };
    let moment = match words {
        ["observes", name] => Moment::Observes { client, name: (*name).to_string() },
        ["sends", rest @ ..] => {
            let (request, path) = match rest {
                [] => (None, None),
                [path] if path.starts_with('/') => (None, Some(*path)),
                [request] => (Some(*request), None),
                [request, path] if path.starts_with('/') => (Some(*request), Some(*path)),
                _ => return None,
            };
            let is_known = |request: &&str| UPDATES.contains(request) || READS.contains(request);
            if !request.as_ref().is_none_or(is_known) {
                return None;
            }
            let (request, path) = (request.map(str::to_string), path.map(str::to_string));
            Moment::Sends { client, request, path }
        }
        _ => return None,
    };
    Some(When::Upon(which, moment))
}

/// The names of requests that become transactions, as `Request::name` has them.
const UPDATES: [&str; 7] =
    ["create", "delete", "setData", "multi", "setACL", "deleteContainer", "closeSession"];

/// The names of the other requests.
pub(super) const READS: [&str; 13] = [
    "check",
    "exists",
    "getData",
    "getChildren",
    "getACL",
    "multiRead",
    "getAllChildrenNumber",
    "getEphemerals",
    "whoAmI",
    "addWatch",
    "removeWatches",
    "checkWatches",
    "sync",
];

fn parsed_what(words: &[&str]) -> Option<What> {
    Some(match words {
        ["crash", server] => What::Crash(who(server)?),
        ["power-loss", server] => What::PowerLoss(who(server)?),
        ["rejoin", server] => What::Rejoin(who(server)?),
        ["disk-full", server] => What::DiskFull(who(server)?),
        ["stall-disk", server] => What::StallDisk(who(server)?),
        ["partition", groups @ ..] => {
            let groups = groups.split(|word| *word == "|");
            let group = |group: &[&str]| {
                let all: Option<Vec<Who>> = group.iter().map(|word| who(word)).collect();
                all.filter(|group| !group.is_empty())
            };
            What::Partition(groups.map(group).collect::<Option<_>>()?)
        }
        ["partition-one-way", from, to] => What::PartitionOneWay(who(from)?, who(to)?),
        ["pause", "client", number] => What::Pause(client(number)?),
        ["kill", "client", number] => What::Kill(client(number)?),
        ["cancel", "client", number] => What::Cancel(client(number)?),
        ["expire", "client", number] => What::Expire(client(number)?),
        ["disconnect", "client", number] => What::Disconnect(client(number)?),
        ["lose-reply", "applied"] => What::LoseReply(Lost::Applied),
        ["lose-reply", "never"] => What::LoseReply(Lost::Never),
        ["lose-reply", "pending"] => What::LoseReply(Lost::Pending),
        _ => return None,
    })
}

fn who(word: &str) -> Option<Who> {
    match word {
        "leader" => Some(Who::Leader),
        number => number.parse().ok().filter(|id| *id > 0).map(|id| Who::Server(ServerId(id))),
    }
}

fn client(word: &str) -> Option<ClientId> {
    word.parse().ok().filter(|id| *id > 0).map(ClientId)
}

/// Parses `1st`, `2nd`, `3rd`, `4th` and so on.
fn ordinal(word: &str) -> Option<u32> {
    let digits = word.trim_end_matches(|letter: char| letter.is_ascii_lowercase());
    let number: u32 = digits.parse().ok().filter(|number| *number > 0)?;
    (nth(number) == word).then_some(number)
}

fn nth(number: u32) -> String {
    let ending = match (number % 10, number % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{number}{ending}")
}

/// Parses a span such as `2s`, `500ms` or `30us`.
fn span(word: &str) -> Option<Duration> {
    let digits = word.trim_end_matches(|letter: char| letter.is_ascii_lowercase());
    let number: u64 = digits.parse().ok()?;
    let unit = match &word[digits.len()..] {
        "us" => 1,
        "ms" => 1_000,
        "s" => 1_000_000,
        _ => return None,
    };
    Some(Duration::from_micros(number.checked_mul(unit)?))
}

fn span_words(span: Duration) -> String {
    match span.as_micros() {
        micros if micros % 1_000_000 == 0 => format!("{}s", micros / 1_000_000),
        micros if micros % 1_000 == 0 => format!("{}ms", micros / 1_000),
        micros => format!("{micros}us"),
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.when, self.what)?;
        match self.lasts {
            Some(lasts) => write!(f, " for {}", span_words(lasts)),
            None => Ok(()),
        }
    }
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            When::At(at) => write!(f, "at {}", span_words(*at)),
            When::Upon(Which::Nth(1), moment) => write!(f, "when {moment}"),
            When::Upon(Which::Nth(number), moment) => {
                write!(f, "when the {} time {moment}", nth(*number))
            }
            When::Upon(Which::Each, moment) => write!(f, "each time {moment}"),
        }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |client: &Option<ClientId>| match client {
            Some(client) => format!("client {}", client.0),
            None => "any client".to_string(),
        };
        match self {
            Moment::Established => f.write_str("a leader is established"),
            Moment::Observes { client, name } => write!(f, "{} observes {name}", of(client)),
            Moment::Sends { client, request, path } => {
                write!(f, "{} sends", of(client))?;
                [request, path].into_iter().flatten().try_for_each(|word| write!(f, " {word}"))
            }
        }
    }
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Who::Leader => f.write_str("leader"),
            Who::Server(server) => write!(f, "{}", server.0),
        }
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            What::Crash(who) => write!(f, "crash {who}"),
            What::PowerLoss(who) => write!(f, "power-loss {who}"),
            What::Rejoin(who) => write!(f, "rejoin {who}"),
            What::DiskFull(who) => write!(f, "disk-full {who}"),
            What::StallDisk(who) => write!(f, "stall-disk {who}"),
            What::Partition(groups) => {
                let words = |group: &Vec<Who>| {
                    group.iter().map(Who::to_string).collect::<Vec<_>>().join(" ")
                };
                let groups: Vec<String> = groups.iter().map(words).collect();
                write!(f, "partition {}", groups.join(" | "))
            }
            What::PartitionOneWay(from, to) => write!(f, "partition-one-way {from} {to}"),
            What::Pause(client) => write!(f, "pause client {}", client.0),
            What::Kill(client) => write!(f, "kill client {}", client.0),
            What::Cancel(client) => write!(f, "cancel client {}", client.0),
            What::Expire(client) => write!(f, "expire client {}", client.0),
            What::Disconnect(client) => write!(f, "disconnect client {}", client.0),
            What::LoseReply(Lost::Applied) => f.write_str("lose-reply applied"),
            What::LoseReply(Lost::Never) => f.write_str("lose-reply never"),
            What::LoseReply(Lost::Pending) => f.write_str("lose-reply pending"),
        }
    }
}

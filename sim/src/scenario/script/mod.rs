//! Faults as a user writes them: rules that say when which fault strikes, for directed tests.
//!
//! ```
//! use vivarium_sim::scenario::script::Script;
//!
//! let script: Script = "
//!     ## The holder's machine sleeps for longer than its session lives.
//!     when client 1 observes granted: pause client 1 for 20s
//!     when client 2 sends create /lock: lose-reply pending
//!     at 2s: crash leader for 500ms
//! ".parse().unwrap();
//! assert_eq!(script.rules().len(), 3);
//! assert_eq!(script.rules()[2].to_string(), "at 2s: crash leader for 500ms");
//! assert!("at 2s: crash".parse::<Script>().is_err());
//! ```
//!
//! A rule is `WHEN: WHAT`, optionally `for SPAN`; without a span, what it breaks stays broken until the faults of the run
//! end. A rule with `when` applies the first time, unless it says `when the 3rd time ...` or `each time ...`.

mod words;

pub use words::RULES;

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use vivarium_model::id::{ClientId, ServerId};
use vivarium_model::time::Duration;

/// Rules that say when which fault strikes; in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script(Arc<[Rule]>);

/// One rule of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// When the fault strikes.
    pub when: When,
    /// The fault.
    pub what: What,
    /// How long it lasts; without a span, until the faults of the run end.
    pub lasts: Option<Duration>,
}

/// When a fault strikes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum When {
    /// At this time of the run.
    At(Duration),
    /// At these events.
    Upon(Which, Moment),
}

/// At which of several events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// At this one, from 1.
    Nth(u32),
    /// At each.
    Each,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A client sends a request.
    Sends {
        /// The client; any if there is none.
        client: Option<ClientId>,
        /// The name of the operation, such as `create`; any if there is none.
        request: Option<String>,
        /// The znode's path, or the beginning of it; any if there is none.
        path: Option<String>,
    },
    /// A program makes an observation.
    Observes {
        /// The client; any if there is none.
        client: Option<ClientId>,
        /// The name of the observation ([`Observed::name`](vivarium_model::observation::Observed::name)).
        name: String,
    },
    /// A leader is established.
    Established,
}

/// A server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// The leader at that time.
    Leader,
    /// This server.
    Server(ServerId),
}

/// A fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// The server's process ends; its files keep what was written. It restarts when the rule's span is over.
    Crash(Who),
    /// The server's machine ends: what was not yet fsynced is lost.
    PowerLoss(Who),
    /// The server leaves its role and looks for a leader.
    Rejoin(Who),
    /// The server's disk stalls for the rule's span, or for 100 ms, and then its write or fsync fails.
    DiskFull(Who),
    /// The server's disk makes nothing durable.
    StallDisk(Who),
    /// The network is cut between the groups of servers, and between the servers of different groups and clients.
    Partition(Vec<Vec<Who>>),
    /// The network is cut from one server to another.
    PartitionOneWay(Who, Who),
    /// The client's machine stops, and its connections stay open.
    Pause(ClientId),
    /// The client's process ends; another one replaces it when the rule's span is over.
    Kill(ClientId),
    /// The client's cancellable work is cancelled.
    Cancel(ClientId),
    /// The leader ends the client's session.
    Expire(ClientId),
    /// The client's connection breaks.
    Disconnect(ClientId),
    /// The reply to the request that was sent is lost.
    LoseReply(Lost),
}

/// What becomes of a request whose reply is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// It is applied before the connection breaks.
    Applied,
    /// The connection breaks before a server reads it.
    Never,
    /// The leader has proposed it, and no quorum has it yet when the connection breaks.
    Pending,
}

impl Script {
    /// Returns a script of these rules.
    ///
    /// # Errors
    /// One sentence about a rule that cannot apply.
    pub fn new(rules: Vec<Rule>) -> Result<Script, String> {
        rules.iter().try_for_each(Rule::check)?;
        Ok(Script(rules.into()))
    }

    /// Returns the rules.
    pub fn rules(&self) -> &[Rule] {
        &self.0
    }

    /// Checks that each rule's machines exist, and that it applies before the faults end.
    ///
    /// # Errors
    /// One sentence about the first rule that can never apply.
    pub(crate) fn check(&self, servers: u32, clients: u32, chaos: Duration) -> Result<(), String> {
        for rule in self.rules() {
            let strange = rule.servers().into_iter().find(|server| u32::from(server.0) > servers);
            if let Some(server) = strange {
                return Err(format!("the rule `{rule}` names {server}, and no run has that many"));
            }
            let strange = rule.clients().into_iter().find(|client| u32::from(client.0) > clients);
            if let Some(client) = strange {
                return Err(format!("the rule `{rule}` names {client}, and no run has that many"));
            }
            if matches!(rule.when, When::At(at) if at >= chaos) {
                return Err(format!(
                    "the rule `{rule}` can never apply: the faults end after {chaos:?}"
                ));
            }
        }
        Ok(())
    }
}

impl Rule {
    fn check(&self) -> Result<(), String> {
        let is_sent = matches!(self.when, When::Upon(_, Moment::Sends { .. }));
        match &self.what {
            What::LoseReply(_) if !is_sent => Err(format!(
                "the rule `{self}` loses the reply to a request, so it must say which: `when client 1 sends create`"
            )),
            What::LoseReply(_) if self.reads() => Err(format!(
                "the rule `{self}` loses the reply to a read, which the program can repeat: name an update"
            )),
            What::LoseReply(_)
            | What::Rejoin(_)
            | What::Cancel(_)
            | What::Expire(_)
            | What::Disconnect(_)
                if self.lasts.is_some() =>
            {
                Err(format!("the fault of the rule `{self}` does not last: leave out its span"))
            }
            What::Partition(groups) if groups.len() < 2 => Err(format!(
                "the rule `{self}` needs at least two groups of servers: `partition 1 | 2 3`"
            )),
            What::PartitionOneWay(from, to) if from == to => {
                Err(format!("the rule `{self}` cuts a server off from itself"))
            }
            _ => Ok(()),
        }
    }

    /// Returns true if the rule waits for a read.
    fn reads(&self) -> bool {
        let When::Upon(_, Moment::Sends { request: Some(name), .. }) = &self.when else {
            return false;
        };
        words::READS.contains(&&**name)
    }

    fn servers(&self) -> Vec<ServerId> {
        let all = match &self.what {
            What::Crash(who)
            | What::PowerLoss(who)
            | What::Rejoin(who)
            | What::DiskFull(who)
            | What::StallDisk(who) => {
                vec![*who]
            }
            What::Partition(groups) => groups.concat(),
            What::PartitionOneWay(from, to) => vec![*from, *to],
            _ => Vec::new(),
        };
        let known = |who: Who| match who {
            Who::Leader => None,
            Who::Server(server) => Some(server),
        };
        all.into_iter().filter_map(known).collect()
    }

    fn clients(&self) -> Vec<ClientId> {
        let of_when = match &self.when {
            When::Upon(_, Moment::Sends { client, .. } | Moment::Observes { client, .. }) => {
                *client
            }
            When::At(_) | When::Upon(_, Moment::Established) => None,
        };
        let of_what = match &self.what {
            What::Pause(client)
            | What::Kill(client)
            | What::Cancel(client)
            | What::Expire(client)
            | What::Disconnect(client) => Some(*client),
            _ => None,
        };
        of_when.into_iter().chain(of_what).collect()
    }
}

impl FromStr for Script {
    type Err = String;

    /// Parses one rule per line. Empty lines and lines that begin with `#` are left out.
    fn from_str(text: &str) -> Result<Script, String> {
        let lines = text.lines().map(str::trim);
        let rules = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        Script::new(rules.map(str::parse).collect::<Result<_, _>>()?)
    }
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.rules().iter().try_for_each(|rule| writeln!(f, "{rule}"))
    }
}

#[cfg(test)]
mod tests;

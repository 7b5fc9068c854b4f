//! A monitor that records what is watched of a case and never objects.

use super::case::Watched;
use super::run::WROTE;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use vivarium_model::event::Event;
use vivarium_model::id::ClientId;
use vivarium_model::observation::{Custom, Value};
use vivarium_model::property::{Asked, LooksBack, Monitor, Objection, Unhashed, View};
use vivarium_model::txn::{Txn, TxnBody};

/// The outcomes of all completed runs, for the comparison.
pub(super) type Ends = Arc<Mutex<BTreeSet<String>>>;

/// Records the watched events, and the whole record at the end of a run.
#[derive(Clone, Hash)]
pub(super) struct Recorder {
    watched: Watched,
    /// By client; events without a client are under client 0.
    lines: Vec<Vec<String>>,
    ends: Unhashed<Ends>,
}

impl Recorder {
    /// Creates a recorder for this number of clients.
    pub(super) fn new(watched: Watched, clients: usize, ends: Ends) -> Recorder {
        Recorder { watched, lines: vec![Vec::new(); clients + 1], ends: Unhashed(ends) }
    }

    /// Returns true if the order among clients is recorded.
    fn is_ordered(&self) -> bool {
        match self.watched {
            Watched::Ends | Watched::Words | Watched::Accounts => false,
            Watched::Order
            | Watched::Requests
            | Watched::Commits
            | Watched::Everything
            | Watched::History
            | Watched::Tree => true,
        }
    }

    fn write(&mut self, client: Option<ClientId>, line: String) {
        match client.filter(|_| !self.is_ordered()) {
            Some(client) => self.lines[usize::from(client.0)].push(line),
            None => {
                let who = client.map(|client| format!("{client} ")).unwrap_or_default();
                self.lines[0].push(format!("{who}{line}"));
            }
        }
    }

    /// Describes the end of a run: the records and the tree.
    fn whole(&self, view: View<'_>) -> String {
        format!("{:?} leaves {}", self.lines, znodes(view))
    }
}

/// Describes the tree.
fn znodes(view: View<'_>) -> String {
    let tree = view.history.tree();
    let znodes: Vec<String> = tree
        .nodes()
        .filter_map(|(path, znode)| {
            let stat = tree.stat(path)?;
            let owner = stat.ephemeral_owner.map_or(0, |owner| u64::from(owner.client().0));
            let (version, cversion) = (stat.version, stat.cversion);
            Some(format!("{path}={:?}v{version}c{cversion}o{owner}", znode.data))
        })
        .filter(|znode| !znode.starts_with("/zookeeper") && !znode.starts_with("/="))
        .collect();
    znodes.join(" ")
}

impl Monitor for Recorder {
    fn name(&self) -> &'static str {
        "recorder"
    }

    fn asked(&self) -> Asked {
        Asked::Everywhere
    }

    fn concerns(&self, event: &Event) -> bool {
        match self.watched {
            Watched::Ends | Watched::Words | Watched::Order | Watched::Tree => {
                matches!(event, Event::Observed { .. })
            }
            // This recorder's own state contains the order of commits only after it has looked back.
            Watched::History => {
                event.observed().is_some_and(|(_, Custom { name, .. })| &**name == WROTE)
            }
            Watched::Commits => match event {
                Event::Committed { txn, .. } => !matches!(txn.body, TxnBody::CreateSession { .. }),
                Event::Observed { .. } => true,
                _ => false,
            },
            Watched::Requests => matches!(event, Event::Sent { .. } | Event::Observed { .. }),
            Watched::Accounts => event.client().is_some(),
            Watched::Everything => true,
        }
    }

    fn looks_back(&self) -> LooksBack {
        match self.watched {
            Watched::History => LooksBack::Whole,
            Watched::Tree => LooksBack::Tip,
            _ => LooksBack::Nothing,
        }
    }

    fn minds_order(&self, event: &Event) -> bool {
        match self.watched {
            Watched::Commits => matches!(event, Event::Committed { .. }),
            Watched::Requests => matches!(event, Event::Sent { .. }),
            _ => self.is_ordered() && self.concerns(event),
        }
    }

    fn event(&mut self, view: View<'_>, event: &Event) -> Result<(), Objection> {
        // The audit also passes events that do not concern the recorder.
        if !self.concerns(event) {
            return Ok(());
        }
        if let Event::Committed { txn, .. } = event {
            self.write(None, committed(txn));
            return Ok(());
        }
        let is_request = matches!(event, Event::Sent { .. });
        if matches!(self.watched, Watched::Commits | Watched::Requests) && !is_request {
            let (Some(client), Some(line)) = (event.client(), said(event)) else { return Ok(()) };
            self.lines[usize::from(client.0)].push(line);
            return Ok(());
        }
        let mut line = said(event).unwrap_or_else(|| in_words(event));
        if self.watched == Watched::History {
            let txns: Vec<String> = view.history.txns().iter().map(|txn| committed(txn)).collect();
            line = format!("{line} after {}", txns.join(", "));
        }
        if self.watched == Watched::Tree {
            line = format!("{line} at {}", znodes(view));
        }
        self.write(event.client(), line);
        Ok(())
    }

    fn end(&mut self, view: View<'_>) -> Result<(), Objection> {
        let whole = self.whole(view);
        self.ends.lock().unwrap_or_else(PoisonError::into_inner).insert(whole);
        Ok(())
    }
}

/// Returns what a program observed or recorded.
fn said(event: &Event) -> Option<String> {
    let (_, Custom { name, fields }) = event.observed()?;
    let value = fields.first().map(|(_, value)| match value {
        Value::Text(text) => text.to_string(),
        other => other.to_string(),
    });
    let value = value.unwrap_or_default();
    Some(if &**name == WROTE { value } else { format!("{name} {value}") })
}

/// Describes a transaction without its zxid.
fn committed(txn: &Txn) -> String {
    match &txn.body {
        TxnBody::CreateSession { .. } => format!("a session of {}", txn.session.client().0),
        TxnBody::CloseSession { .. } => {
            format!("the end of a session of {}", txn.session.client().0)
        }
        body => format!("{body} by {}", txn.session.client().0),
    }
}

fn in_words(event: &Event) -> String {
    match event {
        Event::Sent { xid, request, .. } => format!("sends {} {request}", xid.0),
        Event::Replied { xid, result, .. } => match result {
            Ok(_) => format!("is answered {}", xid.0),
            Err(error) => format!("is answered {} {error}", xid.0),
        },
        Event::Refused { xid, .. } => format!("is refused {}", xid.0),
        Event::Lost { xid, .. } => format!("loses {}", xid.0),
        Event::Session { state, .. } => format!("is {state:?}"),
        Event::Notified { event, .. } => format!("hears of {:?} {}", event.kind, event.path),
        Event::Rearming { .. } => "sets watches again".into(),
        Event::Rearmed { .. } => "has its watches again".into(),
        Event::Authenticating { .. } => "proves an identity".into(),
        Event::Authenticated { .. } => "has proved it".into(),
        Event::Started { .. } => "starts".into(),
        Event::Finished { result, .. } => format!("ends {result:?}"),
        Event::Panicked { message, .. } => format!("panics {message}"),
        Event::Killed { .. } => "is killed".into(),
        Event::Cancelled { .. } => "is cancelled".into(),
        Event::ResourceWrite { accepted, .. } => format!("writes outside: {accepted}"),
        other => format!("{other:?}"),
    }
}

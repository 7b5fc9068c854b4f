//! What can be read of a served ensemble: servers, trees, logs, watches and sessions, as JSON.

use super::core::Core;
use serde_json::{Value, json};
use vivarium_model::id::ServerId;

/// Longer data is cut in views.
const SHOWN: usize = 256;

impl Core {
    /// Returns the state of all servers and sessions.
    pub(super) fn view(&self) -> Value {
        let ensemble = self.served.ensemble();
        let servers: Vec<Value> =
            ensemble.config().server_ids().map(|server| self.view_of(server)).collect();
        let sessions: Vec<Value> = self
            .sessions
            .iter()
            .map(|(session, connection)| {
                json!({
                    "session": session.to_string(),
                    "server": ensemble.server_of(*connection).map(|server| server.0),
                })
            })
            .collect();
        json!({
            "leader": ensemble.leader().map(|leader| leader.0),
            "servers": servers,
            "sessions": sessions,
            "connections": self.connections(),
            "steps": self.served.steps(),
            "unjudged": ensemble.unjudged_outside(),
            "violation": self.served.violation().map(ToString::to_string),
        })
    }

    fn view_of(&self, server: ServerId) -> Value {
        let ensemble = self.served.ensemble();
        let process = ensemble.server(server);
        json!({
            "server": server.0,
            "port": self.port(server),
            "state": ensemble.state_of(server),
            "serving": ensemble.is_serving(server),
            "zxid": process.map(|process| process.tree().last_processed().to_string()),
            "logged": ensemble.disk(server).log().len(),
            "unsynced": ensemble.unsynced(server),
        })
    }

    /// Returns the tree of a server; `None` if it is down.
    pub(super) fn tree_view(&self, server: ServerId) -> Option<Value> {
        let tree = self.served.ensemble().server(server)?.tree();
        let nodes: Vec<Value> = tree
            .nodes()
            .map(|(path, node)| {
                let owner = node.ephemeral_type.owner().map(|owner| owner.to_string());
                json!({
                    "path": path.as_str(),
                    "data": String::from_utf8_lossy(&node.data[..node.data.len().min(SHOWN)]),
                    "length": node.data.len(),
                    "czxid": node.czxid.to_string(),
                    "mzxid": node.mzxid.to_string(),
                    "version": node.version,
                    "owner": owner,
                })
            })
            .collect();
        Some(json!({ "zxid": tree.last_processed().to_string(), "nodes": nodes }))
    }

    /// Returns the log on a server's disk, with its tail that is not yet fsynced.
    pub(super) fn log_view(&self, server: ServerId) -> Value {
        let disk = self.served.ensemble().disk(server);
        let durable = disk.log().len() - disk.unsynced().min(disk.log().len());
        let entry = |(at, txn): (usize, &std::sync::Arc<vivarium_model::txn::Txn>)| {
            json!({
                "zxid": txn.zxid.to_string(),
                "session": txn.session.to_string(),
                "transaction": txn.body.to_string(),
                "synced": at < durable,
            })
        };
        Value::Array(disk.log().iter().enumerate().map(entry).collect())
    }

    /// Returns the watches of a server; `None` if it is down.
    pub(super) fn watches_view(&self, server: ServerId) -> Option<Value> {
        let watches = self.served.ensemble().server(server)?.watches();
        let all = watches.data_watches().map(|watch| ("data", watch));
        let all = all.chain(watches.child_watches().map(|watch| ("children", watch)));
        let listed = all.map(|(kind, (path, connection))| {
            let session = self.session_of(connection).map(|session| session.to_string());
            json!({ "path": path, "kind": kind, "session": session })
        });
        Some(Value::Array(listed.collect()))
    }
}

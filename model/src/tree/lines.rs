//! A tree as text.

use super::DataTree;
use crate::vocabulary::path::{RESERVED, ZnodePath};
use crate::vocabulary::words::data;
use crate::vocabulary::znode::{EphemeralType, Znode};

impl DataTree {
    /// Describes the sessions and the znodes, one per line. Leaves out ZooKeeper's own znodes.
    pub fn lines(&self, lines: &mut Vec<String>) {
        for (session, timeout) in self.sessions() {
            lines.push(format!("session {session} (timeout {timeout:?})"));
        }
        let own = |path: &ZnodePath| RESERVED.contains(&path.as_str());
        let znodes = self.nodes().filter(|(path, _)| !own(path));
        lines.extend(znodes.map(|(path, znode)| znode_line(path, znode)));
    }
}

fn znode_line(path: &ZnodePath, znode: &Znode) -> String {
    let mut line = format!("znode {path}");
    if !znode.data.is_empty() {
        line.push_str(&format!(" {}", data(&znode.data)));
    }
    if znode.version != 0 {
        line.push_str(&format!(" version {}", znode.version));
    }
    match znode.ephemeral_type {
        EphemeralType::Void => {}
        EphemeralType::Normal(session) => line.push_str(&format!(" ephemeral of {session}")),
        EphemeralType::Container => line.push_str(" container"),
        EphemeralType::Ttl(ttl) => line.push_str(&format!(" TTL {ttl:?}")),
    }
    line
}

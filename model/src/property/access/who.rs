//! States what ACLs grant to a connection, without the servers' code (rules 1.9.2 to 1.9.4).

use crate::vocabulary::acl::{Acl, AclList, Id, Permissions};
use crate::vocabulary::config::ServerOptions;
use crate::vocabulary::op::{ClientInfo, Data};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest, Sha1};
use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::sync::Arc;

/// A proof of an identity, as `addAuth` sends it: the scheme and the data that the scheme checks.
pub(super) type Proof = (Arc<str>, Data);

/// The identities that a server must grant to a connection.
#[derive(Clone, Debug, Hash)]
pub(super) struct Who {
    address: Arc<str>,
    /// `user:hash` of each proven digest.
    digests: BTreeSet<String>,
    is_super: bool,
    /// Whether an ACL may name a network.
    networks: bool,
    /// Whether a delete needs no permission if there is no such znode (rule 1.6.5).
    pub(super) finds_first: bool,
}

impl Who {
    /// Returns the identities of a connection from this address that has sent these proofs, all of them accepted, to servers
    /// with these options.
    pub(super) fn new(address: &Arc<str>, proofs: &[Proof], options: &ServerOptions) -> Who {
        let digests = proofs.iter().filter(|(scheme, _)| **scheme == *"digest");
        let digests: BTreeSet<String> = digests.map(|(_, proof)| hashed(proof)).collect();
        let is_super =
            options.super_digest.as_deref().is_some_and(|digest| digests.contains(digest));
        let networks = options.operations_of.accepts_networks();
        let finds_first = !options.operations_of.asks_before_it_finds();
        Who { address: Arc::clone(address), digests, is_super, networks, finds_first }
    }

    /// Returns true if the list grants at least one of these permissions.
    pub(super) fn may(&self, acl: &AclList, wanted: Permissions) -> bool {
        let entries = acl.entries();
        self.is_super
            || entries.is_empty()
            || entries.iter().any(|it| it.permissions.0 & wanted.0 != 0 && self.is_named_by(it))
    }

    fn is_named_by(&self, entry: &Acl) -> bool {
        match (&*entry.id.scheme, &*entry.id.id) {
            ("world", "anyone") => true,
            ("digest", id) => self.digests.contains(id),
            ("ip", id) => within(&self.address, id),
            _ => false,
        }
    }

    /// Returns the entries that a server must store for this list, sorted, or `None` if it must refuse the list with
    /// InvalidACL. A duplicate entry is stored once; an entry that `auth` expands to is stored in addition, even if
    /// the list has it already (rule 1.9.4).
    pub(super) fn stored(&self, acl: &AclList) -> Option<Vec<Acl>> {
        let mut stored = Vec::new();
        let listed: BTreeSet<&Acl> = acl.entries().iter().collect();
        for entry in listed {
            let (scheme, id) = (&*entry.id.scheme, &*entry.id.id);
            let is_valid = match scheme {
                "world" => id == "anyone",
                // Java's `split` drops empty parts at the end.
                "digest" => id.trim_end_matches(':').split(':').count() == 2,
                "ip" => network(id).is_some() && (self.networks || !id.contains('/')),
                "auth" => !self.digests.is_empty(),
                _ => false,
            };
            if !is_valid {
                return None;
            }
            match scheme {
                "auth" => stored.extend(
                    self.digests
                        .iter()
                        .map(|digest| Acl::new(entry.permissions, Id::new("digest", digest))),
                ),
                _ => stored.push(entry.clone()),
            }
        }
        (!stored.is_empty()).then(|| sorted(&stored))
    }

    /// Returns the identities that `whoAmI` must report, in order.
    pub(super) fn told(&self) -> Vec<ClientInfo> {
        let told = |scheme: &str, user: &str| ClientInfo {
            scheme: Arc::from(scheme),
            user: Arc::from(user),
        };
        let user = |digest: &String| digest.split(':').next().unwrap_or_default().to_owned();
        let mut all = vec![told("ip", &self.address)];
        all.extend(self.digests.iter().map(|digest| told("digest", &user(digest))));
        all.extend(self.is_super.then(|| told("super", "")));
        all.sort();
        all
    }
}

/// Returns the entries in the order in which they are compared.
pub(super) fn sorted(entries: &[Acl]) -> Vec<Acl> {
    let mut sorted = entries.to_vec();
    sorted.sort();
    sorted
}

/// Returns the list as getACL must show it to a client without ADMIN: with the hashes of passwords hidden.
pub(super) fn without_hashes(acl: &AclList) -> Vec<Acl> {
    let mut entries = acl.entries().to_vec();
    for entry in entries.iter_mut().filter(|entry| entry.id.scheme == "digest") {
        if let Some((user, _)) = entry.id.id.split_once(':') {
            entry.id.id = format!("{user}:x").into();
        }
    }
    entries
}

fn hashed(proof: &Data) -> String {
    let text = String::from_utf8_lossy(proof);
    let (user, _) = text.split_once(':').unwrap_or((&text, ""));
    format!("{user}:{}", STANDARD.encode(Sha1::digest(text.as_bytes())))
}

/// Parses a network: its address, and the number of low bits that do not count.
fn network(id: &str) -> Option<(u32, u32)> {
    let (address, bits) = id.split_once('/').unwrap_or((id, "32"));
    let address: Ipv4Addr = address.parse().ok()?;
    let free = 32u32.checked_sub(bits.parse().ok()?)?;
    Some((u32::from(address), free))
}

fn within(address: &str, id: &str) -> bool {
    let (Some((address, 0)), Some((network, free))) = (network(address), network(id)) else {
        return false;
    };
    u64::from(address) >> free == u64::from(network) >> free
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::access;
    use crate::vocabulary::config::ServerOptions;
    use crate::vocabulary::release::Release;

    const ADDRESSES: [&str; 3] = ["10.1.2.3", "10.1.2.4", "192.168.0.1"];
    const PROOFS: [&[u8]; 5] = [b"ann:a", b"bob:b", b"ann:other", b"super:admin", b"nobody"];
    const SUPER: &str = "super:xQJmxLMiHGwaqBvst5y6rkB6HQs=";

    /// Returns lists of one and of two entries, with valid and invalid ids of each scheme.
    fn lists() -> Vec<AclList> {
        let ann = access::generate_digest("ann:a");
        let ids = [
            ("world", "anyone"),
            ("world", "somebody"),
            ("auth", ""),
            ("digest", &ann),
            ("digest", "ann:x"),
            ("digest", "ann"),
            ("digest", "a:b:c"),
            ("digest", "a:b:"),
            ("digest", ":b"),
            ("digest", "a:"),
            ("ip", "10.1.2.3"),
            ("ip", "10.1.2.3/31"),
            ("ip", "10.0.0.0/8"),
            ("ip", "1.2.3.4/0"),
            ("ip", "10.1.2.3/33"),
            ("ip", "10.1.2"),
            ("kerberos", "ann"),
            ("super", ""),
        ];
        let permissions = [Permissions::READ, Permissions::ALL, Permissions::CREATE];
        let entries: Vec<Acl> = permissions
            .iter()
            .flat_map(|it| ids.map(|(scheme, id)| Acl::new(*it, Id::new(scheme, id))))
            .collect();
        let mut lists = vec![AclList::new([])];
        for one in &entries {
            lists.push(AclList::new([one.clone()]));
            lists.extend(entries.iter().map(|two| AclList::new([one.clone(), two.clone()])));
        }
        lists
    }

    /// Compares the monitor's judgement with the servers' independent code for every list, permission and set of
    /// proofs.
    #[test]
    fn the_servers_and_this_judge_alike() {
        for operations_of in [Release::Repaired, Release::V3_4_14] {
            let super_digest = Some(Arc::from(SUPER));
            judge_alike(&ServerOptions { super_digest, operations_of, ..ServerOptions::default() });
        }
    }

    fn judge_alike(options: &ServerOptions) {
        let wanted = [1, 2, 4, 8, 16, 17].map(Permissions);
        let lists = lists();
        let mut refused = 0;
        for address in ADDRESSES.map(Arc::<str>::from) {
            for chosen in 0..1u32 << PROOFS.len() {
                let proofs = (0..PROOFS.len()).filter(|at| chosen >> at & 1 == 1);
                let proofs: Vec<Proof> =
                    proofs.map(|at| (Arc::from("digest"), PROOFS[at].into())).collect();
                let who = Who::new(&address, &proofs, options);
                let mut auth = access::with(&[], vec![access::of_address(&address)]);
                for (scheme, proof) in &proofs {
                    let proven = access::authenticate(scheme, proof, &address, options);
                    auth = access::with(&auth, proven.expect("a digest is always accepted"));
                }
                let mut told = access::who_am_i(&auth);
                told.sort();
                assert_eq!(who.told(), told);
                for list in &lists {
                    for it in wanted {
                        let may = access::permits(list, it, &auth, options);
                        assert_eq!(who.may(list, it), may, "{list} {it} {who:?}");
                        refused += u32::from(!may);
                    }
                    let fixed = access::fix_up(list, &auth, options.operations_of).ok();
                    let fixed = fixed.map(|it| sorted(it.entries()));
                    assert_eq!(who.stored(list), fixed, "{list} {who:?}");
                    assert_eq!(without_hashes(list), access::masked(list).entries());
                }
            }
        }
        assert!(refused > 0);
    }
}

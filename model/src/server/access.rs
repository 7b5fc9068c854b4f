//! Access control: authentication providers, the fix-up of ACLs, and the check (rule 1.9).

use crate::vocabulary::acl::{Acl, AclList, Id, Permissions};
use crate::vocabulary::config::ServerOptions;
use crate::vocabulary::error::Error;
use crate::vocabulary::op::ClientInfo;
use crate::vocabulary::release::Release;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest, Sha1};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Returns the identity that a connection from this address has without any proof.
pub(crate) fn of_address(address: &str) -> Id {
    Id::new("ip", address)
}

/// Returns the identities that `addAuth` adds to a connection.
///
/// # Errors
/// `AuthFailed` for an unknown scheme; the server then closes the connection.
pub(crate) fn authenticate(
    scheme: &str,
    auth: &[u8],
    address: &str,
    options: &ServerOptions,
) -> Result<Vec<Id>, Error> {
    match scheme {
        "ip" => Ok(vec![of_address(address)]),
        "digest" => {
            let digest = generate_digest(&String::from_utf8_lossy(auth));
            let is_super = options.super_digest.as_deref() == Some(&*digest);
            let supreme = is_super.then(|| Id::new("super", ""));
            Ok(supreme.into_iter().chain([Id::new("digest", digest)]).collect())
        }
        _ => Err(Error::AuthFailed),
    }
}

/// Returns a connection's identities together with `proven`, as a sorted set.
pub fn with(auth: &[Id], proven: Vec<Id>) -> Arc<[Id]> {
    let all: BTreeSet<Id> = auth.iter().cloned().chain(proven).collect();
    all.into_iter().collect()
}

/// Converts `user:password` to its form in ACLs: `user:` and the base64 hash of the whole text
/// (`DigestAuthenticationProvider.generateDigest`).
pub fn generate_digest(user_and_password: &str) -> String {
    let user = user_and_password.split(':').next().unwrap_or_default();
    format!("{user}:{}", STANDARD.encode(Sha1::digest(user_and_password.as_bytes())))
}

/// Returns an ACL in its stored form: without duplicates, and with `auth` replaced by the identities that the
/// connection has proven, as a release's servers do it (rules 1.9.4 and 1.9.7).
///
/// # Errors
/// `InvalidAcl` if no entry remains, or an entry is malformed.
pub(crate) fn fix_up(acl: &AclList, auth: &[Id], of: Release) -> Result<AclList, Error> {
    if acl.is_open() {
        return Ok(AclList::OPEN);
    }
    let mut unique: Vec<&Acl> = Vec::new();
    for entry in acl.entries() {
        if !unique.contains(&entry) {
            unique.push(entry);
        }
    }
    let (mut fixed, mut spelled_out) = (Vec::new(), Vec::new());
    for entry in unique {
        match &*entry.id.scheme {
            "world" if entry.id == Id::ANYONE => fixed.push(entry.clone()),
            "auth" => {
                let proven = auth.iter().filter(|id| id.scheme == "digest");
                let proven = proven.map(|id| Acl::new(entry.permissions, id.clone()));
                let list = if of.keeps_place_of_auth() { &mut fixed } else { &mut spelled_out };
                let before = list.len();
                list.extend(proven);
                if list.len() == before {
                    return Err(Error::InvalidAcl);
                }
            }
            "digest" if is_digest(&entry.id.id) => fixed.push(entry.clone()),
            "ip" if !of.accepts_networks() && entry.id.id.contains('/') => {
                return Err(Error::InvalidAcl);
            }
            "ip" if network(&entry.id.id).is_some() => fixed.push(entry.clone()),
            _ => return Err(Error::InvalidAcl),
        }
    }
    fixed.append(&mut spelled_out);
    if fixed.is_empty() { Err(Error::InvalidAcl) } else { Ok(AclList::new(fixed)) }
}

/// Returns true if an ACL grants one of these permissions to a connection with these identities (rules 1.9.2 and
/// 1.9.3).
pub fn permits(acl: &AclList, wanted: Permissions, auth: &[Id], options: &ServerOptions) -> bool {
    if acl.is_open() || options.skip_acl || acl.entries().is_empty() {
        return true;
    }
    if auth.iter().any(|id| id.scheme == "super") {
        return true;
    }
    let matches = |entry: &Acl, id: &Id| {
        id.scheme == entry.id.scheme
            && match &*id.scheme {
                "digest" => id.id == entry.id.id,
                "ip" => is_in(&id.id, &entry.id.id),
                _ => false,
            }
    };
    acl.entries()
        .iter()
        .filter(|entry| entry.permissions.intersects(wanted))
        .any(|entry| entry.id == Id::ANYONE || auth.iter().any(|id| matches(entry, id)))
}

/// Checks a permission, as most operations do.
///
/// # Errors
/// `NoAuth` if the ACL does not grant it.
pub fn check(
    acl: &AclList,
    wanted: Permissions,
    auth: &[Id],
    options: &ServerOptions,
) -> Result<(), Error> {
    if permits(acl, wanted, auth, options) { Ok(()) } else { Err(Error::NoAuth) }
}

/// Returns an ACL as a client without ADMIN sees it: without the hashes of passwords.
pub fn masked(acl: &AclList) -> AclList {
    let mask = |entry: &Acl| {
        let user = entry.id.id.split_once(':').map(|(user, _)| user);
        match user.filter(|_| entry.id.scheme == "digest") {
            Some(user) => Acl::new(entry.permissions, Id::new("digest", format!("{user}:x"))),
            None => entry.clone(),
        }
    };
    if acl.is_open() {
        return AclList::OPEN;
    }
    AclList::new(acl.entries().iter().map(mask).collect::<Vec<Acl>>())
}

/// Returns the answer to `whoAmI` for a connection.
pub fn who_am_i(auth: &[Id]) -> Vec<ClientInfo> {
    let told = |id: &Id| {
        let user = match &*id.scheme {
            "digest" => id.id.split(':').next().unwrap_or_default(),
            "super" => "",
            _ => &id.id,
        };
        ClientInfo { scheme: Arc::from(&*id.scheme), user: Arc::from(user) }
    };
    auth.iter().map(told).collect()
}

/// Returns true for two parts with a colon between them. Empty parts at the end are ignored, as in `String.split`.
fn is_digest(id: &str) -> bool {
    let trimmed = id.trim_end_matches(':');
    !trimmed.is_empty() && trimmed.matches(':').count() == 1
}

/// Parses an IPv4 address with the number of significant bits: `10.0.0.0/8`.
fn network(id: &str) -> Option<(u32, u32)> {
    let (address, bits) = match id.split_once('/') {
        Some((address, bits)) => (address, bits.parse().ok().filter(|bits| *bits <= 32)?),
        None => (id, 32),
    };
    let mut parts = address.split('.').map(|part| part.parse::<u8>().ok());
    let bytes = [parts.next()??, parts.next()??, parts.next()??, parts.next()??];
    parts.next().is_none().then_some((u32::from_be_bytes(bytes), bits))
}

fn is_in(address: &str, acl: &str) -> bool {
    let (Some((address, _)), Some((network, bits))) = (network(address), network(acl)) else {
        return false;
    };
    let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
    address & mask == network & mask
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value that ZooKeeper's administrator's guide gives for `super:admin`... is not given
    /// there; this one was generated by `DigestAuthenticationProvider` itself.
    #[test]
    fn the_digest_is_zookeepers() {
        assert_eq!(generate_digest("super:admin"), "super:xQJmxLMiHGwaqBvst5y6rkB6HQs=");
    }

    fn acl(scheme: &str, id: &str) -> AclList {
        AclList::new([Acl::new(Permissions::ALL, Id::new(scheme, id))])
    }

    #[test]
    fn malformed_acls_are_refused() {
        let refused = [
            ("world", "somebody"),
            ("auth", ""),
            ("digest", "user"),
            ("digest", "user:"),
            ("digest", "a:b:c"),
            ("ip", "10.0.0"),
            ("ip", "10.0.0.256"),
            ("ip", "10.0.0.1/33"),
            ("super", ""),
            ("kerberos", "user"),
        ];
        for (scheme, id) in refused {
            assert_eq!(
                fix_up(&acl(scheme, id), &[], Release::Repaired),
                Err(Error::InvalidAcl),
                "{scheme}:{id}"
            );
        }
        assert_eq!(fix_up(&AclList::new([]), &[], Release::Repaired), Err(Error::InvalidAcl));
        for (scheme, id) in [("world", "anyone"), ("digest", "user:x"), ("ip", "10.0.0.0/8")] {
            assert_eq!(
                fix_up(&acl(scheme, id), &[], Release::Repaired),
                Ok(acl(scheme, id)),
                "{scheme}:{id}"
            );
        }
    }

    #[test]
    fn auth_stands_for_what_was_proven_and_for_nothing_else() {
        let digest = Id::new("digest", "user:hash");
        let auth = [of_address("10.0.0.1"), Id::new("super", ""), digest.clone()];
        let expected = AclList::new([Acl::new(Permissions::ALL, digest)]);
        assert_eq!(fix_up(&AclList::creator_all(), &auth, Release::Repaired), Ok(expected));
    }

    #[test]
    fn before_3_5_an_acl_names_no_network_and_auth_goes_to_the_end() {
        let digest = Id::new("digest", "user:hash");
        let read = Acl::new(Permissions::READ, Id::ANYONE);
        let own = Acl::new(Permissions::ALL, digest.clone());
        let asked = AclList::new([Acl::new(Permissions::ALL, Id::new("auth", "")), read.clone()]);
        let fixed = |of: Release| fix_up(&asked, std::slice::from_ref(&digest), of);
        assert_eq!(fixed(Release::V3_4_14), Ok(AclList::new([read.clone(), own.clone()])));
        assert_eq!(fixed(Release::V3_5_10), Ok(AclList::new([own, read])));
        let old = |address: &str| fix_up(&acl("ip", address), &[], Release::V3_4_14);
        assert_eq!(old("10.0.0.0/8"), Err(Error::InvalidAcl));
        assert_eq!(old("10.0.0.1"), Ok(acl("ip", "10.0.0.1")));
    }

    #[test]
    fn permissions_are_granted_to_the_named_identities() {
        let options = ServerOptions::default();
        let auth = [of_address("10.1.2.3"), Id::new("digest", "user:hash")];
        let granted = [("ip", "10.0.0.0/8"), ("ip", "10.1.2.3"), ("digest", "user:hash")];
        for (scheme, id) in granted {
            assert!(permits(&acl(scheme, id), Permissions::READ, &auth, &options), "{scheme}:{id}");
        }
        let refused = [("ip", "11.0.0.0/8"), ("ip", "10.1.2.4"), ("digest", "user:other")];
        for (scheme, id) in refused {
            let list = acl(scheme, id);
            assert!(!permits(&list, Permissions::READ, &auth, &options), "{scheme}:{id}");
            assert!(permits(&list, Permissions::READ, &[Id::new("super", "")], &options));
            let skipping = ServerOptions { skip_acl: true, ..ServerOptions::default() };
            assert!(permits(&list, Permissions::READ, &auth, &skipping));
        }
        let read_only = AclList::read_unsafe();
        assert!(permits(&read_only, Permissions::READ, &auth, &options));
        assert!(!permits(&read_only, Permissions::WRITE, &auth, &options));
    }

    #[test]
    fn hashes_are_masked_and_nothing_else() {
        let list = AclList::new([
            Acl::new(Permissions::ALL, Id::new("digest", "user:hash")),
            Acl::new(Permissions::READ, Id::ANYONE),
        ]);
        assert_eq!(masked(&list).to_string(), "[digest:user:x:cdrwa, world:anyone:r]");
    }
}

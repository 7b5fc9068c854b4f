//! Which operations a release's servers know (rule 4.2.2).

use super::{Release, ReleaseNumber};
use crate::vocabulary::op::{CreateMode, Op, Request};

const fn v(minor: u8, patch: u8) -> ReleaseNumber {
    ReleaseNumber::new(3, minor, patch)
}

impl Release {
    /// Returns true if the release's servers know the operation of a request. They refuse every other one with
    /// Unimplemented.
    ///
    /// ```
    /// use vivarium_model::op::Request;
    /// use vivarium_model::release::Release;
    ///
    /// assert!(!Release::V3_6_4.knows(&Request::WhoAmI));
    /// assert!(Release::V3_7_2.knows(&Request::WhoAmI));
    /// ```
    pub fn knows(self, request: &Request) -> bool {
        let Some(number) = self.number() else { return true };
        since(request).is_none_or(|first| number.has(&[first]))
    }

    /// Returns true if the release's servers know an operation of a multi.
    pub(crate) fn knows_op(self, op: &Op) -> bool {
        self.number().is_none_or(|number| op_since(op).is_none_or(|first| number.has(&[first])))
    }

    /// Returns true if the release's servers know `create2`, by which a create is answered with its Stat. It is no request of
    /// its own here.
    pub fn knows_create2(self) -> bool {
        self.is_reconfigurable()
    }

    /// Returns true if an ACL may name a network: an address with the number of its significant bits (ZOOKEEPER-1673).
    pub(crate) fn accepts_networks(self) -> bool {
        self.is_reconfigurable()
    }

    /// Returns true if the identities that `auth` stands for take its place in an ACL; otherwise they come last
    /// (ZOOKEEPER-1877).
    pub(crate) fn keeps_place_of_auth(self) -> bool {
        self.is_reconfigurable()
    }

    /// Returns true if a delete needs the permission of the parent before the znode must exist (rule 1.6.5).
    pub(crate) fn asks_before_it_finds(self) -> bool {
        self.number().is_none_or(|number| number.has(&[v(6, 0)]))
    }

    /// Returns true for a character that only this release's servers allow in a path: one at the edge of a range (ZOOKEEPER-1628).
    pub(crate) fn accepts(self, character: char) -> bool {
        let at_an_edge = matches!(
            character,
            '\u{1f}' | '\u{7f}' | '\u{9f}' | '\u{f8ff}' | '\u{fff0}' | '\u{ffff}'
        );
        at_an_edge && !self.is_reconfigurable()
    }

    /// Returns true if the release's servers have the znode `/zookeeper/config` (ZOOKEEPER-107).
    pub fn has_config_znode(self) -> bool {
        self.is_reconfigurable()
    }

    /// Returns true if the release's followers can host observers (ZOOKEEPER-3140).
    pub(in crate::vocabulary) fn has_observer_masters(self) -> bool {
        self.number().is_none_or(|number| number.has(&[v(6, 0)]))
    }

    /// Returns true for 3.5.0 and all that follow.
    fn is_reconfigurable(self) -> bool {
        self.number().is_none_or(|number| number.has(&[v(5, 0)]))
    }

    /// Returns true if the release's servers enforce quotas where `zookeeper.enforceQuota` asks for it (ZOOKEEPER-3301).
    pub fn enforces_quotas(self) -> bool {
        self.number().is_none_or(|number| number.has(&[v(7, 0)]))
    }
}

/// Returns the first release with an operation; `None` if 3.4 has it.
fn since(request: &Request) -> Option<ReleaseNumber> {
    match request {
        Request::WhoAmI => Some(v(7, 0)),
        Request::MultiRead(_)
        | Request::GetEphemerals { .. }
        | Request::GetAllChildrenNumber { .. }
        | Request::AddWatch { .. } => Some(v(6, 0)),
        Request::RemoveWatches { .. } | Request::CheckWatches { .. } | Request::Reconfig(_) => {
            Some(v(5, 0))
        }
        Request::Write(op) => op_since(op),
        _ => None,
    }
}

fn op_since(op: &Op) -> Option<ReleaseNumber> {
    match op {
        Op::Create { mode: CreateMode::Container, .. } => Some(v(5, 1)),
        Op::Create { mode, .. } if mode.ttl().is_some() => Some(v(5, 3)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::path::ZnodePath;
    use crate::vocabulary::reconfiguration::Reconfiguration;

    #[test]
    fn edges_of_ranges_are_allowed_in_old_paths() {
        for (name, is_new) in
            [("/\u{1f}", false), ("/\u{f8ff}", false), ("/\u{1e}", false), ("/a", true)]
        {
            let of = |release| ZnodePath::of_release(name, release).is_ok();
            assert_eq!(of(Release::V3_5_10), is_new, "{name:?}");
            assert_eq!(of(Release::V3_4_14), name != "/\u{1e}", "{name:?}");
        }
    }

    #[test]
    fn what_is_new_is_unknown_to_what_is_old() {
        let reconfig = Request::Reconfig(Reconfiguration::default());
        let reads = Request::MultiRead(Vec::new());
        let sync = Request::Sync { path: "/".into() };
        let known = |release: Release| {
            [&sync, &reconfig, &reads, &Request::WhoAmI].map(|request| release.knows(request))
        };
        assert_eq!(known(Release::V3_4_14), [true, false, false, false]);
        assert_eq!(known(Release::V3_5_10), [true, true, false, false]);
        assert_eq!(known(Release::V3_6_3), [true, true, true, false]);
        for release in [Release::V3_7_2, Release::Head, Release::Repaired] {
            assert_eq!(known(release), [true; 4], "{release}");
            assert!(release.enforces_quotas(), "{release}");
        }
        assert!(!Release::V3_6_4.enforces_quotas());
    }
}

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
        Request::Write(Op::Create { mode: CreateMode::Container, .. }) => Some(v(5, 1)),
        Request::Write(Op::Create { mode, .. }) if mode.ttl().is_some() => Some(v(5, 3)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::reconfiguration::Reconfiguration;

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

//! The observations of a group's members and viewers.

use serde::Serialize;
use std::sync::Arc;
use vivarium_model::id::SessionId;
use vivarium_model::observation::Observation;
use vivarium_model::zxid::Zxid;

/// An observation of a program at a group. Its properties ([`super::properties`]) use no other observations.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum MembershipSeen {
    /// The program believes that it is a member from now on.
    Joined {
        /// The group's directory.
        group: Arc<str>,
        /// Full path of the member's znode.
        member: Arc<str>,
        /// The znode's czxid.
        token: Zxid,
        /// The session of the membership.
        session: SessionId,
    },
    /// The program does not believe so any more.
    Leaving { group: Arc<str>, member: Arc<str>, token: Zxid },
    /// The program believes that these are the members, in lexical order.
    View { group: Arc<str>, members: Vec<Arc<str>> },
    /// The program no longer looks at the group.
    LooksAway { group: Arc<str> },
}

impl Observation for MembershipSeen {
    fn words(&self) -> String {
        match self {
            MembershipSeen::Joined { member, token, session, .. } => {
                format!(
                    "believes that it is a MEMBER from now on, by {member}, token {token}, in session {session}"
                )
            }
            MembershipSeen::Leaving { member, token, .. } => {
                format!("is no member any more by {member}, token {token}")
            }
            MembershipSeen::View { group, members } if members.is_empty() => {
                format!("takes {group} for empty")
            }
            MembershipSeen::View { group, members } => {
                format!("takes {} for the members of {group}", members.join(", "))
            }
            MembershipSeen::LooksAway { group } => format!("looks at {group} no more"),
        }
    }
}

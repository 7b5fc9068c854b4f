//! ACLs and identities (rule 1.9).

use super::ZooKeeper;
use super::transport::Call;
use crate::program::host::{Operation, Outcome};
use crate::vocabulary::acl::AclList;
use crate::vocabulary::error::Error;
use crate::vocabulary::op::{ClientInfo, Data, Request, Response, Version};
use crate::vocabulary::stat::Stat;
use std::sync::Arc;

impl ZooKeeper {
    /// Returns the znode's ACL and Stat. READ suffices; without ADMIN, passwords in the ACL are masked.
    ///
    /// # Errors
    /// `NoNode`, `NoAuth`, `ConnectionLoss`, `SessionExpired`, `BadArguments`.
    pub async fn get_acl(&self, path: &str) -> Result<(AclList, Stat), Error> {
        match self.request(Request::GetAcl { path: Arc::from(path) }).await? {
            Response::Acl(acl, stat) => Ok((acl, stat)),
            other => unreachable!("getACL was answered with {other:?}"),
        }
    }

    /// Replaces the znode's ACL and returns the new Stat. The expected version is compared with `aversion`, not with
    /// `version`. No watch fires, and a multi cannot contain this request.
    ///
    /// # Errors
    /// As the server says (rule 1.6): `NoNode`, `NoAuth` without ADMIN, `InvalidAcl`, `BadVersion`, `BadArguments`;
    /// or `ConnectionLoss`, after which the outcome is unknown.
    pub async fn set_acl(
        &self,
        path: &str,
        acl: AclList,
        aversion: Version,
    ) -> Result<Stat, Error> {
        let request = Request::SetAcl { path: Arc::from(path), acl, version: aversion };
        match self.request(request).await? {
            Response::AclSet(stat) => Ok(stat),
            other => unreachable!("setACL was answered with {other:?}"),
        }
    }

    /// Returns the identities that the server assigns to the connection, without their secrets.
    ///
    /// # Errors
    /// `ConnectionLoss`, `SessionExpired`.
    pub async fn who_am_i(&self) -> Result<Vec<ClientInfo>, Error> {
        match self.request(Request::WhoAmI).await? {
            Response::WhoAmI(identities) => Ok(identities),
            other => unreachable!("whoAmI was answered with {other:?}"),
        }
    }

    /// Proves an identity, such as `digest` with `user:password`, to the present server and to every later one of the
    /// session (rule 2.8.7). It applies to every request made from now on. The call does not wait for the server. If
    /// a server refuses the identity, the session is over for this client: its state becomes
    /// [`AuthFailed`](crate::vocabulary::op::SessionState::AuthFailed), and every pending and later request fails
    /// with `AuthFailed`. A new session does not inherit the identity.
    ///
    /// # Errors
    /// `SessionExpired` or `AuthFailed` after the session's end, `ConnectionLoss` while it is closing. The identity
    /// was not added then.
    pub async fn add_auth_info(&self, scheme: &str, auth: &[u8]) -> Result<(), Error> {
        let (scheme, auth) = (Arc::from(scheme), Data::from(auth));
        let operation = Operation::AddAuth { scheme, auth, scope: self.scope };
        match Call::submit(&*self.transport, operation).await {
            Outcome::AuthAdded(result) => result,
            other => unreachable!("addAuth was answered with {other:?}"),
        }
    }
}

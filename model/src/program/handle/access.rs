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
    /// The znode's ACL and Stat. Who may read it without ADMIN gets it with the passwords masked.
    ///
    /// # Errors
    /// `NoNode`, `NoAuth`, `ConnectionLoss`, `SessionExpired`, `BadArguments`.
    pub async fn get_acl(&self, path: &str) -> Result<(AclList, Stat), Error> {
        match self.request(Request::GetAcl { path: Arc::from(path) }).await? {
            Response::Acl(acl, stat) => Ok((acl, stat)),
            other => unreachable!("getACL was answered with {other:?}"),
        }
    }

    /// Replaces the znode's ACL; its new Stat. What is expected is `aversion`, not `version`. No watch
    /// fires, and a multi cannot hold it.
    ///
    /// # Errors
    /// As the server says (rule 1.6): `NoNode`, `NoAuth` without ADMIN, `InvalidAcl`,
    /// `BadVersion`, `BadArguments`; or `ConnectionLoss`, which leaves the outcome open.
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

    /// The identities that the server takes the connection for: without what proves them.
    ///
    /// # Errors
    /// `ConnectionLoss`, `SessionExpired`.
    pub async fn who_am_i(&self) -> Result<Vec<ClientInfo>, Error> {
        match self.request(Request::WhoAmI).await? {
            Response::WhoAmI(identities) => Ok(identities),
            other => unreachable!("whoAmI was answered with {other:?}"),
        }
    }

    /// Proves an identity, such as `digest` with `user:password`, to this server and to every later
    /// one of the session (rule 2.8.7). Every request that is made from now on has it. It
    /// does not wait for the server. One that refuses the identity ends the session for this client:
    /// the session is [`AuthFailed`](crate::vocabulary::op::SessionState::AuthFailed), and whatever is pending
    /// fails with `AuthFailed`, as does every later request. A new session knows nothing of it.
    ///
    /// # Errors
    /// `SessionExpired` and `AuthFailed` after the session's end, `ConnectionLoss` while it is being
    /// closed: nothing was added.
    pub async fn add_auth_info(&self, scheme: &str, auth: &[u8]) -> Result<(), Error> {
        let (scheme, auth) = (Arc::from(scheme), Data::from(auth));
        let operation = Operation::AddAuth { scheme, auth, scope: self.scope };
        match Call::submit(&*self.transport, operation).await {
            Outcome::AuthAdded(result) => result,
            other => unreachable!("addAuth was answered with {other:?}"),
        }
    }
}

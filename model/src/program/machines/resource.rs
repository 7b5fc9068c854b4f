//! Resources outside ZooKeeper that check fencing tokens.

use crate::program::host::ResourceRequest;
use crate::vocabulary::zxid::Zxid;

/// A resource outside ZooKeeper that refuses fencing tokens smaller than one it has seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct FencedResource {
    highest: Option<Zxid>,
    value: u64,
}

impl FencedResource {
    /// Checks the token and writes, in one step at the resource.
    pub(super) fn execute(&mut self, request: &ResourceRequest) -> Result<(), Zxid> {
        if let (Some(token), Some(highest)) = (request.token, self.highest)
            && token < highest
        {
            return Err(highest);
        }
        self.highest = self.highest.max(request.token);
        self.value = request.value;
        Ok(())
    }
}

//! Back-pressure: how many requests a client holds, and how many bytes.
//!
//! A request begins only when it is admitted. One that is not waits in its caller's future, in the order of asking,
//! and is no request yet: dropping the future then undoes it.

use std::sync::Arc;
use tokio::sync::Semaphore;
use vivarium_model::acl::AclList;
use vivarium_model::handle::BoxFuture;
use vivarium_model::op::{Op, Request};

/// The overhead of a request: header, flags, ACL.
const OVERHEAD: usize = 64;

/// The limits on what a client holds.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    requests: Arc<Semaphore>,
    bytes: Arc<Semaphore>,
    most_bytes: u32,
}

impl Limits {
    pub(crate) fn new(requests: u32, bytes: u32) -> Limits {
        Limits {
            requests: Arc::new(Semaphore::new(requests.max(1) as usize)),
            bytes: Arc::new(Semaphore::new(bytes.max(1) as usize)),
            most_bytes: bytes.max(1),
        }
    }

    /// Returns the bytes that a request occupies, about, up to 4 GiB.
    pub(crate) fn bytes(request: &Request) -> u32 {
        let mut bytes = OVERHEAD;
        request.each_path(|path| bytes = bytes.saturating_add(path.len()));
        let of_content = match request {
            Request::Write(op) => content(op),
            Request::Multi(ops) => ops.iter().map(|op| OVERHEAD.saturating_add(content(op))).sum(),
            Request::MultiRead(reads) => reads.len().saturating_mul(OVERHEAD),
            Request::SetAcl { acl, .. } => of_acl(acl),
            _ => 0,
        };
        u32::try_from(bytes.saturating_add(of_content)).unwrap_or(u32::MAX)
    }

    /// Returns true if no frame can hold a request of this size: its length has 31 bits.
    pub(crate) fn is_too_long(bytes: u32) -> bool {
        bytes > i32::MAX.unsigned_abs()
    }

    /// Admits a request: at once, or when the future is ready.
    pub(crate) fn admit(&self, request: &Request) -> Option<BoxFuture<()>> {
        let bytes = self.capped(Limits::bytes(request));
        if let Ok(one) = self.requests.try_acquire()
            && let Ok(bytes) = self.bytes.try_acquire_many(bytes)
        {
            one.forget();
            bytes.forget();
            return None;
        }
        let limits = self.clone();
        Some(Box::pin(async move {
            let one = limits.requests.acquire().await.expect("it is never closed");
            let bytes = limits.bytes.acquire_many(bytes).await.expect("it is never closed");
            one.forget();
            bytes.forget();
        }))
    }

    /// Releases what an admitted request occupied.
    pub(crate) fn release(&self, bytes: Option<u32>) {
        if let Some(bytes) = bytes {
            self.requests.add_permits(1);
            self.bytes.add_permits(self.capped(bytes) as usize);
        }
    }

    /// A request that is larger than the limit is admitted when there is no other.
    fn capped(&self, bytes: u32) -> u32 {
        bytes.min(self.most_bytes)
    }
}

/// Returns the bytes of an operation's data and ACL.
fn content(op: &Op) -> usize {
    match op {
        Op::Create { data, acl, .. } => data.len().saturating_add(of_acl(acl)),
        Op::SetData { data, .. } => data.len(),
        Op::Delete { .. } | Op::Check { .. } => 0,
    }
}

fn of_acl(acl: &AclList) -> usize {
    acl.entries().iter().map(|acl| 12 + acl.id.scheme.len() + acl.id.id.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::{Context, Poll, Waker};
    use vivarium_model::op::Version;

    fn get() -> Request {
        Request::GetData { path: "/a".into(), watch: false }
    }

    fn is_ready(future: &mut BoxFuture<()>) -> bool {
        future.as_mut().poll(&mut Context::from_waker(Waker::noop())) == Poll::Ready(())
    }

    #[test]
    fn requests_beyond_the_limit_wait_in_their_order() {
        let limits = Limits::new(1, 1_000);
        assert!(limits.admit(&get()).is_none());
        let mut second = limits.admit(&get()).expect("it waits");
        let mut third = limits.admit(&get()).expect("it waits");
        assert!(!is_ready(&mut second) && !is_ready(&mut third));
        limits.release(Some(Limits::bytes(&get())));
        assert!(!is_ready(&mut third));
        assert!(is_ready(&mut second));
        drop(third);
        limits.release(Some(Limits::bytes(&get())));
        assert!(limits.admit(&get()).is_none());
    }

    #[test]
    fn the_length_of_a_frame_has_31_bits() {
        let with = |bytes| Limits::is_too_long(bytes);
        assert!(!with(0x7fff_ffff) && with(0x8000_0000) && with(u32::MAX));
        let two = [AclList::creator_all().entries(), AclList::OPEN.entries()].concat();
        let acl = AclList::new(two);
        let request = |acl| Request::SetAcl { path: "/a".into(), acl, version: Version::Any };
        assert!(Limits::bytes(&request(acl)) > Limits::bytes(&request(AclList::OPEN)));
    }

    #[test]
    fn bytes_are_limited_and_a_large_request_goes_alone() {
        let limits = Limits::new(10, 100);
        let large = Request::Write(Op::SetData {
            path: "/a".into(),
            data: vec![0; 1_000].into(),
            version: Version::Any,
        });
        assert!(limits.admit(&large).is_none());
        let mut small = limits.admit(&get()).expect("it waits");
        assert!(!is_ready(&mut small));
        limits.release(Some(Limits::bytes(&large)));
        assert!(is_ready(&mut small));
        let mut large = limits.admit(&large).expect("it waits for the small one");
        assert!(!is_ready(&mut large));
    }
}

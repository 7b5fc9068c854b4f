//! Back-pressure: how many requests a client holds, and how many bytes.
//!
//! A request begins only when it is admitted. One that is not waits in its caller's future, in the order of asking,
//! and is no request yet: dropping the future then undoes it.

use std::sync::Arc;
use tokio::sync::Semaphore;
use vivarium_model::handle::BoxFuture;
use vivarium_model::op::{Op, ReadOp, Request};

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

    /// Returns the bytes that a request occupies, about.
    pub(crate) fn bytes(request: &Request) -> u32 {
        let bytes = match request {
            Request::Write(op) => of(op),
            Request::Multi(ops) => ops.iter().map(of).sum(),
            Request::MultiRead(ops) => ops.iter().map(of_read).sum(),
            Request::Exists { path, .. }
            | Request::GetData { path, .. }
            | Request::GetChildren { path, .. }
            | Request::GetAcl { path }
            | Request::SetAcl { path, .. }
            | Request::GetAllChildrenNumber { path }
            | Request::AddWatch { path, .. }
            | Request::RemoveWatches { path, .. }
            | Request::CheckWatches { path, .. }
            | Request::DeleteContainer { path }
            | Request::Sync { path }
            | Request::GetEphemerals { prefix: path } => path.len(),
            Request::WhoAmI | Request::CloseSession => 0,
        };
        u32::try_from(bytes + OVERHEAD).unwrap_or(u32::MAX)
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

fn of(op: &Op) -> usize {
    match op {
        Op::Create { path, data, .. } | Op::SetData { path, data, .. } => path.len() + data.len(),
        Op::Delete { path, .. } | Op::Check { path, .. } => path.len(),
    }
}

fn of_read(op: &ReadOp) -> usize {
    let (ReadOp::GetData { path } | ReadOp::GetChildren { path }) = op;
    path.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::{Context, Poll, Waker};

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
    fn bytes_are_limited_and_a_large_request_goes_alone() {
        let limits = Limits::new(10, 100);
        let large = Request::Write(Op::SetData {
            path: "/a".into(),
            data: vec![0; 1_000].into(),
            version: vivarium_model::op::Version::Any,
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

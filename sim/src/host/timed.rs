//! A host that measures the real time spent in another host. Only benches read the measurement; no decision depends on
//! it.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};
use vivarium_model::host::{Host, Input, Output};
use vivarium_model::id::ClientId;

/// Wraps another host and measures the real time spent in it.
pub(crate) struct TimedHost<H> {
    inner: H,
    spent: Rc<Cell<Duration>>,
}

impl<H> TimedHost<H> {
    /// Adds the real time spent in `inner` to `spent`.
    pub(crate) fn new(inner: H, spent: Rc<Cell<Duration>>) -> TimedHost<H> {
        TimedHost { inner, spent }
    }

    fn time<T>(&mut self, run: impl FnOnce(&mut H) -> T) -> T {
        let begun = Instant::now();
        let result = run(&mut self.inner);
        self.spent.set(self.spent.get() + begun.elapsed());
        result
    }
}

impl<H: Host> Host for TimedHost<H> {
    fn start(&mut self, client: ClientId) {
        self.time(|host| host.start(client));
    }

    fn feed(&mut self, client: ClientId, input: Input, outputs: &mut Vec<Output>) {
        self.time(|host| host.feed(client, input, outputs));
    }

    fn kill(&mut self, client: ClientId) {
        self.time(|host| host.kill(client));
    }

    fn awaits_its_handle(&self, client: ClientId) -> bool {
        self.inner.awaits_its_handle(client)
    }

    fn listens_only(&self, client: ClientId) -> bool {
        self.inner.listens_only(client)
    }

    fn woken_from_outside(&self) -> Option<ClientId> {
        self.inner.woken_from_outside()
    }
}

//! The dataflow of a search: states go to their owners, and answers come back; ways go to other workers; reports go to all.
//!
//! Each of the three has a time of its own, which a worker advances when it has sent all that it has for it. A time is
//! over when timely's frontier has passed it, in all workers.
//!
//! Timely's workers need threads of their own, because what they run may borrow nothing. Each serves one worker of the
//! search ([`Wire`](super::wire::Wire)), and owns states in its name.

use super::Shareable;
use super::connect::Losses;
use super::lock;
use super::messages::{Answer, Batch, Gift, Report};
use super::table::Table;
use super::wire::{Arrived, Command, Way};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError};
use std::time::{Duration, Instant};
use timely::ExchangeData;
use timely::container::CapacityContainerBuilder;
use timely::dataflow::channels::pact::{Exchange, Pipeline};
use timely::dataflow::operators::generic::operator::Operator;
use timely::dataflow::operators::vec::Input as _;
use timely::dataflow::operators::{Exchange as _, Probe};
use timely::dataflow::{InputHandleVec, ProbeHandle, Scope, StreamVec};
use timely::worker::Worker;

/// How long an idle worker sleeps before it looks whether a process was lost.
const NAP: Duration = Duration::from_millis(50);

/// How long the workers wait for the end of a dataflow that all have left.
const FOR_THE_END: Duration = Duration::from_secs(5);

/// What arrived.
type Inbox<T> = Rc<RefCell<Vec<T>>>;

/// One of the ways through the dataflow.
struct Port<In: Clone + 'static, Out> {
    input: InputHandleVec<u64, In>,
    inbox: Inbox<Out>,
    probe: ProbeHandle<u64>,
    time: u64,
}

impl<In: Clone + 'static, Out> Port<In, Out> {
    /// Sends nothing more at the present time.
    fn advance(&mut self) {
        self.time += 1;
        self.input.advance_to(self.time);
    }

    /// Returns everything that has arrived, once all workers have advanced and nothing is under way.
    fn arrived(&self) -> Option<Vec<Out>> {
        let is_complete = !self.probe.less_than(&self.time);
        is_complete.then(|| std::mem::take(&mut *self.inbox.borrow_mut()))
    }
}

/// The three ways, as one worker has them.
struct Ports {
    states: Port<Batch, Answer>,
    gifts: Port<Gift, Gift>,
    reports: Port<Report, Report>,
}

/// Carries out commands until there are no more, or a process is lost.
pub(super) fn serve(
    network: &mut Worker,
    table: &Shareable<Table>,
    commands: &Receiver<Command>,
    arrived: &Sender<Arrived>,
    losses: &Losses,
) {
    let mut ports = Ports::new(network, table);
    let mut completing = None;
    while losses.check().is_ok() {
        match commands.try_recv() {
            Ok(Command::States(batch)) => ports.states.input.send(batch),
            Ok(Command::Gift(gift)) => ports.gifts.input.send(gift),
            Ok(Command::Report(report)) => ports.reports.input.send(*report),
            Ok(Command::Complete(way)) => {
                ports.advance(way);
                completing = Some(way);
            }
            Err(TryRecvError::Disconnected) => {
                drop(ports);
                let until = Instant::now() + FOR_THE_END;
                while network.has_dataflows() && Instant::now() < until {
                    network.step_or_park(Some(NAP));
                }
                return;
            }
            Err(TryRecvError::Empty) => {
                if let Some(all) = completing.and_then(|way| ports.arrived(way)) {
                    completing = None;
                    // The worker may be gone already, since a process was lost.
                    let _ = arrived.send(all);
                }
                network.step_or_park(Some(NAP));
            }
        }
    }
}

impl Ports {
    fn new(network: &mut Worker, table: &Shareable<Table>) -> Ports {
        let visited = Arc::clone(table);
        let workers = network.peers() as u32;
        network.dataflow(|scope| {
            let states = port(scope, move |batches: StreamVec<'_, u64, Batch>| {
                let owner = Exchange::new(|batch: &Batch| batch.to.into());
                let answers: StreamVec<'_, u64, Answer> =
                    batches.unary(owner, "visited", |_, _| {
                        move |input, output| {
                            input.for_each(|time, batches: &mut Vec<Batch>| {
                                let mut session = output.session(&time);
                                for batch in batches.drain(..) {
                                    let answer = lock(&visited).answer(&batch);
                                    let all = answer.spread(batch.to, batch.stale, workers);
                                    session.give_iterator(all);
                                }
                            });
                        }
                    });
                answers.exchange(|answer: &Answer| answer.to.into())
            });
            let gifts = port(scope, |gifts: StreamVec<'_, u64, Gift>| {
                gifts.exchange(|gift: &Gift| gift.to.into())
            });
            let reports = port(scope, |reports: StreamVec<'_, u64, Report>| {
                reports.exchange(|report: &Report| report.to.into())
            });
            Ports { states, gifts, reports }
        })
    }

    fn advance(&mut self, way: Way) {
        match way {
            Way::States => self.states.advance(),
            Way::Gifts => self.gifts.advance(),
            Way::Reports => self.reports.advance(),
        }
    }

    fn arrived(&self, way: Way) -> Option<Arrived> {
        match way {
            Way::States => self.states.arrived().map(Arrived::Answers),
            Way::Gifts => self.gifts.arrived().map(Arrived::Gifts),
            Way::Reports => self.reports.arrived().map(Arrived::Reports),
        }
    }
}

/// Makes a way through the dataflow.
fn port<'scope, In: ExchangeData + Clone, Out: ExchangeData>(
    scope: Scope<'scope, u64>,
    through: impl FnOnce(StreamVec<'scope, u64, In>) -> StreamVec<'scope, u64, Out>,
) -> Port<In, Out> {
    let (input, stream) = scope.new_input();
    let inbox = Inbox::default();
    let arrives = Rc::clone(&inbox);
    let taken = through(stream).unary::<CapacityContainerBuilder<Vec<()>>, _, _, _>(
        Pipeline,
        "inbox",
        |_, _| {
            move |input, _| {
                input.for_each(|_, messages: &mut Vec<Out>| arrives.borrow_mut().append(messages));
            }
        },
    );
    let (probe, _) = taken.probe();
    Port { input, inbox, probe, time: 0 }
}

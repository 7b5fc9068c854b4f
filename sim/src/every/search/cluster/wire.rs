//! What a worker of the search has of timely: a wire to the thread that serves it.

use super::Shareable;
use super::connect::{Gone, Losses};
use super::messages::{Answer, Batch, Gift, Report};
use super::table::Table;
use std::cell::Cell;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread::Thread;
use std::time::Duration;

/// How long a worker waits before it looks whether a process was lost.
const NAP: Duration = Duration::from_millis(50);

/// The ways through the dataflow.
#[derive(Clone, Copy, Debug)]
pub(super) enum Way {
    States,
    Gifts,
    Reports,
}

/// What the serving thread is to do.
pub(super) enum Command {
    States(Batch),
    Gift(Gift),
    Report(Box<Report>),
    /// Nothing more is sent at this way's time: say when it is over.
    Complete(Way),
}

/// All that arrived at a time of a way.
pub(super) enum Arrived {
    Answers(Vec<Answer>),
    Gifts(Vec<Gift>),
    Reports(Vec<Report>),
}

/// A worker's wire.
pub(super) struct Wire {
    /// The number of this worker among all.
    pub(super) own: usize,
    /// The number of all workers.
    pub(super) workers: usize,
    /// The states that this worker owns.
    pub(super) table: Shareable<Table>,
    pub(super) losses: Arc<Losses>,
    pub(super) commands: Sender<Command>,
    pub(super) arrived: Receiver<Arrived>,
    pub(super) served_by: Thread,
    /// Reports that a faster worker sent early, and the time of this one's next report.
    pub(super) early: Cell<Vec<Report>>,
    pub(super) time: Cell<u64>,
}

impl Wire {
    pub(super) fn send(&self, command: Command) {
        // If the serving thread is gone, a process was lost, and the next `complete` says so.
        let _ = self.commands.send(command);
        self.served_by.unpark();
    }

    /// Waits until everything that any worker sent has arrived.
    fn complete(&self, way: Way) -> Result<Arrived, Gone> {
        self.send(Command::Complete(way));
        loop {
            match self.arrived.recv_timeout(NAP) {
                Ok(all) => return Ok(all),
                Err(RecvTimeoutError::Timeout) => self.losses.check()?,
                Err(RecvTimeoutError::Disconnected) => return Err(Gone),
            }
        }
    }

    /// Waits for the answers to all states that were sent.
    pub(super) fn answers(&self) -> Result<Vec<Answer>, Gone> {
        match self.complete(Way::States)? {
            Arrived::Answers(answers) => Ok(answers),
            _ => unreachable!("answers were asked for"),
        }
    }

    /// Waits for all states that workers give each other.
    pub(super) fn gifts(&self) -> Result<Vec<Gift>, Gone> {
        match self.complete(Way::Gifts)? {
            Arrived::Gifts(gifts) => Ok(gifts),
            _ => unreachable!("gifts were asked for"),
        }
    }

    /// Tells all workers something, and returns what each of them tells, in their order.
    pub(super) fn report(&self, report: Report) -> Result<Vec<Report>, Gone> {
        let (time, worker) = (self.time.get(), self.own as u32);
        self.time.set(time + 1);
        for to in 0..self.workers as u32 {
            let report = Report { to, worker, time, ..report.clone() };
            self.send(Command::Report(Box::new(report)));
        }
        let Arrived::Reports(arrived) = self.complete(Way::Reports)? else {
            unreachable!("reports were asked for");
        };
        let all = self.early.take().into_iter().chain(arrived);
        let (mut now, early): (Vec<_>, Vec<_>) = all.partition(|report| report.time == time);
        self.early.set(early);
        now.sort_unstable_by_key(|report| report.worker);
        assert_eq!(now.len(), self.workers, "each worker reports once");
        Ok(now)
    }

    /// Ends: all workers know that nothing more is needed of each other, and then leave.
    pub(super) fn part(self) -> Result<(), Gone> {
        self.losses.over();
        self.report(Report::default()).map(|_| ())
    }
}

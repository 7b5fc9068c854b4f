//! Faults that a script orders.

use super::lost_reply::{LostReplies, break_now};
use super::{Order, servers};
use crate::random::Seeds;
use crate::run::look::Look;
use crate::scenario::faults::Fault;
use crate::scenario::script::{Lost, Moment, Rule, Script, What, When, Which, Who};
use vivarium_model::event::Event;
use vivarium_model::id::{ClientId, Machine, ServerId};
use vivarium_model::op::Request;
use vivarium_model::step::{Step, Tail, Unwritten};
use vivarium_model::time::{Duration, Time};

/// A script in one run.
#[derive(Clone, Debug)]
pub(crate) struct Scripted {
    script: Script,
    /// When the faults end.
    end: Time,
    /// For each rule, how many of its events have happened.
    met: Vec<u32>,
    /// For each rule, how often it applied.
    applied: Vec<u64>,
    /// The requests whose replies are to be lost.
    lost_replies: LostReplies,
}

impl Scripted {
    /// Returns a script whose rules have not applied yet.
    pub(crate) fn new(script: &Script, chaos: Duration, clients: usize, seeds: &Seeds) -> Scripted {
        let rules = script.rules().len();
        let lost_replies = LostReplies::of_a_script(clients, seeds);
        Scripted {
            script: script.clone(),
            end: Time::ZERO + chaos,
            met: vec![0; rules],
            applied: vec![0; rules],
            lost_replies,
        }
    }

    /// Returns the rules that apply at a time, by their indices.
    pub(crate) fn timed(&self) -> Vec<(Time, usize)> {
        let all = self.script.rules().iter().enumerate();
        let timed = all.filter_map(|(index, rule)| match rule.when {
            When::At(at) => Some((Time::ZERO + at, index)),
            When::Upon(..) => None,
        });
        timed.collect()
    }

    /// Returns true if a rule can apply upon an event.
    pub(crate) fn waits(&self) -> bool {
        !self.met.is_empty()
    }

    /// Returns how often each rule applied.
    pub(crate) fn applied(self) -> Vec<u64> {
        self.applied
    }

    /// Lets a rule apply whose time has come. The orders given are carried out right away.
    pub(crate) fn at(
        &mut self,
        now: Time,
        rule: usize,
        look: &dyn Look,
        orders: &mut Vec<(Fault, Order)>,
    ) {
        self.apply(now, rule, None, look, orders);
    }

    /// Handles the event at index `at` of a step. The orders given are carried out right after the step.
    pub(crate) fn event(
        &mut self,
        now: Time,
        (events, at): (&[Event], usize),
        look: &dyn Look,
        orders: &mut Vec<(Fault, Order)>,
    ) {
        self.lost_replies.goes_on(&events[at], look, orders);
        for index in 0..self.script.rules().len() {
            let When::Upon(which, moment) = &self.script.rules()[index].when else { continue };
            if !is(moment, &events[at]) {
                continue;
            }
            let which = *which;
            self.met[index] += 1;
            if which == Which::Each || which == Which::Nth(self.met[index]) {
                self.apply(now, index, Some((events, at)), look, orders);
            }
        }
    }

    fn apply(
        &mut self,
        now: Time,
        index: usize,
        upon: Option<(&[Event], usize)>,
        look: &dyn Look,
        orders: &mut Vec<(Fault, Order)>,
    ) {
        let rule = &self.script.rules()[index];
        let before = orders.len();
        let is_awaited = match (&rule.what, upon) {
            (What::LoseReply(lost), Some((events, at))) => {
                self.lost_replies.order(kind_of(*lost), events, at, look, orders)
            }
            _ => {
                let (kind, given) = ordered(rule, self.end.since(now), look);
                orders.extend(given.into_iter().map(|order| (kind, order)));
                false
            }
        };
        self.applied[index] += u64::from(is_awaited || orders.len() > before);
    }
}

/// Returns true if an event is such a moment.
fn is(moment: &Moment, event: &Event) -> bool {
    let is_of =
        |wanted: &Option<ClientId>, client: &ClientId| wanted.is_none_or(|it| it == *client);
    match (moment, event) {
        (Moment::Established, Event::Established { .. }) => true,
        (Moment::Observes { client, name }, Event::Observed { client: of, observation, .. }) => {
            is_of(client, of) && observation.name() == &**name
        }
        (
            Moment::Sends { client, request, path },
            Event::Sent { client: of, request: sent, .. },
        ) => {
            is_of(client, of)
                && request.as_ref().is_none_or(|name| name == sent.name())
                && path.as_ref().is_none_or(|path| names(sent, path))
        }
        _ => false,
    }
}

/// Returns true if a request names a path that begins so.
fn names(request: &Request, beginning: &str) -> bool {
    let mut any = false;
    request.each_path(|path| any |= path.starts_with(beginning));
    any
}

fn kind_of(lost: Lost) -> Fault {
    match lost {
        Lost::Applied => Fault::LostReplyApplied,
        Lost::Never => Fault::LostReplyNeverApplied,
        Lost::Pending => Fault::LostReplyPending,
    }
}

/// How long a disk stalls before its write fails, if the rule has no span.
const FAILS_AFTER: Duration = Duration::from_millis(100);

/// Returns the kind of a rule's fault, and its orders; none if it has nothing to act on. All faults end after `left`.
fn ordered(rule: &Rule, left: Duration, look: &dyn Look) -> (Fault, Vec<Order>) {
    // A span may be longer than any run.
    let lasts = rule.lasts.map(|lasts| lasts.min(left));
    let strike = |step: Option<Step>, end: Option<Step>| -> Vec<Order> {
        let Some(step) = step else { return Vec::new() };
        let end = lasts.zip(end).map(|(lasts, end)| Order::Later(lasts, end));
        [Order::Strike(step)].into_iter().chain(end).collect()
    };
    let up = |who: Who| server(who, look).filter(|server| look.is_up(*server));
    match &rule.what {
        What::Crash(who) => {
            let crash = |server| Step::Crash { server, tail: written(look, server) };
            (Fault::Crash, strike(up(*who).map(crash), up(*who).map(Step::Restart)))
        }
        What::PowerLoss(who) => {
            let crash = |server| Step::Crash { server, tail: Tail::LOST };
            (Fault::Crash, strike(up(*who).map(crash), up(*who).map(Step::Restart)))
        }
        What::Rejoin(who) => (Fault::Rejoin, strike(up(*who).map(Step::Rejoin), None)),
        What::DiskFull(who) => {
            let fails = |server| {
                super::crash::fails_after(
                    lasts.unwrap_or(FAILS_AFTER.min(left)),
                    server,
                    (0, Unwritten::Lost),
                )
            };
            (Fault::FsyncError, up(*who).map(fails).unwrap_or_default())
        }
        What::StallDisk(who) => {
            // A step that waits for a stalled disk happens when the stall was to end.
            let lasts = lasts.unwrap_or(left);
            let stall = up(*who).map(|server| Order::Stall(server, lasts));
            (Fault::DiskStall, stall.into_iter().collect())
        }
        What::Partition(groups) => (Fault::Partition, partition(groups, lasts, look)),
        What::PartitionOneWay(from, to) => {
            let pair = server(*from, look).zip(server(*to, look));
            let cut = pair.map(|pair| cut(pair, lasts, look)).unwrap_or_default();
            (Fault::OneWayPartition, cut)
        }
        What::Pause(client) => {
            let can = look.is_running(*client) && !look.is_paused(*client);
            let pause = can.then_some(Step::Pause(*client));
            (Fault::Pause, strike(pause, Some(Step::Resume(*client))))
        }
        What::Kill(client) => {
            let kill = look.is_running(*client).then_some(Step::Kill(*client));
            (Fault::ProgramCrash, strike(kill, Some(Step::Start(*client))))
        }
        What::Cancel(client) => {
            let cancel = look.can_cancel(*client).then_some(Step::Cancel(*client));
            (Fault::Cancellation, strike(cancel, None))
        }
        What::Expire(client) => {
            (Fault::SessionExpiry, strike(look.session(*client).map(Step::Expire), None))
        }
        What::Disconnect(client) => {
            let connection = look.client_connection(*client);
            let orders = connection.map(|connection| break_now(connection, look, 0));
            (Fault::ClientReset, orders.into_iter().collect())
        }
        What::LoseReply(_) => unreachable!("`{rule}` waits for a request"),
    }
}

/// Returns what the disk has if the process ends and the machine does not: all that was written.
fn written(look: &dyn Look, server: ServerId) -> Tail {
    let survive = look.unsynced(server).min(usize::from(u8::MAX)) as u8;
    Tail { survive, snapshots: true, packets: u8::MAX, ..Tail::LOST }
}

fn server(who: Who, look: &dyn Look) -> Option<ServerId> {
    match who {
        Who::Leader => look.leader(),
        Who::Server(server) => servers(look).find(|other| *other == server),
    }
}

fn partition(groups: &[Vec<Who>], lasts: Option<Duration>, look: &dyn Look) -> Vec<Order> {
    let of = |group: &Vec<Who>| -> Vec<ServerId> {
        group.iter().filter_map(|who| server(*who, look)).collect()
    };
    let groups: Vec<Vec<ServerId>> = groups.iter().map(of).collect();
    let mut orders = Vec::new();
    for (at, one) in groups.iter().enumerate() {
        for other in groups.iter().skip(at + 1) {
            for from in one {
                for to in other.iter().filter(|to| *to != from) {
                    orders.extend(cut((*from, *to), lasts, look));
                    orders.extend(cut((*to, *from), lasts, look));
                }
            }
        }
    }
    orders
}

/// Cuts a link that is not cut yet, for a while.
fn cut((from, to): (ServerId, ServerId), lasts: Option<Duration>, look: &dyn Look) -> Vec<Order> {
    let (from, to) = (Machine::Server(from), Machine::Server(to));
    if look.is_cut(from, to) {
        return Vec::new();
    }
    let heal = lasts.map(|lasts| Order::Later(lasts, Step::Heal { from, to }));
    [Order::Strike(Step::Cut { from, to })].into_iter().chain(heal).collect()
}

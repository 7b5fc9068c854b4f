//! A toy ensemble that takes random steps and draws them into a picture.

use super::Dice;
use std::collections::BTreeMap;
use vivarium_reports::picture::{
    Arrow, Bar, Lane, LaneKind, Picture, PictureStep, Span, SpanKind, StepKind,
};

/// What a packet is to the toy.
#[derive(Clone, Copy, PartialEq)]
enum Message {
    Vote,
    NewLeader,
    Request,
    Proposal,
    Ack,
    Commit,
    Reply,
    Ping,
}

/// A machine of the toy: its place in the picture's lists.
#[derive(Default)]
struct Machine {
    role: Option<usize>,
    down: Option<usize>,
    fault: Option<usize>,
    holds: Option<usize>,
    zxid: u64,
}

pub(super) struct Ensemble {
    picture: Picture,
    dice: Dice,
    machines: Vec<Machine>,
    servers: usize,
    leader: usize,
    epoch: u64,
    now: u64,
    in_flight: Vec<(usize, Message)>,
    fsyncs: Vec<usize>,
    lines: BTreeMap<String, usize>,
}

impl Ensemble {
    pub(super) fn new(seed: u64, servers: usize, clients: usize) -> Self {
        let server =
            (1..=servers).map(|id| Lane { name: format!("server {id}"), kind: LaneKind::Server });
        let client =
            (1..=clients).map(|id| Lane { name: format!("client {id}"), kind: LaneKind::Client });
        Ensemble {
            picture: Picture { lanes: server.chain(client).collect(), ..Picture::default() },
            dice: Dice::new(seed),
            machines: (0..servers + clients).map(|_| Machine::default()).collect(),
            servers,
            leader: servers - 1,
            epoch: 0,
            now: 0,
            in_flight: Vec::new(),
            fsyncs: Vec::new(),
            lines: BTreeMap::new(),
        }
    }

    pub(super) fn run(mut self, steps: usize) -> Picture {
        self.step(Vec::new(), StepKind::Program, "the ensemble starts".into());
        for client in self.servers..self.machines.len() {
            self.span(client, SpanKind::Connected, "to server 1");
        }
        self.election();
        while self.picture.steps.len() < steps {
            self.turn();
        }
        self.picture
    }

    /// Packets are read before new ones are asked for, so that few are under way at a time.
    fn turn(&mut self) {
        let busy = self.in_flight.len() > 3 + self.dice.below(9);
        match self.dice.below(400) {
            0..330 if busy => self.deliver(),
            0..330 if !self.fsyncs.is_empty() => self.fsync(),
            0..200 if !self.in_flight.is_empty() => self.deliver(),
            330..350 => self.ping(),
            350..353 => self.fault(),
            353..362 => self.mend(),
            362..368 => self.belief(),
            _ => self.program(),
        }
    }

    fn name(&self, lane: usize) -> String {
        self.picture.lanes[lane].name.clone()
    }

    /// Adds a step and returns its position.
    fn step(&mut self, lanes: Vec<usize>, kind: StepKind, words: String) -> usize {
        self.now +=
            [1, 40, 300, 1_200, 9_000][self.dice.below(5)] * (1 + self.dice.below(9) as u64);
        let number = self.picture.steps.len() as u64 + 1;
        let fault = matches!(kind, StepKind::Fault | StepKind::Mending);
        self.picture.steps.push(PictureStep {
            number,
            at: self.now,
            lanes,
            kind,
            words,
            notes: Vec::new(),
            events: Vec::new(),
            milestone: fault,
            paths: Vec::new(),
            states: Vec::new(),
        });
        self.picture.steps.len() - 1
    }

    fn last(&mut self) -> &mut PictureStep {
        self.picture.steps.last_mut().expect("a step was made")
    }

    fn event(&mut self, words: String, milestone: bool) {
        let step = self.last();
        step.events.push(words);
        step.milestone |= milestone;
    }

    fn path(&mut self, path: String) {
        self.last().paths.push(path);
    }

    fn send(&mut self, from: usize, to: usize, message: Message, words: String) {
        // After an election an old packet can make its reader answer itself.
        if from == to {
            return;
        }
        let sent = self.picture.steps.len() - 1;
        let ping = message == Message::Ping;
        self.in_flight.push((self.picture.arrows.len(), message));
        self.picture.arrows.push(Arrow { from, sent, to, ended: None, lost: false, words, ping });
    }

    fn span(&mut self, lane: usize, kind: SpanKind, label: &str) {
        let from = self.picture.steps.len() - 1;
        let new = self.picture.spans.len();
        if let Some(before) = self.machines[lane].role.replace(new) {
            self.picture.spans[before].to = Some(from);
        }
        self.picture.spans.push(Span { lane, kind, from, to: None, label: label.into() });
    }

    fn end_role(&mut self, lane: usize) {
        let now = self.picture.steps.len() - 1;
        if let Some(role) = self.machines[lane].role.take() {
            self.picture.spans[role].to = Some(now);
        }
    }

    fn state(&mut self, lane: usize) {
        let machine = &self.machines[lane];
        let role = machine.role.map_or(SpanKind::Down, |role| self.picture.spans[role].kind);
        let mut texts =
            vec![format!("role {role:?}").to_lowercase(), format!("epoch {}", self.epoch)];
        if lane < self.servers {
            texts.push(format!("log up to {}:{}", self.epoch, machine.zxid));
            texts.push(format!("committed {}:{}", self.epoch, machine.zxid.saturating_sub(1)));
            texts.extend(
                (0..3).map(|item| format!("znode /locks/one/x-{:010}", machine.zxid / 4 + item)),
            );
        } else {
            texts.push(format!("session 0x10000010000000{lane}, timeout 6000 ms"));
            texts.push(format!("last zxid {}:{}", self.epoch, machine.zxid));
            texts.push(format!("holds the lock: {}", machine.holds.is_some()));
        }
        let positions = texts.into_iter().map(|text| self.line(text)).collect();
        self.last().states.push((lane, positions));
    }

    fn line(&mut self, text: String) -> usize {
        let next = self.picture.lines.len();
        *self.lines.entry(text.clone()).or_insert_with(|| {
            self.picture.lines.push(text);
            next
        })
    }

    fn election(&mut self) {
        self.epoch += 1;
        let up: Vec<usize> =
            (0..self.servers).filter(|&id| self.machines[id].down.is_none()).collect();
        self.leader = up[self.dice.below(up.len())];
        for &server in &up {
            let name = self.name(server);
            self.step(vec![server], StepKind::Timer, format!("timer: {name} looks for a leader"));
            self.span(server, SpanKind::Looking, "");
            self.event(
                format!("{name} is LOOKING, proposes itself for epoch {}", self.epoch),
                true,
            );
            for &other in up.iter().filter(|&&other| other != server) {
                let words = format!("vote for server {} in round {}", self.leader + 1, self.epoch);
                self.send(server, other, Message::Vote, words);
            }
        }
        let name = self.name(self.leader);
        self.step(vec![self.leader], StepKind::Server, format!("{name} has a quorum of votes"));
        self.span(self.leader, SpanKind::Leading, &format!("epoch {}", self.epoch));
        self.event(format!("{name} leads epoch {}", self.epoch), true);
        self.state(self.leader);
        let leader = self.leader;
        for &other in up.iter().filter(|&&other| other != leader) {
            self.send(leader, other, Message::NewLeader, format!("NEWLEADER {}:0", self.epoch));
        }
    }

    fn deliver(&mut self) {
        let (arrow, message) = self.in_flight.remove(self.dice.below(self.in_flight.len().min(4)));
        let Arrow { from, to, words, .. } = self.picture.arrows[arrow].clone();
        let (sender, receiver) = (self.name(from), self.name(to));
        let down = self.machines[to].down.is_some();
        let needed = message == Message::NewLeader && !down;
        if down || !needed && (message != Message::Ping && self.dice.below(150) == 0) {
            let step = self.step(
                vec![to, from],
                StepKind::Fault,
                format!("LOST {sender} -> {receiver}: {words}"),
            );
            self.picture.arrows[arrow].ended = Some(step);
            self.picture.arrows[arrow].lost = true;
            return;
        }
        let step = self.step(
            vec![to],
            StepKind::Packet,
            format!("{receiver} reads from {sender}: {words}"),
        );
        self.picture.arrows[arrow].ended = Some(step);
        self.react(message, from, to, words);
    }

    fn react(&mut self, message: Message, from: usize, to: usize, words: String) {
        match message {
            Message::NewLeader => {
                self.span(to, SpanKind::Synchronising, &format!("epoch {}", self.epoch));
                self.fsyncs.push(to);
                self.state(to);
            }
            Message::Request => {
                self.machines[self.leader].zxid += 1;
                self.path("/locks/one".into());
                let leader = self.leader;
                for other in (0..self.servers).filter(|&other| other != leader) {
                    self.send(leader, other, Message::Proposal, format!("PROPOSAL {words}"));
                }
                self.state(to);
                self.send(to, from, Message::Reply, format!("reply to {words}"));
            }
            Message::Proposal => {
                self.machines[to].zxid += 1;
                self.fsyncs.push(to);
            }
            Message::Ack => self.send(
                to,
                from,
                Message::Commit,
                format!("COMMIT {}:{}", self.epoch, self.machines[to].zxid),
            ),
            Message::Commit => {
                let event = format!(
                    "{} commits and applies {}:{}",
                    self.name(to),
                    self.epoch,
                    self.machines[to].zxid
                );
                self.event(event, false);
                self.path(format!("/locks/one/x-{:010}", self.machines[to].zxid / 4));
                self.state(to);
            }
            Message::Reply => self.state(to),
            Message::Vote | Message::Ping => {}
        }
    }

    fn fsync(&mut self) {
        let server = self.fsyncs.remove(0);
        if self.machines[server].down.is_some() {
            return;
        }
        let (name, zxid) = (self.name(server), self.machines[server].zxid);
        let words = format!("{name}: log fsync, acknowledges {}:{zxid}", self.epoch);
        self.step(vec![server], StepKind::Server, words);
        let role = self.machines[server].role.map(|role| self.picture.spans[role].kind);
        if role == Some(SpanKind::Synchronising) {
            self.span(server, SpanKind::Following, &format!("epoch {}", self.epoch));
            self.event(format!("{name} follows server {}", self.leader + 1), true);
        }
        self.state(server);
        self.send(server, self.leader, Message::Ack, format!("ACK {}:{zxid}", self.epoch));
    }

    fn client(&mut self) -> usize {
        self.servers + self.dice.below(self.machines.len() - self.servers)
    }

    fn ping(&mut self) {
        let client = self.client();
        let name = self.name(client);
        self.step(vec![client], StepKind::Timer, format!("timer: {name} sends a ping"));
        self.send(client, client % self.servers, Message::Ping, "ping".into());
    }

    fn program(&mut self) {
        let client = self.client();
        let (name, sequence) = (self.name(client), self.dice.below(4));
        let words = [
            "getChildren /locks/one",
            "create /locks/one/x- (EphemeralSequential)",
            "exists /locks/one",
            "sync /",
        ][sequence];
        self.step(vec![client], StepKind::Program, format!("{name}'s program asks: {words}"));
        self.path(["/locks/one", "/locks/one/x-", "/locks/one", "/"][sequence].into());
        self.last().notes.push(format!("it asks: {words} (call {sequence})"));
        self.send(
            client,
            self.leader,
            Message::Request,
            format!("request xid {sequence}: {words}"),
        );
    }

    fn belief(&mut self) {
        let client = self.client();
        let name = self.name(client);
        let step = self.step(
            vec![client],
            StepKind::Program,
            format!("{name}'s program receives: [x-0000000002], cversion 4"),
        );
        if let Some(bar) = self.machines[client].holds.take() {
            self.picture.bars[bar].to = Some(step);
            self.event(format!("{name} believes that it has released /locks/one"), true);
        } else {
            self.machines[client].holds = Some(self.picture.bars.len());
            self.picture.bars.push(Bar {
                lane: client,
                label: "holds /locks/one".into(),
                from: step,
                to: None,
            });
            self.event(format!("{name} believes that it HOLDS /locks/one from now on"), true);
        }
        self.path("/locks/one".into());
        self.state(client);
    }

    fn fault(&mut self) {
        let lane = self.dice.below(self.machines.len());
        let machine = &self.machines[lane];
        if machine.down.is_some() || machine.fault.is_some() {
            return;
        }
        let (name, client) = (self.name(lane), lane >= self.servers);
        let others_up =
            (0..self.servers).filter(|&id| id != lane && self.machines[id].down.is_none()).count();
        let (kind, words) = match self.dice.below(2) {
            0 if client => (SpanKind::Paused, format!("PAUSE {name}")),
            0 if others_up * 2 > self.servers => {
                (SpanKind::Down, format!("CRASH {name}: its log lost its last 2 transactions"))
            }
            _ => (SpanKind::Cut, format!("CUT {name} -> server 1, server 1 -> {name}")),
        };
        let from = self.step(vec![lane], StepKind::Fault, words);
        let span = self.picture.spans.len();
        self.picture.spans.push(Span { lane, kind, from, to: None, label: String::new() });
        if kind == SpanKind::Down {
            self.end_role(lane);
            self.machines[lane].down = Some(span);
            self.state(lane);
            if lane == self.leader {
                self.election();
            }
        } else {
            self.machines[lane].fault = Some(span);
            if client {
                self.span(lane, SpanKind::Disconnected, "");
                self.event(format!("{name} is Disconnected, its session may live on"), true);
            }
        }
    }

    fn mend(&mut self) {
        let lane = self.dice.below(self.machines.len());
        let name = self.name(lane);
        if let Some(span) = self.machines[lane].down.take() {
            let step = self.step(vec![lane], StepKind::Mending, format!("RESTART {name}"));
            self.picture.spans[span].to = Some(step);
            self.span(lane, SpanKind::Looking, "");
            self.event(format!("{name} is LOOKING"), true);
            self.send(self.leader, lane, Message::NewLeader, format!("NEWLEADER {}:0", self.epoch));
            self.state(lane);
        } else if let Some(span) = self.machines[lane].fault.take() {
            let step = self.step(vec![lane], StepKind::Mending, format!("MEND {name}"));
            self.picture.spans[span].to = Some(step);
            let expired = self.dice.below(4) == 0;
            if lane >= self.servers {
                let (kind, label) = if expired {
                    (SpanKind::Expired, "")
                } else {
                    (SpanKind::Connected, "to server 2")
                };
                self.span(lane, kind, label);
                self.state(lane);
            }
        }
    }
}

//! The reference's servers, the enabled steps, and faults.

use super::super::case::{Call, Case};
use super::Reference;
use super::client::{Ask, Client, Down, Input, Process, Standing, Up};
use super::program;
use super::task::{Slot, Task};
use super::tree::{self, Entry, Place, Session};
use std::collections::BTreeMap;
use std::sync::Arc;
use vivarium_model::error::Error;
use vivarium_sim::budget::Account;
use vivarium_sim::every::programs::Budget;

/// The whole state.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct World {
    log: Vec<Arc<Entry>>,
    /// The sessions that the leader knows, and whether it refuses them already.
    sessions: BTreeMap<Session, bool>,
    clients: Vec<Client>,
    /// Whether clients give up sessions by their own clocks.
    give_up: bool,
    /// Whether the leader deletes containers and TTL znodes.
    deletes: bool,
    left: Budget,
    /// The observations of each program.
    said: Vec<Vec<String>>,
    failed: Option<String>,
}

/// A possible step of a client, its server or its sessions.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Start,
    Input,
    Message(usize),
    Reconnect,
    Read,
    Notify,
    /// The server takes the oldest packet, at this position of the log.
    Serve(Place),
    Draw(Slot),
    /// The clock is read; the minutes by which it is ahead of what the program has slept.
    Tell(Slot, u64),
    Late(Session),
    Close(Session),
    /// The expiry of a session that no client keeps alive.
    Forget(Session),
    Wake(Slot),
    /// The leader deletes a container or a TTL znode. The step belongs to no client and is listed with the first
    /// client's.
    Go(String),
    // Faults.
    Lose,
    Cancel,
    Kill,
    Expire(Session),
    GiveUp,
    WakeEarly(Slot),
    GoEarly(String),
}

impl World {
    /// Creates the state before the first step.
    pub(super) fn of(case: &Case) -> World {
        let clients = case.programs.iter().map(|program| Client::new(Task::new(program))).collect();
        World {
            log: vec![Arc::new(tree::beginning(&case.setup))],
            sessions: BTreeMap::new(),
            clients,
            give_up: case.gives_up,
            deletes: case.deletes,
            left: case.budget,
            said: vec![Vec::new(); case.programs.len()],
            failed: None,
        }
    }

    /// Returns all enabled steps. A state without any is added as an outcome.
    pub(super) fn steps(&self, found: &mut Reference) -> Vec<(usize, Step)> {
        if let Some(failed) = &self.failed {
            found.outcomes.insert(format!("violated: {failed}"));
            return Vec::new();
        }
        let each = 0..self.clients.len();
        let mut steps: Vec<(usize, Step)> = each
            .clone()
            .flat_map(|at| self.ordinary(at).into_iter().map(move |step| (at, step)))
            .collect();
        let sleeps: Vec<(usize, Slot)> = each
            .clone()
            .flat_map(|at| self.clients[at].sleeping.iter().map(move |slot| (at, *slot)))
            .collect();
        let is_idle = steps.is_empty();
        let going: Vec<String> = match self.deletes && !self.has_finished() {
            true => tree::going(&self.last().tree).cloned().collect(),
            false => Vec::new(),
        };
        if is_idle && sleeps.is_empty() && going.is_empty() {
            found.outcomes.insert(self.end());
            return steps;
        }
        if is_idle {
            steps.extend(sleeps.iter().map(|(at, slot)| (*at, Step::Wake(*slot))));
            steps.extend(going.iter().map(|path| (0, Step::Go(path.clone()))));
        } else if !sleeps.is_empty() && self.left.timers == 0 {
            found.withheld = true;
        }
        for at in each {
            self.faults(at, &mut steps);
        }
        if self.left.deletions > 0 {
            steps.extend(going.into_iter().map(|path| (0, Step::GoEarly(path))));
        }
        steps
    }

    fn has_finished(&self) -> bool {
        self.clients.iter().all(|client| client.running == Process::Finished)
    }

    fn ordinary(&self, at: usize) -> Vec<Step> {
        let client = &self.clients[at];
        let mut steps = Vec::new();
        match client.running {
            Process::NotStarted | Process::Killed => steps.push(Step::Start),
            Process::Running if !client.inbox.is_empty() => steps.push(Step::Input),
            Process::Running | Process::Finished => {}
        }
        steps.extend(client.under_way.keys().map(|from| Step::Message(*from)));
        if client.standing == Standing::Waiting {
            steps.push(Step::Reconnect);
        }
        steps.extend(client.drawing.iter().map(|slot| Step::Draw(*slot)));
        steps.extend(client.asking.iter().map(|slot| Step::Tell(*slot, 0)));
        if self.left.delays > 0 {
            steps.extend(client.asking.iter().map(|slot| Step::Tell(*slot, 60)));
        }
        if client.link.open && (client.link.hung_up || !client.link.down.is_empty()) {
            steps.push(Step::Read);
        }
        if client.link.open && !client.link.hung_up {
            if self.next_heard(at).is_some() {
                steps.push(Step::Notify);
            }
            steps.extend(self.places(at).into_iter().map(Step::Serve));
        }
        steps.extend(client.late.keys().map(|session| Step::Late(*session)));
        for (session, refused) in self.sessions.iter().filter(|(session, _)| session.0 == at) {
            if *refused {
                steps.push(Step::Close(*session));
            } else if self.is_orphan(*session) {
                steps.push(Step::Forget(*session));
            }
        }
        steps
    }

    fn faults(&self, at: usize, steps: &mut Vec<(usize, Step)>) {
        let (client, left) = (&self.clients[at], self.left);
        if client.running != Process::Running {
            return;
        }
        if left.lost > 0 && client.link.open {
            steps.push((at, Step::Lose));
        }
        if left.cancels > 0 && !client.cancellable.is_empty() {
            steps.push((at, Step::Cancel));
        }
        if left.kills > 0 {
            steps.push((at, Step::Kill));
        }
        let alive =
            client.held.session.filter(|session| self.sessions.get(session) == Some(&false));
        if let Some(session) = alive.filter(|_| left.expiries > 0) {
            steps.push((at, Step::Expire(session)));
        }
        if left.expiries > 0 && self.give_up && client.can_give_up() {
            steps.push((at, Step::GiveUp));
        }
        if left.timers > 0 {
            steps.extend(client.sleeping.iter().map(|slot| (at, Step::WakeEarly(*slot))));
        }
    }

    /// Returns true if no client keeps a session that still owns an ephemeral or has a late write.
    fn is_orphan(&self, session: Session) -> bool {
        let tree = &self.last().tree;
        !self.clients[session.0].keeps(session)
            && (tree.values().any(|znode| znode.owner == Some(session))
                || self.clients[session.0].late.contains_key(&session))
    }

    fn last(&self) -> &Entry {
        self.log.last().expect("a log has a beginning")
    }

    fn end_of_log(&self) -> Place {
        self.log.len() - 1
    }

    /// Returns the next transaction that fires a watch of the client's connection or ends its session.
    fn next_heard(&self, at: usize) -> Option<Place> {
        let link = &self.clients[at].link;
        let session = link.session?;
        (link.view + 1..self.log.len()).find(|place| {
            let entry = &self.log[*place];
            entry.ends == Some(session) || !link.watches.clone().fire(&entry.changes).is_empty()
        })
    }

    /// Returns the positions of the log at which the server may take the oldest packet. For a write, the position has
    /// no meaning, because writes are decided at the log's end.
    fn places(&self, at: usize) -> Vec<Place> {
        let client = &self.clients[at];
        match client.link.up.front() {
            None => Vec::new(),
            Some(Up::Connect { session: None, .. }) => vec![0],
            Some(Up::Connect { session: Some(session), seen }) => {
                let is_accepted = self.sessions.get(session) == Some(&false)
                    || self.closes_after(at, *session, *seen);
                if is_accepted { (*seen..self.log.len()).collect() } else { vec![*seen] }
            }
            Some(Up::Request(ask)) if ask.is_write() => vec![0],
            Some(Up::Request(_) | Up::SetWatches { .. }) => {
                let end = self.next_heard(at).unwrap_or(self.log.len());
                (client.link.view..end).collect()
            }
        }
    }

    pub(super) fn take(&mut self, case: &Case, at: usize, step: Step) {
        let client = &mut self.clients[at];
        match step {
            Step::Start => {
                client.running = Process::Running;
                client.task = Task::new(&case.programs[at]);
                client.begin_session();
                client.tell(Input::Start);
            }
            Step::Input => self.run(at),
            Step::Message(from) => self.message(at, from),
            Step::Reconnect => client.attempt(),
            Step::Read => client.read(),
            Step::Notify => {
                let to = self.next_heard(at).expect("there is something to hear of");
                self.advance(at, to);
            }
            Step::Serve(place) => self.serve(at, place),
            Step::Draw(slot) => {
                client.drawing.remove(&slot);
                client.answer(slot, Ok("a number".into()));
            }
            Step::Tell(slot, late) => {
                self.left.delays -= u8::from(late > 0);
                let minute = client.minute.unwrap_or(0) + late;
                client.minute = Some(minute);
                client.asking.remove(&slot);
                client.answer(slot, Ok(format!("minute {minute}")));
            }
            Step::Late(session) => {
                let writes = client.late.get_mut(&session).expect("there is a late write");
                let ask = writes.pop_front().expect("no empty list is kept");
                if writes.is_empty() {
                    client.late.remove(&session);
                }
                let _ = self.decide(session, ask);
            }
            Step::Close(session) => self.close(session),
            Step::Forget(session) => _ = self.sessions.insert(session, true),
            Step::Wake(slot) => client.wake(slot),
            Step::Go(path) => self.go(&path),
            Step::GoEarly(path) => {
                self.left.deletions -= 1;
                self.go(&path);
            }
            Step::Lose => {
                self.left.lost -= 1;
                client.lose();
            }
            Step::Cancel => {
                self.left.cancels -= 1;
                for slot in std::mem::take(&mut client.cancellable) {
                    client.answer(slot, Ok(String::new()));
                }
            }
            Step::Kill => {
                self.left.kills -= 1;
                client.end_process(Process::Killed);
            }
            Step::Expire(session) => {
                self.left.expiries -= 1;
                self.sessions.insert(session, true);
            }
            Step::GiveUp => {
                self.left.expiries -= 1;
                client.give_up();
            }
            Step::WakeEarly(slot) => {
                self.left.timers = Account::Timers.spent(self.left.timers);
                client.wake(slot);
            }
        }
    }

    fn run(&mut self, at: usize) {
        let others: Vec<usize> = (0..self.clients.len()).filter(|other| *other != at).collect();
        let activity = program::run(&mut self.clients[at], &others);
        self.said[at].extend(activity.said);
        for to in activity.sent {
            *self.clients[to].under_way.entry(at).or_default() += 1;
        }
        if let Some(why) = activity.failed {
            self.failed =
                Some(format!("program: the program of client {} returned an error: {why}", at + 1));
        }
    }

    fn message(&mut self, at: usize, from: usize) {
        let client = &mut self.clients[at];
        let under_way = client.under_way.get_mut(&from).expect("a message is under way");
        *under_way -= 1;
        if *under_way == 0 {
            client.under_way.remove(&from);
        }
        if client.running != Process::Running {
            return;
        }
        match client.receiving.pop_front() {
            Some(slot) => client.answer(slot, Ok(program::message(from))),
            None => client.received.push_back(from),
        }
    }

    // ---- servers ----

    fn closes_after(&self, at: usize, session: Session, place: Place) -> bool {
        let mut later = self.log[place + 1..].iter();
        !self.clients[at].link.after_end && later.any(|entry| entry.ends == Some(session))
    }

    /// Advances a server in the log: watches fire, and if the session ends, the server closes the connection.
    fn advance(&mut self, at: usize, to: Place) {
        let link = &mut self.clients[at].link;
        for place in link.view + 1..=to {
            if link.hung_up {
                return;
            }
            let entry = &self.log[place];
            link.down.extend(link.watches.fire(&entry.changes).into_iter().map(Down::Event));
            link.view = place;
            link.hung_up = entry.ends.is_some() && entry.ends == link.session;
        }
    }

    fn serve(&mut self, at: usize, place: Place) {
        let packet = self.clients[at].link.up.pop_front().expect("there is a packet");
        match packet {
            Up::Connect { session: None, .. } => {
                self.clients[at].sessions += 1;
                let session = (at, self.clients[at].sessions);
                self.sessions.insert(session, false);
                let tree = self.last().tree.clone();
                self.log.push(Arc::new(Entry { tree, changes: Vec::new(), ends: None }));
                self.accept(at, session, self.end_of_log());
            }
            Up::Connect { session: Some(session), .. } => {
                if self.sessions.get(&session) == Some(&false) {
                    self.clients[at].late.remove(&session);
                    self.accept(at, session, place);
                } else if self.closes_after(at, session, place) {
                    // A deposed leader that does not know that the session is closed accepts it.
                    self.accept(at, session, place);
                } else {
                    let link = &mut self.clients[at].link;
                    link.down.push_back(Down::Expired);
                    link.hung_up = true;
                }
            }
            Up::SetWatches { seen, lists } => {
                let link = &mut self.clients[at].link;
                link.view = place;
                let missed = link.watches.set_again(&self.log[place].tree, seen, &lists);
                link.down.extend(missed.into_iter().map(Down::Event));
                link.down.push_back(Down::WatchesSet(place));
            }
            Up::Request(ask) if ask.is_write() => self.write(at, ask),
            Up::Request(ask) => self.read(at, place, ask),
        }
    }

    fn accept(&mut self, at: usize, session: Session, view: Place) {
        let link = &mut self.clients[at].link;
        link.session = Some(session);
        link.view = view;
        link.after_end = false;
        link.down.push_back(Down::Connected(session));
    }

    fn read(&mut self, at: usize, place: Place, ask: Ask) {
        let link = &mut self.clients[at].link;
        link.view = place;
        let tree = &self.log[place].tree;
        let session = link.session.expect("a request comes on a connection with a session");
        let (answer, kept) = match ask {
            Ask::Call(call) => (tree::read(tree, session, call), None),
            Ask::Watch(how, path) => match tree::watch(tree, &mut link.watches, how, path) {
                (answer, None) => (Err(answer), None),
                (answer, kept) => (Ok(answer), kept),
            },
            Ask::CloseSession => unreachable!("a close is a write"),
        };
        link.down.push_back(Down::Reply { seen: place, answer, kept });
    }

    /// A write is decided at the log's end, and answered by a server that has applied the log up to there.
    fn write(&mut self, at: usize, ask: Ask) {
        let session = self.clients[at].link.session;
        let session = session.expect("a request comes on a connection with a session");
        let answer = self.decide(session, ask);
        let end = self.end_of_log();
        self.advance(at, end);
        let link = &mut self.clients[at].link;
        if link.view == end {
            link.down.push_back(Down::Reply { seen: end, answer, kept: None });
        }
    }

    fn decide(&mut self, session: Session, ask: Ask) -> Result<String, String> {
        match ask {
            // A closeSession does not check whether the session is still alive.
            Ask::CloseSession => {
                self.close(session);
                Ok("closed".into())
            }
            Ask::Call(call) if self.sessions.get(&session) != Some(&false) => {
                Err(tree::refused(call, Error::SessionExpired))
            }
            Ask::Call(Call::CreateTtl(_)) if !self.deletes => Err(Error::Unimplemented.to_string()),
            Ask::Call(call) => {
                let place = self.log.len();
                let (entry, answer) = tree::write(&self.last().tree, place, session, call)?;
                self.log.push(Arc::new(entry));
                Ok(answer)
            }
            Ask::Watch(..) => unreachable!("a read is no write"),
        }
    }

    fn go(&mut self, path: &str) {
        let entry = tree::go(&self.last().tree, self.log.len(), path);
        self.log.push(Arc::new(entry));
    }

    /// Adds the end of a session to the log.
    fn close(&mut self, session: Session) {
        self.clients[session.0].late.remove(&session);
        let entry = tree::close(&self.last().tree, self.log.len(), session);
        self.log.push(Arc::new(entry));
        self.sessions.remove(&session);
    }

    /// Describes a state without enabled steps: the end of a run, or a stuck state.
    fn end(&self) -> String {
        let unfinished = (0..self.clients.len())
            .filter(|at| self.clients[*at].running != Process::Finished)
            .map(|at| format!("client {}", at + 1))
            .collect::<Vec<_>>();
        if !unfinished.is_empty() {
            return format!("standstill of {}", unfinished.join(", "));
        }
        let znodes: Vec<String> =
            self.last().tree.iter().filter(|(path, _)| *path != "/").map(words).collect();
        let said = std::iter::once(Vec::new()).chain(self.said.iter().cloned());
        format!("{:?} leaves {}", said.collect::<Vec<_>>(), znodes.join(" "))
    }
}

fn words((path, znode): (&String, &tree::Znode)) -> String {
    let owner = znode.owner.map_or(0, |(client, _)| client + 1);
    format!("{path}={:?}v{}c{}o{owner}", znode.data, znode.version, znode.cversion)
}

impl Client {
    fn wake(&mut self, slot: Slot) {
        self.sleeping.remove(&slot);
        self.minute = self.minute.max(self.wakes.remove(&slot));
        self.answer(slot, Ok("slept".into()));
    }
}

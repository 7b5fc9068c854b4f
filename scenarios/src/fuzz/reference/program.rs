//! The reference's programs, which are interpreted statement by statement.

use super::super::case::{Answer, Call, PATHS, Statement};
use super::client::{Ask, Client, Input, Process, Request};
use super::task::{Await, Kept, Line, Slot, Task, Thread};
use std::collections::VecDeque;
use vivarium_model::error::Error;

/// The visible actions of a program.
#[derive(Debug, Default)]
pub(super) struct Activity {
    pub said: Vec<String>,
    pub sent: Vec<usize>,
    pub failed: Option<String>,
}

/// Lets a client's program take its oldest input and run as far as it can.
pub(super) fn run(client: &mut Client, others: &[usize]) -> Activity {
    let mut activity = Activity::default();
    match client.inbox.pop_front().expect("there is an input") {
        Input::Start => {}
        Input::State(state) => client.task.states.push_back(state),
        Input::Answer(slot, answer) => _ = client.task.answers.insert(slot, answer),
    }
    let mut at = 0;
    while at < client.task.threads.len() {
        while client.running == Process::Running && go_on(client, at, others, &mut activity) {}
        if client.running == Process::Finished {
            return activity;
        }
        at += 1;
    }
    activity
}

/// Runs one step of a thread. Returns true if the thread may continue.
fn go_on(client: &mut Client, at: usize, others: &[usize], activity: &mut Activity) -> bool {
    let thread = &client.task.threads[at];
    let Some(statement) = thread.left.front().copied() else {
        if thread.beside {
            return false;
        }
        let notes = client.task.notes.join("; ");
        activity.said.push(notes);
        client.end_process(Process::Finished);
        return false;
    };
    if thread.parts.is_empty() && !begin(client, at, statement, others, activity) {
        return client.running == Process::Running;
    }
    let Some(line) = poll(client, at) else { return false };
    let thread = &mut client.task.threads[at];
    thread.parts.clear();
    if let Some(tries) = &mut thread.tries {
        // A retry alternates between attempts and connects: attempt, connect, attempt, connect, attempt.
        let lost = line == Error::ConnectionLoss.to_string();
        *tries += 1;
        if tries.is_multiple_of(2) || lost && *tries < 5 {
            return true;
        }
        thread.tries = None;
    }
    thread.left.pop_front();
    if std::mem::take(&mut thread.begins) {
        return true;
    }
    let line = if thread.beside { format!("beside {line}") } else { line };
    client.task.notes.push(line);
    true
}

/// Begins a statement. Returns false if it is done already.
fn begin(
    client: &mut Client,
    at: usize,
    statement: Statement,
    others: &[usize],
    activity: &mut Activity,
) -> bool {
    let (parts, line) = match statement {
        Statement::Do(call) => (vec![Await::Call(call)], Line::Both),
        Statement::Retry(call) => {
            let thread = &mut client.task.threads[at];
            let tries = *thread.tries.get_or_insert(0);
            (
                vec![Await::Call(if tries.is_multiple_of(2) { call } else { Call::Connect })],
                Line::Both,
            )
        }
        Statement::Join(one, other) => (vec![Await::Call(one), Await::Call(other)], Line::Both),
        Statement::Race(one, other) => {
            (vec![Await::Call(one), Await::Call(other)], Line::First("first ", "second "))
        }
        Statement::Timeout(call) => (vec![Await::Call(call), Await::Minute], Line::Or("timed out")),
        Statement::Cancellable(call) => {
            (vec![Await::Cancelled, Await::Call(call)], Line::Unless("cancelled"))
        }
        Statement::Watch(how, path) => (vec![Await::Watch(how, path)], Line::Both),
        Statement::Await => (vec![Await::Event], Line::Both),
        Statement::AwaitOr(call) => {
            (vec![Await::Event, Await::Call(call)], Line::First("", "rather "))
        }
        Statement::NextState => (vec![Await::State], Line::Both),
        other => {
            client.task.threads[at].left.pop_front();
            at_once(client, other, others, activity);
            return false;
        }
    };
    let thread = &mut client.task.threads[at];
    thread.line = line;
    thread.parts = parts.into_iter().map(|part| (part, None, None)).collect();
    true
}

/// Executes a statement that awaits nothing.
fn at_once(client: &mut Client, statement: Statement, others: &[usize], activity: &mut Activity) {
    match statement {
        Statement::Spawn(call) => {
            let thread = Thread::new(VecDeque::from([Statement::Do(call)]), true);
            client.task.threads.push(thread);
        }
        Statement::States => {
            let states: Vec<&str> = std::mem::take(&mut client.task.states).into();
            client.task.notes.push(states.join(" "));
        }
        Statement::Send(to) => activity.sent.extend(others.get(to % others.len().max(1))),
        Statement::Say(what) => activity.said.push(format!("said {what}")),
        Statement::FailOn(answer) => {
            let error = match answer {
                Answer::ConnectionLoss => Error::ConnectionLoss,
                Answer::SessionExpired => Error::SessionExpired,
                Answer::NoNode => Error::NoNode,
                Answer::NodeExists => Error::NodeExists,
            };
            if client.task.notes.last() == Some(&error.to_string()) {
                activity.failed = Some(format!("it was told {error}"));
                client.end_process(Process::Finished);
            }
        }
        other => unreachable!("{other:?} is not in the reference"),
    }
}

/// Checks whether the results that a thread awaits have arrived; returns the line to record, if it is complete.
fn poll(client: &mut Client, at: usize) -> Option<String> {
    let line = client.task.threads[at].line;
    for number in 0..client.task.threads[at].parts.len() {
        let (what, slot, answer) = client.task.threads[at].parts[number].clone();
        if answer.is_some() {
            continue;
        }
        let (slot, answer) = poll_part(client, what, slot);
        client.task.threads[at].parts[number] = (what, slot, answer.clone());
        let Some(answer) = answer else { continue };
        let line = match (line, number) {
            (Line::Both, _) => continue,
            (Line::First(word, _), 0) | (Line::First(_, word), _) => format!("{word}{answer}"),
            (Line::Or(_), 0) => answer,
            (Line::Unless(word), 0) | (Line::Or(word), _) => word.to_string(),
            (Line::Unless(_), _) => answer,
        };
        give_up_rest(client, at);
        return Some(line);
    }
    let parts = &client.task.threads[at].parts;
    let answers: Option<Vec<String>> = parts.iter().map(|(.., answer)| answer.clone()).collect();
    answers.filter(|_| line == Line::Both).map(|answers| answers.join(" and "))
}

/// Drops the other calls after one of them has completed. The event of a kept watch can be awaited again.
fn give_up_rest(client: &mut Client, at: usize) {
    for (what, slot, answer) in client.task.threads[at].parts.clone() {
        if let (Some(slot), None) = (slot, answer)
            && what != Await::Event
        {
            client.abandon(slot);
        }
    }
}

fn poll_part(
    client: &mut Client,
    what: Await,
    slot: Option<Slot>,
) -> (Option<Slot>, Option<String>) {
    match what {
        Await::Event => return (None, event(&mut client.task)),
        Await::State => return (None, client.task.states.pop_front().map(String::from)),
        _ => {}
    }
    let Some(slot) = slot else { return (Some(submit(client, what)), None) };
    let Some(answer) = client.task.answers.remove(&slot) else { return (Some(slot), None) };
    if let Await::Watch(..) = what {
        keep(client, answer.is_ok().then_some(slot + 1));
    }
    (Some(slot), Some(answer.unwrap_or_else(|error| error)))
}

fn event(task: &mut Task) -> Option<String> {
    match task.kept {
        Kept::Nothing => Some("no watch".into()),
        Kept::Fired => Some("fired before".into()),
        Kept::Watch(slot) => {
            let event = task.answers.remove(&slot)?;
            task.kept = Kept::Fired;
            Some(event.unwrap_or_else(|error| error))
        }
    }
}

/// Keeps a watch from now on, and drops the previous one.
fn keep(client: &mut Client, watch: Option<Slot>) {
    let kept = watch.map_or(Kept::Nothing, Kept::Watch);
    if let Kept::Watch(old) = std::mem::replace(&mut client.task.kept, kept) {
        client.task.answers.remove(&old);
        client.abandon(old);
    }
}

/// Begins a call.
fn submit(client: &mut Client, what: Await) -> Slot {
    let slot = client.task.next;
    client.task.next += 2;
    let request = |ask, watch| Request { ask, reply: Some(slot), watch };
    match what {
        Await::Call(Call::Connect) => client.connect(slot),
        Await::Call(Call::Close) => client.close(slot),
        Await::Call(Call::Sleep) | Await::Minute => {
            client.sleeping.insert(slot);
            if let Some(minute) = client.minute {
                client.wakes.insert(slot, minute + 1);
            }
        }
        Await::Call(Call::Now) => _ = client.asking.insert(slot),
        Await::Call(Call::Random) => _ = client.drawing.insert(slot),
        Await::Call(Call::Receive) => match client.received.pop_front() {
            Some(from) => client.answer(slot, Ok(message(from))),
            None => client.receiving.push_back(slot),
        },
        Await::Call(call) => client.request(request(Ask::Call(call), None)),
        Await::Watch(how, path) => {
            client.request(request(Ask::Watch(how, PATHS[path]), Some(slot + 1)));
        }
        Await::Cancelled => client.cancellable.push(slot),
        Await::Event | Await::State => unreachable!("these are no calls"),
    }
    slot
}

/// Describes a message for the record.
pub(super) fn message(from: usize) -> String {
    format!("from client {}", from + 1)
}

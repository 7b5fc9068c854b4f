//! Plays the world from a tape: gives a program every possible input, in any order.

use std::collections::BTreeMap;
use vivarium_model::error::Error;
use vivarium_model::host::{Input, Message, Operation, Outcome, Output};
use vivarium_model::id::{CallId, ClientId, SessionId};
use vivarium_model::op::{EventType, Op, OpResult, Request, Response, SessionState, WatchedEvent};
use vivarium_model::stat::Stat;
use vivarium_model::time::Time;
use vivarium_model::zxid::Zxid;

/// One action on a host.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Move {
    /// Starts the program (again) with its first input.
    Start(ClientId),
    /// Gives the program another input.
    Feed(ClientId, Input),
    /// Kills the program.
    Kill(ClientId),
}

impl Move {
    pub(crate) fn client(&self) -> ClientId {
        match self {
            Move::Start(client) | Move::Feed(client, _) | Move::Kill(client) => *client,
        }
    }
}

/// The input that a slot waits for.
#[derive(Clone, Debug)]
enum Pending {
    Answer(Operation),
    Event { path: std::sync::Arc<str>, registered: bool },
}

/// The calls of one running program, by slot.
type Calls = BTreeMap<CallId, Pending>;

/// The state of the world.
pub(crate) struct Puppeteer<'a> {
    /// `None` while the program does not run.
    programs: Vec<Option<Calls>>,
    tape: std::slice::Iter<'a, u32>,
}

impl<'a> Puppeteer<'a> {
    pub(crate) fn new(programs: usize, tape: &'a [u32]) -> Puppeteer<'a> {
        Puppeteer { programs: vec![None; programs], tape: tape.iter() }
    }

    /// Returns the next move, while the tape lasts.
    pub(crate) fn next_move(&mut self) -> Option<Move> {
        let index = self.draw(self.programs.len())?;
        let client = ClientId::at(index);
        let Some(calls) = self.programs[index].clone() else {
            return Some(Move::Start(client));
        };
        match self.draw(100)? {
            0 => return Some(Move::Kill(client)),
            1..=15 => {
                let states = [
                    SessionState::SyncConnected,
                    SessionState::Disconnected,
                    SessionState::Expired,
                    SessionState::Closed,
                ];
                return Some(Move::Feed(client, Input::Session(states[self.draw(4)?].into())));
            }
            _ => {}
        }
        let answerable: Vec<_> = calls
            .iter()
            .filter(|(_, pending)| !matches!(pending, Pending::Event { registered: false, .. }))
            .collect();
        if answerable.is_empty() {
            return Some(Move::Kill(client));
        }
        let (call, pending) = answerable[self.draw(answerable.len())?];
        let outcome = match pending {
            Pending::Answer(operation) => self.outcome(operation)?,
            Pending::Event { path, .. } => Outcome::Watch(self.event(path)?),
        };
        Some(Move::Feed(client, Input::Reply { call: *call, outcome }))
    }

    /// Updates the record, and asserts that slots are used as specified.
    pub(crate) fn see(&mut self, done: &Move, outputs: &[Output]) {
        let program = &mut self.programs[done.client().index()];
        match done {
            Move::Start(_) => *program = Some(Calls::new()),
            Move::Kill(_) => *program = None,
            Move::Feed(_, Input::Reply { call, outcome }) => {
                let calls = program.as_mut().expect("it was running");
                let answered = calls.remove(call).expect("it was pending");
                settle_watch(calls, &answered, outcome);
            }
            Move::Feed(..) => {}
        }
        for output in outputs {
            let calls = program.as_mut().expect("nothing is said after the end");
            match output {
                Output::Submit { call, operation } => {
                    begin(calls, *call, Pending::Answer(operation.clone()));
                    if let Operation::Request { request, watch: Some(watch), .. } = operation {
                        let path = path_of(request);
                        begin(calls, *watch, Pending::Event { path, registered: false });
                    }
                }
                Output::Abandon { call } => {
                    calls.remove(call).expect("only pending calls are abandoned");
                }
                Output::Finished(_) | Output::Panicked(_) => *program = None,
                Output::Observe(_) | Output::Send { .. } => {}
            }
        }
    }

    fn draw(&mut self, below: usize) -> Option<usize> {
        self.tape.next().map(|&value| value as usize % below)
    }

    fn stat(&mut self) -> Option<Stat> {
        let czxid = Zxid(self.draw(50)? as u64);
        Some(Stat { czxid, version: self.draw(4)? as i32, ..Stat::default() })
    }

    fn event(&mut self, path: &std::sync::Arc<str>) -> Option<Result<WatchedEvent, Error>> {
        let kinds = [
            EventType::NodeCreated,
            EventType::NodeDeleted,
            EventType::NodeDataChanged,
            EventType::NodeChildrenChanged,
        ];
        Some(match self.draw(5)? {
            4 => Err(Error::SessionExpired),
            kind => Ok(WatchedEvent { kind: kinds[kind], path: path.clone(), zxid: Zxid(9) }),
        })
    }

    fn outcome(&mut self, operation: &Operation) -> Option<Outcome> {
        Some(match operation {
            Operation::Request { request, .. } => Outcome::Response(match self.draw(8)? {
                0 => Err(Error::ConnectionLoss),
                1 => Err(Error::NoNode),
                2 => Err(Error::SessionExpired),
                _ => Ok(self.response(request)?),
            }),
            Operation::Connect => Outcome::Connected(SessionId(self.draw(3)? as u64)),
            Operation::Close => Outcome::Closed,
            Operation::Sleep(_) => Outcome::Elapsed,
            Operation::Now => Outcome::Now(Time(self.draw(1_000)? as u64)),
            Operation::Random => Outcome::Random(self.draw(1_000)? as u64),
            Operation::Receive => {
                let from = ClientId::at(self.draw(self.programs.len())?);
                Outcome::Message(Message { from, body: [self.draw(256)? as u8].into() })
            }
            Operation::Cancelled => Outcome::Cancelled,
            Operation::Resource(_) => Outcome::Resource(match self.draw(2)? {
                0 => Ok(()),
                _ => Err(Zxid(77)),
            }),
            Operation::AddAuth { .. } => Outcome::AuthAdded(match self.draw(2)? {
                0 => Ok(()),
                _ => Err(Error::SessionExpired),
            }),
            Operation::RemoveWatches { .. } => Outcome::Response(match self.draw(2)? {
                0 => Ok(Response::Watches),
                _ => Err(Error::NoWatcher),
            }),
        })
    }

    fn response(&mut self, request: &Request) -> Option<Response> {
        Some(match request {
            Request::Write(op) => Response::Written(self.result(op)?),
            Request::Multi(ops) => {
                let failing = self.draw(ops.len() + 2)?;
                Response::Multi(if failing < ops.len() {
                    (0..ops.len()).map(|at| failed(at, failing)).collect()
                } else {
                    ops.iter().map(|op| self.result(op)).collect::<Option<Vec<_>>>()?
                })
            }
            Request::Exists { .. } => Response::Exists(self.stat()?),
            Request::GetData { .. } => {
                let data = [self.draw(256)? as u8];
                Response::Data(data.into(), self.stat()?)
            }
            Request::GetChildren { .. } => {
                let names = (0..self.draw(4)?).map(|at| format!("n-{at:010}").into()).collect();
                Response::Children(names, self.stat()?)
            }
            Request::Sync { .. } => Response::Synced,
            Request::CloseSession => Response::Closed,
            other => unreachable!("no program here asks for {other}"),
        })
    }

    fn result(&mut self, op: &Op) -> Option<OpResult> {
        Some(match op {
            Op::Create { path, .. } => OpResult::Created(path.clone(), self.stat()?),
            Op::Delete { .. } => OpResult::Deleted,
            Op::SetData { .. } => OpResult::Set(self.stat()?),
            Op::Check { .. } => OpResult::Checked,
        })
    }
}

fn failed(at: usize, failing: usize) -> OpResult {
    OpResult::Failed(match at.cmp(&failing) {
        std::cmp::Ordering::Less => None,
        std::cmp::Ordering::Equal => Some(Error::BadVersion),
        std::cmp::Ordering::Greater => Some(Error::RuntimeInconsistency),
    })
}

/// A new call must have the lowest free slot.
fn begin(calls: &mut Calls, call: CallId, pending: Pending) {
    let lowest = (0..).map(CallId).find(|slot| !calls.contains_key(slot));
    assert_eq!(Some(call), lowest, "{pending:?}");
    calls.insert(call, pending);
}

/// Rule 1.8: a reply sets its watch unless it is an error; exists also sets it after NoNode.
fn settle_watch(calls: &mut Calls, answered: &Pending, outcome: &Outcome) {
    let Pending::Answer(Operation::Request { request, watch: Some(watch), .. }) = answered else {
        return;
    };
    let sets = match outcome {
        Outcome::Response(Err(Error::NoNode)) => matches!(**request, Request::Exists { .. }),
        Outcome::Response(result) => result.is_ok(),
        other => panic!("{other:?}"),
    };
    if sets {
        calls.insert(*watch, Pending::Event { path: path_of(request), registered: true });
    } else {
        calls.remove(watch);
    }
}

fn path_of(request: &Request) -> std::sync::Arc<str> {
    match request {
        Request::Exists { path, .. }
        | Request::GetData { path, .. }
        | Request::GetChildren { path, .. } => path.clone(),
        other => panic!("{other} has no watch"),
    }
}

pub(crate) fn kind_of_move(done: &Move) -> &'static str {
    match done {
        Move::Start(_) => "start",
        Move::Feed(_, Input::Reply { outcome: Outcome::Watch(_), .. }) => "Watch",
        Move::Feed(..) => "feed",
        Move::Kill(_) => "kill",
    }
}

pub(crate) fn kind_of_output(output: &Output) -> &'static str {
    match output {
        Output::Submit { operation, .. } => match operation {
            Operation::Request { .. } => "Request",
            Operation::Connect => "Connect",
            Operation::Close => "Close",
            Operation::Sleep(_) => "Sleep",
            Operation::Now => "Now",
            Operation::Random => "Random",
            Operation::Receive => "Receive",
            Operation::Cancelled => "Cancelled",
            Operation::Resource(_) => "Resource",
            Operation::AddAuth { .. } => "AddAuth",
            Operation::RemoveWatches { .. } => "RemoveWatches",
        },
        Output::Abandon { .. } => "Abandon",
        Output::Observe(_) => "Observe",
        Output::Send { .. } => "Send",
        Output::Finished(_) => "Finished",
        Output::Panicked(_) => "Panicked",
    }
}

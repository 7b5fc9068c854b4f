//! The handle in a world driven by hand: one input in, the program's outputs out.

mod calls;
mod combining;
mod data_model;
mod lives;
mod rounds;
mod streams;
mod tasks;
mod watches;

use super::{BoxFuture, Process, ZooKeeper, program};
use crate::program::host::{Input, Operation, Outcome, Output};
use crate::vocabulary::error::Error;
use crate::vocabulary::id::{CallId, ClientId};
use crate::vocabulary::observation::{Custom, Observed};
use crate::vocabulary::op::{Request, Response};
use crate::vocabulary::stat::Stat;
use crate::vocabulary::time::Duration;
use std::future::Future;

/// Returns a process before its first input.
fn process<P, F>(main: P) -> Process
where
    P: Fn(ZooKeeper) -> F + Send + Sync + 'static,
    F: Future<Output = Result<(), String>> + Send + 'static,
{
    Process::new(ClientId(1), &program(main))
}

/// Returns a process and its outputs after its start.
fn started<P, F>(main: P) -> (Process, Vec<Output>)
where
    P: Fn(ZooKeeper) -> F + Send + Sync + 'static,
    F: Future<Output = Result<(), String>> + Send + 'static,
{
    let mut process = process(main);
    let outputs = feed(&mut process, Input::Start);
    (process, outputs)
}

fn feed(process: &mut Process, input: Input) -> Vec<Output> {
    let mut outputs = Vec::new();
    process.feed(input, &mut outputs);
    outputs
}

fn reply(process: &mut Process, call: u32, outcome: Outcome) -> Vec<Output> {
    feed(process, Input::Reply { call: CallId(call), outcome })
}

fn answer(result: Result<Response, Error>) -> Outcome {
    Outcome::Response(result)
}

/// Returns the output of an observation in these words.
fn said(text: &str) -> Output {
    Output::Observe(Observed::new(Custom::new(text, &[])))
}

fn submit(call: u32, operation: Operation) -> Output {
    Output::Submit { call: CallId(call), operation }
}

fn abandon(call: u32) -> Output {
    Output::Abandon { call: CallId(call) }
}

fn request(call: u32, request: Request, watch: Option<u32>) -> Output {
    let watch = watch.map(CallId);
    submit(call, Operation::Request { request: request.into(), watch, scope: None })
}

fn sleep(call: u32, seconds: u64) -> Output {
    submit(call, Operation::Sleep(seconds_of(seconds)))
}

fn seconds_of(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn stat(version: i32) -> Stat {
    Stat { version, ..Stat::default() }
}

/// Observes something when it is dropped, like a guard that releases a lock.
struct Guard(ZooKeeper, &'static str);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.custom(self.1, &[]);
    }
}

/// A future that never ends.
fn forever() -> BoxFuture<()> {
    Box::pin(std::future::pending())
}

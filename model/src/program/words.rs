//! The text of programs' inputs and outputs.

use super::host::{Input, Message, Operation, Outcome, Output, ResourceRequest};
use crate::vocabulary::id::SessionId;
use crate::vocabulary::words::{Answer, data};
use std::fmt::{self, Display};

impl Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Input::Start => f.write_str("begin"),
            Input::Reply { call, outcome } => write!(f, "{outcome} (call {})", call.0),
            Input::Session(change) => write!(f, "the session is {}", change.state),
            Input::Event { call, event } => write!(f, "watch fired: {event} (call {})", call.0),
        }
    }
}

impl Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Response(result) => Answer(result).fmt(f),
            Outcome::Watch(Ok(event)) => write!(f, "watch fired: {event}"),
            Outcome::Watch(Err(error)) => write!(f, "watch gone: {error:?}"),
            Outcome::Connected(session) => write!(f, "connected with session {session}"),
            Outcome::Closed => f.write_str("closed"),
            Outcome::Elapsed => f.write_str("the sleep is over"),
            Outcome::Now(time) => write!(f, "it is {time}"),
            Outcome::Random(value) => write!(f, "random number {value}"),
            Outcome::Message(message) => message.fmt(f),
            Outcome::Cancelled => f.write_str("cancelled"),
            Outcome::Resource(Ok(())) => f.write_str("the resource accepts the write"),
            Outcome::Resource(Err(highest)) => {
                write!(f, "the resource refuses the write, it has seen token {highest}")
            }
            Outcome::AuthAdded(Ok(())) => f.write_str("added"),
            Outcome::AuthAdded(Err(error)) => write!(f, "not added: {error:?}"),
        }
    }
}

impl Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "message from {}: {}", self.from, data(&self.body))
    }
}

/// Formats the rest of a sentence whose subject is the program.
impl Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Output::Submit { call, operation } => write!(f, "asks: {operation} (call {})", call.0),
            Output::Abandon { call } => write!(f, "abandons call {}", call.0),
            Output::Observe(observation) => observation.fmt(f),
            Output::Send { to, body } => write!(f, "sends {to} a message: {}", data(body)),
            Output::Finished(Ok(())) => f.write_str("returns Ok"),
            Output::Finished(Err(message)) => write!(f, "returns Err: {message}"),
            Output::Panicked(message) => write!(f, "panics: {message}"),
        }
    }
}

impl Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Operation::Request { request, watch, scope } => {
                request.fmt(f)?;
                if let Some(slot) = watch {
                    write!(f, ", its watch is call {}", slot.0)?;
                }
                Only(*scope).fmt(f)
            }
            Operation::Connect => f.write_str("connect"),
            Operation::Close => f.write_str("close"),
            Operation::Sleep(span) => write!(f, "sleep {span:?}"),
            Operation::Now => f.write_str("the time"),
            Operation::Random => f.write_str("a random number"),
            Operation::Receive => f.write_str("the next message"),
            Operation::Cancelled => f.write_str("notice of a cancellation"),
            Operation::Resource(request) => request.fmt(f),
            Operation::AddAuth { scheme, scope, .. } => {
                write!(f, "addAuth {scheme}{}", Only(*scope))
            }
            Operation::RemoveWatches { path, kind, local, scope } => {
                let local = if *local { ", here in any case" } else { "" };
                write!(f, "removeWatches {path} ({kind:?}){local}{}", Only(*scope))
            }
        }
    }
}

/// Formats as `, only in session 0x1`, or as nothing.
struct Only(Option<SessionId>);

impl Display for Only {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(session) => write!(f, ", only in session {session}"),
            None => Ok(()),
        }
    }
}

impl Display for ResourceRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ResourceRequest { resource, token, value } = self;
        match token {
            Some(token) => write!(f, "write {value} to resource {resource} with token {token}"),
            None => write!(f, "write {value} to resource {resource} without a token"),
        }
    }
}

//! The driver: one task that connects, reads, writes and keeps the time of a client.

use super::connector::{Connector, Stream};
use super::frames::Frames;
use super::state::{After, State};
use super::transport::Shared;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};
use vivarium_model::client::{ClientInput, ClientState};
use vivarium_model::handle::{Either, race};
use vivarium_model::id::ServerId;
use vivarium_model::timer::ClientTimer;

/// The most that is read at once.
const READ: usize = 64 * 1024;

/// The most reads before writes and timers have their turn.
const READS: usize = 16;

/// The most rounds before the runtime's other tasks have their turn.
const ROUNDS: usize = 32;

/// The room for writing that is kept.
const KEPT: usize = 1024 * 1024;

/// What the client's state asks of the driver.
enum Wanted {
    /// A connection.
    Connection(u64, ServerId),
    /// Nothing, until a timer fires or a program calls.
    Nothing,
    /// An end: the client is closed.
    End,
}

/// Serves a client until it is closed.
pub(crate) async fn drive(shared: Arc<Shared>, connector: Connector) {
    let _gone = Gone(Arc::clone(&shared));
    loop {
        let wanted = shared.with(|state, _| match state.link.server {
            Some(server) => Wanted::Connection(state.link.generation, server),
            None if state.is_ending && state.machine.state().is_final() => Wanted::End,
            None => Wanted::Nothing,
        });
        match wanted {
            Wanted::Connection(generation, server) => {
                serve(&shared, &connector, generation, server).await;
            }
            Wanted::Nothing => until_changed(&shared, &connector, None).await,
            Wanted::End => return,
        }
    }
}

/// Keeps the time of a closed client: its program may still sleep.
pub(crate) async fn keep_time(shared: Arc<Shared>) {
    loop {
        let (next, is_unused) = shared.with(|state, after| {
            state.fire(Instant::now(), after);
            (state.timers.next(), state.is_unused)
        });
        match next {
            Some(next) => drop(race(shared.changed(), sleep_until(next)).await),
            None if is_unused => return,
            None => shared.changed().await,
        }
    }
}

/// Answers all pending calls when the driver ends, even by a panic.
struct Gone(Arc<Shared>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.with(|state, after| state.give_up(after));
        self.0.abort_tasks();
    }
}

/// Connects, and serves the connection until it ends or the machine wants another.
async fn serve(shared: &Arc<Shared>, connector: &Connector, generation: u64, server: ServerId) {
    let connecting = connector.connect(server);
    let unwanted = until_changed(shared, connector, Some(generation));
    let Either::Left(connected) = race(connecting, unwanted).await else { return };
    let ended = match connected {
        Ok(stream) => {
            let mut connection = Connection::new(stream, connector);
            poll_fn(|context| connection.poll(shared, connector, generation, context)).await
        }
        Err(error) => Err(error),
    };
    if let Err(error) = ended {
        tracing::debug!(address = %connector.address(server), %error, "no connection");
        shared.with(|state, after| {
            if state.link.generation == generation {
                state.disconnected(after);
            }
        });
    }
}

/// Keeps the time until the machine wants another connection than that of `generation`; without one, until anything
/// has changed.
async fn until_changed(shared: &Arc<Shared>, connector: &Connector, generation: Option<u64>) {
    loop {
        let next = fire(shared, connector);
        let is_wanted = |state: &State| match generation {
            Some(generation) => state.link.generation == generation,
            None => state.link.server.is_none(),
        };
        if !shared.with(|state, _| is_wanted(state)) {
            return;
        }
        match next {
            Some(next) => drop(race(shared.changed(), sleep_until(next)).await),
            None => shared.changed().await,
        }
        if generation.is_none() {
            return;
        }
    }
}

/// Handles what is due, and returns the next deadline.
fn fire(shared: &Arc<Shared>, connector: &Connector) -> Option<Instant> {
    let (next, probe) = shared.with(|state, after| {
        state.fire(Instant::now(), after);
        let probe = std::mem::take(&mut state.probes).then(|| state.machine.next_server());
        (state.timers.next(), probe.flatten())
    });
    if let Some(server) = probe {
        tokio::spawn(probe_server(Arc::clone(shared), connector.clone(), server));
    }
    next
}

/// Asks a server whether it has a quorum, beside the connection to a read-only one (rule 2.7.3).
async fn probe_server(shared: Arc<Shared>, connector: Connector, server: ServerId) {
    let has_quorum = connector.has_quorum(server).await;
    let input = match has_quorum {
        true => ClientInput::Timer(ClientTimer::Probe),
        false => ClientInput::NotFound,
    };
    shared.with(|state, after| {
        let is_read_only = matches!(state.machine.state(), ClientState::ConnectedReadOnly(_));
        if is_read_only && state.machine.next_server() == Some(server) {
            state.input(input, after);
        }
    });
}

/// An open connection.
struct Connection {
    stream: Stream,
    frames: Frames,
    buffer: Box<[u8]>,
    /// What is being written, and how much of it was.
    writing: Vec<u8>,
    written: usize,
    /// The frames that were read since tasks had their turn.
    frames_read: usize,
    sleep: Pin<Box<Sleep>>,
}

impl Connection {
    fn new(stream: Stream, connector: &Connector) -> Connection {
        Connection {
            stream,
            frames: Frames::new(connector.largest_packet()),
            buffer: vec![0; READ].into(),
            writing: Vec::new(),
            written: 0,
            frames_read: 0,
            sleep: Box::pin(sleep_until(Instant::now())),
        }
    }

    /// Reads, writes and keeps the time. Ready with an error if the connection has ended, and without one if the
    /// machine does not want it any more. What has arrived is read before timers fire: after a long pause of the
    /// process it may be what they wait for.
    fn poll(
        &mut self,
        shared: &Arc<Shared>,
        connector: &Connector,
        generation: u64,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        for _ in 0..ROUNDS {
            let read = self.read(shared, generation, context)?;
            let deadline = fire(shared, connector);
            if self.yields(shared, context) {
                return Poll::Pending;
            }
            while self.take_frames(shared, generation) {
                if self.write(context)? == Progress::Blocked {
                    break;
                }
            }
            if shared.with(|state, _| state.link.generation != generation) {
                return Poll::Ready(Ok(()));
            }
            if shared.poll_changed(context).is_ready() || read == Progress::More {
                continue;
            }
            match deadline {
                Some(deadline) => {
                    if self.sleep.deadline() != deadline {
                        self.sleep.as_mut().reset(deadline);
                    }
                    ready!(self.sleep.as_mut().poll(context));
                }
                None => return Poll::Pending,
            }
        }
        // Other tasks have their turn.
        context.waker().wake_by_ref();
        Poll::Pending
    }

    /// Reads what has arrived, and hands its frames to the machine.
    fn read(
        &mut self,
        shared: &Shared,
        generation: u64,
        context: &mut Context<'_>,
    ) -> io::Result<Progress> {
        for _ in 0..READS {
            let mut buffer = ReadBuf::new(&mut self.buffer);
            match Pin::new(&mut self.stream).poll_read(context, &mut buffer)? {
                Poll::Pending => return Ok(Progress::Blocked),
                Poll::Ready(()) if buffer.filled().is_empty() => {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
                Poll::Ready(()) => {
                    self.frames.push(buffer.filled());
                    let frames = &mut self.frames;
                    self.frames_read +=
                        shared.with(|state, after| hand_over(frames, state, generation, after))?;
                }
            }
        }
        Ok(Progress::More)
    }

    /// Returns true if there are frames to write, and other tasks are to run first: several tasks that were answered
    /// together then have their next requests written together. The runtime would otherwise run the driver directly
    /// after the first of them.
    fn yields(&mut self, shared: &Shared, context: &mut Context<'_>) -> bool {
        if shared.with(|state, _| state.link.out.is_empty()) {
            return false;
        }
        let yields = std::mem::take(&mut self.frames_read) > 1;
        if yields {
            context.waker().wake_by_ref();
        }
        yields
    }

    /// Takes the frames that are to be written once all before are. Returns true if there is something to write.
    fn take_frames(&mut self, shared: &Shared, generation: u64) -> bool {
        if self.written < self.writing.len() {
            return true;
        }
        self.writing.clear();
        self.written = 0;
        if self.writing.capacity() > KEPT {
            self.writing = Vec::new();
        }
        let writing = &mut self.writing;
        shared.with(|state, _| {
            if state.link.generation == generation {
                std::mem::swap(writing, &mut state.link.out);
            }
        });
        !self.writing.is_empty()
    }

    fn write(&mut self, context: &mut Context<'_>) -> io::Result<Progress> {
        while self.written < self.writing.len() {
            let rest = &self.writing[self.written..];
            match Pin::new(&mut self.stream).poll_write(context, rest)? {
                Poll::Pending => return Ok(Progress::Blocked),
                Poll::Ready(0) => return Err(io::ErrorKind::WriteZero.into()),
                Poll::Ready(bytes) => self.written += bytes,
            }
        }
        match Pin::new(&mut self.stream).poll_flush(context)? {
            Poll::Pending => Ok(Progress::Blocked),
            Poll::Ready(()) => Ok(Progress::More),
        }
    }
}

/// Whether a connection could do more at once.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Progress {
    More,
    Blocked,
}

/// Hands all whole frames to the machine, as long as it wants this connection. Returns their number.
fn hand_over(
    frames: &mut Frames,
    state: &mut State,
    generation: u64,
    after: &mut After,
) -> io::Result<usize> {
    let mut handed = 0;
    let invalid = |error: &dyn std::fmt::Display| {
        tracing::warn!(%error, "the server sent bytes that are not a packet");
        io::Error::new(io::ErrorKind::InvalidData, error.to_string())
    };
    while state.link.generation == generation {
        match frames.next() {
            Ok(Some(frame)) => state.read(frame, after).map_err(|error| invalid(&error))?,
            Ok(None) => break,
            Err(error) => return Err(invalid(&error)),
        }
        handed += 1;
    }
    Ok(handed)
}

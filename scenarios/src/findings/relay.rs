//! The threads of a link: one accepts connections, and two per direction of each connection forward its bytes.

use super::link_state::{Direction, Shared};
use super::quorum::{Content, Cutter, Piece};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How long a learner's connection waits for a leader that does not listen yet. If the connection were closed
/// immediately, the learner would treat the leader as failed and look for another.
const LISTENS_SOON: Duration = Duration::from_secs(3);

/// Accepts connections until the link is closed.
pub(super) fn accept(
    listener: &TcpListener,
    target: SocketAddr,
    content: Content,
    shared: &Arc<Shared>,
) {
    for learner in listener.incoming() {
        if shared.is_closed() {
            return;
        }
        let Ok(learner) = learner else { continue };
        let shared = Arc::clone(shared);
        // The next connection does not wait for this one.
        thread::spawn(move || connect(&learner, target, content, &shared));
    }
}

fn connect(learner: &TcpStream, target: SocketAddr, content: Content, shared: &Arc<Shared>) {
    let end = Instant::now() + LISTENS_SOON;
    while !shared.refuses() && !shared.is_closed() {
        if let Ok(leader) = TcpStream::connect(target) {
            // A connection that fails immediately is one that has been cut.
            let _ = relay(learner, &leader, content, shared);
            return;
        }
        if Instant::now() > end {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

fn relay(
    learner: &TcpStream,
    leader: &TcpStream,
    content: Content,
    shared: &Arc<Shared>,
) -> std::io::Result<()> {
    learner.set_nodelay(true)?;
    leader.set_nodelay(true)?;
    let Some(number) = shared.admit([learner, leader]) else { return Ok(()) };
    let ways = [(Direction::Up, learner, leader), (Direction::Down, leader, learner)];
    for (direction, from, to) in ways {
        let (pieces, under_way) = channel();
        let (from, to) = (from.try_clone()?, to.try_clone()?);
        let (reads, writes) = (Arc::clone(shared), Arc::clone(shared));
        let cutter = Cutter::new(content);
        thread::spawn(move || read(direction, from, cutter, &pieces, &reads));
        thread::spawn(move || write(direction, number, to, &under_way, &writes));
    }
    Ok(())
}

/// Reads pieces, and schedules the time at which each is due at the other end.
fn read(
    direction: Direction,
    mut from: TcpStream,
    mut cutter: Cutter,
    pieces: &Sender<(Instant, Piece)>,
    shared: &Shared,
) {
    let mut bytes = [0; 65_536];
    while let Ok(length @ 1..) = from.read(&mut bytes) {
        cutter.feed(&bytes[..length]);
        while let Some(piece) = cutter.next(direction == Direction::Down) {
            if let Piece::Packet { kind, zxid, .. } = &piece {
                shared.arrived(direction, *kind, *zxid);
            }
            if pieces.send((Instant::now() + shared.delay(), piece)).is_err() {
                return;
            }
        }
    }
}

/// Forwards pieces when they are due and not held. At the end of the stream, closes the other end.
fn write(
    direction: Direction,
    number: u64,
    mut to: TcpStream,
    under_way: &Receiver<(Instant, Piece)>,
    shared: &Shared,
) {
    while let Ok((due, piece)) = under_way.recv() {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        let (kind, bytes) = match &piece {
            Piece::Packet { kind, bytes, .. } => (Some(*kind), bytes),
            Piece::Bytes(bytes) => (None, bytes),
        };
        if !shared.may_pass(direction, kind, number) || to.write_all(bytes).is_err() {
            break;
        }
        if let Piece::Packet { kind, zxid, .. } = piece {
            shared.passed(direction, kind, zxid);
        }
    }
    let _ = to.shutdown(Shutdown::Both);
    shared.ended(number);
}

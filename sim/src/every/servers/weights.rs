//! Estimates how many bytes the pieces hold.
//!
//! The estimates add the size of the allocations of a piece and a round sum for its vectors and maps, which matched
//! measurements of searches of three servers. What a piece shares with the piece that it was derived from
//! (transactions, trees, unchanged monitors) does not count.

use super::pieces::{Judged, Piece, Rest, WitnessPiece, Witnessed};
use super::view::View;
use crate::every::intern::Weighed;
use std::sync::Arc;
use vivarium_model::ensemble::ServerNode;
use vivarium_model::event::Event;
use vivarium_model::fingerprint::Tracked;
use vivarium_model::network::LearnerLinks;
use vivarium_model::property::Objection;
use vivarium_model::server::disk::Disk;

/// The bytes in the vectors and maps of a server and its disk.
const OF_A_SERVER: usize = 600;

/// The bytes of packets under way and their vectors.
const OF_LINKS: usize = 300;

/// The bytes of history, proposals and monitors that differ from the previous witnesses.
const OF_WITNESSES: usize = 800;

/// The heap bytes of an event.
const OF_AN_EVENT: usize = 32;

/// The two counts of an `Arc`, and the allocator's own overhead.
const ALLOCATION: usize = 32;

impl Weighed for Piece<Tracked<ServerNode>> {
    fn heap_bytes(&self) -> usize {
        size_of::<ServerNode>() + size_of::<Disk>() + 2 * ALLOCATION + OF_A_SERVER
    }
}

impl Weighed for Piece<Tracked<LearnerLinks>> {
    fn heap_bytes(&self) -> usize {
        size_of::<LearnerLinks>() + ALLOCATION + OF_LINKS
    }
}

impl Weighed for Piece<Rest> {
    fn heap_bytes(&self) -> usize {
        let Rest { mail, timers } = &self.value;
        size_of_val(&mail[..]) + OF_LINKS * mail.len() + 16 * timers.len() + 2 * ALLOCATION
    }
}

impl Weighed for WitnessPiece {
    fn heap_bytes(&self) -> usize {
        OF_WITNESSES
    }
}

/// The number of a history is all that is stored.
impl Weighed for () {
    fn heap_bytes(&self) -> usize {
        0
    }
}

impl Weighed for Vec<Event> {
    fn heap_bytes(&self) -> usize {
        self.capacity() * (size_of::<Event>() + OF_AN_EVENT) + ALLOCATION
    }
}

/// Objections are few, so they do not count.
impl Weighed for Witnessed {
    fn heap_bytes(&self) -> usize {
        0
    }
}

impl Weighed for Judged {
    fn heap_bytes(&self) -> usize {
        let objection = |it: &Arc<Objection>| size_of::<Objection>() + it.saw.len() + ALLOCATION;
        self.as_ref().err().map_or(0, objection)
    }
}

impl Weighed for View {
    fn heap_bytes(&self) -> usize {
        0
    }
}

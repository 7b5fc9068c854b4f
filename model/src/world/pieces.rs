//! Taking a world apart and putting it together again: the one seam through which a search keeps states.
//!
//! A search breadth first holds millions of states that differ little. It keeps each piece once, and puts a
//! world together only where something is worked out for the first time. Nothing of that is any part of what a
//! step does: a world that is put together again is equal to the one that was taken apart, and takes steps as it.
//!
//! | whole | put together | taken apart |
//! |---|---|---|
//! | [`World`] | [`World::of_pieces`], [`World::of_witnesses`] | [`World::grain`], [`World::host`], [`World::witnesses`], [`World::shared_history`], [`World::monitors`] |
//! | [`Ensemble`](crate::ensemble::Ensemble), without clients | `of_pieces` | `node` (each server's machine), `network` |
//! | [`Network`](crate::network::Network), without clients | `of_pieces` | `links` (each learner's connections), `mailboxes` |
//! | [`Service`](crate::service::Service) | `of_pieces` | `common`, `share` (each client's part) |
//!
//! Pieces are [`Tracked`](crate::fingerprint::Tracked): shared copy-on-write, each with its fingerprint.

use super::World;
use super::history::History;
use super::witnesses::Witnesses;
use crate::property::Monitors;
use std::sync::Arc;

impl<H, G> World<H, G> {
    /// A world of this grain, host and history, and of these monitors.
    pub fn of_pieces(grain: G, host: H, history: Arc<History>, monitors: Monitors) -> World<H, G> {
        World::of_witnesses(grain, host, Witnesses::new(history, monitors))
    }

    /// A world of this grain and host, watched by these witnesses.
    pub fn of_witnesses(grain: G, host: H, witnesses: Witnesses) -> World<H, G> {
        World { grain, host, witnesses, outputs: Vec::new(), outside: Vec::new() }
    }

    /// The witnesses.
    pub fn witnesses(&self) -> &Witnesses {
        &self.witnesses
    }

    /// The committed history, to be shared.
    pub fn shared_history(&self) -> &Arc<History> {
        self.witnesses.shared_history()
    }
}

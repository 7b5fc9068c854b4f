//! Taking a world apart and reassembling it: the only interface through which a search stores states.
//!
//! A breadth-first search holds millions of states that differ little. It stores each piece once, and reassembles a
//! world only to compute something for the first time. This does not affect the meaning of a step: a reassembled
//! world is equal to the original and takes steps in the same way.
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
    /// Returns a world with this grain, host, history and these monitors.
    pub fn of_pieces(grain: G, host: H, history: Arc<History>, monitors: Monitors) -> World<H, G> {
        World::of_witnesses(grain, host, Witnesses::new(history, monitors))
    }

    /// Returns a world with this grain and host, and these witnesses.
    pub fn of_witnesses(grain: G, host: H, witnesses: Witnesses) -> World<H, G> {
        World { grain, host, witnesses, outputs: Vec::new(), outside: Vec::new(), taken_out: 0 }
    }

    /// Returns the witnesses.
    pub fn witnesses(&self) -> &Witnesses {
        &self.witnesses
    }

    /// Returns the committed history, for sharing.
    pub fn shared_history(&self) -> &Arc<History> {
        self.witnesses.shared_history()
    }
}

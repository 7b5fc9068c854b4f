//! How workers even out their work: they give each other states, as ways.

use super::super::super::model::Model;
use super::super::super::outcome::Bound;
use super::balance::moves;
use super::connect::Gone;
use super::lock;
use super::messages::{Gift, Given};
use super::wire::Command;
use super::worker::{Held, Worker};

impl<M: Model> Worker<'_, M> {
    /// Gives states of this level to workers that have fewer, and takes those of workers that have more.
    pub(super) fn even_out(&mut self, level: u32, held: &[u64]) -> Result<(), Gone> {
        let moves = moves(held, self.cluster.slack);
        if moves.is_empty() {
            return Ok(());
        }
        for to_give in moves.iter().filter(|to_give| to_give.from == self.wire.own) {
            let mut place = lock(&self.places[self.local]);
            let states = place.levels.entry(level).or_default();
            let rest = states.len().saturating_sub(to_give.states as usize);
            let given = states.split_off(rest);
            drop(place);
            self.counts.held -= given.len() as i64;
            let fresh: Vec<_> = given.iter().filter(|held| !self.is_stale(held, level)).collect();
            self.counts.frontier -= fresh.len() as i64;
            let states = fresh.into_iter().map(|held| (held.fingerprint, held.number));
            let states = self.ways.give(states);
            let to = to_give.to as u32;
            self.wire.send(Command::Gift(Gift { to, level, states }));
        }
        for Gift { level, states, .. } in self.wire.gifts()? {
            self.take(level, states);
        }
        self.shared.flush(&mut self.counts);
        Ok(())
    }

    /// Takes over states from another worker.
    fn take(&mut self, level: u32, states: Vec<Given>) {
        let newest = self.shared.newest();
        let model = newest.as_deref().unwrap_or(self.shared.model);
        let mut taken = Vec::with_capacity(states.len());
        let result = self.ways.take(model, states, |state, fingerprint, number| {
            taken.push(Held { state, fingerprint, number });
        });
        self.counts.frontier += taken.len() as i64;
        for held in taken {
            self.wait(level, held);
        }
        if let Err(sentence) = result {
            self.shared.halt(Bound::Cluster(sentence));
        }
    }
}

//! The edges of a node: a hash table that many threads read while others add to it.
//!
//! The table is a tree that branches by two bits of the input's hash at a time; each link holds one edge. Links are
//! only added, each in a slot that is written once, so a read takes a few atomic loads. The first thread at an empty
//! slot makes the edge and the others wait, so no edge is made twice.

use super::Edge;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};
use vivarium_model::host::Input;

#[derive(Default)]
pub(super) struct Table([OnceLock<Box<Link>>; 4]);

struct Link {
    hash: u64,
    edge: Arc<Edge>,
    /// Edges of other inputs whose hashes agree so far.
    more: Table,
}

impl Table {
    /// Returns the edge of an input, made if there is none.
    pub(super) fn get_or_make(
        &self,
        input: &Input,
        make: impl FnOnce() -> Arc<Edge>,
    ) -> &Arc<Edge> {
        let hash = hash(input);
        let mut make = Some(make);
        let (mut table, mut bits) = (self, hash);
        loop {
            let link = table.0[(bits & 3) as usize].get_or_init(|| {
                let make = make.take().expect("an edge that was just made is that of this input");
                Box::new(Link { hash, edge: make(), more: Table::default() })
            });
            if link.hash == hash && link.edge.input == *input {
                return &link.edge;
            }
            (table, bits) = (&link.more, bits >> 2);
        }
    }

    /// Returns the edges known now.
    pub(super) fn known(&self) -> Vec<Arc<Edge>> {
        let mut edges = Vec::new();
        let mut tables = vec![self];
        while let Some(table) = tables.pop() {
            for link in table.0.iter().filter_map(OnceLock::get) {
                edges.push(Arc::clone(&link.edge));
                tables.push(&link.more);
            }
        }
        edges
    }
}

fn hash(input: &Input) -> u64 {
    let mut hasher = Mixer(0);
    input.hash(&mut hasher);
    hasher.finish()
}

/// A fast hash: it multiplies and folds eight bytes at a time. Its values must not leave the process. A table
/// compares the inputs too, so equal hashes of different inputs do no harm.
struct Mixer(u64);

impl Mixer {
    fn mix(&mut self, value: u64) {
        let product = u128::from(self.0 ^ value ^ 0x9e37_79b9_7f4a_7c15) * 0xd6e8_feb8_6659_fd93;
        self.0 = product as u64 ^ (product >> 64) as u64;
    }
}

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.mix(u64::from_le_bytes(word));
        }
    }
    fn write_u8(&mut self, value: u8) {
        self.mix(value.into());
    }
    fn write_u16(&mut self, value: u16) {
        self.mix(value.into());
    }
    fn write_u32(&mut self, value: u32) {
        self.mix(value.into());
    }
    fn write_u64(&mut self, value: u64) {
        self.mix(value);
    }
    fn write_usize(&mut self, value: usize) {
        self.mix(value as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::every::trie::NodeId;
    use std::num::NonZeroU32;
    use vivarium_model::host::Outcome;
    use vivarium_model::id::CallId;

    fn random(value: u64) -> Input {
        Input::Reply { call: CallId(0), outcome: Outcome::Random(value) }
    }

    #[test]
    fn an_edge_is_made_once_and_found_again() {
        let table = Table::default();
        let made = |input: &Input| {
            let child = NodeId(NonZeroU32::MIN);
            Edge::new(input.clone(), Arc::default(), false, child)
        };
        let edges: Vec<_> = (0..1000)
            .map(random)
            .map(|input| Arc::clone(table.get_or_make(&input, || made(&input))))
            .collect();
        for (value, edge) in (0..).zip(&edges) {
            assert_eq!(edge.input, random(value));
            let found = table.get_or_make(&random(value), || panic!("{value} is there"));
            assert!(Arc::ptr_eq(found, edge));
        }
        let known = table.known();
        assert_eq!(known.len(), edges.len());
        assert!(edges.iter().all(|edge| known.iter().any(|other| Arc::ptr_eq(edge, other))));
    }
}

//! The blocks of a graph of private steps, found once.
//!
//! A block is a way through the graph and one more step. The monitors hear the events on the way, so what differs between
//! the states that have the same graph is what monitors make of these events. The summary of a graph lists the *ends* of
//! its blocks in the order in which a walk finds them, each with its history of events; to compose a state's blocks, each
//! history is passed to the monitors once.
//!
//! A walk (`blocks.rs`) treats a step as private only if no monitor minds when its events happen, and stops where a
//! monitor objects. Where either occurs on the way, the blocks are walked. Where two histories leave the monitors in the
//! same state, a walk goes on from the first only; the blocks from the second lead to the same places and are dropped.

use super::ProgramModel;
use super::blocks::Scratch;
use super::kept::{End, Graph, NodeIndex, Summary};
use super::pieces::{AtOnce, Change, Place, Transition};
use super::reductions::Flaw;
use super::state::State;
use crate::every::intern::Number;
use std::collections::BTreeMap;
use vivarium_model::id::ClientId;

/// The most ways through a graph that a summary is made of.
const WAYS: usize = 512;

/// A way through a graph.
#[derive(Clone, Copy)]
struct Way {
    node: NodeIndex,
    heard: u16,
    length: u16,
}

/// A summary that is being made.
struct Making<'a> {
    model: &'a ProgramModel,
    graph: &'a Graph,
    ways: Vec<Way>,
    known: BTreeMap<(NodeIndex, u16), ()>,
    heard: Vec<(u16, Number)>,
    summary: Summary,
    ends: Vec<End>,
}

impl ProgramModel {
    /// Returns the summary of a graph; `None` if its blocks must be walked.
    pub(super) fn summary(&self, graph: &Graph) -> Option<Summary> {
        let summary = Summary {
            heard: Box::default(),
            ends: Box::default(),
            withheld: false,
            withheld_while_busy: false,
            input_withheld: false,
            idle: false,
        };
        let mut making = Making {
            model: self,
            graph,
            ways: Vec::new(),
            known: BTreeMap::new(),
            heard: Vec::new(),
            summary,
            ends: Vec::new(),
        };
        making.all()?;
        let Making { heard, summary, ends, .. } = making;
        Some(Summary { heard: heard.into(), ends: ends.into(), ..summary })
    }

    /// Composes a client's choices in a state from a summary. Returns false if they must be walked.
    pub(super) fn compose(
        &self,
        state: &State,
        client: ClientId,
        graph: &Graph,
        summary: &Summary,
        scratch: &mut Scratch,
    ) -> bool {
        scratch.heard.clear();
        scratch.heard.push(state.witnesses);
        for (before, events) in &summary.heard {
            let before = scratch.heard[usize::from(*before)];
            let witnessed = self.witnessed(before, *events, state.shared);
            if witnessed.objection.is_some() || !witnessed.invisible {
                return false;
            }
            scratch.heard.push(witnessed.to);
        }
        scratch.shared.clear();
        scratch.shared.push(state.shared);
        for (before, session) in graph.expiries() {
            let shared = scratch.shared[usize::from(*before)];
            let at = Place { shared, ..state.place(client) };
            scratch.shared.push(self.expired(state, client, at, *session));
        }
        for end in &summary.ends {
            let (own, mut place, expiry) = graph.place(end.node, state.place(client));
            place.shared = scratch.shared[usize::from(expiry)];
            place.witnesses = scratch.heard[usize::from(end.heard)];
            let mut to = match end.step {
                None => Transition::to(place),
                Some(step) => {
                    let own = self.result(state, client, place, own, usize::from(step));
                    self.took(state, client, place, own).to
                }
            };
            if to.objection.is_some() || to.all.is_some() {
                return false;
            }
            to.length = u32::from(end.length);
            scratch.end(to);
        }
        let choices = &mut scratch.choices;
        choices.idle = summary.idle;
        choices.withheld = summary.withheld;
        choices.withheld_while_busy = summary.withheld_while_busy;
        choices.input_withheld = summary.input_withheld;
        true
    }
}

impl Making<'_> {
    /// Finds all ways, breadth first as a walk does. Returns `None` if there is no summary.
    fn all(&mut self) -> Option<()> {
        self.add(Way { node: 0, heard: 0, length: 0 });
        let mut next = 0;
        while next < self.ways.len() {
            if self.ways.len() > WAYS {
                return None;
            }
            self.go_on(next)?;
            next += 1;
        }
        Some(())
    }

    fn add(&mut self, way: Way) {
        if self.known.insert((way.node, way.heard), ()).is_none() {
            self.ways.push(way);
        }
    }

    fn go_on(&mut self, at: usize) -> Option<()> {
        let Way { node, heard, length } = self.ways[at];
        let model = self.model;
        let steps = model.tables.steps.get(self.graph.own(node));
        let summary = &mut self.summary;
        let asked = at == 0 || !model.has(Flaw::TimersOutsideOfBlocks);
        summary.withheld |= steps.withheld && asked;
        summary.withheld_while_busy |= steps.withheld && asked && !steps.idle;
        summary.input_withheld |= steps.input_withheld;
        if at == 0 {
            summary.idle = steps.idle;
        } else if steps.idle {
            self.ends.push(End { node, heard, step: None, length });
            return Some(());
        }
        let mut tried = 0..steps.all.len();
        for (index, own) in steps.all.iter().enumerate().filter(|(_, own)| own.private) {
            match (own.at_once, own.events) {
                (AtOnce::IfUnheard, Some(_)) => return None,
                (AtOnce::IfPrivate, _) | (AtOnce::IfUnheard, None) => {
                    tried = index..index + 1;
                    break;
                }
                (AtOnce::No, _) => {}
            }
        }
        for index in tried {
            let own = &steps.all[index];
            let length = length + 1;
            if own.shared == Change::Deferred || !own.private || !model.reductions.blocks {
                let step = Some(u16::try_from(index).ok()?);
                self.ends.push(End { node, heard, step, length });
                if model.has(Flaw::OneWayOfABlock) {
                    return Some(());
                }
                continue;
            }
            let heard = match own.events {
                None => heard,
                Some(events) => self.hear(heard, events)?,
            };
            self.add(Way { node: self.graph.after(node, index), heard, length });
        }
        Some(())
    }

    /// Returns the history with these events added.
    fn hear(&mut self, before: u16, events: Number) -> Option<u16> {
        let known = self.heard.iter().position(|heard| *heard == (before, events));
        let index = known.unwrap_or_else(|| {
            self.heard.push((before, events));
            self.heard.len() - 1
        });
        u16::try_from(index + 1).ok()
    }
}

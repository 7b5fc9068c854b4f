//! The ways to the states that a worker held: how a state is given to another worker, and taken anew by it.

use super::super::super::model::Model;
use super::messages::Given;
use crate::run::demands::asserted;
use std::io::{self, Read, Write};
use vivarium_model::fingerprint::Fingerprint;

/// Stands for "no state before it".
const NONE: u32 = u32::MAX;

/// How each state that this worker held was reached from another one that it held.
#[derive(Debug, Default)]
pub(super) struct Ways {
    /// The number of the state before, and the index of the action; for an initial state `NONE` and its index.
    steps: Vec<(u32, u32)>,
}

/// The number of a state that this worker held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Number(u32);

impl Number {
    pub(super) fn bytes(self) -> [u8; 4] {
        self.0.to_le_bytes()
    }
}

impl Ways {
    /// Adds an initial state.
    pub(super) fn first(&mut self, index: u32) -> Number {
        self.push(NONE, index)
    }

    /// Adds a state that an action leads to.
    pub(super) fn next(&mut self, before: Number, action: u32) -> Number {
        self.push(before.0, action)
    }

    fn push(&mut self, before: u32, action: u32) -> Number {
        let number = u32::try_from(self.steps.len()).ok().filter(|number| *number != NONE);
        self.steps.push((before, action));
        Number(number.expect("a worker holds fewer than four billion states"))
    }

    /// Returns the index of the initial state, and then those of the actions.
    fn to(&self, Number(mut at): Number) -> Vec<u32> {
        let mut way = Vec::new();
        while at != NONE {
            let (before, action) = self.steps[at as usize];
            way.push(action);
            at = before;
        }
        way.reverse();
        way
    }

    /// Returns these states as ways, in the ways' order, so that each shares as much as possible with the one before.
    pub(super) fn give(&self, states: impl Iterator<Item = (u128, Number)>) -> Vec<Given> {
        let mut all: Vec<_> = states.map(|(state, number)| (self.to(number), state)).collect();
        all.sort_unstable();
        let mut before: &[u32] = &[];
        let given = |(way, state): &(Vec<u32>, u128), before: &[u32]| {
            let shared = way.iter().zip(before).take_while(|(here, there)| here == there).count();
            Given { state: *state, shared: shared as u32, rest: way[shared..].to_vec() }
        };
        let mut states = Vec::with_capacity(all.len());
        for one in &all {
            states.push(given(one, before));
            before = &one.0;
        }
        states
    }

    /// Takes these ways anew, and passes each state with its number to `hold`.
    ///
    /// # Errors
    /// One sentence, if a way leads to another state here than it did there.
    pub(super) fn take<M: Model>(
        &mut self,
        model: &M,
        states: Vec<Given>,
        mut hold: impl FnMut(M::State, u128, Number),
    ) -> Result<(), String> {
        // The states on the way so far.
        let mut on: Vec<(M::State, Number)> = Vec::new();
        for Given { state, shared, rest } in states {
            on.truncate(shared as usize);
            for index in rest {
                let before = on.last().map(|(state, _)| state);
                let next = checked_step(model, before, index)?.ok_or_else(differs)?;
                let number = match on.last() {
                    None => self.first(index),
                    Some((_, before)) => self.next(*before, index),
                };
                on.push((next, number));
            }
            let (reached, number) = on.last().ok_or_else(differs)?;
            let fingerprint = asserted(|| model.fingerprint(reached));
            if fingerprint.map_err(|objection| objection.saw)? != Fingerprint(state) {
                return Err(differs());
            }
            hold(reached.clone(), state, *number);
        }
        Ok(())
    }

    /// Returns the state before one, if any, and the index of the action.
    pub(super) fn step(&self, number: Number) -> (Option<Number>, u32) {
        let (before, action) = self.steps[number.0 as usize];
        ((before != NONE).then_some(Number(before)), action)
    }

    /// Returns the number of steps.
    pub(super) fn length(&self) -> usize {
        self.steps.len()
    }

    /// Returns the number that was written, if there is a state of that number.
    pub(super) fn number(&self, bytes: [u8; 4]) -> Option<Number> {
        let number = u32::from_le_bytes(bytes);
        (self.steps.len() > number as usize).then_some(Number(number))
    }

    /// Writes all steps.
    ///
    /// # Errors
    /// The error of the output.
    pub(super) fn write(&self, output: &mut impl Write) -> io::Result<()> {
        self.steps.iter().try_for_each(|(before, action)| {
            output.write_all(&before.to_le_bytes())?;
            output.write_all(&action.to_le_bytes())
        })
    }

    /// Reads this many steps.
    ///
    /// # Errors
    /// The error of the input, or one that says that a step follows none.
    pub(super) fn read(length: u64, input: &mut impl Read) -> io::Result<Ways> {
        let mut steps = Vec::new();
        for at in 0..length {
            let (mut before, mut action) = ([0; 4], [0; 4]);
            input.read_exact(&mut before)?;
            input.read_exact(&mut action)?;
            let before = u32::from_le_bytes(before);
            if before != NONE && u64::from(before) >= at {
                return Err(io::Error::other("its ways are none"));
            }
            steps.push((before, u32::from_le_bytes(action)));
        }
        Ok(Ways { steps })
    }

    /// Returns the allocated memory in bytes.
    pub(super) fn bytes(&self) -> u64 {
        (self.steps.capacity() * size_of::<(u32, u32)>()) as u64
    }
}

/// Takes an action of a state, or begins with an initial state; `None` if there is none.
///
/// # Errors
/// The message, if the model panics.
pub(super) fn checked_step<M: Model>(
    model: &M,
    before: Option<&M::State>,
    index: u32,
) -> Result<Option<M::State>, String> {
    asserted(|| step(model, before, index)).map_err(|objection| objection.saw)
}

/// Takes an action of a state, or begins with an initial state.
fn step<M: Model>(model: &M, before: Option<&M::State>, index: u32) -> Option<M::State> {
    let Some(before) = before else {
        return model.init_states().into_iter().nth(index as usize);
    };
    let mut actions = Vec::new();
    model.actions(before, &mut actions);
    model.next_state(before, actions.into_iter().nth(index as usize)?)
}

fn differs() -> String {
    "the same actions lead to other states in another process: a program or a property is no function of its inputs, \
     or the processes run different programs"
        .to_string()
}

//! The tables of a search.

use super::kept::Asked;
use super::orbits::Orbits;
use super::pieces::{Client, Events, Listener, OwnStep, OwnSteps, Shared, WitnessPiece, Witnessed};
use crate::every::intern::{Number, Table};
use std::sync::atomic::{AtomicU64, Ordering};

/// All tables of a search.
pub(super) struct Tables {
    /// Distinguishes these tables from all others of the process.
    pub(super) id: u64,
    pub(super) clients: Table<Client>,
    pub(super) shared: Table<Shared>,
    pub(super) witnesses: Table<WitnessPiece>,
    /// What clients can do, by the piece of the client, the kinds of faults that are left, and the footprint.
    pub(super) steps: Table<OwnSteps, StepsKey>,
    /// The results of steps that read the whole shared piece, by the client's steps, the step's index, and that piece.
    pub(super) deferred: Table<OwnStep, [u32; 3]>,
    /// Pieces of clients whose servers notify them of different transactions, by fingerprint.
    pub(super) listeners: Table<Listener>,
    /// Graphs of private steps, by what they read.
    pub(super) graphs: Table<Asked, GraphKey>,
    /// Lists of events, by fingerprint.
    pub(super) events: Table<Events>,
    /// What monitors make of events, by the piece of the monitors, the events, and what the monitors can look at.
    pub(super) witnessed: Table<Witnessed, WitnessedKey>,
    /// The shared piece after an expiry, by the piece before and the session.
    pub(super) expired: Table<Number, [u32; 3]>,
    /// The images of pieces under permutations of clients.
    pub(super) orbits: Orbits,
}

/// The piece of a client; the faults that are left and the kind of the footprint; the footprint.
pub(super) type StepsKey = [u32; 6];

/// The piece of a client and the budget, or the number of the question before; the question; the answer.
pub(super) type GraphKey = [u32; 8];

/// The piece of the monitors; the events; the fingerprint of what monitors can look at.
pub(super) type WitnessedKey = [u32; 6];

impl Tables {
    pub(super) fn new() -> Tables {
        static MADE: AtomicU64 = AtomicU64::new(0);
        Tables {
            id: MADE.fetch_add(1, Ordering::Relaxed) + 1,
            clients: Table::new(),
            shared: Table::new(),
            witnesses: Table::new(),
            steps: Table::new(),
            deferred: Table::new(),
            listeners: Table::new(),
            graphs: Table::new(),
            events: Table::new(),
            witnessed: Table::new(),
            expired: Table::new(),
            orbits: Orbits::new(),
        }
    }
}

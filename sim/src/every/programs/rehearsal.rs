//! Before a search begins, all programs run once, side by side.
//!
//! A search takes the steps of the first client first. What that client's program sets in something that programs
//! share, the others would find set whenever they run, and nothing would ever show that they go by it. So all programs
//! run once in turns, an input each, the last client's first. What they did is known from here, and is done again when
//! the search is over ([`Trie::again`]): what one of them has set by then, and another one had looked at before, shows.
//!
//! [`Trie::again`]: crate::every::trie::Trie::again

use super::ProgramModel;
use super::scene::Scene;
use crate::every::memo::Memo;
use std::sync::Arc;
use vivarium_model::effect::{Effects, Status};
use vivarium_model::id::ClientId;
use vivarium_model::service::Service;
use vivarium_model::step::Step;
use vivarium_model::world::World;

/// Turns at most.
const TURNS: usize = 64;

/// Steps of a client in its turn at most.
const STEPS: usize = 32;

impl ProgramModel {
    /// Runs all programs, as far as they get, in a world without monitors.
    pub fn rehearse(&self) {
        let service = Service::new(Arc::clone(&self.config));
        let world = World::over(service, Memo::new(Arc::clone(&self.trie)), Vec::new());
        let mut scene = Scene { world, left: self.budget };
        scene.world.begin(&mut Effects::default());
        for _ in 0..TURNS {
            let mut goes_on = false;
            for client in self.clients().rev() {
                goes_on |= self.turn(&mut scene, client);
            }
            if !goes_on || self.trie.dependent().is_some() {
                break;
            }
        }
    }

    /// A client's steps up to its program's next input. False if there is none.
    fn turn(&self, scene: &mut Scene, client: ClientId) -> bool {
        let mut effects = Effects::default();
        for _ in 0..STEPS {
            let mut steps = Vec::new();
            self.ordinary_of(scene, client, &mut steps);
            // One that is not possible leaves everything as it was.
            let taken =
                steps.into_iter().find(|step| scene.take(*step, &mut effects) == Ok(Status::Done));
            match taken {
                None => return false,
                Some(Step::Input(_)) => return true,
                Some(_) => {}
            }
        }
        false
    }
}

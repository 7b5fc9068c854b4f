//! Runs all programs once, side by side, before a search begins.
//!
//! A search takes the steps of the first client first. If that client's program set a variable that programs share, the
//! others would find it set in every run, and no comparison could reveal that they depend on it. So all programs first
//! run in turns, one input each, starting with the last client. Their behaviour is then known, and is repeated after
//! the search ([`Trie::again`]). The repetition reveals a variable that one program has set and that another one had
//! read before.
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

/// The most turns.
const TURNS: usize = 64;

/// The most steps of a client in one turn.
const STEPS: usize = 32;

impl ProgramModel {
    /// Runs all programs as far as they get, in a world without monitors.
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

    /// Takes a client's steps up to its program's next input. Returns false if there is none.
    fn turn(&self, scene: &mut Scene, client: ClientId) -> bool {
        let mut effects = Effects::default();
        for _ in 0..STEPS {
            let mut steps = Vec::new();
            self.ordinary_of(scene, client, &mut steps);
            // A step that is not enabled leaves the scene unchanged.
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

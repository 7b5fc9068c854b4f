//! The ensemble as a whole, without clocks: elects, replicates, serves.

mod support;

use support::{Dice, Engine, busy_script};
use vivarium_model::config::Config;
use vivarium_model::ensemble::programs::ProgramState;
use vivarium_model::id::ClientId;

#[test]
fn three_servers_serve_three_clients_whatever_the_order_of_steps() {
    for seed in 0..50 {
        let scripts = (1..=3).map(busy_script).collect();
        let mut engine = Engine::new(Config::new(3, 3), scripts);
        let mut dice = Dice(seed);
        let finished = |engine: &Engine| {
            (1..=3).all(|client| {
                engine.world.ensemble().program(ClientId(client)) == ProgramState::Finished
            })
        };
        while !finished(&engine) && engine.steps < 20_000 {
            engine.go(&mut dice).unwrap_or_else(|objection| panic!("seed {seed}: {objection}"));
        }
        let ensemble = engine.world.ensemble();
        let waits: Vec<String> = (1..=3).map(|c| ensemble.waits_for(ClientId(c))).collect();
        let servers: Vec<String> =
            ensemble.config().server_ids().map(|s| ensemble.state_of(s)).collect();
        assert!(finished(&engine), "seed {seed}: {waits:?} {servers:?} t={}", engine.now);
        assert!(engine.world.history().txns().len() > 15);
    }
}

//! The whole ensemble under random schedules: it elects, replicates, serves, and survives faults.

mod support;

use support::{Dice, Engine, busy_script};
use vivarium_model::config::{Config, TxnLogSync};
use vivarium_model::id::ServerId;
use vivarium_model::step::{Step, Tail};
use vivarium_model::time::Duration;
use vivarium_model::timer::Timer;

fn run_to_the_end(engine: &mut Engine, dice: &mut Dice, name: &str) {
    let limit = engine.steps + 30_000;
    while !engine.all_finished() && engine.steps < limit {
        engine.go(dice).unwrap_or_else(|it| panic!("{name}: {it}\n{}", engine.picture()));
    }
    assert!(engine.all_finished(), "{name} does not end: {}", engine.picture());
}

#[test]
fn three_servers_serve_three_clients_whatever_the_order_of_steps() {
    for seed in 0..50 {
        let scripts = (1..=3).map(busy_script).collect();
        let mut engine = Engine::new(Config::new(3, 3), scripts);
        run_to_the_end(&mut engine, &mut Dice(seed), &format!("seed {seed}"));
        assert!(engine.world.history().txns().len() > 15);
    }
}

/// A configuration in which every kind of synchronisation and many snapshots occur.
fn restless(servers: u8, clients: u8) -> Config {
    let mut config = Config::new(servers, clients);
    config.commit_log_count = 6;
    config.txn_log_sync = TxnLogSync::Unlimited;
    config.snap_count = 5;
    config.snapshot_piece = 2;
    config.tick = Duration::from_millis(200);
    for client in &mut config.clients {
        client.session_timeout = Duration::from_millis(800);
    }
    config
}

#[test]
fn no_monitor_objects_under_faults_and_everything_ends_after_healing() {
    let number = |name| std::env::var(name).ok().and_then(|it: String| it.parse::<u64>().ok());
    let (first, count) = (number("MODEL_SEED").unwrap_or(0), number("MODEL_SEEDS").unwrap_or(150));
    for seed in first..first + count {
        let scripts =
            (1..=3).map(|client| [busy_script(client), busy_script(client)].concat()).collect();
        let mut engine = Engine::new(restless(3 + (seed % 2) as u8 * 2, 3), scripts);
        let mut dice = Dice(seed);
        for _ in 0..2_000 {
            let name = format!("seed {seed}");
            if dice.roll(40) == 0 {
                let fault = engine.fault(&mut dice);
                engine.step(fault).unwrap_or_else(|it| panic!("{name}: {it}"));
            }
            engine.go(&mut dice).unwrap_or_else(|it| panic!("{name}: {it}\n{}", engine.picture()));
        }
        engine.heal().expect("healing is no violation");
        run_to_the_end(&mut engine, &mut dice, &format!("seed {seed}, healed"));
    }
}

/// A timer of a process that died must not fire in its next life: a follower would leave its new leader because of
/// silence from the old one.
#[test]
fn a_dead_process_leaves_no_timer_behind() {
    let mut engine = Engine::new(Config::new(3, 2), vec![busy_script(1), busy_script(2)]);
    let mut dice = Dice(7);
    while !engine.all_finished() {
        engine.go(&mut dice).expect("a quiet run");
    }
    for server in [1, 2, 3].map(ServerId) {
        let of_server = |timer: &&Timer| matches!(timer, Timer::Server(it, _) if *it == server);
        assert!(engine.timers.keys().any(|timer| of_server(&timer)), "{server} waits for nothing");
        engine.step(Step::Crash { server, tail: Tail::LOST }).expect("a crash is no violation");
        let left: Vec<&Timer> = engine.timers.keys().filter(of_server).collect();
        assert_eq!(left, Vec::<&Timer>::new());
    }
}

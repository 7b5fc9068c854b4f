//! The ensemble under everything at once: timers that fire whenever they like, faults at every rate,
//! ensembles of one to five servers, watches, multis, sessions that end and begin again.
//!
//! `WILD_SEED` and `WILD_SEEDS` choose the seeds.

mod support;

use std::sync::Arc;
use support::{Dice, Engine, ask, children, create, delete, set};
use vivarium_model::config::Config;
use vivarium_model::effect::Status;
use vivarium_model::host::Operation;
use vivarium_model::id::CallId;
use vivarium_model::op::{CreateMode, Op, Request, Version};
use vivarium_model::step::Step;
use vivarium_model::time::Duration;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|it| it.parse().ok()).unwrap_or(default)
}

/// A request with a watch in this call slot.
fn watching(request: Request, slot: usize) -> Operation {
    Operation::Request { request: Arc::new(request), watch: Some(CallId(slot as _)), scope: None }
}

/// A script of anything; each watch has a call slot of its own.
fn any_script(dice: &mut Dice, length: usize) -> Vec<Operation> {
    let paths = ["/a", "/b", "/a/c", "/a/d", "/b/e"];
    let mut script = vec![Operation::Connect];
    for at in 0..length {
        let path = paths[dice.roll(paths.len())];
        let mode = [
            CreateMode::Persistent,
            CreateMode::Ephemeral,
            CreateMode::PersistentSequential,
            CreateMode::EphemeralSequential,
        ][dice.roll(4)];
        script.push(match dice.roll(14) {
            0..=3 => create(path, mode),
            4 => set(path, &[at as u8]),
            5 | 6 => delete(path),
            7 => children(path),
            8 => watching(Request::Exists { path: path.into(), watch: true }, 1 + at),
            9 => watching(Request::GetData { path: path.into(), watch: true }, 1 + at),
            10 => watching(Request::GetChildren { path: path.into(), watch: true }, 1 + at),
            11 => ask(Request::Sync { path: path.into() }),
            12 => ask(Request::Multi(vec![
                Op::create(path, *b"m", mode),
                Op::Check { path: "/a".into(), version: Version::Any },
                Op::Delete { path: path.into(), version: Version::Any },
            ])),
            _ => Operation::Close,
        });
        if at % 5 == 4 {
            script.push(Operation::Connect);
        }
    }
    script.push(Operation::Connect);
    script.push(Operation::Close);
    script
}

fn wild_config(dice: &mut Dice) -> Config {
    let mut config = Config::new(1 + dice.roll(5) as u8, 1 + dice.roll(4) as u8);
    config.commit_log_count = [1, 2, 6, 30][dice.roll(4)];
    config.snap_count = [2, 5, 20, 100_000][dice.roll(4)];
    config.snapshot_piece = 1 + dice.roll(4);
    config.tick = Duration::from_millis(200);
    for client in &mut config.clients {
        client.session_timeout = Duration::from_millis(800);
    }
    config
}

#[test]
fn nothing_breaks_the_ensemble() {
    let (first, count) = (number("WILD_SEED", 0), number("WILD_SEEDS", 60));
    for seed in first..first + count {
        run(seed);
    }
}

fn run(seed: u64) {
    let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9));
    let config = wild_config(&mut dice);
    let scripts = config.clients.iter().map(|_| any_script(&mut dice, 25)).collect();
    let mut engine = Engine::new(config, scripts);
    let fault_every = [4, 10, 25, 60, 200][dice.roll(5)];
    let timer_every = [3, 8, 30, 1000][dice.roll(4)];
    let name = format!("seed {seed}");
    let steps = number("WILD_STEPS", 2_500);
    for _ in 0..steps {
        if dice.roll(fault_every) == 0 {
            let fault = engine.fault(&mut dice);
            engine.step(fault).unwrap_or_else(|it| panic!("{name}: {it}"));
        }
        if dice.roll(timer_every) == 0 && !engine.timers.is_empty() {
            let at = dice.roll(engine.timers.len());
            let timer = *engine.timers.keys().nth(at).expect("below the number of timers");
            engine.timers.remove(&timer);
            let status = engine.step(Step::Fire(timer));
            let status = status.unwrap_or_else(|it| panic!("{name}: {it}"));
            assert!(!matches!(status, Status::Blocked(_)), "{name}: {timer} is blocked");
        }
        engine.go(&mut dice).unwrap_or_else(|it| panic!("{name}: {it}\n{}", engine.picture()));
    }
    engine.heal().expect("healing is no violation");
    let limit = engine.steps + 60_000;
    while !engine.all_finished() && engine.steps < limit {
        engine.go(&mut dice).unwrap_or_else(|it| panic!("{name}: {it}\n{}", engine.picture()));
    }
    assert!(engine.all_finished(), "{name} does not end: {}", engine.picture());
}

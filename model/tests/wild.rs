//! The ensemble under everything at once: timers that fire at any time, faults at every rate, ensembles of one to
//! five servers, watches, multis, sessions that end and begin again.
//!
//! `WILD_SEED` and `WILD_SEEDS` choose the seeds.

mod support;

use std::sync::Arc;
use support::{Dice, Engine, ask, children, create, delete, set};
use vivarium_model::acl::{Acl, AclList, Id, Permissions};
use vivarium_model::config::{Config, TxnLogSync};
use vivarium_model::effect::Status;
use vivarium_model::event::Event;
use vivarium_model::host::{Input, Operation};
use vivarium_model::id::CallId;
use vivarium_model::op::{
    AddWatchMode, CreateMode, Data, Op, ReadOp, Request, SessionState, Version, WatcherType,
};
use vivarium_model::step::Step;
use vivarium_model::time::Duration;

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|it| it.parse().ok()).unwrap_or(default)
}

/// Returns a request with a watch in this call slot.
fn watching(request: Request, slot: usize) -> Operation {
    Operation::Request { request: Arc::new(request), watch: Some(CallId(slot as _)), scope: None }
}

/// Returns a script of random requests; each watch has a call slot of its own.
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

/// Returns a script of what the one above leaves out: ACLs and identities (servers refuse one), persistent
/// watches and their removal, containers, and rarer reads.
fn rarer_script(dice: &mut Dice, length: usize) -> Vec<Operation> {
    let paths = ["/", "/a", "/b", "/a/c", "/b/e"];
    let acls = [
        AclList::OPEN,
        AclList::creator_all(),
        AclList::read_unsafe(),
        AclList::new([Acl::new(Permissions::ALL, Id::new("ip", "127.0.0.1/8"))]),
    ];
    let types = [
        WatcherType::Children,
        WatcherType::Data,
        WatcherType::Any,
        WatcherType::Persistent,
        WatcherType::PersistentRecursive,
    ];
    let modes = [AddWatchMode::Persistent, AddWatchMode::PersistentRecursive];
    let mut script = vec![Operation::Connect];
    for at in 0..length {
        let path: Arc<str> = paths[dice.roll(paths.len())].into();
        let acl = acls[dice.roll(acls.len())].clone();
        let kind = types[dice.roll(types.len())];
        script.push(match dice.roll(18) {
            0..=2 => {
                let mode = [CreateMode::Persistent, CreateMode::Ephemeral, CreateMode::Container];
                let (mode, data) = (mode[dice.roll(3)], Data::from(*b"x"));
                ask(Request::Write(Op::Create { path, data, mode, acl }))
            }
            3 => set(&path, &[at as u8]),
            4 => delete(&path),
            5 => ask(Request::SetAcl { path, acl, version: Version::Any }),
            6 => ask(Request::GetAcl { path }),
            7..=9 => watching(Request::AddWatch { path, mode: modes[dice.roll(2)] }, 1 + at),
            10 => watching(Request::GetData { path, watch: true }, 1 + at),
            11 | 12 => {
                let (local, scope) = (dice.roll(2) == 0, None);
                Operation::RemoveWatches { path, kind, local, scope }
            }
            13 => ask(Request::CheckWatches { path, kind }),
            14 => {
                let scheme = if dice.roll(6) == 0 { "kerberos" } else { "digest" };
                let auth = Data::from([b'a' + dice.roll(2) as u8, b':', b'p']);
                Operation::AddAuth { scheme: scheme.into(), auth, scope: None }
            }
            15 => ask(Request::WhoAmI),
            16 => ask(Request::GetEphemerals { prefix: path }),
            _ => ask(Request::MultiRead(vec![
                ReadOp::GetData { path: Arc::clone(&path) },
                ReadOp::GetChildren { path },
            ])),
        });
        if at % 4 == 3 {
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
    config.txn_log_sync =
        [TxnLogSync::Off, TxnLogSync::Unlimited, TxnLogSync::default()][dice.roll(3)];
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
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9));
        let config = wild_config(&mut dice);
        let scripts = config.clients.iter().map(|_| any_script(&mut dice, 25)).collect();
        run(seed, &mut dice, Engine::new(config, scripts));
    }
}

/// Clients with and without a chroot, and clients that give up their sessions. All monitors run.
#[test]
fn nothing_breaks_what_few_programs_use() {
    let (first, count) = (number("WILD_SEED", 0), number("WILD_SEEDS", 60));
    let (mut stayed, mut refused, mut given_up) = (0, 0, 0);
    for seed in first..first + count {
        let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9));
        let mut config = wild_config(&mut dice);
        for client in &mut config.clients {
            client.chroot = ["", "/", "/a"][dice.roll(3)].into();
            client.expires_locally = dice.roll(2) == 0;
        }
        let scripts = config.clients.iter().map(|_| rarer_script(&mut dice, 25)).collect();
        let engine = run(seed, &mut dice, Engine::new(config, scripts));
        let heard = engine.world.host().heard.iter().flatten();
        stayed += heard.filter(|input| matches!(input, Input::Event { .. })).count();
        let ended = |how: SessionState| {
            let told = move |event: &&Event| matches!(event, Event::Session { server: None, state, .. } if *state == how);
            engine.events.iter().filter(told).count()
        };
        refused += ended(SessionState::AuthFailed);
        given_up += ended(SessionState::Expired);
    }
    assert!(stayed > 20 && refused > 5 && given_up > 5, "{stayed} {refused} {given_up}");
}

fn run(seed: u64, dice: &mut Dice, mut engine: Engine) -> Engine {
    let fault_every = [4, 10, 25, 60, 200][dice.roll(5)];
    let timer_every = [3, 8, 30, 1000][dice.roll(4)];
    let name = format!("seed {seed}");
    let steps = number("WILD_STEPS", 2_500);
    for _ in 0..steps {
        if dice.roll(fault_every) == 0 {
            let fault = engine.fault(dice);
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
        engine.go(dice).unwrap_or_else(|it| panic!("{name}: {it}\n{}", engine.picture()));
    }
    engine.heal().expect("healing is no violation");
    let limit = engine.steps + 60_000;
    while !engine.all_finished() && engine.steps < limit {
        engine.go(dice).unwrap_or_else(|it| panic!("{name}: {it}\n{}", engine.picture()));
    }
    assert!(engine.all_finished(), "{name} does not end: {}", engine.picture());
    engine
}

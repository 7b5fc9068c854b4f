//! Runs a generated program with the real handle.

use super::case::{Answer, Call, PATHS, Statement, Watching};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use vivarium_model::acl::{Acl, AclList, Id, Permissions};
use vivarium_model::error::Error;
use vivarium_model::handle::{
    Either, PersistentWatch, Program, SessionEvents, Watch, ZooKeeper, join, program, race,
};
use vivarium_model::id::ClientId;
use vivarium_model::observation::Value;
use vivarium_model::op::{AddWatchMode, CreateMode, Op, Version, WatcherType};

const MINUTE: Duration = Duration::from_secs(60);

/// The name of the observation that contains a program's records.
pub(super) const WROTE: &str = "wrote";

/// A program's records, line by line. They are reported as they are written, or at the program's end.
#[derive(Clone)]
struct Notes {
    zookeeper: ZooKeeper,
    lines: Arc<Mutex<Vec<String>>>,
    at_once: bool,
}

impl Notes {
    fn write(&self, line: String) {
        if self.at_once {
            self.tell(&line);
        }
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }

    fn tell(&self, text: &str) {
        self.zookeeper.custom(WROTE, &[("text", Value::from(text))]);
    }

    fn last(&self) -> String {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.last().cloned().unwrap_or_default()
    }

    fn all(&self) -> String {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner).join("; ")
    }
}

/// The watch that a program keeps.
enum Kept {
    Nothing,
    Once(Watch),
    Stays(PersistentWatch),
}

impl Kept {
    async fn next(&mut self) -> String {
        match self {
            Kept::Nothing => "no watch".into(),
            Kept::Once(watch) if watch.has_fired() => "fired before".into(),
            Kept::Once(watch) => match watch.changed().await {
                Ok(event) => format!("{:?} {}", event.kind, event.path),
                Err(error) => error.to_string(),
            },
            Kept::Stays(watch) => match watch.next().await {
                Some(event) => format!("{:?} {}", event.kind, event.path),
                None => {
                    *self = Kept::Nothing;
                    "the end".into()
                }
            },
        }
    }
}

/// Builds the program of these statements, for one of `clients` clients. `at_once` selects whether records are reported
/// as they are written.
pub(super) fn run(statements: &[Statement], clients: usize, at_once: bool) -> Program {
    let statements: Arc<[Statement]> = statements.into();
    program(move |zookeeper: ZooKeeper| {
        let statements = Arc::clone(&statements);
        async move {
            let notes = Notes { zookeeper: zookeeper.clone(), lines: Arc::default(), at_once };
            let mut states = zookeeper.session_events();
            zookeeper.connect().await;
            let mut kept = Kept::Nothing;
            for statement in statements.iter() {
                state(&zookeeper, *statement, clients, &notes, &mut kept, &mut states).await?;
            }
            if !at_once {
                notes.tell(&notes.all());
            }
            Ok(())
        }
    })
}

async fn state(
    zookeeper: &ZooKeeper,
    statement: Statement,
    clients: usize,
    notes: &Notes,
    kept: &mut Kept,
    states: &mut SessionEvents,
) -> Result<(), String> {
    let line = match statement {
        Statement::Do(call) => make(zookeeper, call).await,
        Statement::Retry(call) => retry(zookeeper, call).await,
        Statement::Join(one, other) => {
            let both = join(make(zookeeper, one), make(zookeeper, other)).await;
            format!("{} and {}", both.0, both.1)
        }
        Statement::Race(one, other) => {
            match race(make(zookeeper, one), make(zookeeper, other)).await {
                Either::Left(answer) => format!("first {answer}"),
                Either::Right(answer) => format!("second {answer}"),
            }
        }
        Statement::Timeout(call) => match zookeeper.timeout(MINUTE, make(zookeeper, call)).await {
            Ok(answer) => answer,
            Err(_) => "timed out".into(),
        },
        Statement::Cancellable(call) => match zookeeper.cancellable(make(zookeeper, call)).await {
            Ok(answer) => answer,
            Err(_) => "cancelled".into(),
        },
        Statement::Spawn(call) => {
            let (zookeeper, notes) = (zookeeper.clone(), notes.clone());
            zookeeper.clone().spawn(async move {
                let answer = make(&zookeeper, call).await;
                notes.write(format!("beside {answer}"));
            });
            return Ok(());
        }
        Statement::Watch(watching, path) => watch(zookeeper, watching, PATHS[path], kept).await,
        Statement::Await => kept.next().await,
        Statement::AwaitOr(call) => match race(kept.next(), make(zookeeper, call)).await {
            Either::Left(event) => event,
            Either::Right(answer) => format!("rather {answer}"),
        },
        Statement::Unwatch(path) => {
            let removed = zookeeper.remove_watches(PATHS[path], WatcherType::Any, true).await;
            word(removed)
        }
        Statement::States => {
            let mut all = Vec::new();
            while let Some(state) = states.try_next() {
                all.push(format!("{state:?}"));
            }
            all.join(" ")
        }
        Statement::NextState => format!("{:?}", states.next().await),
        Statement::Send(other) => {
            let own = zookeeper.client().index();
            let others: Vec<usize> = (0..clients).filter(|client| *client != own).collect();
            if let Some(to) = others.get(other % others.len().max(1)) {
                zookeeper.send(ClientId::at(*to), b"hello");
            }
            return Ok(());
        }
        Statement::Say(what) => {
            zookeeper.custom("said", &[("what", Value::from(i64::from(what)))]);
            return Ok(());
        }
        Statement::FailOn(answer) => {
            let last = notes.last();
            let failed = last == error(answer).to_string();
            return if failed { Err(format!("it was told {last}")) } else { Ok(()) };
        }
    };
    notes.write(line);
    Ok(())
}

fn error(answer: Answer) -> Error {
    match answer {
        Answer::ConnectionLoss => Error::ConnectionLoss,
        Answer::SessionExpired => Error::SessionExpired,
        Answer::NoNode => Error::NoNode,
        Answer::NodeExists => Error::NodeExists,
    }
}

async fn retry(zookeeper: &ZooKeeper, call: Call) -> String {
    for _ in 0..2 {
        let answer = make(zookeeper, call).await;
        if answer != Error::ConnectionLoss.to_string() {
            return answer;
        }
        zookeeper.connect().await;
    }
    make(zookeeper, call).await
}

async fn watch(zookeeper: &ZooKeeper, watching: Watching, path: &str, kept: &mut Kept) -> String {
    let once = |result: Result<(String, Watch), Error>| match result {
        Ok((answer, watch)) => (answer, Kept::Once(watch)),
        Err(error) => (error.to_string(), Kept::Nothing),
    };
    let stays = |result: Result<PersistentWatch, Error>| match result {
        Ok(watch) => ("watching".to_string(), Kept::Stays(watch)),
        Err(error) => (error.to_string(), Kept::Nothing),
    };
    let (answer, watch) = match watching {
        Watching::Exists => {
            let read = zookeeper.exists_watch(path).await;
            once(read.map(|(stat, watch)| (there(stat.is_some()), watch)))
        }
        Watching::Data => {
            let read = zookeeper.get_data_watch(path).await;
            once(read.map(|(data, stat, watch)| (format!("{data:?} {}", stat.version), watch)))
        }
        Watching::Children => {
            let read = zookeeper.get_children_watch(path).await;
            once(read.map(|(names, watch)| (format!("{names:?}"), watch)))
        }
        Watching::Persistent => stays(zookeeper.add_watch(path, AddWatchMode::Persistent).await),
        Watching::Recursive => {
            stays(zookeeper.add_watch(path, AddWatchMode::PersistentRecursive).await)
        }
    };
    *kept = watch;
    answer
}

fn there(is_there: bool) -> String {
    if is_there { "there" } else { "absent" }.to_string()
}

fn word<T>(result: Result<T, Error>) -> String {
    match result {
        Ok(_) => "done".to_string(),
        Err(error) => error.to_string(),
    }
}

/// Makes a call, and describes its answer. No answer here contains a zxid, because zxids differ between the grains.
async fn make(zookeeper: &ZooKeeper, call: Call) -> String {
    match call {
        Call::Create(path) => create(zookeeper, path, CreateMode::Persistent).await,
        Call::CreateEphemeral(path) => create(zookeeper, path, CreateMode::Ephemeral).await,
        Call::CreateSequential(path) => {
            create(zookeeper, path, CreateMode::PersistentSequential).await
        }
        Call::CreateContainer(path) => create(zookeeper, path, CreateMode::Container).await,
        Call::CreateTtl(path) => {
            create(zookeeper, path, CreateMode::PersistentWithTtl(MINUTE)).await
        }
        Call::Delete(path) => word(zookeeper.delete(PATHS[path], Version::Any).await),
        Call::SetData(path, byte) => {
            let set = zookeeper.set_data(PATHS[path], &[byte], Version::Any).await;
            set.map_or_else(|error| error.to_string(), |stat| format!("version {}", stat.version))
        }
        Call::SetFirst(path, byte) => {
            word(zookeeper.set_data(PATHS[path], &[byte], Version::Is(0)).await)
        }
        Call::Exists(path) => {
            let read = zookeeper.exists(PATHS[path]).await;
            read.map_or_else(|error| error.to_string(), |stat| there(stat.is_some()))
        }
        Call::GetData(path) => match zookeeper.get_data(PATHS[path]).await {
            Ok((data, stat)) => format!("{data:?} {} {}", stat.version, stat.cversion),
            Err(error) => error.to_string(),
        },
        Call::GetChildren(path) => match zookeeper.get_children(PATHS[path]).await {
            Ok(names) => format!("{names:?}"),
            Err(error) => error.to_string(),
        },
        Call::CountAll(path) => match zookeeper.get_all_children_number(PATHS[path]).await {
            Ok(number) => format!("{number} below"),
            Err(error) => error.to_string(),
        },
        Call::Ephemerals => match zookeeper.get_ephemerals("/").await {
            Ok(paths) => format!("{paths:?}"),
            Err(error) => error.to_string(),
        },
        Call::GetAcl(path) => match zookeeper.get_acl(PATHS[path]).await {
            Ok((_, stat)) => format!("aversion {}", stat.aversion),
            Err(error) => error.to_string(),
        },
        Call::SetAcl(path) => {
            let anyone = Id::new("world", "anyone");
            let readable = AclList::from(vec![Acl { id: anyone, permissions: Permissions::READ }]);
            word(zookeeper.set_acl(PATHS[path], readable, Version::Any).await)
        }
        Call::Sync => word(zookeeper.sync("/").await),
        Call::CreateAndDelete(path) => {
            let version = Version::Any;
            let delete = Op::Delete { path: PATHS[path].into(), version };
            multi(zookeeper, Op::create(PATHS[path], [], CreateMode::Persistent), delete).await
        }
        Call::CheckAndCreate(first, second) => {
            let check = Op::Check { path: PATHS[first].into(), version: Version::Any };
            multi(zookeeper, check, Op::create(PATHS[second], [], CreateMode::Persistent)).await
        }
        _ => surroundings(zookeeper, call).await,
    }
}

async fn surroundings(zookeeper: &ZooKeeper, call: Call) -> String {
    match call {
        Call::Connect => format!("session {}", zookeeper.connect().await.0 & 0xff),
        Call::Close => {
            zookeeper.close().await;
            "closed".into()
        }
        Call::Sleep => {
            zookeeper.sleep(MINUTE).await;
            "slept".into()
        }
        Call::Random => {
            let _ = zookeeper.random().await;
            "a number".into()
        }
        Call::Now => format!("minute {}", zookeeper.now().await.milliseconds() / 60_000),
        Call::Receive => format!("from {}", zookeeper.receive().await.from),
        Call::Resource => {
            let written = zookeeper.write_resource("ledger", None, 1).await;
            written.map_or("refused", |()| "written").into()
        }
        Call::Auth => word(zookeeper.add_auth_info("digest", b"user:secret").await),
        Call::WrongAuth => word(zookeeper.add_auth_info("unheard-of", b"x").await),
        _ => unreachable!("{call:?} is a request"),
    }
}

async fn create(zookeeper: &ZooKeeper, path: usize, mode: CreateMode) -> String {
    match zookeeper.create(PATHS[path], b"", mode).await {
        Ok((path, _)) => format!("created {path}"),
        Err(error) => error.to_string(),
    }
}

async fn multi(zookeeper: &ZooKeeper, first: Op, second: Op) -> String {
    match zookeeper.multi(vec![first, second]).await {
        Ok(_) => "all done".into(),
        Err(failed) => failed.to_string(),
    }
}

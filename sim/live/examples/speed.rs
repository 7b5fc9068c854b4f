//! Measures operations on a server: `cargo run --release -p vivarium-zk-client --example speed -- HOST:PORT`.
//!
//! For each operation and each number of requests under way, prints the operations per second and the time of one
//! (half of them are faster, and 99 of 100). One connection carries all of them; with numbers of connections after the
//! address (`HOST:PORT 1 128 1000`), each connection has one request under way.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use vivarium_client::{Client, CreateMode, Error, Version, ZooKeeper};
use vivarium_model::acl::AclList;
use vivarium_model::op::Data;
use vivarium_model::op::Op;

/// How long each is measured.
const SPAN: Duration = Duration::from_secs(3);

#[derive(Clone, Copy)]
enum Kind {
    Create,
    Get,
    Set,
    Multi,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let servers = arguments.next().unwrap_or_else(|| "127.0.0.1:2181".to_owned());
    let connections = arguments.map(|number| number.parse()).collect::<Result<Vec<usize>, _>>()?;
    let client = Client::connect(&servers).await?;
    let root = format!("/speed-{}", client.random().await);
    client.create(&root, b"", CreateMode::Persistent).await?;
    client.create(&format!("{root}/read"), &[b'x'; 100], CreateMode::Persistent).await?;
    println!("operation under way    per second        p50        p99");
    if connections.is_empty() {
        for under_way in [1, 16, 256] {
            report(&[client.zookeeper()], &root, under_way).await?;
        }
    }
    for number in connections {
        let mut clients = Vec::new();
        for _ in 0..number.max(1) {
            clients.push(Client::connect(&servers).await?);
        }
        let handles: Vec<ZooKeeper> = clients.iter().map(Client::zookeeper).collect();
        report(&handles, &root, number.max(1)).await?;
        for client in clients {
            client.close().await;
        }
    }
    client.close().await;
    Ok(())
}

/// Measures every operation with this number of requests under way, on these connections in turn.
async fn report(
    connections: &[ZooKeeper],
    root: &str,
    under_way: usize,
) -> Result<(), Box<dyn std::error::Error>> {
    for (name, kind) in
        [("create", Kind::Create), ("get", Kind::Get), ("set", Kind::Set), ("multi", Kind::Multi)]
    {
        let mut times = measure(connections, root, kind, under_way).await?;
        times.sort_unstable();
        let at = |part: usize| times[(times.len() * part / 100).min(times.len() - 1)];
        let rate = times.len() as f64 / SPAN.as_secs_f64();
        println!("{name:9} {under_way:9} {rate:13.0} {:>10.1?} {:>10.1?}", at(50), at(99));
    }
    Ok(())
}

async fn measure(
    connections: &[ZooKeeper],
    root: &str,
    kind: Kind,
    under_way: usize,
) -> Result<Vec<Duration>, Box<dyn std::error::Error>> {
    let end = Instant::now() + SPAN;
    let next = Arc::new(AtomicUsize::new(0));
    let tasks: Vec<_> = (0..under_way)
        .zip(connections.iter().cycle())
        .map(|(_, zookeeper)| {
            let (zookeeper, root, next) = (zookeeper.clone(), root.to_owned(), Arc::clone(&next));
            tokio::spawn(async move {
                let mut times = Vec::new();
                while Instant::now() < end {
                    let begin = Instant::now();
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    one(&zookeeper, &root, kind, under_way, number).await?;
                    times.push(begin.elapsed());
                }
                Ok::<_, Error>(times)
            })
        })
        .collect();
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await??);
    }
    Ok(times)
}

async fn one(
    zookeeper: &ZooKeeper,
    root: &str,
    kind: Kind,
    under_way: usize,
    number: usize,
) -> Result<(), Error> {
    let data = [b'x'; 100];
    match kind {
        Kind::Create => {
            let path = format!("{root}/c-{under_way}-{number}");
            zookeeper.create(&path, &data, CreateMode::Persistent).await.map(drop)
        }
        Kind::Get => zookeeper.get_data(&format!("{root}/read")).await.map(drop),
        Kind::Set => {
            zookeeper.set_data(&format!("{root}/read"), &data, Version::Any).await.map(drop)
        }
        Kind::Multi => {
            let path: Arc<str> = Arc::from(format!("{root}/m-{under_way}-{number}"));
            let create = Op::Create {
                path: Arc::clone(&path),
                data: Data::from(data),
                mode: CreateMode::Persistent,
                acl: AclList::OPEN,
            };
            let delete = Op::Delete { path, version: Version::Any };
            Ok(zookeeper.multi(vec![create, delete]).await.map(drop)?)
        }
    }
}

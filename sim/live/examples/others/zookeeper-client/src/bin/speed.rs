//! Measures operations of the crate `zookeeper-client` on a server: `cargo run --release -- HOST:PORT [SECONDS]`.
//!
//! For each operation and each number of requests under way, prints the operations per second and the time of one
//! (half of them are faster, and 99 of 100). SECONDS is the time of each measurement, 3 if it is missing.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use zookeeper_client::{Acls, Client, CreateMode, CreateOptions, Error};

const PERSISTENT: CreateOptions<'static> = CreateMode::Persistent.with_acls(Acls::anyone_all());

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
    let server = arguments.next().unwrap_or_else(|| "127.0.0.1:2181".to_owned());
    let seconds = arguments.next().map_or(Ok(3.0), |seconds| seconds.parse())?;
    let span = Duration::from_secs_f64(seconds);
    let client = Client::connect(&server).await?;
    let root = format!("/speed-{}", SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos());
    client.create(&root, b"", &PERSISTENT).await?;
    client.create(&format!("{root}/read"), &[b'x'; 100], &PERSISTENT).await?;
    println!("operation under way    per second        p50        p99");
    for (name, kind) in
        [("create", Kind::Create), ("get", Kind::Get), ("set", Kind::Set), ("multi", Kind::Multi)]
    {
        for under_way in [1, 16, 256] {
            let mut times = measure(&client, &root, kind, under_way, span).await?;
            times.sort_unstable();
            let at = |part: usize| times[(times.len() * part / 100).min(times.len() - 1)];
            let rate = times.len() as f64 / span.as_secs_f64();
            println!("{name:9} {under_way:9} {rate:13.0} {:>10.1?} {:>10.1?}", at(50), at(99));
        }
    }
    Ok(())
}

async fn measure(
    client: &Client,
    root: &str,
    kind: Kind,
    under_way: usize,
    span: Duration,
) -> Result<Vec<Duration>, Box<dyn std::error::Error>> {
    let end = Instant::now() + span;
    let next = Arc::new(AtomicUsize::new(0));
    let tasks: Vec<_> = (0..under_way)
        .map(|_| {
            let (client, root, next) = (client.clone(), root.to_owned(), Arc::clone(&next));
            tokio::spawn(async move {
                let mut times = Vec::new();
                while Instant::now() < end {
                    let begin = Instant::now();
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    one(&client, &root, kind, under_way, number).await?;
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
    client: &Client,
    root: &str,
    kind: Kind,
    under_way: usize,
    number: usize,
) -> Result<(), Error> {
    let data = [b'x'; 100];
    match kind {
        Kind::Create => {
            let path = format!("{root}/c-{under_way}-{number}");
            client.create(&path, &data, &PERSISTENT).await.map(drop)
        }
        Kind::Get => client.get_data(&format!("{root}/read")).await.map(drop),
        Kind::Set => client.set_data(&format!("{root}/read"), &data, None).await.map(drop),
        Kind::Multi => {
            let path = format!("{root}/m-{under_way}-{number}");
            let mut writer = client.new_multi_writer();
            writer.add_create(&path, &data, &PERSISTENT)?;
            writer.add_delete(&path, None)?;
            Ok(writer.commit().await.map(drop)?)
        }
    }
}

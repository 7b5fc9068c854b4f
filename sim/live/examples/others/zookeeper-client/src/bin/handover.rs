//! Measures how often a lock of the crate `zookeeper-client` changes hands:
//! `cargo run --release --bin handover -- HOST:PORT [SECONDS]`.
//!
//! Each contender has a session of its own, and acquires and releases the lock in a loop. Prints the grants per second
//! of all contenders together. SECONDS is the time of each measurement, 10 if it is missing.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use zookeeper_client::{Acls, Client, CreateMode, Error, LockOptions, LockPrefix};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let server = arguments.next().unwrap_or_else(|| "127.0.0.1:2181".to_owned());
    let seconds = arguments.next().map_or(Ok(10.0), |seconds| seconds.parse())?;
    let span = Duration::from_secs_f64(seconds);
    let setup = Client::connect(&server).await?;
    let root = format!("/handover-{}", SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos());
    let persistent = CreateMode::Persistent.with_acls(Acls::anyone_all());
    setup.create(&root, b"", &persistent).await?;
    println!("contenders    per second");
    for contenders in [2, 8] {
        let lock = format!("{root}/lock-{contenders}");
        setup.create(&lock, b"", &persistent).await?;
        let mut clients = Vec::new();
        for _ in 0..contenders {
            clients.push(Client::connect(&server).await?);
        }
        let end = Instant::now() + span;
        let tasks: Vec<_> = clients
            .into_iter()
            .map(|client| tokio::spawn(contend(client, lock.clone(), end)))
            .collect();
        let mut grants = 0;
        for task in tasks {
            grants += task.await??;
        }
        println!("{contenders:10} {:13.0}", f64::from(grants) / span.as_secs_f64());
    }
    Ok(())
}

/// Returns the number of grants before the end.
async fn contend(client: Client, lock: String, end: Instant) -> Result<u32, Error> {
    let mut grants = 0;
    loop {
        let prefix = LockPrefix::new_curator(&lock, "lock-")?;
        let held = client.lock(prefix, b"", LockOptions::new(Acls::anyone_all())).await?;
        let is_over = Instant::now() >= end;
        // The crate has no release that waits for the server: dropping the lock deletes its znode in the background.
        drop(held);
        if is_over {
            return Ok(grants);
        }
        grants += 1;
    }
}

//! Measures how often a lock changes hands:
//! `cargo run --release -p vivarium-zk-client --example handover -- HOST:PORT [SECONDS]`.
//!
//! Each contender has a session of its own, and acquires and releases the lock in a loop. Prints the grants per second
//! of all contenders together. SECONDS is the time of each measurement, 10 if it is missing.

use std::time::{Duration, Instant};
use vivarium_client::{Client, CreateMode};
use vivarium_recipes::lock::{AcquireError, Lock};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let servers = arguments.next().unwrap_or_else(|| "127.0.0.1:2181".to_owned());
    let seconds = arguments.next().map_or(Ok(10.0), |seconds| seconds.parse::<f64>())?;
    let span = Duration::from_secs_f64(seconds);
    let setup = Client::connect(&servers).await?;
    let root = format!("/handover-{}", setup.random().await);
    setup.create(&root, b"", CreateMode::Persistent).await?;
    println!("contenders    per second");
    for contenders in [2, 8] {
        let directory = format!("{root}/lock-{contenders}");
        setup.create(&directory, b"", CreateMode::Persistent).await?;
        let mut clients = Vec::new();
        for _ in 0..contenders {
            clients.push(Client::connect(&servers).await?);
        }
        let end = Instant::now() + span;
        let start = |client: &Client| {
            let lock = Lock::new(client.zookeeper(), directory.as_str());
            tokio::spawn(contend(lock, end))
        };
        let tasks: Vec<_> = clients.iter().map(start).collect();
        let mut grants = 0;
        for task in tasks {
            grants += task.await??;
        }
        println!("{contenders:10} {:13.0}", f64::from(grants) / span.as_secs_f64());
        for client in clients {
            client.close().await;
        }
    }
    setup.close().await;
    Ok(())
}

/// Returns the number of grants before the end.
async fn contend(lock: Lock, end: Instant) -> Result<u32, AcquireError> {
    let mut grants = 0;
    loop {
        let guard = lock.acquire().await?;
        let is_over = Instant::now() >= end;
        guard.release().await;
        if is_over {
            return Ok(grants);
        }
        grants += 1;
    }
}

//! Runs the service: `leader SERVERS NAME`, such as `leader zk1:2181,zk2:2181,zk3:2181 instance-1`.

use leader::{prepare, serve};
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};
use vivarium_client::Client;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let servers = arguments.next().ok_or("usage: leader SERVERS NAME")?;
    let name = arguments.next().ok_or("usage: leader SERVERS NAME")?;
    let client = Client::builder(&servers)
        .session_timeout(Duration::from_secs(10))
        .connect_within(Duration::from_secs(30))
        .connect()
        .await?;
    prepare(&client).await?;
    let mut terminated = signal(SignalKind::terminate())?;
    let served = tokio::select! {
        served = serve(client.zookeeper(), &name, None) => served,
        _ = terminated.recv() => Ok(()),
    };
    // Ends the session, and with it the leadership: the next instance leads at once.
    client.close().await;
    Ok(served?)
}

//! A proxy between one client and one server, whose connections a plan cuts, holds, or robs of replies.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// What a proxy does with bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mode {
    /// Nothing passes.
    pub(super) holds: bool,
    /// What the server sends is lost.
    pub(super) loses_replies: bool,
    /// Changes with every cut: connections of another number end.
    pub(super) cut: u64,
}

/// A proxy. Its connections end with it.
#[derive(Debug)]
pub(super) struct Proxy {
    address: SocketAddr,
    mode: Arc<watch::Sender<Mode>>,
    accepting: tokio::task::JoinHandle<()>,
}

impl Proxy {
    /// Listens on a free port for connections to `server`.
    pub(super) async fn new(server: SocketAddr) -> io::Result<Proxy> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (mode, modes) = watch::channel(Mode::default());
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(pass(client, server, modes.clone()));
            }
        });
        Ok(Proxy { address, mode: Arc::new(mode), accepting })
    }

    /// Returns the address for the client.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Changes what the proxy does.
    pub(super) fn change(&self, change: impl FnOnce(&mut Mode)) {
        self.mode.send_modify(change);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.change(|mode| mode.cut += 1);
    }
}

async fn pass(client: TcpStream, server: SocketAddr, modes: watch::Receiver<Mode>) {
    let first = modes.borrow().cut;
    let Ok(server) = TcpStream::connect(server).await else { return };
    if client.set_nodelay(true).is_err() || server.set_nodelay(true).is_err() {
        return;
    }
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let mut until = modes.clone();
    // Whatever ends first ends the whole connection.
    tokio::select! {
        _ = until.wait_for(|mode| mode.cut != first) => {}
        _ = copy(from_client, to_server, modes.clone(), |_| false) => {}
        _ = copy(from_server, to_client, modes, |mode| mode.loses_replies) => {}
    }
}

async fn copy(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut modes: watch::Receiver<Mode>,
    loses: fn(&Mode) -> bool,
) -> io::Result<()> {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let read = from.read(&mut buffer).await?;
        if read == 0 {
            return Ok(());
        }
        let mode = modes.wait_for(|mode| !mode.holds).await;
        let loses = mode.map_err(|_| io::ErrorKind::BrokenPipe).map(|mode| loses(&mode))?;
        if !loses {
            to.write_all(&buffer[..read]).await?;
        }
    }
}

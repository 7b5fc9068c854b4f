//! A proxy before a server: it passes bytes on until a test cuts its connections.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// A proxy. Its connections end with it.
pub(crate) struct Proxy {
    address: SocketAddr,
    cut: Arc<Notify>,
    accepting: tokio::task::JoinHandle<()>,
}

impl Proxy {
    /// Listens on a free port for connections to `server`.
    pub(crate) async fn new(server: SocketAddr) -> io::Result<Proxy> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let cut = Arc::new(Notify::new());
        let cuts = Arc::clone(&cut);
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(pass(client, server, Arc::clone(&cuts)));
            }
        });
        Ok(Proxy { address, cut, accepting })
    }

    /// Returns the address for clients.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Ends all connections. What the server has sent and the client has not read is lost.
    pub(crate) fn cut(&self) {
        self.cut.notify_waiters();
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.cut();
    }
}

async fn pass(mut client: TcpStream, server: SocketAddr, cut: Arc<Notify>) -> io::Result<()> {
    let cut = cut.notified();
    let mut server = TcpStream::connect(server).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    tokio::select! {
        () = cut => Ok(()),
        ended = tokio::io::copy_bidirectional(&mut client, &mut server) => ended.map(drop),
    }
}

//! Connections to servers: names are resolved for each attempt, addresses are tried one after the other.

use super::address::Address;
use super::settings::Settings;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::{TcpSocket, TcpStream, lookup_host};
use vivarium_model::id::ServerId;

/// The longest time for the answer of a server that is asked whether it has a quorum.
const PROBE_LIMIT: Duration = Duration::from_secs(1);

/// Makes connections. See the [module](self).
#[derive(Clone)]
pub(crate) struct Connector(Arc<Inner>);

struct Inner {
    servers: Vec<Address>,
    largest_packet: usize,
    #[cfg(feature = "tls")]
    tls: Option<Arc<tokio_rustls::rustls::ClientConfig>>,
    /// Of each server with several addresses, the one to begin with: one that does not answer takes the whole time of
    /// an attempt.
    first: Vec<AtomicUsize>,
}

impl Connector {
    pub(crate) fn new(settings: &Settings) -> Connector {
        Connector(Arc::new(Inner {
            servers: settings.servers.clone(),
            largest_packet: settings.largest_packet,
            #[cfg(feature = "tls")]
            tls: settings.tls.clone(),
            first: settings.servers.iter().map(|_| AtomicUsize::new(0)).collect(),
        }))
    }

    pub(crate) fn address(&self, server: ServerId) -> &Address {
        &self.0.servers[server.index()]
    }

    pub(crate) fn largest_packet(&self) -> usize {
        self.0.largest_packet
    }

    /// Connects to a server.
    pub(crate) async fn connect(&self, server: ServerId) -> io::Result<Stream> {
        let stream = self.connect_tcp(server).await?;
        #[cfg(feature = "tls")]
        if let Some(config) = &self.0.tls {
            return self.begin_tls(server, config, stream).await;
        }
        Ok(Stream::Plain(stream))
    }

    async fn connect_tcp(&self, server: ServerId) -> io::Result<TcpStream> {
        let address = self.address(server);
        let found = lookup_host((&*address.host, address.port)).await?;
        let mut found: Vec<SocketAddr> = found.collect();
        found.sort_unstable();
        found.dedup();
        let mut last = io::Error::new(io::ErrorKind::NotFound, format!("{address} has no address"));
        let count = found.len().max(1);
        found.rotate_left(self.0.first[server.index()].load(Ordering::Relaxed) % count);
        for address in found {
            // If the attempt is given up here, the next one begins with the next address.
            self.0.first[server.index()].fetch_add(1, Ordering::Relaxed);
            match connect_to(address).await {
                Ok(stream) => {
                    self.0.first[server.index()].fetch_sub(1, Ordering::Relaxed);
                    return Ok(stream);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    #[cfg(feature = "tls")]
    async fn begin_tls(
        &self,
        server: ServerId,
        config: &Arc<tokio_rustls::rustls::ClientConfig>,
        stream: TcpStream,
    ) -> io::Result<Stream> {
        let name = tokio_rustls::rustls::pki_types::ServerName::try_from(
            self.address(server).host.clone(),
        );
        let name = name.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        let connector = tokio_rustls::TlsConnector::from(Arc::clone(config));
        Ok(Stream::Tls(Box::new(connector.connect(name, stream).await?)))
    }

    /// Asks a server whether it has a quorum, with the command `isro`. No answer counts as no.
    pub(crate) async fn has_quorum(&self, server: ServerId) -> bool {
        let ask = async {
            let mut stream = self.connect(server).await?;
            stream.write_all(b"isro").await?;
            stream.flush().await?;
            let mut answer = Vec::new();
            (&mut stream).take(16).read_to_end(&mut answer).await?;
            io::Result::Ok(answer == b"rw")
        };
        matches!(tokio::time::timeout(PROBE_LIMIT, ask).await, Ok(Ok(true)))
    }
}

async fn connect_to(address: SocketAddr) -> io::Result<TcpStream> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_keepalive(true)?;
    let stream = socket.connect(address).await?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// A connection, encrypted or not.
pub(crate) enum Stream {
    Plain(TcpStream),
    #[cfg(feature = "tls")]
    Tls(Box<tokio_rustls::client::TlsStream<TcpStream>>),
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            #[cfg(feature = "tls")]
            Stream::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            #[cfg(feature = "tls")]
            Stream::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(context),
            #[cfg(feature = "tls")]
            Stream::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            #[cfg(feature = "tls")]
            Stream::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connector").field("servers", &self.0.servers).finish_non_exhaustive()
    }
}

//! A proxy between one client and one server, whose connections a plan cuts, holds, or robs of replies.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// The most bytes that are read at once.
const BUFFER: usize = 16 * 1024;

/// What a proxy does with bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Mode {
    /// Nothing passes.
    pub(super) holds: bool,
    /// The reply to the next write is lost, and its connection ends.
    pub(super) robs: bool,
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
    let is_robbed = AtomicBool::new(false);
    // Whatever ends first ends the whole connection.
    tokio::select! {
        _ = until.wait_for(|mode| mode.cut != first) => {}
        _ = requests(from_client, to_server, modes.clone(), &is_robbed) => {}
        _ = replies(from_server, to_client, modes, &is_robbed) => {}
    }
}

/// Passes on what the client sends. If the proxy robs, the reply to the next write is marked.
async fn requests(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut modes: watch::Receiver<Mode>,
    is_robbed: &AtomicBool,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    let mut headers = Headers::default();
    loop {
        let read = read(&mut from, &mut buffer).await?;
        let mode = unheld(&mut modes).await?;
        if headers.has_write(&buffer[..read]) && mode.robs {
            is_robbed.store(true, Ordering::Relaxed);
        }
        to.write_all(&buffer[..read]).await?;
    }
}

/// Passes on what the server sends, up to a marked reply.
async fn replies(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut modes: watch::Receiver<Mode>,
    is_robbed: &AtomicBool,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        let read = read(&mut from, &mut buffer).await?;
        unheld(&mut modes).await?;
        if is_robbed.load(Ordering::Relaxed) {
            return Ok(());
        }
        to.write_all(&buffer[..read]).await?;
    }
}

async fn read(from: &mut OwnedReadHalf, buffer: &mut [u8]) -> io::Result<usize> {
    match from.read(buffer).await? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        read => Ok(read),
    }
}

/// Waits until the proxy lets something pass.
async fn unheld(modes: &mut watch::Receiver<Mode>) -> io::Result<Mode> {
    let mode = modes.wait_for(|mode| !mode.holds).await;
    mode.map(|mode| *mode).map_err(|_| io::ErrorKind::BrokenPipe.into())
}

/// The headers of the frames that a client sends: length, xid and opcode.
#[derive(Default)]
struct Headers {
    /// True once the ConnectRequest has passed, which has no opcode.
    is_connected: bool,
    /// The beginning of a frame.
    header: Vec<u8>,
    /// The bytes until the next frame.
    left: usize,
}

/// The opcodes of writes: create, delete, setData, multi, create2, createContainer and createTTL.
const WRITES: [i32; 7] = [1, 2, 5, 14, 15, 19, 21];

/// The bytes of a header.
const HEADER: usize = 12;

impl Headers {
    /// Reads more of the stream. Returns true if the header of a write ends in it.
    fn has_write(&mut self, mut bytes: &[u8]) -> bool {
        let mut found = false;
        while !bytes.is_empty() {
            let skipped = self.left.min(bytes.len());
            self.left -= skipped;
            bytes = &bytes[skipped..];
            let taken = (HEADER - self.header.len()).min(bytes.len());
            self.header.extend_from_slice(&bytes[..taken]);
            bytes = &bytes[taken..];
            if self.header.len() == HEADER {
                let number = |at: usize| {
                    i32::from_be_bytes(self.header[at..at + 4].try_into().expect("four bytes"))
                };
                let length = usize::try_from(number(0)).unwrap_or(0);
                found |= self.is_connected && WRITES.contains(&number(8));
                self.left = length.saturating_sub(HEADER - 4);
                self.is_connected = true;
                self.header.clear();
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vivarium_model::id::Xid;
    use vivarium_model::op::{CreateMode, Op, Request};
    use vivarium_model::packet::ClientPacket;
    use vivarium_model::wire::handshake::encode_connect;
    use vivarium_model::wire::request::encode_client;
    use vivarium_model::wire::{Opcodes, Password};
    use vivarium_model::zxid::Zxid;

    fn frame(packet: &ClientPacket) -> Vec<u8> {
        let bytes = match packet {
            ClientPacket::Connect { .. } => encode_connect(packet, &Password::default()),
            packet => encode_client(packet, Opcodes::Newest),
        };
        [&i32::try_from(bytes.len()).unwrap().to_be_bytes()[..], &bytes].concat()
    }

    fn request(request: Request) -> Vec<u8> {
        frame(&ClientPacket::Request { xid: Xid(1), request: Arc::new(request) })
    }

    #[test]
    fn a_write_is_known_by_its_header_wherever_reads_cut_the_stream() {
        let connect = ClientPacket::Connect {
            last_zxid_seen: Zxid(1),
            timeout: std::time::Duration::from_millis(1),
            session: None,
            read_only: false,
        };
        let read = request(Request::GetData { path: "/a".into(), watch: false });
        let create = request(Request::Write(Op::create("/a", *b"data", CreateMode::Persistent)));
        let before = [frame(&connect), frame(&ClientPacket::Ping), read.clone()].concat();
        let all = [&before[..], &create, &read].concat();
        for cut in 1..all.len() {
            let mut headers = Headers::default();
            let reads = all.chunks(cut).map(|bytes| headers.has_write(bytes));
            let writes: Vec<usize> =
                reads.enumerate().filter(|(_, found)| *found).map(|(at, _)| at).collect();
            assert_eq!(writes, [(before.len() + HEADER - 1) / cut], "reads of {cut} bytes");
        }
    }

    /// The server gets the write, and the client no reply but the end of its connection. The next connection is robbed of
    /// nothing once the proxy is told to stop.
    #[tokio::test]
    async fn the_reply_to_a_write_is_lost_with_its_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = Proxy::new(listener.local_addr().unwrap()).await.unwrap();
        let connect = frame(&ClientPacket::Connect {
            last_zxid_seen: Zxid(1),
            timeout: std::time::Duration::from_millis(1),
            session: None,
            read_only: false,
        });
        let create = request(Request::Write(Op::create("/a", *b"data", CreateMode::Persistent)));
        for robs in [true, false] {
            proxy.change(|mode| mode.robs = robs);
            let mut client = TcpStream::connect(proxy.address()).await.unwrap();
            let (mut server, _) = listener.accept().await.unwrap();
            for (sent, is_lost) in [(&connect, false), (&create, robs)] {
                client.write_all(sent).await.unwrap();
                let mut seen = vec![0; sent.len()];
                server.read_exact(&mut seen).await.unwrap();
                assert_eq!(&seen, sent);
                server.write_all(b"reply").await.unwrap();
                let mut reply = [0; 5];
                assert_eq!(client.read_exact(&mut reply).await.is_err(), is_lost);
            }
        }
    }
}

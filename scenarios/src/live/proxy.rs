//! A proxy between one client and one server, whose connections a plan cuts or holds, and some of whose replies are lost.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// The most bytes that are read at once.
const BUFFER: usize = 16 * 1024;

/// Decides what a proxy does with bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Mode {
    /// True if nothing passes.
    holds: bool,
    /// Changes with every cut: connections of another number end.
    cut: u64,
}

/// The reply that a client is to lose: shared by its proxies, and lost once.
#[derive(Debug, Default)]
pub struct Loss {
    /// The write whose reply is lost next: 0 for none, otherwise 1 + its index in [`Write::ALL`].
    next: AtomicU8,
    lost: AtomicU64,
}

/// The kinds of writes whose reply is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// Any write.
    Any,
    /// The create of a znode.
    Create,
    /// The deletion of a znode.
    Delete,
}

impl Write {
    const ALL: [Write; 3] = [Write::Any, Write::Create, Write::Delete];

    /// Returns true if a request of this opcode is such a write. In `Any` are setData and multi, too.
    fn includes(self, opcode: i32) -> bool {
        let (is_create, is_delete) = ([1, 15, 19, 21].contains(&opcode), opcode == 2);
        match self {
            Write::Any => is_create || is_delete || [5, 14].contains(&opcode),
            Write::Create => is_create,
            Write::Delete => is_delete,
        }
    }
}

impl Loss {
    /// Makes the client lose the reply to its next write of this kind.
    pub fn lose(&self, write: Write) {
        self.next.store(1 + write as u8, Ordering::Relaxed);
    }

    /// Returns the number of replies that were lost.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Returns true if the reply to a request of this opcode is to be lost, once.
    fn takes(&self, opcode: i32) -> bool {
        let next = self.next.load(Ordering::Relaxed);
        let write = usize::from(next).checked_sub(1).map(|index| Write::ALL[index]);
        let is_it = write.is_some_and(|write| write.includes(opcode));
        let none = |_| {
            self.lost.fetch_add(1, Ordering::Relaxed);
        };
        is_it
            && self
                .next
                .compare_exchange(next, 0, Ordering::Relaxed, Ordering::Relaxed)
                .map(none)
                .is_ok()
    }
}

/// A proxy between clients and one server. Its connections end with it.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    mode: Arc<watch::Sender<Mode>>,
    accepting: tokio::task::JoinHandle<()>,
}

impl Proxy {
    /// Listens on a free port for connections to `server`.
    ///
    /// # Errors
    /// If no port is free.
    pub async fn new(server: SocketAddr, loss: Arc<Loss>) -> io::Result<Proxy> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (mode, modes) = watch::channel(Mode::default());
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(pass(client, server, modes.clone(), Arc::clone(&loss)));
            }
        });
        Ok(Proxy { address, mode: Arc::new(mode), accepting })
    }

    /// Returns the address for the client.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Breaks all connections. Replies that the client has not read are lost.
    pub fn cut(&self) {
        self.change(|mode| mode.cut += 1);
    }

    /// Lets no byte pass until `holds` is false again.
    pub fn hold(&self, holds: bool) {
        self.change(|mode| mode.holds = holds);
    }

    fn change(&self, change: impl FnOnce(&mut Mode)) {
        self.mode.send_modify(change);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
        self.cut();
    }
}

async fn pass(
    client: TcpStream,
    server: SocketAddr,
    modes: watch::Receiver<Mode>,
    loss: Arc<Loss>,
) {
    let first = modes.borrow().cut;
    let Ok(server) = TcpStream::connect(server).await else { return };
    if client.set_nodelay(true).is_err() || server.set_nodelay(true).is_err() {
        return;
    }
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let mut until = modes.clone();
    let is_robbed = AtomicBool::new(false);
    // The first of the three that ends takes the whole connection with it.
    tokio::select! {
        _ = until.wait_for(|mode| mode.cut != first) => {}
        _ = requests(from_client, to_server, modes.clone(), &loss, &is_robbed) => {}
        _ = replies(from_server, to_client, modes, &is_robbed) => {}
    }
}

/// Passes on what the client sends, and marks the reply that is to be lost.
async fn requests(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut modes: watch::Receiver<Mode>,
    loss: &Loss,
    is_robbed: &AtomicBool,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    let mut headers = Headers::default();
    loop {
        let read = read(&mut from, &mut buffer).await?;
        unheld(&mut modes).await?;
        if headers.opcodes(&buffer[..read]).into_iter().any(|opcode| loss.takes(opcode)) {
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
async fn unheld(modes: &mut watch::Receiver<Mode>) -> io::Result<()> {
    let mode = modes.wait_for(|mode| !mode.holds).await;
    mode.map(drop).map_err(|_| io::ErrorKind::BrokenPipe.into())
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

/// The bytes of a header.
const HEADER: usize = 12;

impl Headers {
    /// Reads more of the stream. Returns the opcodes of the requests whose headers end in it.
    fn opcodes(&mut self, mut bytes: &[u8]) -> Vec<i32> {
        let mut found = Vec::new();
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
                if self.is_connected {
                    found.push(number(8));
                }
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
    fn opcodes_are_found_wherever_reads_cut_the_stream() {
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
            let reads = all.chunks(cut).map(|bytes| headers.opcodes(bytes));
            let found: Vec<(usize, i32)> = reads
                .enumerate()
                .flat_map(|(at, opcodes)| opcodes.into_iter().map(move |opcode| (at, opcode)))
                .filter(|(_, opcode)| Write::Create.includes(*opcode))
                .collect();
            assert_eq!(found, [((before.len() + HEADER - 1) / cut, 15)], "reads of {cut} bytes");
        }
    }

    /// The server gets the write, and the client no reply but the end of its connection. It happens once, and not to another
    /// kind of write.
    #[tokio::test]
    async fn the_reply_to_a_write_is_lost_with_its_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let loss = Arc::new(Loss::default());
        let proxy = Proxy::new(listener.local_addr().unwrap(), Arc::clone(&loss)).await.unwrap();
        let connect = frame(&ClientPacket::Connect {
            last_zxid_seen: Zxid(1),
            timeout: std::time::Duration::from_millis(1),
            session: None,
            read_only: false,
        });
        let create = request(Request::Write(Op::create("/a", *b"data", CreateMode::Persistent)));
        for (next, robs) in [
            (Some(Write::Create), true),
            (None, false),
            (Some(Write::Delete), false),
            (Some(Write::Any), true),
        ] {
            next.into_iter().for_each(|write| loss.lose(write));
            let mut client = TcpStream::connect(proxy.address()).await.unwrap();
            let (mut server, _) = listener.accept().await.unwrap();
            for (sent, is_lost) in [(&connect, false), (&create, robs)] {
                client.write_all(sent).await.unwrap();
                let mut seen = vec![0; sent.len()];
                server.read_exact(&mut seen).await.unwrap();
                assert_eq!(&seen, sent);
                server.write_all(b"reply").await.unwrap();
                let mut reply = [0; 5];
                assert_eq!(client.read_exact(&mut reply).await.is_err(), is_lost, "{next:?}");
            }
        }
        assert_eq!(loss.lost(), 2);
    }
}

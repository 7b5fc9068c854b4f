//! A server of one connection at a time whose answers a test decides.

use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Duration;
use vivarium_model::id::SessionId;
use vivarium_model::op::Request;
use vivarium_model::packet::{ClientPacket, ServerPacket};
use vivarium_model::wire::handshake::{decode_connect, encode_connected};
use vivarium_model::wire::reply::encode_server;
use vivarium_model::wire::request::decode_client;
use vivarium_model::wire::{Opcodes, Password};
use vivarium_model::zxid::Zxid;

/// The session that the server issues.
pub(crate) const SESSION: SessionId = SessionId(0x00c0_ffee);
/// Its secret.
pub(crate) const PASSWORD: Password = Password([7; 16]);
/// Its timeout.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(3);

/// A server that accepts connections.
pub(crate) struct Server {
    listener: TcpListener,
}

/// An accepted connection.
pub(crate) struct Accepted {
    stream: TcpStream,
    /// The ConnectRequest and its password.
    pub(crate) connect: (ClientPacket, Password),
}

impl Server {
    /// Listens on a free port.
    pub(crate) async fn new() -> Server {
        Server { listener: TcpListener::bind("127.0.0.1:0").await.unwrap() }
    }

    /// Returns the connect string.
    pub(crate) fn address(&self) -> String {
        self.listener.local_addr().unwrap().to_string()
    }

    /// Accepts the next connection and reads its ConnectRequest.
    pub(crate) async fn accept(&self) -> Accepted {
        let (stream, _) = self.listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        let mut accepted = Accepted { stream, connect: (ClientPacket::Ping, Password::default()) };
        let frame = accepted.frame().await.expect("a ConnectRequest");
        accepted.connect = decode_connect(&frame).unwrap();
        accepted
    }

    /// Accepts the next connection and its session.
    pub(crate) async fn accept_session(&self) -> Accepted {
        let mut accepted = self.accept().await;
        accepted.accept_session().await;
        accepted
    }

    /// Accepts a connection with a command of four letters, and answers it.
    pub(crate) async fn accept_word(&self, answer: &[u8]) -> String {
        let (mut stream, _) = self.listener.accept().await.unwrap();
        let mut word = [0; 4];
        stream.read_exact(&mut word).await.unwrap();
        stream.write_all(answer).await.unwrap();
        String::from_utf8(word.to_vec()).unwrap()
    }
}

impl Accepted {
    /// Accepts the session.
    pub(crate) async fn accept_session(&mut self) {
        let answer =
            ServerPacket::Connected { session: SESSION, timeout: TIMEOUT, read_only: false };
        self.write(&encode_connected(&answer, &PASSWORD)).await;
    }

    /// Reads a frame; `None` at the end of the connection.
    pub(crate) async fn frame(&mut self) -> Option<Vec<u8>> {
        let length = self.stream.read_i32().await.ok()?;
        let mut frame = vec![0; length.try_into().unwrap()];
        self.stream.read_exact(&mut frame).await.ok()?;
        Some(frame)
    }

    /// Reads a packet; `None` at the end of the connection.
    pub(crate) async fn packet(&mut self) -> Option<ClientPacket> {
        let frame = self.frame().await?;
        Some(decode_client(&frame).unwrap().0)
    }

    /// Reads the next request, and answers pings on the way.
    pub(crate) async fn request(&mut self) -> Option<(u32, Arc<Request>)> {
        loop {
            match self.packet().await? {
                ClientPacket::Request { xid, request } => return Some((xid.0, request)),
                ClientPacket::Ping => self.send(&ServerPacket::Pong, None).await,
                other => panic!("{other:?} is no request"),
            }
        }
    }

    /// Writes a packet; `request` is what a reply answers.
    pub(crate) async fn send(&mut self, packet: &ServerPacket, request: Option<&Request>) {
        self.write(&encode_server(packet, Opcodes::Newest, request, Zxid::ZERO)).await;
    }

    /// Writes a frame.
    pub(crate) async fn write(&mut self, frame: &[u8]) {
        let length = i32::try_from(frame.len()).unwrap();
        let _ = self.stream.write_all(&[&length.to_be_bytes(), frame].concat()).await;
    }

    /// Writes bytes as they are. Returns false if the client has closed the connection.
    pub(crate) async fn write_raw(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).await.is_ok()
    }
}

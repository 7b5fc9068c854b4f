//! The connection that a client's machine wants: its frames out, and the packets in.

use super::super::frames;
use super::{After, State};
use vivarium_model::client::{ClientInput, ClientState};
use vivarium_model::error::Error;
use vivarium_model::id::{ServerId, Xid};
use vivarium_model::packet::{ClientPacket, ServerPacket};
use vivarium_model::wire::handshake::{decode_connected, encode_connect};
use vivarium_model::wire::reply::{answered, decode_server};
use vivarium_model::wire::request::encode_client;
use vivarium_model::wire::{Opcodes, Password, WireError};
use vivarium_model::zxid::Zxid;

/// The connection that the machine wants.
#[derive(Default)]
pub(crate) struct Link {
    /// Changes with every connection that is opened or closed.
    pub(crate) generation: u64,
    /// `None` if the machine wants none.
    pub(crate) server: Option<ServerId>,
    /// Frames to write on it.
    pub(crate) out: Vec<u8>,
    /// True if the driver has not seen the last change.
    pub(crate) is_dirty: bool,
}

impl Link {
    pub(super) fn close(&mut self) {
        self.generation += 1;
        self.server = None;
        self.out.clear();
        self.is_dirty = true;
    }
}

impl State {
    pub(super) fn open(&mut self, server: ServerId) {
        let address = &self.settings.servers[server.index()];
        tracing::debug!(%address, "connecting");
        if let Some(metrics) = &self.settings.metrics {
            metrics.attempt(&address.to_string());
        }
        self.failures = self.failures.saturating_add(1);
        self.link.close();
        self.link.server = Some(server);
    }

    pub(super) fn send(&mut self, packet: &ClientPacket) {
        if self.link.server.is_none() {
            return;
        }
        let bytes = match packet {
            ClientPacket::Connect { session, .. } => {
                if session.is_none() {
                    self.password = Password::default();
                }
                encode_connect(packet, &self.password)
            }
            packet => encode_client(packet, Opcodes::Newest),
        };
        frames::write(&bytes, &mut self.link.out);
        self.link.is_dirty = true;
    }

    /// Reads a frame of the server.
    pub(crate) fn read(&mut self, frame: &[u8], after: &mut After) -> Result<(), WireError> {
        let packet = match self.machine.state() {
            ClientState::Connecting(_) => {
                let (packet, password) = decode_connected(frame)?;
                if let ServerPacket::Connected { .. } = packet {
                    self.password = password;
                }
                packet
            }
            _ => {
                let oldest = self.machine.pending().next();
                let xid = answered(frame)?;
                let asked = oldest.filter(|(oldest, _)| Some(*oldest) == xid);
                match (xid, asked) {
                    (Some(xid), None) => unasked(xid),
                    (_, asked) => {
                        let request = asked.map(|(_, request)| &**request);
                        with_known_zxid(decode_server(frame, Opcodes::Newest, request)?)
                    }
                }
            }
        };
        self.input(ClientInput::Packet(packet), after);
        Ok(())
    }

    /// Handles the end of the connection, or of an attempt to connect.
    pub(crate) fn disconnected(&mut self, after: &mut After) {
        self.link.close();
        self.input(ClientInput::Disconnected, after);
    }
}

/// Returns the packet by which the machine learns of a reply to a request that is not the oldest one. Its body cannot be
/// read without the request; `ClientCnxn` gives it the error ConnectionLoss, and ends the connection too.
fn unasked(xid: Xid) -> ServerPacket {
    ServerPacket::Reply { xid, zxid: Zxid::ZERO, result: Err(Error::ConnectionLoss) }
}

/// Replaces a zxid of -1, which stands for none, by 0: notifications of servers before 3.9 carry none, nor do some
/// refusals. `ClientCnxn` ignores every zxid that is not positive.
fn with_known_zxid(packet: ServerPacket) -> ServerPacket {
    let known = |zxid: Zxid| if zxid.0.cast_signed() > 0 { zxid } else { Zxid::ZERO };
    match packet {
        ServerPacket::Reply { xid, zxid, result } => {
            ServerPacket::Reply { xid, zxid: known(zxid), result }
        }
        ServerPacket::WatchesSet { zxid } => ServerPacket::WatchesSet { zxid: known(zxid) },
        ServerPacket::Notification(mut event) => {
            event.zxid = known(event.zxid);
            ServerPacket::Notification(event)
        }
        other => other,
    }
}

//! The first frame of each side: `ConnectRequest` and `ConnectResponse` (rule 2.1).
//!
//! The last field, `readOnly`, was added later: peers before 3.4 leave it out.

use super::Password;
use super::jute::{Reader, WireError, Writer};
use super::record::{read_span, read_zxid, write_span, write_zxid};
use crate::vocabulary::id::SessionId;
use crate::vocabulary::packet::{ClientPacket, ServerPacket};

/// The only version of the protocol.
const PROTOCOL_VERSION: i32 = 0;

/// Encodes a [`ClientPacket::Connect`] with the password of the session to re-attach. For a new session, the password
/// can be anything.
///
/// # Panics
///
/// If the packet is of any other kind.
pub fn encode_connect(packet: &ClientPacket, password: &Password) -> Vec<u8> {
    let ClientPacket::Connect { last_zxid_seen, timeout, session, read_only } = packet else {
        panic!("{packet:?} does not begin a connection");
    };
    let mut writer = Writer::default();
    writer.int(PROTOCOL_VERSION);
    write_zxid(&mut writer, *last_zxid_seen);
    write_span(&mut writer, *timeout);
    write_session(&mut writer, *session);
    writer.buffer(&password.0);
    writer.bool(*read_only);
    writer.finish()
}

/// Decodes the first frame of a client: a [`ClientPacket::Connect`] and its password.
pub fn decode_connect(frame: &[u8]) -> Result<(ClientPacket, Password), WireError> {
    let mut reader = Reader::new(frame);
    read_protocol_version(&mut reader)?;
    let last_zxid_seen = read_zxid(&mut reader)?;
    let timeout = read_span(&mut reader)?;
    let session = read_session(&mut reader)?;
    let password = read_password(&mut reader)?;
    let read_only = read_last_field(reader)?;
    Ok((ClientPacket::Connect { last_zxid_seen, timeout, session, read_only }, password))
}

/// Encodes a [`ServerPacket::Connected`] with the session's password, or a [`ServerPacket::Expired`].
///
/// # Panics
///
/// If the packet is of any other kind.
pub fn encode_connected(packet: &ServerPacket, password: &Password) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.int(PROTOCOL_VERSION);
    match packet {
        ServerPacket::Connected { session, timeout, read_only } => {
            write_span(&mut writer, *timeout);
            write_session(&mut writer, Some(*session));
            writer.buffer(&password.0);
            writer.bool(*read_only);
        }
        ServerPacket::Expired => {
            writer.int(0);
            write_session(&mut writer, None);
            writer.buffer(&Password::default().0);
            writer.bool(false);
        }
        other => panic!("{other:?} does not answer a ConnectRequest"),
    }
    writer.finish()
}

/// Decodes the first frame of a server: [`ServerPacket::Connected`] and the session's password, or
/// [`ServerPacket::Expired`].
pub fn decode_connected(frame: &[u8]) -> Result<(ServerPacket, Password), WireError> {
    let mut reader = Reader::new(frame);
    read_protocol_version(&mut reader)?;
    let timeout = read_span(&mut reader)?;
    let session = read_session(&mut reader)?;
    let password = read_password(&mut reader)?;
    let read_only = read_last_field(reader)?;
    let packet = match session {
        Some(session) if !timeout.is_zero() => {
            ServerPacket::Connected { session, timeout, read_only }
        }
        _ => ServerPacket::Expired,
    };
    Ok((packet, password))
}

fn read_protocol_version(reader: &mut Reader) -> Result<(), WireError> {
    match reader.int()? {
        PROTOCOL_VERSION => Ok(()),
        other => Err(WireError::Unknown { field: "protocol version", number: other.into() }),
    }
}

fn write_session(writer: &mut Writer, session: Option<SessionId>) {
    writer.long(session.map_or(0, |session| session.0.cast_signed()));
}

fn read_session(reader: &mut Reader) -> Result<Option<SessionId>, WireError> {
    let id = reader.long()?.cast_unsigned();
    Ok((id != 0).then_some(SessionId(id)))
}

fn read_password(reader: &mut Reader) -> Result<Password, WireError> {
    let bytes = reader.buffer()?;
    match bytes.try_into() {
        Ok(password) => Ok(Password(password)),
        // Clients without a session may send no password.
        Err(_) if bytes.is_empty() => Ok(Password::default()),
        Err(_) => Err(WireError::Unknown {
            field: "length of a password",
            number: i64::try_from(bytes.len()).unwrap_or(i64::MAX),
        }),
    }
}

fn read_last_field(mut reader: Reader) -> Result<bool, WireError> {
    if reader.is_at_end() {
        return Ok(false);
    }
    let read_only = reader.bool()?;
    reader.finish()?;
    Ok(read_only)
}

//! The frames of a server after the handshake: a header of xid, zxid and error code, then the response if there was
//! no error.
//!
//! The xid in the header identifies the frame: a notification, the answer to a ping, to `addAuth` or to SetWatches,
//! or the reply to the request with that xid. The fields that follow depend on that request, so both directions take
//! it as an argument.

use super::Opcodes;
use super::jute::{Reader, WireError, Writer};
use super::multi::{op_code, read_read_results, read_results, write_read_results, write_results};
use super::opcode;
use super::record::{
    Numbered, error, read_acl, read_data, read_names, read_path, read_stat, read_zxid, write_acl,
    write_data, write_paths, write_stat, write_zxid,
};
use crate::vocabulary::error::Error;
use crate::vocabulary::id::Xid;
use crate::vocabulary::op::{ClientInfo, EventType, Op, OpResult, Request, Response, WatchedEvent};
use crate::vocabulary::packet::ServerPacket;
use crate::vocabulary::stat::Stat;
use crate::vocabulary::zxid::Zxid;

/// `KeeperState.SyncConnected`, which every watch notification carries.
const SYNC_CONNECTED: i32 = 3;

/// The zxid of packets that carry none (-1): notifications before 3.9, and the refusal of an unknown opcode. A client
/// must not treat it as the last zxid that it has seen.
pub const NO_ZXID: Zxid = Zxid(u64::MAX);

/// Returns the xid of the request that a server's frame answers, or `None` if it answers none.
pub fn answered(frame: &[u8]) -> Result<Option<Xid>, WireError> {
    Ok(u32::try_from(Reader::new(frame).int()?).ok().map(Xid))
}

/// Decodes any frame of a server except the first. `request` is the request with the xid from [`answered`], and
/// `opcodes` those it was sent with.
pub fn decode_server(
    frame: &[u8],
    opcodes: Opcodes,
    request: Option<&Request>,
) -> Result<ServerPacket, WireError> {
    let mut reader = Reader::new(frame);
    let (xid, zxid, code) = (reader.int()?, read_zxid(&mut reader)?, reader.int()?);
    let packet = match xid {
        opcode::NOTIFICATION_XID => {
            let kind = EventType::read(&mut reader)?;
            let _state = reader.int()?;
            let path = read_path(&mut reader)?;
            ServerPacket::Notification(WatchedEvent { kind, path, zxid })
        }
        opcode::PING_XID => {
            refuse_error("a ping", code)?;
            ServerPacket::Pong
        }
        opcode::AUTH_XID => {
            let result = if code == 0 { Ok(()) } else { Err(error(code)?) };
            ServerPacket::Authenticated { result }
        }
        opcode::SET_WATCHES_XID => {
            refuse_error("SetWatches", code)?;
            ServerPacket::WatchesSet { zxid }
        }
        _ => {
            let request = request.ok_or(WireError::NotAsked(xid))?;
            let xid = u32::try_from(xid).map(Xid).map_err(|_| WireError::NotAsked(xid))?;
            if code != 0 {
                // Some servers send the fields nevertheless; they are meaningless.
                return Ok(ServerPacket::Reply { xid, zxid, result: Err(error(code)?) });
            }
            let response = read_response(&mut reader, request, opcodes)?;
            ServerPacket::Reply { xid, zxid, result: Ok(response) }
        }
    };
    reader.finish()?;
    Ok(packet)
}

/// Encodes the refusal of an operation that the server does not know, or does not allow.
pub fn encode_refusal(xid: i32, code: i32) -> Vec<u8> {
    let mut writer = Writer::default();
    writer.int(xid);
    write_zxid(&mut writer, NO_ZXID);
    writer.int(code);
    writer.finish()
}

/// Encodes any packet of a server except the first. `request` is the request that a [`ServerPacket::Reply`] answers,
/// and `opcodes` those it was sent with. `last_zxid` goes into the header if the packet has no zxid.
///
/// # Panics
///
/// If the packet answers a ConnectRequest (see [`encode_connected`](super::handshake::encode_connected)), or if a
/// reply does not match the request.
pub fn encode_server(
    packet: &ServerPacket,
    opcodes: Opcodes,
    request: Option<&Request>,
    last_zxid: Zxid,
) -> Vec<u8> {
    let mut writer = Writer::default();
    match packet {
        ServerPacket::Connected { .. } | ServerPacket::Expired => {
            panic!("{packet:?} has no header")
        }
        ServerPacket::Reply { xid, zxid, result } => {
            let code = result.as_ref().map_or_else(|error| error.code(), |_| 0);
            write_header(&mut writer, xid.0.cast_signed(), *zxid, code);
            if let Ok(response) = result {
                let request = request.expect("a reply answers a request");
                write_response(&mut writer, response, request, opcodes);
            }
        }
        ServerPacket::Notification(event) => {
            write_header(&mut writer, opcode::NOTIFICATION_XID, event.zxid, 0);
            event.kind.write(&mut writer);
            writer.int(SYNC_CONNECTED);
            writer.text(&event.path);
        }
        ServerPacket::Pong => write_header(&mut writer, opcode::PING_XID, last_zxid, 0),
        ServerPacket::Authenticated { result } => {
            write_header(
                &mut writer,
                opcode::AUTH_XID,
                Zxid::ZERO,
                result.err().map_or(0, Error::code),
            );
        }
        ServerPacket::WatchesSet { zxid } => {
            write_header(&mut writer, opcode::SET_WATCHES_XID, *zxid, 0);
        }
    }
    writer.finish()
}

fn write_header(writer: &mut Writer, xid: i32, zxid: Zxid, code: i32) {
    writer.int(xid);
    write_zxid(writer, zxid);
    writer.int(code);
}

fn refuse_error(packet: &'static str, code: i32) -> Result<(), WireError> {
    if code == 0 { Ok(()) } else { Err(WireError::Refused { packet, code }) }
}

/// Returns true if the reply to this request contains no Stat.
fn is_plain(request: &Request, opcodes: Opcodes) -> bool {
    match request {
        Request::Write(op) => op_code(op, opcodes) == opcode::CREATE,
        Request::GetChildren { .. } => opcodes == Opcodes::Plain,
        _ => false,
    }
}

fn read_response(
    reader: &mut Reader,
    request: &Request,
    opcodes: Opcodes,
) -> Result<Response, WireError> {
    let plain = is_plain(request, opcodes);
    let stat = |reader: &mut Reader| if plain { Ok(Stat::default()) } else { read_stat(reader) };
    Ok(match request {
        Request::Write(op) => Response::Written(match op {
            Op::Create { .. } => OpResult::Created(read_path(reader)?, stat(reader)?),
            Op::Delete { .. } => OpResult::Deleted,
            Op::SetData { .. } => OpResult::Set(read_stat(reader)?),
            Op::Check { .. } => OpResult::Checked,
        }),
        Request::Multi(ops) => Response::Multi(read_results(reader, ops)?),
        Request::Exists { .. } => Response::Exists(read_stat(reader)?),
        Request::GetData { .. } => Response::Data(read_data(reader)?, read_stat(reader)?),
        Request::GetChildren { .. } => Response::Children(read_names(reader)?, stat(reader)?),
        Request::GetAcl { .. } => Response::Acl(read_acl(reader)?, read_stat(reader)?),
        Request::SetAcl { .. } => Response::AclSet(read_stat(reader)?),
        Request::MultiRead(reads) => Response::MultiRead(read_read_results(reader, reads)?),
        Request::GetAllChildrenNumber { .. } => {
            Response::AllChildrenNumber(reader.int()?.cast_unsigned())
        }
        Request::GetEphemerals { .. } => Response::Ephemerals(read_names(reader)?),
        Request::WhoAmI => Response::WhoAmI(reader.vector(|reader| {
            Ok(ClientInfo { scheme: read_path(reader)?, user: read_path(reader)? })
        })?),
        Request::AddWatch { .. } => {
            // ErrorResponse; its code is always equal to that of the header.
            refuse_error("addWatch", reader.int()?)?;
            Response::Watches
        }
        Request::RemoveWatches { .. } | Request::CheckWatches { .. } => Response::Watches,
        Request::DeleteContainer { .. } => Response::ContainerDeleted,
        Request::Sync { .. } => {
            read_path(reader)?;
            Response::Synced
        }
        Request::CloseSession => Response::Closed,
        Request::Reconfig(_) => Response::Reconfigured(read_data(reader)?, read_stat(reader)?),
    })
}

fn write_response(writer: &mut Writer, response: &Response, request: &Request, opcodes: Opcodes) {
    let plain = is_plain(request, opcodes);
    match (response, request) {
        (Response::Written(OpResult::Created(path, stat)), Request::Write(Op::Create { .. })) => {
            writer.text(path);
            if !plain {
                write_stat(writer, stat);
            }
        }
        (Response::Written(OpResult::Set(stat)), Request::Write(Op::SetData { .. }))
        | (Response::Exists(stat), Request::Exists { .. })
        | (Response::AclSet(stat), Request::SetAcl { .. }) => write_stat(writer, stat),
        (Response::Multi(results), Request::Multi(ops)) => {
            write_results(writer, results, ops, opcodes);
        }
        (Response::Data(data, stat), Request::GetData { .. })
        | (Response::Reconfigured(data, stat), Request::Reconfig(_)) => {
            write_data(writer, data);
            write_stat(writer, stat);
        }
        (Response::Children(names, stat), Request::GetChildren { .. }) => {
            write_paths(writer, names);
            if !plain {
                write_stat(writer, stat);
            }
        }
        (Response::Acl(acl, stat), Request::GetAcl { .. }) => {
            write_acl(writer, acl);
            write_stat(writer, stat);
        }
        (Response::MultiRead(results), Request::MultiRead(_)) => {
            write_read_results(writer, results);
        }
        (Response::AllChildrenNumber(number), Request::GetAllChildrenNumber { .. }) => {
            writer.int(number.cast_signed());
        }
        (Response::Ephemerals(paths), Request::GetEphemerals { .. }) => write_paths(writer, paths),
        (Response::WhoAmI(identities), Request::WhoAmI) => {
            writer.vector(identities.iter(), |writer, identity| {
                writer.text(&identity.scheme);
                writer.text(&identity.user);
            });
        }
        (Response::Watches, Request::AddWatch { .. }) => writer.int(0),
        (Response::Synced, Request::Sync { path }) => writer.text(path),
        (Response::Written(OpResult::Deleted), Request::Write(Op::Delete { .. }))
        | (Response::Written(OpResult::Checked), Request::Write(Op::Check { .. }))
        | (Response::Watches, Request::RemoveWatches { .. } | Request::CheckWatches { .. })
        | (Response::ContainerDeleted, Request::DeleteContainer { .. })
        | (Response::Closed, Request::CloseSession) => {}
        _ => panic!("{response:?} is no answer to {request:?}"),
    }
}

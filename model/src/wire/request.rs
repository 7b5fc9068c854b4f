//! The frames of a client after the handshake: a header of xid and opcode, then the request's fields.

use super::Opcodes;
use super::jute::{Reader, WireError, Writer};
use super::multi::{op_code, read_op, read_ops, read_reads, write_op, write_ops, write_reads};
use super::opcode;
use super::record::{
    Numbered, read_acl, read_data, read_path, read_paths, read_version, read_zxid, write_acl,
    write_data, write_paths, write_version, write_zxid,
};
use crate::vocabulary::id::Xid;
use crate::vocabulary::op::{AddWatchMode, Request, WatcherType};
use crate::vocabulary::packet::ClientPacket;
use crate::vocabulary::reconfiguration::Reconfiguration;
use crate::vocabulary::zxid::Zxid;
use std::sync::Arc;

/// Encodes any packet of a client except the first.
///
/// # Panics
///
/// On [`ClientPacket::Connect`], which needs a password: use [`encode_connect`](super::handshake::encode_connect).
pub fn encode_client(packet: &ClientPacket, opcodes: Opcodes) -> Vec<u8> {
    let mut writer = Writer::default();
    match packet {
        ClientPacket::Connect { .. } => panic!("a ConnectRequest is no request with a header"),
        ClientPacket::Auth { scheme, auth } => {
            write_header(&mut writer, opcode::AUTH_XID, opcode::AUTH);
            // `type` of AuthPacket, which servers ignore.
            writer.int(0);
            writer.text(scheme);
            write_data(&mut writer, auth);
        }
        ClientPacket::Request { xid, request } => {
            write_header(&mut writer, xid.0.cast_signed(), request_code(request, opcodes));
            write_request(&mut writer, request, opcodes);
        }
        ClientPacket::Ping => write_header(&mut writer, opcode::PING_XID, opcode::PING),
        ClientPacket::SetWatches { relative_zxid, data, exist, child, persistent, recursive } => {
            // Like real clients, use the newer packet only if the older one does not suffice.
            let newer = !persistent.is_empty() || !recursive.is_empty();
            let code = if newer { opcode::SET_WATCHES_2 } else { opcode::SET_WATCHES };
            write_header(&mut writer, opcode::SET_WATCHES_XID, code);
            write_zxid(&mut writer, *relative_zxid);
            [data, exist, child].into_iter().for_each(|paths| write_paths(&mut writer, paths));
            if newer {
                [persistent, recursive]
                    .into_iter()
                    .for_each(|paths| write_paths(&mut writer, paths));
            }
        }
    }
    writer.finish()
}

/// Returns the xid and the opcode of a frame whose operation is not known, for its refusal.
pub fn unknown_operation(frame: &[u8], error: &WireError) -> Option<(i32, i32)> {
    let mut reader = Reader::new(frame);
    let header = (reader.int().ok()?, reader.int().ok()?);
    matches!(error, WireError::Unknown { field: "opcode", .. }).then_some(header)
}

/// Decodes any frame of a client except the first. The reply must use the returned opcodes.
pub fn decode_client(frame: &[u8]) -> Result<(ClientPacket, Opcodes), WireError> {
    let mut reader = Reader::new(frame);
    let (xid, code) = (reader.int()?, reader.int()?);
    let mut opcodes = Opcodes::Newest;
    let packet = match code {
        opcode::PING => ClientPacket::Ping,
        opcode::AUTH => {
            let _type = reader.int()?;
            ClientPacket::Auth { scheme: read_path(&mut reader)?, auth: read_data(&mut reader)? }
        }
        opcode::SET_WATCHES | opcode::SET_WATCHES_2 => {
            read_set_watches(&mut reader, code == opcode::SET_WATCHES_2)?
        }
        _ => {
            let xid = u32::try_from(xid)
                .map(Xid)
                .map_err(|_| WireError::Unknown { field: "xid", number: xid.into() })?;
            let (request, used) = read_request(&mut reader, code)?;
            opcodes = used;
            ClientPacket::Request { xid, request: Arc::new(request) }
        }
    };
    reader.finish()?;
    Ok((packet, opcodes))
}

fn read_set_watches(reader: &mut Reader, newer: bool) -> Result<ClientPacket, WireError> {
    Ok(ClientPacket::SetWatches {
        relative_zxid: read_zxid(reader)?,
        data: read_paths(reader)?,
        exist: read_paths(reader)?,
        child: read_paths(reader)?,
        persistent: if newer { read_paths(reader)? } else { Vec::new() },
        recursive: if newer { read_paths(reader)? } else { Vec::new() },
    })
}

fn write_header(writer: &mut Writer, xid: i32, code: i32) {
    writer.int(xid);
    writer.int(code);
}

/// Returns the opcode of a request.
fn request_code(request: &Request, opcodes: Opcodes) -> i32 {
    match request {
        Request::Write(op) => op_code(op, opcodes),
        Request::Multi(_) => opcode::MULTI,
        Request::Exists { .. } => opcode::EXISTS,
        Request::GetData { .. } => opcode::GET_DATA,
        Request::GetChildren { .. } => match opcodes {
            Opcodes::Newest => opcode::GET_CHILDREN_2,
            Opcodes::Plain => opcode::GET_CHILDREN,
        },
        Request::GetAcl { .. } => opcode::GET_ACL,
        Request::SetAcl { .. } => opcode::SET_ACL,
        Request::MultiRead(_) => opcode::MULTI_READ,
        Request::GetAllChildrenNumber { .. } => opcode::GET_ALL_CHILDREN_NUMBER,
        Request::GetEphemerals { .. } => opcode::GET_EPHEMERALS,
        Request::WhoAmI => opcode::WHO_AM_I,
        Request::AddWatch { .. } => opcode::ADD_WATCH,
        Request::RemoveWatches { .. } => opcode::REMOVE_WATCHES,
        Request::CheckWatches { .. } => opcode::CHECK_WATCHES,
        Request::DeleteContainer { .. } => opcode::DELETE_CONTAINER,
        Request::Sync { .. } => opcode::SYNC,
        Request::CloseSession => opcode::CLOSE_SESSION,
        Request::Reconfig(_) => opcode::RECONFIG,
    }
}

fn write_request(writer: &mut Writer, request: &Request, opcodes: Opcodes) {
    match request {
        Request::Write(op) => write_op(writer, op),
        Request::Multi(ops) => write_ops(writer, ops, opcodes),
        Request::Exists { path, watch }
        | Request::GetData { path, watch }
        | Request::GetChildren { path, watch } => {
            writer.text(path);
            writer.bool(*watch);
        }
        Request::SetAcl { path, acl, version } => {
            writer.text(path);
            write_acl(writer, acl);
            write_version(writer, *version);
        }
        Request::MultiRead(reads) => write_reads(writer, reads),
        Request::GetAcl { path }
        | Request::GetAllChildrenNumber { path }
        | Request::GetEphemerals { prefix: path }
        | Request::Sync { path } => writer.text(path),
        Request::AddWatch { path, mode } => {
            writer.text(path);
            mode.write(writer);
        }
        Request::RemoveWatches { path, kind } | Request::CheckWatches { path, kind } => {
            writer.text(path);
            kind.write(writer);
        }
        // DeleteContainerRequest has no record of its own: its content is the path as bare bytes.
        Request::DeleteContainer { path } => writer.bytes(path.as_bytes()),
        Request::Reconfig(Reconfiguration { joining, leaving, members, version }) => {
            [joining, leaving, members]
                .into_iter()
                .for_each(|text| writer.text_or_null(text.as_deref()));
            writer.long(version.map_or(-1, |version| version.0.cast_signed()));
        }
        Request::WhoAmI | Request::CloseSession => {}
    }
}

fn read_request(reader: &mut Reader, code: i32) -> Result<(Request, Opcodes), WireError> {
    if let Some(op) = read_op(reader, code)? {
        return Ok((Request::Write(op), plain_if(code == opcode::CREATE)));
    }
    let request = match code {
        opcode::MULTI => {
            let (ops, opcodes) = read_ops(reader)?;
            return Ok((Request::Multi(ops), opcodes));
        }
        opcode::EXISTS => Request::Exists { path: read_path(reader)?, watch: reader.bool()? },
        opcode::GET_DATA => Request::GetData { path: read_path(reader)?, watch: reader.bool()? },
        opcode::GET_CHILDREN | opcode::GET_CHILDREN_2 => {
            Request::GetChildren { path: read_path(reader)?, watch: reader.bool()? }
        }
        opcode::GET_ACL => Request::GetAcl { path: read_path(reader)? },
        opcode::SET_ACL => Request::SetAcl {
            path: read_path(reader)?,
            acl: read_acl(reader)?,
            version: read_version(reader)?,
        },
        opcode::MULTI_READ => Request::MultiRead(read_reads(reader)?),
        opcode::GET_ALL_CHILDREN_NUMBER => {
            Request::GetAllChildrenNumber { path: read_path(reader)? }
        }
        opcode::GET_EPHEMERALS => Request::GetEphemerals { prefix: read_path(reader)? },
        opcode::WHO_AM_I => Request::WhoAmI,
        opcode::ADD_WATCH => {
            Request::AddWatch { path: read_path(reader)?, mode: AddWatchMode::read(reader)? }
        }
        opcode::REMOVE_WATCHES => {
            Request::RemoveWatches { path: read_path(reader)?, kind: WatcherType::read(reader)? }
        }
        opcode::CHECK_WATCHES => {
            Request::CheckWatches { path: read_path(reader)?, kind: WatcherType::read(reader)? }
        }
        opcode::DELETE_CONTAINER => {
            Request::DeleteContainer { path: reader.rest_as_text()?.into() }
        }
        opcode::SYNC => Request::Sync { path: read_path(reader)? },
        opcode::CLOSE_SESSION => Request::CloseSession,
        opcode::RECONFIG => Request::Reconfig(read_reconfiguration(reader)?),
        _ => return Err(WireError::Unknown { field: "opcode", number: code.into() }),
    };
    Ok((request, plain_if(code == opcode::GET_CHILDREN)))
}

fn read_reconfiguration(reader: &mut Reader) -> Result<Reconfiguration, WireError> {
    Ok(Reconfiguration {
        joining: reader.text_or_null()?.map(Arc::from),
        leaving: reader.text_or_null()?.map(Arc::from),
        members: reader.text_or_null()?.map(Arc::from),
        version: Some(reader.long()?)
            .filter(|version| *version != -1)
            .map(|version| Zxid(version.cast_unsigned())),
    })
}

fn plain_if(plain: bool) -> Opcodes {
    if plain { Opcodes::Plain } else { Opcodes::Newest }
}

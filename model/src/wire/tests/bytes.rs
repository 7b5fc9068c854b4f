//! A few frames byte by byte, which detect an error common to both directions, and invalid frames.

use crate::vocabulary::error::Error;
use crate::vocabulary::id::{SessionId, Xid};
use crate::vocabulary::op::{
    CreateMode, EventType, Op, OpResult, Request, Response, Version, WatchedEvent,
};
use crate::vocabulary::packet::{ClientPacket, ServerPacket};
use crate::vocabulary::stat::Stat;
use crate::vocabulary::time::Duration;
use crate::vocabulary::zxid::Zxid;
use crate::wire::handshake::{decode_connected, encode_connect};
use crate::wire::reply::{NO_ZXID, decode_server};
use crate::wire::request::{decode_client, encode_client};
use crate::wire::{Opcodes, Password, WireError};
use std::sync::Arc;

/// Parses hexadecimal digits with spaces between the fields.
fn bytes(hex: &str) -> Vec<u8> {
    let digits: String = hex.split_whitespace().collect();
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal digits"))
        .collect()
}

fn asked(request: Request) -> ClientPacket {
    ClientPacket::Request { xid: Xid(5), request: Arc::new(request) }
}

#[test]
fn a_connect_request() {
    let packet = ClientPacket::Connect {
        last_zxid_seen: Zxid(0x1_0000_0002),
        timeout: Duration::from_millis(4000),
        session: Some(SessionId(0x0100_0000_0000_0007)),
        read_only: true,
    };
    assert_eq!(
        encode_connect(&packet, &Password([9; 16])),
        bytes(
            "00000000 0000000100000002 00000fa0 0100000000000007
             00000010 09090909090909090909090909090909 01"
        )
    );
}

#[test]
fn connect_responses_with_and_without_the_last_field() {
    let new = "00000000 00000fa0 0100000000000007 00000010 09090909090909090909090909090909 00";
    let session = SessionId(0x0100_0000_0000_0007);
    let timeout = Duration::from_millis(4000);
    let packet = ServerPacket::Connected { session, timeout, read_only: false };
    let frame = bytes(new);
    assert_eq!(decode_connected(&frame), Ok((packet.clone(), Password([9; 16]))));
    let older = &frame[..frame.len() - 1];
    assert_eq!(decode_connected(older), Ok((packet, Password([9; 16]))));
    let over = "00000000 00000000 0000000000000000 00000010 00000000000000000000000000000000 00";
    let (packet, _) = decode_connected(&bytes(over)).expect("a frame");
    assert_eq!(packet, ServerPacket::Expired);
}

#[test]
fn a_create_by_either_opcode() {
    let packet = asked(Request::Write(Op::create("/a", *b"x", CreateMode::EphemeralSequential)));
    let fields = "00000002 2f61 00000001 78
        00000001 0000001f 00000005 776f726c64 00000006 616e796f6e65 00000003";
    let frame = |opcode: &str| bytes(&format!("00000005 {opcode} {fields}"));
    assert_eq!(encode_client(&packet, Opcodes::Newest), frame("0000000f"));
    assert_eq!(encode_client(&packet, Opcodes::Plain), frame("00000001"));
}

#[test]
fn a_multi_and_its_failure() {
    let check = Op::Check { path: "/a".into(), version: Version::Is(2) };
    let delete = Op::Delete { path: "/b".into(), version: Version::Any };
    let request = Request::Multi(vec![check, delete]);
    assert_eq!(
        encode_client(&asked(request.clone()), Opcodes::Newest),
        bytes(
            "00000005 0000000e
             0000000d 00 ffffffff 00000002 2f61 00000002
             00000002 00 ffffffff 00000002 2f62 ffffffff
             ffffffff 01 ffffffff"
        )
    );
    let reply = bytes(
        "00000005 0000000000000003 00000000
         ffffffff 00 00000000 00000000
         ffffffff 00 ffffff9b ffffff9b
         ffffffff 01 ffffffff",
    );
    let results = vec![OpResult::Failed(None), OpResult::Failed(Some(Error::NoNode))];
    assert_eq!(
        decode_server(&reply, Opcodes::Newest, Some(&request)),
        Ok(ServerPacket::Reply {
            xid: Xid(5),
            zxid: Zxid(3),
            result: Ok(Response::Multi(results))
        })
    );
}

#[test]
fn a_create_in_a_multi_answered_without_a_stat() {
    let request = Request::Multi(vec![Op::create("/a", [], CreateMode::Persistent)]);
    let reply = bytes(
        "00000005 0000000000000003 00000000
         00000001 00 00000000 00000002 2f61
         ffffffff 01 ffffffff",
    );
    let result = Ok(Response::Multi(vec![OpResult::Created("/a".into(), Stat::default())]));
    assert_eq!(
        decode_server(&reply, Opcodes::Newest, Some(&request)),
        Ok(ServerPacket::Reply { xid: Xid(5), zxid: Zxid(3), result })
    );
}

#[test]
fn a_notification_of_a_server_that_tells_no_zxid() {
    let frame = bytes("ffffffff ffffffffffffffff 00000000 00000003 00000003 00000002 2f61");
    let event = WatchedEvent { kind: EventType::NodeDataChanged, path: "/a".into(), zxid: NO_ZXID };
    assert_eq!(decode_server(&frame, Opcodes::Newest, None), Ok(ServerPacket::Notification(event)));
}

#[test]
fn invalid_replies_are_refused() {
    let sync = Request::Sync { path: "/".into() };
    let decode = |frame: &str, request| decode_server(&bytes(frame), Opcodes::Newest, request);
    let unknown = decode("00000005 0000000000000003 fffffc19", Some(&sync));
    assert_eq!(unknown, Err(WireError::Unknown { field: "error code", number: -999 }));
    let nobody = decode("00000005 0000000000000003 00000000", None);
    assert_eq!(nobody, Err(WireError::NotAsked(5)));
    let strange = decode("fffffff0 0000000000000003 00000000", Some(&sync));
    assert_eq!(strange, Err(WireError::NotAsked(-16)));
    let longer = decode("00000005 0000000000000003 00000000 00000001 2f 00", Some(&sync));
    assert_eq!(longer, Err(WireError::LeftOver(1)));
    let refused = decode("fffffff8 0000000000000003 fffffffb", None);
    assert_eq!(refused, Err(WireError::Refused { packet: "SetWatches", code: -5 }));
    let fewer = Request::Multi(vec![Op::Check { path: "/".into(), version: Version::Any }]);
    let none = decode("00000005 0000000000000003 00000000 ffffffff 01 ffffffff", Some(&fewer));
    assert_eq!(none, Err(WireError::WrongResults));
}

#[test]
fn invalid_requests_are_refused() {
    let unknown = decode_client(&bytes("00000005 000003e7"));
    assert_eq!(unknown, Err(WireError::Unknown { field: "opcode", number: 999 }));
    let mode = decode_client(&bytes("00000005 0000006a 00000001 2f 00000009"));
    assert_eq!(mode, Err(WireError::Unknown { field: "mode of addWatch", number: 9 }));
}

//! Decoding an encoded packet returns the packet.

use super::generate::{client_packet, connect, connected, exchange, request, unasked};
use crate::vocabulary::op::{Op, Request};
use crate::vocabulary::packet::{ClientPacket, ServerPacket};
use crate::vocabulary::zxid::Zxid;
use crate::wire::handshake::{decode_connect, decode_connected, encode_connect, encode_connected};
use crate::wire::reply::{answered, decode_server, encode_server};
use crate::wire::request::{decode_client, encode_client};
use crate::wire::{Opcodes, Password};
use proptest::prelude::*;

/// Returns true if the packet contains an operation that has an older opcode.
fn can_be_plain(packet: &ClientPacket) -> bool {
    let plain = |op: &Op| {
        matches!(op, Op::Create { mode, .. } if mode.ttl().is_none()
        && *mode != crate::vocabulary::op::CreateMode::Container)
    };
    match packet {
        ClientPacket::Request { request, .. } => match &**request {
            Request::Write(op) => plain(op),
            Request::Multi(ops) => ops.iter().any(plain),
            Request::GetChildren { .. } => true,
            _ => false,
        },
        _ => false,
    }
}

proptest! {
    #[test]
    fn of_a_client(packet in client_packet()) {
        let newest = encode_client(&packet, Opcodes::Newest);
        prop_assert_eq!(decode_client(&newest), Ok((packet.clone(), Opcodes::Newest)));
        let plain = encode_client(&packet, Opcodes::Plain);
        let used = if can_be_plain(&packet) { Opcodes::Plain } else { Opcodes::Newest };
        prop_assert_eq!(decode_client(&plain), Ok((packet, used)));
    }

    #[test]
    fn of_the_handshake(ask in connect(), answer in connected(), bytes: [u8; 16]) {
        let password = Password(bytes);
        prop_assert_eq!(decode_connect(&encode_connect(&ask, &password)), Ok((ask, password)));
        let told = if answer == ServerPacket::Expired { Password::default() } else { password };
        prop_assert_eq!(
            decode_connected(&encode_connected(&answer, &password)),
            Ok((answer, told))
        );
    }

    #[test]
    fn of_a_server_that_was_asked((request, opcodes, packet) in exchange()) {
        let frame = encode_server(&packet, opcodes, Some(&request), Zxid::ZERO);
        let ServerPacket::Reply { xid, .. } = packet else { unreachable!("all are replies") };
        prop_assert_eq!(answered(&frame), Ok(Some(xid)));
        prop_assert_eq!(decode_server(&frame, opcodes, Some(&request)), Ok(packet));
    }

    #[test]
    fn of_a_server_that_was_not_asked(packet in unasked()) {
        let frame = encode_server(&packet, Opcodes::Newest, None, Zxid(7));
        prop_assert_eq!(answered(&frame), Ok(None));
        prop_assert_eq!(decode_server(&frame, Opcodes::Newest, None), Ok(packet));
    }

    /// Every decoder refuses a truncated frame, unless only the optional last field of a record is missing.
    #[test]
    fn cut_off_frames_are_refused(
        packet in client_packet(),
        (request, opcodes, reply) in exchange(),
        cut: prop::sample::Index,
    ) {
        let frame = encode_client(&packet, Opcodes::Newest);
        let bare_path = matches!(&packet, ClientPacket::Request { request, .. }
            if matches!(**request, Request::DeleteContainer { .. }));
        if !bare_path {
            prop_assert!(decode_client(&frame[..cut.index(frame.len())]).is_err());
        }
        let frame = encode_server(&reply, opcodes, Some(&request), Zxid::ZERO);
        prop_assert!(
            decode_server(&frame[..cut.index(frame.len())], opcodes, Some(&request)).is_err()
        );
    }

    /// Arbitrary bytes are refused or decoded, but never cause a panic or a large allocation.
    #[test]
    fn noise_does_no_harm(noise: Vec<u8>, asked in request(), opcode in -12..110_i32) {
        let mut frame = 1_i32.to_be_bytes().to_vec();
        frame.extend(opcode.to_be_bytes());
        frame.extend(&noise);
        let _ = decode_client(&frame);
        let mut frame = vec![0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0];
        frame.extend(&noise);
        let _ = decode_server(&frame, Opcodes::Newest, Some(&asked));
        let _ = decode_connect(&noise);
        let _ = decode_connected(&noise);
    }
}

//! The text of what was read from a connection.

use super::Delivered;
use crate::vocabulary::op::Request;
use crate::vocabulary::packet::ServerPacket;
use std::fmt::{self, Display};

impl<T: Display> Display for Delivered<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Delivered::Packet(packet) => packet.fmt(f),
            Delivered::End { accepted: true } => f.write_str("end of the connection"),
            Delivered::End { accepted: false } => f.write_str("connection refused"),
        }
    }
}

/// Formats a server's packet; a reply is followed by the request that it answers.
pub(crate) fn reply_to(delivered: &Delivered<ServerPacket>, request: Option<&Request>) -> String {
    match (delivered, request) {
        (Delivered::Packet(reply @ ServerPacket::Reply { .. }), Some(request)) => {
            format!("{reply}, to {request}")
        }
        _ => delivered.to_string(),
    }
}

//! The text of packets, requests, replies and events: one line each, in ZooKeeper's terms.
//!
//! Packets have their names in capitals, as in ZooKeeper's sources; a zxid is `epoch:counter`, a session is
//! hexadecimal. Long lists are cut and end with the count of the rest; long data is replaced by its length. Timelines
//! and determinism reports show these texts to people; no program parses them.

mod effect;
mod event;
mod note;
mod op;
mod packet;

pub use super::phrase::{list, panic_message, plural};

use std::fmt::{self, Display};

/// Longer data is represented by its length.
const DATA_ROOM: usize = 24;

/// Returns a znode's or message's content: short printable text in quotes, anything else by its length.
pub(crate) fn data(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) if bytes.len() <= DATA_ROOM && !text.chars().any(char::is_control) => {
            format!("\"{text}\"")
        }
        _ => plural(bytes.len(), "byte"),
    }
}

/// Returns a successful answer, or the name of the error.
pub(crate) struct Answer<'a, T>(pub(crate) &'a Result<T, crate::vocabulary::error::Error>);

impl<T: Display> Display for Answer<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Ok(response) => response.fmt(f),
            Err(error) => write!(f, "{error:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_quoted_only_where_it_is_short_text() {
        assert_eq!(data(b"seven"), "\"seven\"");
        assert_eq!(data(b""), "\"\"");
        assert_eq!(data(&[0xff]), "1 byte");
        assert_eq!(data(b"two\nlines"), "9 bytes");
        assert_eq!(data(&[b'x'; 100]), "100 bytes");
    }
}

//! The content of a znode.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// The content of a znode: bytes, or `null`, which clients tell from an empty content and servers do not.
///
/// It reads as a slice; `null` reads as an empty one.
#[derive(Clone)]
pub struct Data {
    /// `None` is `null`.
    bytes: Option<Arc<[u8]>>,
}

impl Data {
    /// No content at all, as a client sends it for a `null`.
    pub const NULL: Data = Data { bytes: None };

    /// Returns true for `null`.
    pub fn is_null(&self) -> bool {
        self.bytes.is_none()
    }
}

/// Returns empty content, not `null`.
impl Default for Data {
    fn default() -> Data {
        Data::from([])
    }
}

impl Deref for Data {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.bytes.as_deref().unwrap_or_default()
    }
}

impl AsRef<[u8]> for Data {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl<T: Into<Arc<[u8]>>> From<T> for Data {
    fn from(bytes: T) -> Data {
        Data { bytes: Some(bytes.into()) }
    }
}

/// `null` is not equal to empty content.
impl PartialEq for Data {
    fn eq(&self, other: &Data) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for Data {}

impl PartialOrd for Data {
    fn partial_cmp(&self, other: &Data) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Data {
    fn cmp(&self, other: &Data) -> std::cmp::Ordering {
        self.bytes.cmp(&other.bytes)
    }
}

/// Content is hashed as its bytes, so the hashes of recorded runs stay valid; `null` has a mark besides.
impl Hash for Data {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (**self).hash(state);
        if self.is_null() {
            0xff_u8.hash(state);
        }
    }
}

impl fmt::Debug for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.bytes {
            Some(bytes) => bytes.fmt(f),
            None => f.write_str("null"),
        }
    }
}

/// Written as a list of bytes, or as nothing.
impl Serialize for Data {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.bytes {
            Some(bytes) => bytes.serialize(serializer),
            None => serializer.serialize_unit(),
        }
    }
}

impl<'de> Deserialize<'de> for Data {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Data, D::Error> {
        Ok(Data { bytes: Option::deserialize(deserializer)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vocabulary::fingerprint::Fingerprint;

    #[test]
    fn null_reads_as_empty_and_is_not_equal_to_it() {
        let (null, empty, some) = (Data::NULL, Data::from([]), Data::from(*b"ab"));
        assert!(null.is_null() && null.is_empty() && !empty.is_null());
        assert!(null != empty && empty != some && empty == Data::default());
        assert_eq!((&*null, &*some), (&b""[..], &b"ab"[..]));
        assert_eq!(format!("{null:?} {some:?}"), "null [97, 98]");
    }

    /// Recorded runs keep their hashes, and their files.
    #[test]
    fn content_is_hashed_and_written_as_bytes() {
        let bytes: Arc<[u8]> = Arc::from(*b"ab");
        let some = Data::from(Arc::clone(&bytes));
        assert_eq!(Fingerprint::of(&some), Fingerprint::of(&bytes));
        assert_ne!(Fingerprint::of(&Data::NULL), Fingerprint::of(&Data::from([])));
        let all = [some, Data::from([]), Data::NULL];
        let written = serde_json::to_string(&all).expect("bytes can be written");
        assert_eq!(written, "[[97,98],[],null]");
        assert_eq!(serde_json::from_str::<[Data; 3]>(&written).expect("and read"), all);
    }
}

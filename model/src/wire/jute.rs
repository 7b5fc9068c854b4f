//! Jute, ZooKeeper's serialisation: big-endian numbers, and a length before each value of variable size.
//!
//! A buffer, text or vector of length -1 is Java's `null`. This crate does not distinguish `null` from empty, so a
//! reader returns an empty value, except where `null` makes no sense in ZooKeeper (a path).
//!
//! Text is UTF-8, but ZooKeeper's own writer splits a supplementary character into two surrogates of three bytes each
//! (CESU-8), which its own reader rejects. So [`Writer`] writes UTF-8, which every reader accepts, and [`Reader`]
//! accepts both.

use thiserror::Error;

/// Why bytes are not a valid packet.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[allow(missing_docs, reason = "fields whose names say it all")]
pub enum WireError {
    /// The frame ends inside a field.
    #[error("the frame ends {missing} bytes too early, inside a {field}")]
    TooShort {
        /// The field that was being read.
        field: &'static str,
        /// Number of missing bytes.
        missing: usize,
    },
    /// The frame is longer than the packet.
    #[error("{0} bytes remain after the packet")]
    LeftOver(usize),
    /// A length below -1.
    #[error("{length} is not a valid length of a {field}")]
    BadLength {
        /// The field that was being read.
        field: &'static str,
        length: i32,
    },
    /// `null` where a value is required.
    #[error("a required text is null")]
    Null,
    /// Text that is neither UTF-8 nor CESU-8.
    #[error("a text is not UTF-8: {0:?}")]
    BadText(Vec<u8>),
    /// A number without a meaning.
    #[error("{number} is not a valid {field}")]
    Unknown {
        /// The meaning that was expected.
        field: &'static str,
        number: i64,
    },
    /// A reply to a request that was not sent.
    #[error("a reply with xid {0}, for which no request waits")]
    NotAsked(i32),
    /// A reply carries an error although its kind cannot.
    #[error("the answer to {packet} carries the error code {code}")]
    Refused {
        /// The packet that was answered.
        packet: &'static str,
        code: i32,
    },
    /// The results do not match the operations of the request.
    #[error("the results of a multi are not those of its operations")]
    WrongResults,
}

/// Writes a packet's bytes.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// Returns the bytes written.
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }

    /// Writes an `int`.
    pub fn int(&mut self, value: i32) {
        self.bytes.extend(value.to_be_bytes());
    }

    /// Writes a `long`.
    pub fn long(&mut self, value: i64) {
        self.bytes.extend(value.to_be_bytes());
    }

    /// Writes a `boolean`.
    pub fn bool(&mut self, value: bool) {
        self.bytes.push(u8::from(value));
    }

    /// Writes a `buffer`.
    pub fn buffer(&mut self, value: &[u8]) {
        self.length(value.len());
        self.bytes.extend(value);
    }

    /// Writes `null` in place of a `buffer`.
    pub fn null(&mut self) {
        self.int(-1);
    }

    /// Writes bytes without a length, up to the end of the frame.
    pub fn bytes(&mut self, value: &[u8]) {
        self.bytes.extend(value);
    }

    /// Writes a `ustring`.
    pub fn text(&mut self, value: &str) {
        self.buffer(value.as_bytes());
    }

    /// Writes a `ustring` that may be `null`.
    pub fn text_or_null(&mut self, value: Option<&str>) {
        match value {
            Some(value) => self.text(value),
            None => self.int(-1),
        }
    }

    /// Writes a `vector`, each element with `element`.
    pub fn vector<T>(
        &mut self,
        values: impl ExactSizeIterator<Item = T>,
        mut element: impl FnMut(&mut Writer, T),
    ) {
        self.length(values.len());
        values.for_each(|value| element(self, value));
    }

    fn length(&mut self, length: usize) {
        self.int(i32::try_from(length).expect("a packet holds less than two gigabytes"));
    }
}

/// Reads a packet's bytes.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Returns a reader of these bytes.
    pub fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { rest: bytes }
    }

    /// Checks that no bytes are left.
    pub fn finish(self) -> Result<(), WireError> {
        match self.rest.len() {
            0 => Ok(()),
            more => Err(WireError::LeftOver(more)),
        }
    }

    /// Returns true if no bytes are left.
    pub fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// Reads an `int`.
    pub fn int(&mut self) -> Result<i32, WireError> {
        self.array("number").map(i32::from_be_bytes)
    }

    /// Reads a `long`.
    pub fn long(&mut self) -> Result<i64, WireError> {
        self.array("number").map(i64::from_be_bytes)
    }

    /// Reads a `boolean`; as in Java, every byte except 0 is true.
    pub fn bool(&mut self) -> Result<bool, WireError> {
        self.array("boolean").map(|[byte]| byte != 0)
    }

    /// Reads one byte.
    pub fn byte(&mut self) -> Result<u8, WireError> {
        self.array("byte").map(|[byte]| byte)
    }

    /// Reads a `buffer`; `null` becomes empty.
    pub fn buffer(&mut self) -> Result<&'a [u8], WireError> {
        Ok(self.buffer_or_null()?.unwrap_or_default())
    }

    /// Reads a `buffer`; `None` is `null`.
    pub fn buffer_or_null(&mut self) -> Result<Option<&'a [u8]>, WireError> {
        match self.length("buffer")? {
            None => Ok(None),
            Some(length) => self.take(length, "buffer").map(Some),
        }
    }

    /// Reads a `ustring`; `null` is an error.
    pub fn text(&mut self) -> Result<String, WireError> {
        let length = self.length("text")?.ok_or(WireError::Null)?;
        text(self.take(length, "text")?)
    }

    /// Reads a `ustring` that may be `null`.
    pub fn text_or_null(&mut self) -> Result<Option<String>, WireError> {
        match self.text() {
            Err(WireError::Null) => Ok(None),
            read => read.map(Some),
        }
    }

    /// Reads a `ustring`; `null` becomes empty.
    pub fn text_or_empty(&mut self) -> Result<String, WireError> {
        match self.text() {
            Err(WireError::Null) => Ok(String::new()),
            read => read,
        }
    }

    /// Reads text without a length, up to the end of the frame.
    pub fn rest_as_text(&mut self) -> Result<String, WireError> {
        text(std::mem::take(&mut self.rest))
    }

    /// Reads a `vector`, each element with `element`; `null` becomes empty.
    pub fn vector<T>(
        &mut self,
        mut element: impl FnMut(&mut Reader<'a>) -> Result<T, WireError>,
    ) -> Result<Vec<T>, WireError> {
        let length = self.length("vector")?.unwrap_or(0);
        // No capacity is reserved, so a wrong length cannot allocate memory before its elements arrive.
        let mut values = Vec::new();
        for _ in 0..length {
            values.push(element(self)?);
        }
        Ok(values)
    }

    fn length(&mut self, field: &'static str) -> Result<Option<usize>, WireError> {
        match self.int()? {
            -1 => Ok(None),
            length => match usize::try_from(length) {
                Ok(length) => Ok(Some(length)),
                Err(_) => Err(WireError::BadLength { field, length }),
            },
        }
    }

    fn take(&mut self, length: usize, field: &'static str) -> Result<&'a [u8], WireError> {
        let Some((taken, rest)) = self.rest.split_at_checked(length) else {
            return Err(WireError::TooShort { field, missing: length - self.rest.len() });
        };
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], WireError> {
        Ok(self.take(N, field)?.try_into().expect("just so many were taken"))
    }
}

fn text(bytes: &[u8]) -> Result<String, WireError> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => from_cesu8(bytes).ok_or_else(|| WireError::BadText(bytes.to_vec())),
    }
}

/// Decodes text in which supplementary characters are pairs of surrogates of three bytes each.
fn from_cesu8(bytes: &[u8]) -> Option<String> {
    let mut units = Vec::new();
    let mut rest = bytes;
    while let [first, tail @ ..] = rest {
        // A surrogate begins with 0xed and a second byte above 0x9f; everything else is UTF-8.
        let length = match first {
            0x00..=0x7f => 1,
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            _ => return None,
        };
        if let (0xed, [second @ 0xa0..=0xbf, third @ 0x80..=0xbf, ..]) = (*first, tail) {
            units.push(0xd000 | u16::from(second & 0x3f) << 6 | u16::from(third & 0x3f));
        } else {
            units.extend(std::str::from_utf8(rest.get(..length)?).ok()?.encode_utf16());
        }
        rest = &rest[length..];
    }
    String::from_utf16(&units).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Writer)) -> Vec<u8> {
        let mut writer = Writer::default();
        write(&mut writer);
        writer.finish()
    }

    #[test]
    fn numbers_are_big_endian() {
        assert_eq!(written(|w| w.int(0x0102_0304)), [1, 2, 3, 4]);
        assert_eq!(written(|w| w.int(-2)), [0xff, 0xff, 0xff, 0xfe]);
        assert_eq!(written(|w| w.long(1 << 40)), [0, 0, 1, 0, 0, 0, 0, 0]);
        assert_eq!(written(|w| w.bool(true)), [1]);
    }

    #[test]
    fn values_of_variable_size_begin_with_their_length() {
        assert_eq!(written(|w| w.buffer(b"ab")), [0, 0, 0, 2, b'a', b'b']);
        assert_eq!(written(|w| w.text("é")), [0, 0, 0, 2, 0xc3, 0xa9]);
        let vector = written(|w| w.vector([7, 8].iter(), |w, n| w.int(*n)));
        assert_eq!(vector, [0, 0, 0, 2, 0, 0, 0, 7, 0, 0, 0, 8]);
        assert_eq!(Reader::new(&vector).vector(Reader::int), Ok(vec![7, 8]));
    }

    #[test]
    fn null_is_empty_but_no_text() {
        let null = [0xff; 4];
        assert_eq!(Reader::new(&null).buffer(), Ok(&[][..]));
        assert_eq!(Reader::new(&null).vector(Reader::int), Ok(vec![]));
        assert_eq!(Reader::new(&null).text(), Err(WireError::Null));
    }

    #[test]
    fn frames_that_lie_about_lengths_are_refused() {
        let short = WireError::TooShort { field: "buffer", missing: 1 };
        assert_eq!(Reader::new(&[0, 0, 0, 2, 9]).buffer(), Err(short));
        let huge = [0x7f, 0xff, 0xff, 0xff];
        assert!(matches!(Reader::new(&huge).vector(Reader::int), Err(WireError::TooShort { .. })));
        let negative = WireError::BadLength { field: "text", length: -2 };
        assert_eq!(Reader::new(&[0xff, 0xff, 0xff, 0xfe]).text(), Err(negative));
        assert_eq!(Reader::new(&[1, 2, 3]).finish(), Err(WireError::LeftOver(3)));
    }

    #[test]
    fn supplementary_characters_are_read_in_either_spelling() {
        let utf8 = written(|w| w.text("a😀é"));
        assert_eq!(Reader::new(&utf8).text().as_deref(), Ok("a😀é"));
        let java = [0, 0, 0, 9, b'a', 0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80, 0xc3, 0xa9];
        assert_eq!(Reader::new(&java).text().as_deref(), Ok("a😀é"));
    }

    #[test]
    fn half_a_character_is_no_text() {
        for bytes in [&[0xed, 0xa0, 0xbd][..], &[0xed, 0xa0], &[0xc3], &[0x80], &[0xff]] {
            let frame = written(|w| w.buffer(bytes));
            assert_eq!(Reader::new(&frame).text(), Err(WireError::BadText(bytes.to_vec())));
        }
    }
}

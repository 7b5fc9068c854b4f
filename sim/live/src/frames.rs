//! Frames: a length of four bytes, then a packet of that length.

use thiserror::Error;

/// The bytes of a length.
const LENGTH: usize = 4;

/// Why bytes are no frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum FrameError {
    #[error("a frame of {0} bytes, although the largest packet has {1}")]
    TooLong(usize, usize),
    #[error("a frame of {0} bytes")]
    Negative(i32),
}

/// Collects what is read from a connection, and finds the frames in it.
#[derive(Debug)]
pub(crate) struct Frames {
    bytes: Vec<u8>,
    /// The beginning of the first frame that was not taken.
    at: usize,
    largest: usize,
}

impl Frames {
    /// Returns an empty collection that refuses frames of more than `largest` bytes.
    pub(crate) fn new(largest: usize) -> Frames {
        Frames { bytes: Vec::new(), at: 0, largest }
    }

    /// Appends what was read.
    pub(crate) fn push(&mut self, read: &[u8]) {
        if self.at > 0 {
            // What is left is less than one frame, or the reader has not taken all.
            self.bytes.drain(..self.at);
            self.at = 0;
        }
        self.bytes.extend_from_slice(read);
    }

    /// Takes the next frame, if all of it has arrived.
    ///
    /// # Errors
    /// If its length is negative or larger than allowed. A frame that is too long is refused before it arrives.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>, FrameError> {
        let rest = &self.bytes[self.at..];
        let Some((length, rest)) = rest.split_first_chunk::<LENGTH>() else { return Ok(None) };
        let length = i32::from_be_bytes(*length);
        let length = usize::try_from(length).map_err(|_| FrameError::Negative(length))?;
        if length > self.largest {
            return Err(FrameError::TooLong(length, self.largest));
        }
        if rest.len() < length {
            return Ok(None);
        }
        let begins = self.at + LENGTH;
        self.at = begins + length;
        Ok(Some(&self.bytes[begins..self.at]))
    }

    /// Returns the number of bytes that are held.
    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.bytes.len()
    }
}

/// Appends a packet as a frame.
pub(crate) fn write(packet: &[u8], out: &mut Vec<u8>) {
    let length = i32::try_from(packet.len()).expect("a packet holds less than two gigabytes");
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(packet);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// However a stream is cut into reads, its frames are the packets that were written.
        #[test]
        fn frames_do_not_depend_on_the_reads(
            packets in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..40), 0..20),
            cuts in proptest::collection::vec(1_usize..50, 1..20),
        ) {
            let mut stream = Vec::new();
            packets.iter().for_each(|packet| write(packet, &mut stream));
            let (mut frames, mut found) = (Frames::new(40), Vec::new());
            let (mut rest, mut cuts) = (&stream[..], cuts.iter().cycle());
            while !rest.is_empty() {
                let (read, after) = rest.split_at((*cuts.next().unwrap()).min(rest.len()));
                frames.push(read);
                rest = after;
                while let Some(frame) = frames.next().unwrap() {
                    found.push(frame.to_vec());
                }
                prop_assert!(frames.held() <= 2 * 50 + 44);
            }
            prop_assert_eq!(found, packets);
        }
    }

    #[test]
    fn a_length_that_cannot_be_is_refused_before_the_frame_arrives() {
        let mut frames = Frames::new(10);
        frames.push(&11_i32.to_be_bytes());
        assert_eq!(frames.next(), Err(FrameError::TooLong(11, 10)));
        let mut frames = Frames::new(10);
        frames.push(&(-1_i32).to_be_bytes());
        assert_eq!(frames.next(), Err(FrameError::Negative(-1)));
    }
}

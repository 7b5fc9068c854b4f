//! Edits a server's transaction log, because no run can create 2147483647 znodes.

use super::error::FindingError;
use std::fs;
use std::path::Path;

/// The bytes before a record: its checksum and its length.
const FRAME: usize = 8 + 4;

/// A transaction's header: session, cxid, zxid, time and type.
const HEADER: usize = 8 + 4 + 8 + 8 + 4;

/// Edits the record of the create of `path`, a znode without data and with the open ACL: sets the parent's counter
/// after the create. `directory` contains the log.
pub(super) fn set_counter(directory: &Path, path: &str, counter: i32) -> Result<(), FindingError> {
    let file = fs::read_dir(directory)
        .map_err(FindingError::machine("the server's files cannot be listed"))?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .find(|file| {
            let name = file.file_name().map(|name| name.to_string_lossy().into_owned());
            name.is_some_and(|name| name.starts_with("log."))
        });
    let file = file.ok_or_else(|| FindingError::Otherwise("the server has no log".to_owned()))?;
    let mut log = fs::read(&file).map_err(FindingError::machine("the log cannot be read"))?;
    change(&mut log, path, counter).ok_or_else(|| {
        FindingError::Otherwise(format!("the log has no create of {path} as expected"))
    })?;
    fs::write(&file, log).map_err(FindingError::machine("the log cannot be written"))
}

fn change(log: &mut [u8], path: &str, counter: i32) -> Option<()> {
    let length = u32::try_from(path.len()).ok()?;
    let named = [&length.to_be_bytes()[..], path.as_bytes()].concat();
    let body = log.windows(named.len()).position(|bytes| bytes == named)?;
    // After the path: no data, one entry of an ACL (its permissions, `world`, `anyone`), and whether it is ephemeral.
    let acl = 4 + 4 + (4 + "world".len()) + (4 + "anyone".len());
    let at = body + named.len() + 4 + acl + 1;
    log.get_mut(at..at + 4)?.copy_from_slice(&counter.to_be_bytes());
    let start = body.checked_sub(HEADER)?;
    let frame = start.checked_sub(FRAME)?;
    let length: [u8; 4] = log.get(frame + 8..start)?.try_into().ok()?;
    let length = usize::try_from(u32::from_be_bytes(length)).ok()?;
    let sum = adler32(log.get(start..start + length)?);
    log[frame..frame + 8].copy_from_slice(&u64::from(sum).to_be_bytes());
    Some(())
}

/// The checksum of RFC 1950.
fn adler32(bytes: &[u8]) -> u32 {
    const BASE: u32 = 65_521;
    let (mut low, mut high) = (1, 0);
    for byte in bytes {
        low = (low + u32::from(*byte)) % BASE;
        high = (high + low) % BASE;
    }
    high << 16 | low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_the_standard() {
        assert_eq!(adler32(b""), 1);
        assert_eq!(adler32(b"Wikipedia"), 0x11E6_0398);
    }
}

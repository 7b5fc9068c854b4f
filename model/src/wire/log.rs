//! The transaction log of a server as bytes (`FileTxnLog`): a header, then for each transaction a checksum, the length of
//! its record, the record and a letter. A server allocates its file in advance, so zeros follow the last transaction.

use super::jute::{Reader, WireError};
use super::opcode;
use super::record::{error, read_acl, read_data, read_path, read_span, read_zxid};
use crate::vocabulary::error::Error;
use crate::vocabulary::id::{SessionId, Xid};
use crate::vocabulary::path::ZnodePath;
use crate::vocabulary::time::Duration;
use crate::vocabulary::txn::{Txn, TxnBody};
use crate::vocabulary::znode::EphemeralType;

/// `ZKLG`.
const MAGIC: i32 = 0x5a4b_4c47;

/// The only version of the file.
const VERSION: i32 = 2;

/// The letter after each record.
const END: u8 = b'B';

/// Decodes the transactions of a log file. A last record that is not complete, as a crash can leave it, is left out: a
/// server reads it no more than this function does.
///
/// # Errors
/// If the file is no log, or a complete record is no transaction.
pub fn read_log(bytes: &[u8]) -> Result<Vec<Txn>, WireError> {
    let mut reader = Reader::new(bytes);
    let (magic, version, _database) = (reader.int()?, reader.int()?, reader.long()?);
    if magic != MAGIC || version != VERSION {
        return Err(WireError::Unknown { field: "header of a log", number: magic.into() });
    }
    let mut txns = Vec::new();
    loop {
        let complete = reader.long().and_then(|_checksum| reader.buffer());
        let Ok(record) = complete else { return Ok(txns) };
        if record.is_empty() || reader.byte() != Ok(END) {
            return Ok(txns);
        }
        txns.push(read_txn(record)?);
    }
}

/// Decodes the record of a transaction: header, operation, and since 3.6.0 the digest of the tree.
///
/// # Errors
/// If the bytes are no transaction that a client can cause.
pub fn read_txn(record: &[u8]) -> Result<Txn, WireError> {
    let mut reader = Reader::new(record);
    let session = SessionId(reader.long()?.cast_unsigned());
    let cxid = Xid(u32::try_from(reader.int()?).unwrap_or(0));
    let zxid = read_zxid(&mut reader)?;
    let time = reader.long()?.cast_unsigned();
    let kind = reader.int()?;
    let body = read_body(&mut reader, kind, session)?;
    Ok(Txn { zxid, session, cxid, time, body })
}

fn read_body(reader: &mut Reader, kind: i32, session: SessionId) -> Result<TxnBody, WireError> {
    Ok(match kind {
        opcode::CREATE | opcode::CREATE_2 => {
            let (path, data, acl) = (znode(reader)?, read_data(reader)?, read_acl(reader)?);
            let ephemeral_type = match reader.bool()? {
                true => EphemeralType::Normal(session),
                false => EphemeralType::Void,
            };
            TxnBody::Create { path, data, acl, ephemeral_type, parent_cversion: reader.int()? }
        }
        opcode::CREATE_CONTAINER | opcode::CREATE_TTL => {
            let (path, data, acl) = (znode(reader)?, read_data(reader)?, read_acl(reader)?);
            let parent_cversion = reader.int()?;
            let ephemeral_type = match kind {
                opcode::CREATE_TTL => {
                    let milliseconds = u64::try_from(reader.long()?).unwrap_or(0);
                    EphemeralType::Ttl(Duration::from_millis(milliseconds))
                }
                _ => EphemeralType::Container,
            };
            TxnBody::Create { path, data, acl, ephemeral_type, parent_cversion }
        }
        opcode::DELETE => TxnBody::Delete { path: znode(reader)? },
        opcode::DELETE_CONTAINER => TxnBody::DeleteContainer { path: znode(reader)? },
        opcode::SET_DATA => {
            let (path, data) = (znode(reader)?, read_data(reader)?);
            TxnBody::SetData { path, data, version: reader.int()? }
        }
        opcode::SET_ACL => {
            let (path, acl) = (znode(reader)?, read_acl(reader)?);
            TxnBody::SetAcl { path, acl, aversion: reader.int()? }
        }
        opcode::CHECK => {
            let path = znode(reader)?;
            reader.int()?;
            TxnBody::Check { path }
        }
        opcode::MULTI => read_multi(reader, session)?,
        opcode::CREATE_SESSION => TxnBody::CreateSession { timeout: read_span(reader)? },
        opcode::CLOSE_SESSION => {
            // Servers before 3.6.0 list no paths.
            let ephemerals = if reader.is_at_end() { Vec::new() } else { reader.vector(znode)? };
            TxnBody::CloseSession { ephemerals }
        }
        opcode::ERROR => TxnBody::Error(error(reader.int()?)?),
        other => {
            return Err(WireError::Unknown {
                field: "type of a transaction",
                number: other.into(),
            });
        }
    })
}

/// Decodes a multi: all operations, or for a failed one the error of each. The record of a failed one has the operations
/// before the one that failed as they would have been, and only then errors.
fn read_multi(reader: &mut Reader, session: SessionId) -> Result<TxnBody, WireError> {
    let parts = reader.vector(|reader| {
        let kind = reader.int()?;
        read_body(&mut Reader::new(reader.buffer()?), kind, session)
    })?;
    let error = |part: &TxnBody| match part {
        TxnBody::Error(error) => Some(*error),
        _ => None,
    };
    let errors: Vec<Option<Error>> = parts.iter().map(error).collect();
    Ok(match errors.iter().any(Option::is_some) {
        true => TxnBody::FailedMulti(errors),
        false => TxnBody::Multi(parts),
    })
}

fn znode(reader: &mut Reader) -> Result<ZnodePath, WireError> {
    let path = read_path(reader)?;
    ZnodePath::new(path.to_string()).map_err(|_| WireError::BadText(path.as_bytes().to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::jute::Writer;

    /// The log of one multi: a delete of /a, and then the error with this code or a second delete.
    fn log(code: Option<i32>) -> Vec<u8> {
        let bytes = |write: &dyn Fn(&mut Writer)| {
            let mut writer = Writer::default();
            write(&mut writer);
            writer.finish()
        };
        let delete = bytes(&|writer| writer.text("/a"));
        let second = code.map_or(delete.clone(), |code| bytes(&|writer| writer.int(code)));
        let second_kind = code.map_or(opcode::DELETE, |_| opcode::ERROR);
        let record = bytes(&|writer| {
            writer.long(7);
            writer.int(3);
            writer.long(1 << 32 | 5);
            writer.long(0);
            writer.int(opcode::MULTI);
            let parts = [(opcode::DELETE, &delete), (second_kind, &second)];
            writer.vector(parts.into_iter(), |writer, (kind, part)| {
                writer.int(kind);
                writer.buffer(part);
            });
        });
        bytes(&|writer| {
            writer.int(MAGIC);
            writer.int(VERSION);
            writer.long(0);
            for _ in 0..2 {
                writer.long(0);
                writer.buffer(&record);
                writer.bytes(&[END]);
            }
            writer.bytes(&[0; 100]);
        })
    }

    #[test]
    fn a_multi_failed_if_any_part_is_an_error() {
        let delete = || TxnBody::Delete { path: ZnodePath::new("/a").expect("a path") };
        let bodies = |log: &[u8]| -> Vec<TxnBody> {
            read_log(log).expect("a log").into_iter().map(|txn| txn.body).collect()
        };
        let failed = TxnBody::FailedMulti(vec![None, Some(Error::NoNode)]);
        assert_eq!(bodies(&log(Some(Error::NoNode.code()))), [failed.clone(), failed]);
        let done = TxnBody::Multi(vec![delete(), delete()]);
        assert_eq!(bodies(&log(None)), [done.clone(), done]);
    }

    #[test]
    fn a_log_ends_with_its_last_whole_record() {
        let whole = log(None);
        let end = whole.len() - 100;
        assert_eq!(read_log(&whole[..end]).map(|txns| txns.len()), Ok(2));
        assert_eq!(read_log(&whole[..end - 1]).map(|txns| txns.len()), Ok(1));
        assert_eq!(read_log(&whole[..16]).map(|txns| txns.len()), Ok(0));
        assert!(read_log(&whole[..15]).is_err() && read_log(&[0; 32]).is_err());
    }
}

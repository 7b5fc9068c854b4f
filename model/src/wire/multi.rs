//! The operations of a multi and their results: a list in which each element has its own header, and a special header
//! marks the end (rule 1.7.2).

use super::Opcodes;
use super::jute::{Reader, WireError, Writer};
use super::opcode;
use super::record::{
    create_flags, create_mode, error, read_acl, read_data, read_names, read_path, read_stat,
    read_version, write_acl, write_data, write_paths, write_stat, write_version,
};
use crate::vocabulary::error::Error;
use crate::vocabulary::op::{CreateMode, Op, OpResult, ReadOp, ReadResult};
use crate::vocabulary::stat::Stat;
use crate::vocabulary::time::Duration;

/// The error field of headers without an error.
const NO_ERROR: i32 = -1;

/// Returns the opcode of an operation.
pub(super) fn op_code(op: &Op, opcodes: Opcodes) -> i32 {
    match op {
        Op::Create { mode: CreateMode::Container, .. } => opcode::CREATE_CONTAINER,
        Op::Create { mode, .. } if mode.ttl().is_some() => opcode::CREATE_TTL,
        Op::Create { .. } => match opcodes {
            Opcodes::Newest => opcode::CREATE_2,
            Opcodes::Plain => opcode::CREATE,
        },
        Op::Delete { .. } => opcode::DELETE,
        Op::SetData { .. } => opcode::SET_DATA,
        Op::Check { .. } => opcode::CHECK,
    }
}

/// Writes the fields of an operation, which are the same inside a multi and alone.
pub(super) fn write_op(writer: &mut Writer, op: &Op) {
    match op {
        Op::Create { path, data, mode, acl } => {
            writer.text(path);
            write_data(writer, data);
            write_acl(writer, acl);
            writer.int(create_flags(*mode));
            if let Some(ttl) = mode.ttl() {
                writer.long(i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX));
            }
        }
        Op::Delete { path, version } | Op::Check { path, version } => {
            writer.text(path);
            write_version(writer, *version);
        }
        Op::SetData { path, data, version } => {
            writer.text(path);
            write_data(writer, data);
            write_version(writer, *version);
        }
    }
}

/// Reads the operation with this opcode; returns `None` if the opcode is not that of an operation.
pub(super) fn read_op(reader: &mut Reader, code: i32) -> Result<Option<Op>, WireError> {
    Ok(Some(match code {
        opcode::CREATE | opcode::CREATE_2 | opcode::CREATE_CONTAINER | opcode::CREATE_TTL => {
            let (path, data, acl) = (read_path(reader)?, read_data(reader)?, read_acl(reader)?);
            let flags = reader.int()?;
            let ttl = if code == opcode::CREATE_TTL { Some(read_ttl(reader)?) } else { None };
            Op::Create { path, data, mode: create_mode(flags, ttl)?, acl }
        }
        opcode::DELETE => Op::Delete { path: read_path(reader)?, version: read_version(reader)? },
        opcode::SET_DATA => Op::SetData {
            path: read_path(reader)?,
            data: read_data(reader)?,
            version: read_version(reader)?,
        },
        opcode::CHECK => Op::Check { path: read_path(reader)?, version: read_version(reader)? },
        _ => return Ok(None),
    }))
}

fn read_ttl(reader: &mut Reader) -> Result<Duration, WireError> {
    let ttl = reader.long()?;
    let milliseconds = u64::try_from(ttl)
        .map_err(|_| WireError::Unknown { field: "time to live", number: ttl })?;
    Ok(Duration::from_millis(milliseconds))
}

/// Writes the operations of a multi.
pub(super) fn write_ops(writer: &mut Writer, ops: &[Op], opcodes: Opcodes) {
    for op in ops {
        write_header(writer, op_code(op, opcodes), NO_ERROR);
        write_op(writer, op);
    }
    write_end(writer);
}

/// Reads the operations of a multi. The opcodes are [`Opcodes::Plain`] if one of them requests no Stat.
pub(super) fn read_ops(reader: &mut Reader) -> Result<(Vec<Op>, Opcodes), WireError> {
    let (mut ops, mut opcodes) = (Vec::new(), Opcodes::Newest);
    while let Some(code) = read_header(reader)? {
        if code == opcode::CREATE {
            opcodes = Opcodes::Plain;
        }
        ops.push(read_op(reader, code)?.ok_or_else(|| not_in_a_multi(code))?);
    }
    Ok((ops, opcodes))
}

/// Writes the results of a multi with the operations `ops`.
pub(super) fn write_results(
    writer: &mut Writer,
    results: &[OpResult],
    ops: &[Op],
    opcodes: Opcodes,
) {
    for (at, result) in results.iter().enumerate() {
        match result {
            OpResult::Created(path, stat) => {
                let plain = ops.get(at).is_some_and(|op| op_code(op, opcodes) == opcode::CREATE);
                write_header(writer, if plain { opcode::CREATE } else { opcode::CREATE_2 }, 0);
                writer.text(path);
                if !plain {
                    write_stat(writer, stat);
                }
            }
            OpResult::Deleted => write_header(writer, opcode::DELETE, 0),
            OpResult::Set(stat) => {
                write_header(writer, opcode::SET_DATA, 0);
                write_stat(writer, stat);
            }
            OpResult::Checked => write_header(writer, opcode::CHECK, 0),
            OpResult::Failed(error) => write_failed(writer, *error),
        }
    }
    write_end(writer);
}

/// Reads the results of a multi with the operations `ops`.
///
/// Each result's header decides whether a Stat follows: servers before 3.9 execute a `create2` inside a multi as a
/// `create` and send none.
pub(super) fn read_results(reader: &mut Reader, ops: &[Op]) -> Result<Vec<OpResult>, WireError> {
    let mut results = Vec::new();
    while let Some(code) = read_header(reader)? {
        results.push(match code {
            opcode::CREATE => OpResult::Created(read_path(reader)?, Stat::default()),
            opcode::CREATE_2 => OpResult::Created(read_path(reader)?, read_stat(reader)?),
            opcode::DELETE => OpResult::Deleted,
            opcode::SET_DATA => OpResult::Set(read_stat(reader)?),
            opcode::CHECK => OpResult::Checked,
            opcode::ERROR => OpResult::Failed(read_failed(reader)?),
            _ => return Err(not_in_a_multi(code)),
        });
    }
    let fits = results.len() == ops.len() && results.iter().zip(ops).all(|(r, op)| answers(r, op));
    if fits { Ok(results) } else { Err(WireError::WrongResults) }
}

fn answers(result: &OpResult, op: &Op) -> bool {
    matches!(
        (result, op),
        (OpResult::Failed(_), _)
            | (OpResult::Created(..), Op::Create { .. })
            | (OpResult::Deleted, Op::Delete { .. })
            | (OpResult::Set(_), Op::SetData { .. })
            | (OpResult::Checked, Op::Check { .. })
    )
}

/// Writes the reads of a multiRead. Their watch flag is always off.
pub(super) fn write_reads(writer: &mut Writer, reads: &[ReadOp]) {
    for read in reads {
        let (code, path) = match read {
            ReadOp::GetData { path } => (opcode::GET_DATA, path),
            ReadOp::GetChildren { path } => (opcode::GET_CHILDREN, path),
        };
        write_header(writer, code, NO_ERROR);
        writer.text(path);
        writer.bool(false);
    }
    write_end(writer);
}

/// Reads the reads of a multiRead. Servers ignore their watch flag.
pub(super) fn read_reads(reader: &mut Reader) -> Result<Vec<ReadOp>, WireError> {
    let mut reads = Vec::new();
    while let Some(code) = read_header(reader)? {
        let path = read_path(reader)?;
        let _watch = reader.bool()?;
        reads.push(match code {
            opcode::GET_DATA => ReadOp::GetData { path },
            opcode::GET_CHILDREN => ReadOp::GetChildren { path },
            _ => return Err(not_in_a_multi(code)),
        });
    }
    Ok(reads)
}

/// Writes the results of a multiRead.
pub(super) fn write_read_results(writer: &mut Writer, results: &[ReadResult]) {
    for result in results {
        match result {
            ReadResult::Data(data, stat) => {
                write_header(writer, opcode::GET_DATA, 0);
                write_data(writer, data);
                write_stat(writer, stat);
            }
            ReadResult::Children(names) => {
                write_header(writer, opcode::GET_CHILDREN, 0);
                write_paths(writer, names);
            }
            ReadResult::Failed(error) => write_failed(writer, Some(*error)),
        }
    }
    write_end(writer);
}

/// Reads the results of a multiRead.
pub(super) fn read_read_results(
    reader: &mut Reader,
    reads: &[ReadOp],
) -> Result<Vec<ReadResult>, WireError> {
    let mut results = Vec::new();
    while let Some(code) = read_header(reader)? {
        results.push(match code {
            opcode::GET_DATA => ReadResult::Data(read_data(reader)?, read_stat(reader)?),
            opcode::GET_CHILDREN => ReadResult::Children(read_names(reader)?),
            opcode::ERROR => {
                ReadResult::Failed(read_failed(reader)?.ok_or(WireError::WrongResults)?)
            }
            _ => return Err(not_in_a_multi(code)),
        });
    }
    let fits = results.len() == reads.len()
        && results.iter().zip(reads).all(|(result, read)| {
            matches!(
                (result, read),
                (ReadResult::Failed(_), _)
                    | (ReadResult::Data(..), ReadOp::GetData { .. })
                    | (ReadResult::Children(_), ReadOp::GetChildren { .. })
            )
        });
    if fits { Ok(results) } else { Err(WireError::WrongResults) }
}

/// Writes a failed operation: the code is in the header and once more after it.
fn write_failed(writer: &mut Writer, error: Option<Error>) {
    let code = error.map_or(0, Error::code);
    write_header(writer, opcode::ERROR, code);
    writer.int(code);
}

fn read_failed(reader: &mut Reader) -> Result<Option<Error>, WireError> {
    match reader.int()? {
        0 => Ok(None),
        code => error(code).map(Some),
    }
}

/// Writes the `MultiHeader` of one element.
fn write_header(writer: &mut Writer, code: i32, error: i32) {
    writer.int(code);
    writer.bool(false);
    writer.int(error);
}

/// Writes the `MultiHeader` after the last element.
fn write_end(writer: &mut Writer) {
    writer.int(-1);
    writer.bool(true);
    writer.int(-1);
}

/// Reads the opcode of the next element; returns `None` at the end.
fn read_header(reader: &mut Reader) -> Result<Option<i32>, WireError> {
    let (code, done, _error) = (reader.int()?, reader.bool()?, reader.int()?);
    Ok((!done).then_some(code))
}

fn not_in_a_multi(code: i32) -> WireError {
    WireError::Unknown { field: "operation of a multi", number: code.into() }
}

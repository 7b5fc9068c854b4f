//! The records inside packets, and the numbers of the model's enums.

use super::jute::{Reader, WireError, Writer};
use crate::vocabulary::acl::{Acl, AclList, Id, Permissions};
use crate::vocabulary::error::Error;
use crate::vocabulary::id::SessionId;
use crate::vocabulary::op::{AddWatchMode, CreateMode, Data, EventType, Version, WatcherType};
use crate::vocabulary::stat::Stat;
use crate::vocabulary::time::Duration;
use crate::vocabulary::zxid::Zxid;
use std::sync::Arc;

/// Reads a path.
pub fn read_path(reader: &mut Reader) -> Result<Arc<str>, WireError> {
    reader.text().map(Arc::from)
}

/// Reads paths or names and keeps their order.
pub fn read_paths(reader: &mut Reader) -> Result<Vec<Arc<str>>, WireError> {
    reader.vector(read_path)
}

/// Reads names and sorts them: ZooKeeper promises no order, and the model uses lexical order.
pub fn read_names(reader: &mut Reader) -> Result<Vec<Arc<str>>, WireError> {
    let mut names = read_paths(reader)?;
    names.sort();
    Ok(names)
}

/// Writes paths or names.
pub fn write_paths(writer: &mut Writer, paths: &[Arc<str>]) {
    writer.vector(paths.iter(), |writer, path| writer.text(path));
}

/// Reads a znode's content.
pub fn read_data(reader: &mut Reader) -> Result<Data, WireError> {
    Ok(reader.buffer_or_null()?.map_or(Data::NULL, Data::from))
}

/// Writes the content of a znode.
pub fn write_data(writer: &mut Writer, data: &Data) {
    match data.is_null() {
        true => writer.null(),
        false => writer.buffer(data),
    }
}

/// Reads an expected version.
pub fn read_version(reader: &mut Reader) -> Result<Version, WireError> {
    Ok(match reader.int()? {
        -1 => Version::Any,
        version => Version::Is(version),
    })
}

/// Writes an expected version.
pub fn write_version(writer: &mut Writer, version: Version) {
    writer.int(match version {
        Version::Any => -1,
        Version::Is(version) => version,
    });
}

/// Reads a zxid. A -1, which means "none" in some packets, becomes the largest zxid.
pub fn read_zxid(reader: &mut Reader) -> Result<Zxid, WireError> {
    reader.long().map(|zxid| Zxid(zxid.cast_unsigned()))
}

/// Writes a zxid; the largest one becomes -1.
pub fn write_zxid(writer: &mut Writer, zxid: Zxid) {
    writer.long(zxid.0.cast_signed());
}

/// Reads a `Stat`.
pub fn read_stat(reader: &mut Reader) -> Result<Stat, WireError> {
    // The order on the wire differs from that of the model's fields.
    let czxid = read_zxid(reader)?;
    let mzxid = read_zxid(reader)?;
    let ctime = reader.long()?.cast_unsigned();
    let mtime = reader.long()?.cast_unsigned();
    let (version, cversion, aversion) = (reader.int()?, reader.int()?, reader.int()?);
    let owner = reader.long()?.cast_unsigned();
    let data_length = reader.int()?.cast_unsigned();
    let num_children = reader.int()?.cast_unsigned();
    let pzxid = read_zxid(reader)?;
    let ephemeral_owner = (owner != 0).then_some(SessionId(owner));
    Ok(Stat {
        czxid,
        mzxid,
        pzxid,
        ctime,
        mtime,
        version,
        cversion,
        aversion,
        ephemeral_owner,
        data_length,
        num_children,
    })
}

/// Writes a `Stat`.
pub fn write_stat(writer: &mut Writer, stat: &Stat) {
    write_zxid(writer, stat.czxid);
    write_zxid(writer, stat.mzxid);
    writer.long(stat.ctime.cast_signed());
    writer.long(stat.mtime.cast_signed());
    writer.int(stat.version);
    writer.int(stat.cversion);
    writer.int(stat.aversion);
    writer.long(stat.ephemeral_owner.map_or(0, |owner| owner.0.cast_signed()));
    writer.int(stat.data_length.cast_signed());
    writer.int(stat.num_children.cast_signed());
    write_zxid(writer, stat.pzxid);
}

/// Reads an ACL.
pub fn read_acl(reader: &mut Reader) -> Result<AclList, WireError> {
    let entries = reader.vector(|reader| {
        let permissions = Permissions(reader.int()?);
        // Clients send `null` for the id of `auth`.
        Ok(Acl::new(permissions, Id::new(reader.text()?, reader.text_or_empty()?)))
    })?;
    Ok(AclList::new(entries))
}

/// Writes an ACL.
pub fn write_acl(writer: &mut Writer, acl: &AclList) {
    writer.vector(acl.entries().iter(), |writer, entry| {
        writer.int(entry.permissions.0);
        writer.text(&entry.id.scheme);
        writer.text(&entry.id.id);
    });
}

/// Writes a span as whole milliseconds in an `int`, or `i32::MAX` if it is longer.
pub fn write_span(writer: &mut Writer, span: Duration) {
    writer.int(i32::try_from(span.as_millis()).unwrap_or(i32::MAX));
}

/// Reads a span in milliseconds; a negative one becomes zero.
pub fn read_span(reader: &mut Reader) -> Result<Duration, WireError> {
    let milliseconds = reader.int()?;
    Ok(Duration::from_millis(u64::try_from(milliseconds).unwrap_or(0)))
}

/// Returns the flags of a create. The time to live is a separate field.
pub fn create_flags(mode: CreateMode) -> i32 {
    match mode {
        CreateMode::Persistent => 0,
        CreateMode::Ephemeral => 1,
        CreateMode::PersistentSequential => 2,
        CreateMode::EphemeralSequential => 3,
        CreateMode::Container => 4,
        CreateMode::PersistentWithTtl(_) => 5,
        CreateMode::PersistentSequentialWithTtl(_) => 6,
    }
}

/// Returns the create mode of these flags; `ttl` is the additional field of createTTL.
pub fn create_mode(flags: i32, ttl: Option<Duration>) -> Result<CreateMode, WireError> {
    match (flags, ttl) {
        (0, None) => Ok(CreateMode::Persistent),
        (1, None) => Ok(CreateMode::Ephemeral),
        (2, None) => Ok(CreateMode::PersistentSequential),
        (3, None) => Ok(CreateMode::EphemeralSequential),
        (4, None) => Ok(CreateMode::Container),
        (5, Some(ttl)) => Ok(CreateMode::PersistentWithTtl(ttl)),
        (6, Some(ttl)) => Ok(CreateMode::PersistentSequentialWithTtl(ttl)),
        _ => Err(WireError::Unknown { field: "create mode", number: flags.into() }),
    }
}

/// Returns the error of a code other than 0.
pub fn error(code: i32) -> Result<Error, WireError> {
    Error::from_code(code).ok_or(WireError::Unknown { field: "error code", number: code.into() })
}

/// A type whose values are encoded as numbers.
pub trait Numbered: Copy + PartialEq + 'static {
    /// The name of the field in an error message.
    const FIELD: &'static str;
    /// Every value with its number.
    const NUMBERS: &'static [(Self, i32)];

    /// Writes the number.
    fn write(self, writer: &mut Writer) {
        let (_, number) = Self::NUMBERS
            .iter()
            .find(|(value, _)| *value == self)
            .expect("the table has every value");
        writer.int(*number);
    }

    /// Reads the value.
    fn read(reader: &mut Reader) -> Result<Self, WireError> {
        let number = reader.int()?;
        match Self::NUMBERS.iter().find(|(_, its)| *its == number) {
            Some((value, _)) => Ok(*value),
            None => Err(WireError::Unknown { field: Self::FIELD, number: number.into() }),
        }
    }
}

impl Numbered for AddWatchMode {
    const FIELD: &'static str = "mode of addWatch";
    const NUMBERS: &'static [(AddWatchMode, i32)] =
        &[(AddWatchMode::Persistent, 0), (AddWatchMode::PersistentRecursive, 1)];
}

impl Numbered for WatcherType {
    const FIELD: &'static str = "watcher type";
    // Servers before 3.9 know only the first three.
    const NUMBERS: &'static [(WatcherType, i32)] = &[
        (WatcherType::Children, 1),
        (WatcherType::Data, 2),
        (WatcherType::Any, 3),
        (WatcherType::Persistent, 4),
        (WatcherType::PersistentRecursive, 5),
    ];
}

impl Numbered for EventType {
    const FIELD: &'static str = "event type";
    const NUMBERS: &'static [(EventType, i32)] = &[
        (EventType::NodeCreated, 1),
        (EventType::NodeDeleted, 2),
        (EventType::NodeDataChanged, 3),
        (EventType::NodeChildrenChanged, 4),
        (EventType::DataWatchRemoved, 5),
        (EventType::ChildWatchRemoved, 6),
        (EventType::PersistentWatchRemoved, 7),
    ];
}

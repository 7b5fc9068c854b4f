//! The contenders of a directory, in order (recipe rules 1.2.6 and 2.8.10).

use super::contender::{self, Contender, Kind};
use super::recovery::list;
use crate::helpers::until_known;
use vivarium_model::error::Error;
use vivarium_model::handle::ZooKeeper;
use vivarium_model::zxid::Zxid;

/// The names of a directory's children, and the contenders' places in the queue where names do not give them.
pub(crate) struct Line {
    names: Vec<String>,
    /// One element per name; `None` for a child that does not contend, or whose number gives its place.
    created: Vec<Option<Zxid>>,
}

impl Line {
    /// Lists the children without a watch.
    ///
    /// If sequence numbers no longer give the order, every contender's znode is read. One that was deleted meanwhile
    /// may have left its place to a reader (recipe rule 2.10.3); then the children are listed again.
    ///
    /// # Errors
    /// Returns `SessionExpired` or the server's refusal.
    pub(crate) async fn read(zookeeper: &ZooKeeper, directory: &str) -> Result<Line, Error> {
        'list: loop {
            let names = list(zookeeper, directory).await?.unwrap_or_default();
            let contenders = || names.iter().filter_map(|name| Contender::parse(name));
            let mut created = vec![None; names.len()];
            if contenders().all(|contender| contender.is_placed_by_number()) {
                return Ok(Line { names, created });
            }
            for (name, created) in names.iter().zip(&mut created) {
                let Some(contender) = Contender::parse(name) else { continue };
                let path = contender::child(directory, name);
                *created = match until_known(zookeeper, || zookeeper.get_data(&path)).await {
                    Ok((data, stat)) => Some(place(contender.kind(), &data, stat.czxid)),
                    Err(Error::NoNode) => continue 'list,
                    Err(error) => return Err(error),
                };
            }
            return Ok(Line { names, created });
        }
    }

    /// Returns the names of all children.
    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    /// Returns the contenders, each with its place.
    pub(crate) fn contenders(&self) -> Vec<Contender<'_>> {
        let placed = self.names.iter().zip(&self.created).filter_map(|(name, created)| {
            let contender = Contender::parse(name)?;
            Some(created.map_or(contender, |created| contender.created_at(created)))
        });
        placed.collect()
    }
}

/// Returns the data of a reader's znode that has taken a writer's place: the transaction that created the writer's.
pub(super) fn inheritance(place: Zxid) -> String {
    format!("{INHERITED}{:x}", place.0)
}

const INHERITED: &str = "place ";

/// Returns a contender's place. Only readers inherit one; a candidate may store anything in its znode.
fn place(kind: Kind, data: &[u8], czxid: Zxid) -> Zxid {
    match kind {
        Kind::Read => inherited(data).unwrap_or(czxid),
        Kind::Exclusive | Kind::Write | Kind::Lease => czxid,
    }
}

fn inherited(data: &[u8]) -> Option<Zxid> {
    let place = std::str::from_utf8(data).ok()?.strip_prefix(INHERITED)?;
    u64::from_str_radix(place, 16).ok().map(Zxid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inherited_place_is_read_as_it_was_written() {
        let writers = Zxid(0x1_0000_00ff);
        assert_eq!(inheritance(writers), "place 1000000ff");
        assert_eq!(inherited(inheritance(writers).as_bytes()), Some(writers));
        for other in ["", "place ", "place x", "here"] {
            assert_eq!(inherited(other.as_bytes()), None, "{other:?}");
        }
        // A leader may store anything in its own znode.
        let (says, own) = (inheritance(Zxid(1)), Zxid(7));
        assert_eq!(place(Kind::Exclusive, says.as_bytes(), own), own);
        assert_eq!(place(Kind::Read, says.as_bytes(), own), Zxid(1));
    }
}
